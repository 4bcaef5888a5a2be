"""Models by their Hugging Face names, from a cache laid out on disk as the hub's client does; no network."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from longrank.errors import InputError, IntegrityError, MissingExtra
from longrank.networks import hub
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.storage import seal
from longrank.types import Notes
from tiny_models import save_cross_encoder, save_encoder, task

pytestmark = pytest.mark.neural

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
NAME = "someone/tiny-reranker"
LACKED = ("config_sentence_transformers.json", "sentence_bert_config.json")
"""Files that the tiny models lack, as the hub's clients mark them."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("made")
    return {"main": save_cross_encoder(root / "main"), "v1": save_cross_encoder(root / "v1", n_outputs=1)}


@pytest.fixture
def cache(tmp_path: Path, made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one model with two versions in a cache; whatever asks the network fails at once."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "models--someone--tiny-reranker"
    (folder / "refs").mkdir(parents=True)
    for revision, commit in COMMITS.items():
        (folder / "refs" / revision).write_text(commit)
        shutil.copytree(made[revision], folder / "snapshots" / commit)
        lacked = folder / ".no_exist" / commit
        lacked.mkdir(parents=True)
        for name in LACKED:
            (lacked / name).touch()
    return folder


def refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        find_model(name)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("revision", "commit"),
    [("", COMMITS["main"]), ("@main", COMMITS["main"]), ("@v1", COMMITS["v1"]), (f"@{'b' * 40}", COMMITS["v1"])],
)
def test_a_name_is_found_in_the_cache_and_named_by_its_commit(cache: Path, revision: str, commit: str) -> None:
    found = find_model(NAME + revision)
    assert found.path == cache / "snapshots" / commit
    assert found.name == NAME
    assert found.fingerprint.startswith(f"{NAME}@{commit} sha256:")


def test_a_model_in_the_cache_scores_as_its_folder_does(cache: Path, made: dict[str, Path]) -> None:
    tasks = [task("the river bank", ["fish", "money"])]
    by_name, by_folder = (CrossEncoder(find_model(name)) for name in (f"{NAME}@v1", str(made["v1"])))
    assert by_name.score(tasks)[0].scores.tolist() == by_folder.score(tasks)[0].scores.tolist()


def test_a_sealed_model_in_the_cache_is_named_by_its_commit(cache: Path) -> None:
    """A published model has the manifest of its folder; the hub may have fetched a part of the files."""
    snapshot = cache / "snapshots" / COMMITS["main"]
    (snapshot / "more.txt").write_text("of no use")
    seal(snapshot, "model")
    (snapshot / "more.txt").unlink()
    assert find_model(NAME).fingerprint.startswith(f"{NAME}@{COMMITS['main']} sha256:")
    with pytest.raises(IntegrityError, match=r"more\.txt: missing"):
        find_model(str(snapshot))


def test_what_is_in_the_cache_is_used_without_asking_the_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    usual = huggingface_hub.snapshot_download

    def local_only(*given: object, **options: object) -> str:
        assert options["local_files_only"]
        return str(usual(*given, **options))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", local_only)
    find_model(NAME)


def test_a_document_network_in_the_cache_is_whole_without_a_head(cache: Path) -> None:
    from longrank.networks import hub
    from tiny_models import save_document_network

    snapshot = cache / "snapshots" / COMMITS["main"]
    shutil.rmtree(snapshot)
    save_document_network(snapshot)
    assert hub._is_whole(snapshot)


