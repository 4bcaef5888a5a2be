"""Modules and settings of sentence-transformers are converted with their network."""

from __future__ import annotations

import json
import shutil
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import longrank
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Notes
from longrank.verbs.convert import converted
from tiny_models import save_cross_encoder, save_encoder, save_masked_language_model, task

pytestmark = pytest.mark.neural

QUERY, PASSAGES = "where is the river bank", ["the fox jumped over the dog", "a long river in the north of the city"]


def pickled(folder: Path) -> Path:
    """Replace all safetensors of a folder by PyTorch files."""
    import torch
    from safetensors.torch import load_file

    for path in folder.rglob("model.safetensors"):
        torch.save(load_file(path), path.with_name("pytorch_model.bin"))
        path.unlink()
    return folder


def test_a_bi_encoder_keeps_pooling_projection_prompts_and_length(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    reader = Transformer(str(save_encoder(tmp_path / "base")), max_seq_length=20)
    prompts = {"query": "the north ", "document": "money "}
    made = SentenceTransformer(modules=[reader, Pooling(16, "cls"), Dense(16, 8)], prompts=prompts, device="cpu")
    made.save(str(tmp_path / "published"))
    expected = made.encode_document(PASSAGES, normalize_embeddings=True) @ made.encode_query(
        QUERY, normalize_embeddings=True
    )
    made = longrank.convert(pickled(tmp_path / "published"), tmp_path / "new", notes=(notes := Notes()))
    (found,) = BiEncoder(find_model(str(tmp_path / "new"))).score([task(QUERY, PASSAGES)])
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    assert not any("stays behind" in line for line in notes.lines())
    modes = {path.stat().st_mode for path in (tmp_path / "new").rglob("model.safetensors")}
    assert modes == {(tmp_path / "new" / "config.json").stat().st_mode}


def test_settings_that_change_the_texts_of_a_cross_encoder_are_not_lost(tmp_path: Path) -> None:
    folder = pickled(save_cross_encoder(tmp_path / "published"))
    settings = {"prompts": {"q": "query: "}, "default_prompt_name": "q"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="the model has a default prompt"):
        longrank.convert(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_modules_file_is_carried_under_its_name_of_today(tmp_path: Path) -> None:
    folder = pickled(save_cross_encoder(tmp_path / "published"))
    (folder / "sentence_roberta_config.json").write_text('{"max_seq_length": 20}')
    longrank.convert(folder, tmp_path / "new")
    assert json.loads((tmp_path / "new" / "sentence_bert_config.json").read_text()) == {"max_seq_length": 20}
    assert not (tmp_path / "new" / "sentence_roberta_config.json").exists()


def test_modules_that_are_not_converted_are_named(tmp_path: Path) -> None:
    folder = pickled(save_masked_language_model(tmp_path / "published"))
    places = {"": "models.Transformer", "1_SpladePooling": "sparse_encoder.models.SpladePooling"}
    modules = [{"path": path, "type": f"sentence_transformers.{kind}"} for path, kind in places.items()]
    (folder / "1_SpladePooling").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))
    longrank.convert(folder, tmp_path / "new", head="encoder", notes=(notes := Notes()))
    assert "the network alone is converted (head encoder): the module SpladePooling stays behind" in notes.lines()
    assert not (tmp_path / "new" / "modules.json").exists()


def test_the_network_of_an_older_model_lies_in_a_folder_of_its_own(tmp_path: Path, own_cache: Path) -> None:
    folder = save_encoder(tmp_path / "published")
    expected = BiEncoder(find_model(str(folder))).score([task(QUERY, PASSAGES)])
    network, modules = folder / "0_Transformer", json.loads((folder / "modules.json").read_text())
    network.mkdir()
    for path in [path for path in folder.iterdir() if path.is_file() and path.name != "modules.json"]:
        if path.name != "config_sentence_transformers.json":
            path.rename(network / path.name)
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    pickled(folder)
    for name, source in (("whole", folder), ("network", network)):
        longrank.convert(source, tmp_path / name, head="encoder")
        found = BiEncoder(find_model(str(tmp_path / name))).score([task(QUERY, PASSAGES)])
        np.testing.assert_array_equal(found[0].scores, expected[0].scores)
    first = converted(str(folder), Notes())
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "the north "}}))
    assert converted(str(folder), Notes()) != first


