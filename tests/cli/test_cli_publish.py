"""publish by its documented command line: what is checked, listed, written on the card and handed to the hub."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from longrank.cli.main import main
from longrank.networks.model_files import find_model
from longrank.training.passage_data.examples import group
from passage_trainings import settings, trained
from tiny_models import task

pytestmark = pytest.mark.neural

WORDS = ["river", "bank", "money", "war", "peace", "north"]
EXAMPLES = [group(word, [f"{word} {word}", "bread stone"]) for word in WORDS]
DEV = [group(word, [f"a {word}", "light"]) for word in WORDS]
LOSSES = {"cross-encoder": "lce", "bi-encoder": "triplet"}


@pytest.fixture(scope="module", params=list(LOSSES))
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = tmp_path_factory.mktemp(request.param)
    more: dict[str, Any] = {"loss": [{"name": LOSSES[request.param]}], "loop": {"validate_every": 1}}
    trained(settings(request.param, save_encoder(folder / "encoder"), **more), folder, EXAMPLES, DEV)
    return folder / "out"


@pytest.fixture
def copy(training: Path, tmp_path: Path) -> Path:
    return shutil.copytree(training, tmp_path / "copy")


class Hub:
    """Keeps what huggingface_hub's client is asked for; refuses arguments that the client does not have."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import huggingface_hub

        self.calls: list[tuple[str, Any]] = []
        self.uploaded: dict[str, bytes] = {}
        self.files: list[str] = [".gitattributes"]
        self.card_id = ""
        self.deleted: list[str] | None = None
        real, hub = huggingface_hub.HfApi, self

        class Client:
            def __init__(self, token: str | None = None) -> None:
                hub.calls.append(("token", token))

            def create_repo(self, *args: Any, **kwargs: Any) -> None:
                inspect.signature(real.create_repo).bind(self, *args, **kwargs)
                hub.calls.append(("create_repo", (*args, kwargs)))

            def list_repo_files(self, *args: Any, **kwargs: Any) -> list[str]:
                inspect.signature(real.list_repo_files).bind(self, *args, **kwargs)
                return hub.files

            def get_paths_info(self, *args: Any, **kwargs: Any) -> list[Any]:
                inspect.signature(real.get_paths_info).bind(self, *args, **kwargs)
                return [SimpleNamespace(blob_id=hub.card_id)]

            def upload_folder(self, **kwargs: Any) -> Any:
                inspect.signature(real.upload_folder).bind(self, **kwargs)
                hub.calls.append(("upload_folder", kwargs["repo_id"]))
                hub.deleted = kwargs["delete_patterns"]
                root = Path(kwargs["folder_path"])
                hub.uploaded = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
                return SimpleNamespace(commit_url="https://hub.test/commit/1")

        monkeypatch.setattr(huggingface_hub, "HfApi", Client)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_model_and_its_card_are_uploaded_with_the_token_and_the_folder_stays_as_it_is(
    training: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub, before = Hub(monkeypatch), contents(training)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert main(["publish", str(training), "--repo", "me/tiny", "--license", "mit", "--private"]) == 0
    assert hub.calls == [
        ("token", "hf_secret"),
        ("create_repo", ("me/tiny", {"private": True, "exist_ok": True})),
        ("upload_folder", "me/tiny"),
    ]
    card = hub.uploaded.pop("README.md").decode()
    assert hub.uploaded == contents(training / "model")
    assert contents(training) == before
    assert "license: mit" in card
    said = "".join(capsys.readouterr())
    assert "https://hub.test/commit/1" in said and "hf_secret" not in said + card


def test_a_model_that_changes_while_it_is_uploaded_ends_with_an_error(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub, weights = Hub(monkeypatch), copy / "model" / "model.safetensors"
    monkeypatch.setattr(hub, "files", _Changing([".gitattributes"], lambda: weights.write_bytes(weights.read_bytes())))
    assert main(["publish", str(copy), "--repo", "me/tiny"]) == 1
    said = "model.safetensors: changed while it was uploaded to https://hub.test/commit/1; publish the model again"
    assert said in capsys.readouterr().err


class _Changing(list[str]):
    """Names of files; whoever reads them changes something."""

    def __init__(self, names: list[str], change: Callable[[], object]) -> None:
        super().__init__(names)
        self._change = change

    def __iter__(self) -> Iterator[str]:
        self._change()
        return super().__iter__()


def test_files_of_an_earlier_model_in_the_repository_are_refused_or_deleted(
    training: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Libraries would read a mixture of both models."""
    hub, command = Hub(monkeypatch), ["publish", str(training), "--repo", "me/tiny"]
    hub.files += [*contents(training / "model"), "README.md", "LICENSE.txt", "results.json", "2_Dense/config.json"]
    assert main(command) == 0
    assert hub.deleted is None
    hub.files += ["model-00001-of-00002.safetensors", "old.ckpt", "a[1]config.json", "onnx/model.onnx"]
    hub.calls.clear()
    capsys.readouterr()
    assert main(command) == 2
    assert "upload_folder" not in dict(hub.calls)
    assert (
        "me/tiny: the repository has files of another model, which would stay beside this one "
        "(got 'a[1]config.json, model-00001-of-00002.safetensors, old.ckpt, onnx/model.onnx'); --replace deletes them"
    ) in capsys.readouterr().err
    assert main([*command, "--replace"]) == 0
    assert hub.deleted == ["a[[]1]config.json", "model-00001-of-00002.safetensors", "old.ckpt", "onnx/model.onnx"]
    assert main([*command, "--replace", "--dry-run"]) == 0


def test_another_card_in_the_repository_is_replaced_with_a_note(
    training: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub, command = Hub(monkeypatch), ["publish", str(training), "--repo", "me/tiny"]
    assert main(command) == 0
    assert "its README.md was another" not in capsys.readouterr().err
    hub.files += [*hub.uploaded]
    (tmp_path / "card").write_bytes(hub.uploaded["README.md"])
    of_git = subprocess.run(["git", "hash-object", tmp_path / "card"], capture_output=True, text=True, check=True)
    hub.card_id = of_git.stdout.strip()
    assert main(command) == 0
    assert "its README.md was another" not in capsys.readouterr().err
    hub.card_id = "0" * 40
    assert main(command) == 0
    assert "me/tiny: its README.md was another, and this card replaced it" in capsys.readouterr().err


def test_a_dry_run_prints_the_card_and_every_file_and_asks_the_hub_for_nothing(
    training: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = Hub(monkeypatch)
    assert main(["publish", str(training), "--dry-run"]) == 0
    card, said = capsys.readouterr()
    assert hub.calls == []
    for name, content in contents(training / "model").items():
        assert re.search(rf" {len(content):,} bytes  {re.escape(name)}$", said, re.MULTILINE)
    assert f"{len(card.encode()):,} bytes  README.md" in said
    assert "names paths of this machine" in said
    assert str(training.parent) not in card


def test_the_card_has_data_settings_the_development_curve_and_the_licence(
    training: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import ModelCard

    assert main(["publish", str(training), "--repo", "me/tiny", "--license", "mit", "--dry-run"]) == 0
    text = capsys.readouterr().out
    data = ModelCard(text, ignore_metadata_errors=False).data
    assert (data.license, data.library_name, data.tags) == ("mit", "sentence-transformers", ["longrank"])
    record = json.loads((training / "record.json").read_text())
    for step, value in record["validations"]:
        assert f"| {step} | {value:.4f}" in text
    assert text.count("(kept)") == 1
    assert record["run"]["examples"] in text and record["run"]["dev"] in text
    assert "loop.optimizer.learning_rate = 0.01" in text and 'network.model = "encoder"' in text


def test_the_python_code_of_the_card_loads_the_model(training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", str(training), "--repo", "me/tiny", "--dry-run"]) == 0
    card = capsys.readouterr().out
    (command,) = re.findall(r"```sh\n(.*?)```", card, re.DOTALL)
    assert main([*shlex.split(command)[1:], "--help"]) == 0  # refuses options that the command does not have
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("me/tiny", str(training / "model")), names)
    from longrank.scoring.bi_encoder import BiEncoder
    from longrank.scoring.cross_encoder import CrossEncoder

    model, asked = find_model(str(training / "model")), [task("a query", ["a passage"])]
    if "logits" in names:
        ((own,),) = [scored.scores for scored in CrossEncoder(model).score(asked)]
        logits = names["logits"][0]
        peer = logits if logits.ndim == 0 else logits[-1] - (logits[0] if len(logits) == 2 else 0)
    else:
        ((own,),) = [scored.scores for scored in BiEncoder(model).score(asked)]
        query, passage = names["vectors"]
        peer = query @ passage / np.linalg.norm(query) / np.linalg.norm(passage)
    assert float(peer) == pytest.approx(float(own), abs=1e-5)


def test_the_command_of_the_card_of_a_query_predictor_predicts(
    training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_language_models import save_seq2seq

    monkeypatch.chdir(tmp_path)
    save_seq2seq(tmp_path / "t5")
    (tmp_path / "t5" / "training.json").write_bytes((training / "record.json").read_bytes())
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "a river bank"}\n')
    assert main(["publish", "t5", "--repo", "me/t5", "--dry-run"]) == 0
    card = capsys.readouterr().out
    (command,) = re.findall(r"```sh\n(.*?)```", card, re.DOTALL)
    program, *arguments = shlex.split(command.replace("me/t5", "./t5"))
    assert (program, main([*arguments, "-n", "2"])) == ("longrank", 0)
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("me/t5", "./t5"), names)
    asked = names["tokenizer"]("a river", return_tensors="pt")
    assert names["model"].generate(**asked, max_new_tokens=3).shape[0] == 1


def test_without_network_there_is_one_line_and_exit_code_1(
    training: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import HfApi

    def offline(self: HfApi, *args: Any, **kwargs: Any) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(HfApi, "create_repo", offline)
    assert main(["publish", str(training), "--repo", "me/tiny"]) == 1
    (error,) = [line for line in capsys.readouterr().err.splitlines() if "error:" in line]
    assert error.endswith("cannot upload to 'me/tiny' on the Hugging Face hub: OSError: Name or service not known")


def test_a_changed_file_is_refused_with_exit_code_3(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = copy / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert main(["publish", str(copy), "--dry-run"]) == 3
    assert "checksum differs" in capsys.readouterr().err


def test_int8_graphs_are_not_published(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "model" / "openvino-int8").mkdir()
    (copy / "model" / "openvino-int8" / "encoder.bin").write_text("graph")
    assert main(["publish", str(copy), "--dry-run"]) == 2
    assert "openvino-int8: holds a graph of longrank quantize, and graphs are not published" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pytorch_model.bin", "modeling.py", ".env", ".hidden.json"])
def test_files_that_are_no_part_of_a_model_are_refused(
    copy: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "model" / name).write_text("secret")
    assert main(["publish", str(copy), "--dry-run"]) == 2
    assert f"{name}: is no file of a model" in capsys.readouterr().err


def test_unfinished_trainings_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "record.json").unlink()
    assert main(["publish", str(copy), "--dry-run"]) == 2
    assert "the training is not finished" in capsys.readouterr().err


def test_a_training_per_fold_asks_for_the_fold(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(copy, copy.parent / "folds" / "s1")
    (copy.parent / "folds" / "folds.json").write_text("{}")
    assert main(["publish", str(copy.parent / "folds"), "--dry-run"]) == 2
    assert f"choose a fold, such as {copy.parent / 'folds' / 's1'}" in capsys.readouterr().err
    assert main(["publish", str(copy.parent / "folds" / "s1"), "--dry-run"]) == 0


def test_the_folders_own_card_is_uploaded_as_it_is(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "model" / "README.md").write_text("# Mine\n")
    assert main(["publish", str(copy), "--dry-run"]) == 0
    assert capsys.readouterr().out == "# Mine\n"
    assert main(["publish", str(copy), "--license", "mit", "--dry-run"]) == 2
    assert "is the model's card" in capsys.readouterr().err
    (copy / "model" / "README.md").write_bytes("# Möbel\n".encode("latin-1"))
    assert main(["publish", str(copy), "--dry-run"]) == 2
    assert "README.md: cannot be read: 'utf-8' codec can't decode byte 0xf6" in capsys.readouterr().err


def test_document_networks_name_their_pipeline_and_untrained_networks_are_refused(
    tmp_path: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_models import save_document_network

    folder, record = save_document_network(tmp_path / "parade"), json.loads((copy / "record.json").read_text())
    assert main(["publish", str(folder), "--dry-run"]) == 2
    assert "has never been trained" in capsys.readouterr().err
    described = json.loads((folder / "longrank.json").read_text()) | {"untrained": False, "record": record}
    (folder / "longrank.json").write_text(json.dumps(described))
    assert main(["publish", str(folder), "--dry-run"]) == 0
    card, said = capsys.readouterr()
    assert "--pipeline parade-transformer --model OWNER/NAME" in card and "```python" not in card
    assert "checksums were not compared" in said


def test_only_models_that_came_from_the_hub_are_named_as_its_models(
    copy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a relative name meant is recorded: elsewhere no such folder may exist, or another one."""

    def card(model: str, fingerprint: str) -> str:
        place = copy / "model" / "training.json"
        record = json.loads(place.read_text())
        record["run"]["training"]["network"]["model"], record["run"]["model"] = model, fingerprint
        place.write_text(json.dumps(record))
        (copy / "model" / "manifest.json").unlink(missing_ok=True)
        (copy / "manifest.json").unlink(missing_ok=True)
        assert main(["publish", str(copy / "model"), "--dry-run"]) == 0
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    local = card("models/tiny", "sha256:0123456789abcdef")
    assert "base_model" not in local and "models/tiny" not in local and "trained from `tiny`" in local
    (tmp_path / "owner" / "tiny").mkdir(parents=True)
    for name in ("owner/tiny", "owner/tiny@v1"):
        text = card(name, "owner/tiny@c0ffee sha256:0123456789abcdef")
        assert "base_model: owner/tiny\n" in text and f"trained from `{name}`" in text
        assert f'network.model = "{name}"' in text


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("begun_as", ["BertModel", "BertForSequenceClassification"])
@pytest.mark.parametrize("name", ["maxp", "birch-passage", "parade-max", "cedr-knrm", "vanilla-bert"])
def test_the_card_of_a_document_network_loads_the_scores_of_its_passages_or_says_why_not(
    name: str, begun_as: str, renamed: bool, copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`renamed`: as folders of earlier versions are, with the class that the weights began as."""
    import torch
    import transformers

    from longrank.models.create import create_network
    from longrank.models.folders import save_network
    from tiny_models import save_encoder

    base = save_encoder(tmp_path / "base")
    tokenizer, config = transformers.AutoTokenizer.from_pretrained(base), transformers.AutoConfig.from_pretrained(base)
    config.num_labels, config.architectures = 2, [begun_as]
    begun = getattr(transformers, begun_as)(config)
    options = {"outputs": 2} if name in ("maxp", "birch-passage") else {}
    is_classifier = bool(options)
    network = create_network(name, begun if is_classifier else begun.base_model, options, tokenizer=tokenizer).eval()
    folder, record = tmp_path / "m", json.loads((copy / "record.json").read_text())
    save_network(folder, network, tokenizer, record)
    written = json.loads((folder / "config.json").read_text())
    assert written["architectures"] == ["BertForSequenceClassification" if is_classifier else "BertModel"]
    if renamed:
        (folder / "config.json").write_text(json.dumps(written | {"architectures": [begun_as]}))
        (folder / "manifest.json").unlink()
    assert main(["publish", str(folder), "--dry-run"]) == 0
    card = capsys.readouterr().out
    codes = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    if not is_classifier:
        assert codes == [] and "reads the passages of a document together" in card
        return
    names: dict[str, Any] = {}
    exec(codes[0].replace("OWNER/NAME", str(folder)), names)
    with torch.no_grad():
        own = network.encode(tokenizer("a query", "a passage", return_tensors="pt"))
    assert names["logits"].shape == (1, 2)
    assert names["logits"][0, -1] == pytest.approx(float(own), abs=1e-5)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ([], "no repository to upload to; give --repo, or --dry-run"),
        (["--repo", "tiny"], "is no name of a repository (got 'tiny'); give --repo as OWNER/NAME"),
        (["--dry-run", "--license", "my: own"], "is no licence's name on the hub (got 'my: own')"),
    ],
)
def test_wrong_names_are_refused(
    training: Path, more: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(training), *more]) == 2
    assert fault in capsys.readouterr().err


def test_a_folder_without_a_training_needs_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tiny_models import save_cross_encoder

    assert main(["publish", str(save_cross_encoder(tmp_path / "model")), "--dry-run"]) == 2
    assert "holds no record of a training to write a card from" in capsys.readouterr().err