def test_what_the_cache_lacks_is_downloaded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program has fetched the configuration alone; a download completes the snapshot."""
    import huggingface_hub

    weights, usual = cache / "snapshots" / COMMITS["main"] / "model.safetensors", huggingface_hub.snapshot_download
    kept = weights.rename(cache / "kept")
    asked: list[object] = []

    def downloads(name: str, **options: object) -> str:
        if not options.get("local_files_only"):
            asked.append((name, options["revision"]))
            kept.rename(weights)
        return str(usual(name, **(options | {"local_files_only": True})))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", downloads)
    assert find_model(NAME).path == weights.parent
    assert asked == [(NAME, None)]


@pytest.mark.parametrize(
    "lacking", ["model.safetensors", "config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json"]
)
def test_a_bi_encoder_that_another_program_fetched_in_part_is_completed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    import huggingface_hub

    snapshot = cache / "snapshots" / COMMITS["main"]
    shutil.rmtree(snapshot)
    save_encoder(snapshot)
    (snapshot / lacking).rename(tmp_path / "kept")
    usual = huggingface_hub.snapshot_download

    def downloads(name: str, **options: object) -> str:
        if not options.get("local_files_only"):
            (tmp_path / "kept").rename(snapshot / lacking)
        return str(usual(name, **(options | {"local_files_only": True})))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", downloads)
    find_model(NAME)
    assert (snapshot / lacking).is_file()


def test_a_whole_bi_encoder_asks_no_network_and_a_part_has_a_fingerprint_of_its_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    snapshot = cache / "snapshots" / COMMITS["main"]
    shutil.rmtree(snapshot)
    save_encoder(snapshot)
    modules = json.loads((snapshot / "modules.json").read_text())
    modules.append({"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})  # without files
    (snapshot / "modules.json").write_text(json.dumps(modules))
    asked, usual = [], huggingface_hub.snapshot_download

    def counted(*given: object, **options: object) -> str:
        asked.append(options.get("local_files_only", False))
        return str(usual(*given, **options))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", counted)
    whole = find_model(NAME).fingerprint
    assert asked == [True]
    (snapshot / "modules.json").unlink()
    assert find_model(NAME).fingerprint != whole
    assert asked == [True, True, False]


def test_settings_that_another_program_left_out_are_fetched_or_noted(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers fetches neither prompts nor the length of sentence-transformers."""
    import huggingface_hub

    commit = COMMITS["main"]
    shutil.rmtree(cache / ".no_exist" / commit)
    notes = Notes()
    CrossEncoder(find_model(NAME), notes=notes)
    assert any("may lack files with its prompts and lengths" in line and LACKED[1] in line for line in notes.lines())
    usual, asked = huggingface_hub.snapshot_download, []

    def downloads(name: str, **options: object) -> str:
        if not options.get("local_files_only"):
            asked.append(options["revision"])
            (cache / "snapshots" / commit / LACKED[1]).write_text('{"max_seq_length": 24}')
        return str(usual(name, **(options | {"local_files_only": True})))

    def listed(client: object, name: str, *, revision: str, timeout: float) -> SimpleNamespace:
        asked.append(f"files of {revision}")
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in ("config.json", LACKED[1])])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", downloads)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", listed)
    hub._ASKED.clear()  # as a new process
    notes = Notes()
    assert CrossEncoder(find_model(NAME), notes=notes).max_tokens == 24
    assert asked == [f"files of {commit}", commit]
    assert not any("may lack files" in line for line in notes.lines())
    assert (cache / ".no_exist" / commit / LACKED[0]).is_file()
    assert not (cache / ".no_exist" / commit / LACKED[1]).exists()
    find_model(NAME)
    assert len(asked) == 2


def test_a_hub_without_an_answer_is_asked_once_by_a_process_and_a_training_says_so(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[float] = []

    def silent(client: object, name: str, *, revision: str, timeout: float) -> object:
        asked.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", silent)
    for _ in range(3):
        found = find_model(NAME, records=True)
    assert asked == [10]
    notes = Notes()
    hub.note_unfetched_records(NAME, found.path, notes)
    assert "whether it has learned from queries of these tests is not checked" in notes.lines()[0]


@pytest.mark.parametrize("lacking", ["training.json", "lineage.json", "artifact.metadata", "chat_template.jinja"])
def test_a_file_that_another_program_left_out_is_fetched_where_it_matters(
    cache: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """Records of trainings matter to trainings, artifact.metadata to ColBERT, and chat templates to decoders."""
    import huggingface_hub

    snapshot, usual = cache / "snapshots" / COMMITS["main"], huggingface_hub.snapshot_download
    wanted: list[str] = []

    def downloads(name: str, **options: object) -> str:
        if not options.get("local_files_only"):
            wanted.extend(options["allow_patterns"])
            (snapshot / lacking).write_text("{}")
        return str(usual(name, **(options | {"local_files_only": True})))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", downloads)
    files = SimpleNamespace(siblings=[SimpleNamespace(rfilename=lacking)])
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: files)
    without = find_model(NAME).fingerprint
    assert wanted == []  # this model needs none, and the hub is not asked
    kind = {
        "artifact.metadata": {"architectures": ["HF_ColBERT"]},
        "chat_template.jinja": {"text_config": {"num_key_value_heads": 2}},
    }
    config = json.loads((snapshot / "config.json").read_text())
    (snapshot / "config.json").write_text(json.dumps({**config, **kind.get(lacking, {})}))
    changed = find_model(NAME, records=lacking in ("training.json", "lineage.json"))
    assert "*.jinja" in wanted
    assert (snapshot / lacking).is_file()
    if lacking == "chat_template.jinja":
        with pytest.raises(InputError, match="put into its chat template"):
            CrossEncoder(changed)
    else:
        assert changed.fingerprint != without


def test_a_name_that_is_neither_in_the_cache_nor_to_be_had_is_one_line(cache: Path) -> None:
    message = r"not in the cache and cannot be downloaded from the Hugging Face hub.*got '{}'.*network"
    refused("someone/some-model", message.format("someone/some-model"))
    refused(f"{NAME}@v2", message.format(f"{NAME}@v2"))


def test_a_part_of_a_model_that_cannot_be_completed_says_what_it_lacks(cache: Path) -> None:
    (cache / "snapshots" / COMMITS["main"] / "model.safetensors").unlink()
    command = f"longrank convert {NAME}@{COMMITS['main']} -o ./tiny-reranker-safetensors"
    refused(NAME, rf"holds no model\.safetensors; {command} reads tensors")


def test_weights_cut_off_in_the_cache_are_refused(cache: Path) -> None:
    weights = cache / "snapshots" / COMMITS["main"] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    refused(NAME, r"model\.safetensors: is damaged")


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"needs the extra 'neural'"):
        find_model(NAME)


def test_a_folder_that_is_not_there_is_no_revision(tmp_path: Path) -> None:
    refused(f"{tmp_path}/model@v1", "no such model folder")