def test_modules_of_a_base_model_and_unknown_modules_are_named(tmp_path: Path) -> None:
    folder = pickled(save_encoder(tmp_path / "published"))
    (tmp_path / "alone").mkdir()
    (folder / "pytorch_model.bin").rename(tmp_path / "alone" / "pytorch_model.bin")
    made = longrank.convert(tmp_path / "alone", tmp_path / "new", base=str(folder), head="encoder")
    assert "the network alone is converted: the modules of its base model stay behind" in made.notes.lines()
    other = pickled(save_cross_encoder(tmp_path / "other"))
    kinds = ("sentence_transformers.models.Transformer", "mine.Head")
    (other / "modules.json").write_text(
        json.dumps([{"path": kind[:4] * n, "type": kind} for n, kind in enumerate(kinds)])
    )
    made = longrank.convert(other, tmp_path / "newer")
    assert "the network alone is converted (head classification): the module Head stays behind" in made.notes.lines()


def test_modules_outside_the_folder_are_refused(tmp_path: Path) -> None:
    folder = pickled(save_encoder(tmp_path / "published"))
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../outside"
    (tmp_path / "outside").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="module outside the model's folder"):
        longrank.convert(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def adapter_of(base: Path, folder: Path) -> Path:
    """Write an adapter of a base into a folder; return the base's folder with the adapter merged."""
    import torch

    peft = pytest.importorskip("peft", reason="needs the extra convert")
    from transformers import AutoModel

    options = peft.LoraConfig(r=2, target_modules=["query"], task_type="FEATURE_EXTRACTION")
    with warnings.catch_warnings():  # peft calls names that transformers deprecates
        warnings.simplefilter("ignore", FutureWarning)
        adapted = peft.get_peft_model(AutoModel.from_pretrained(base), options)
    torch.manual_seed(2)
    with torch.no_grad():
        for name, values in adapted.named_parameters():
            if "lora" in name:
                values.normal_(0, 0.5)
    adapted.save_pretrained(folder)
    merged = shutil.copytree(base, base.with_name("merged"))
    adapted.merge_and_unload().save_pretrained(merged)
    return merged


def test_an_adapter_keeps_modules_prompts_and_length_of_its_own_folder(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    base, folder = save_encoder(tmp_path / "base", prompts={"query": "who "}), tmp_path / "adapter"
    reader = Transformer(str(base), max_seq_length=8)
    prompts = {"query": "the north ", "document": "money "}
    SentenceTransformer(modules=[reader, Pooling(16, "cls"), Dense(16, 8)], prompts=prompts, device="cpu").save(
        str(folder)
    )
    for name in ("model.safetensors", "config.json"):
        (folder / name).unlink()
    merged = adapter_of(base, folder)
    whole = shutil.copytree(folder, tmp_path / "whole")
    for name in ("model.safetensors", "config.json"):
        shutil.copy(merged / name, whole)
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (whole / name).unlink()
    made = SentenceTransformer(str(whole), device="cpu")
    expected = made.encode_document(PASSAGES, normalize_embeddings=True) @ made.encode_query(
        QUERY, normalize_embeddings=True
    )
    longrank.convert(folder, tmp_path / "new")
    (found,) = BiEncoder(find_model(str(tmp_path / "new"))).score([task(QUERY, PASSAGES)])
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)


def test_an_adapter_without_modules_keeps_its_settings_and_the_modules_of_its_base(tmp_path: Path) -> None:
    base, folder = save_encoder(tmp_path / "base"), tmp_path / "adapter"
    merged = adapter_of(base, folder)
    settings = {
        "config_sentence_transformers.json": {"prompts": {"query": "the north "}},
        "sentence_bert_config.json": {"max_seq_length": 8, "do_lower_case": False},
    }
    for (name, values), place in product(settings.items(), (folder, merged)):
        (place / name).write_text(json.dumps(values))
    longrank.convert(folder, tmp_path / "new")
    expected, found = (
        BiEncoder(find_model(str(place))).score([task(QUERY, PASSAGES)])[0] for place in (merged, tmp_path / "new")
    )
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


def test_a_model_is_converted_again_if_the_weights_of_a_module_have_changed(tmp_path: Path, own_cache: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    reader = Transformer(str(save_encoder(tmp_path / "base")))
    made = SentenceTransformer(modules=[reader, Pooling(16, "cls"), Dense(16, 8)], device="cpu")
    made.save(str(tmp_path / "published"))
    folder = pickled(tmp_path / "published")
    first = converted(str(folder), Notes())
    assert converted(str(folder), Notes()) == first
    path = folder / "2_Dense" / "pytorch_model.bin"
    torch.save({name: -values for name, values in torch.load(path, weights_only=True).items()}, path)
    assert converted(str(folder), Notes()) != first
