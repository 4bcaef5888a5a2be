"""Settings in a model's files that sentence-transformers or transformers follow: followed here too, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from late_models import save_colbert
from longrank.errors import InputError
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.networks.wordpieces import wordpiece_counter
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.colbert import Colbert
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from sparse_models import save_inference_free, save_splade
from tiny_models import save_cross_encoder, save_encoder, task

pytestmark = pytest.mark.neural

QUERY, TEXTS = "water [SEP] bank", ["the river [CLS] bank", "fish [SEP] [SEP] boat", "city"]


def edited(path: Path, values: Mapping[str, Any]) -> Path:
    """Set keys of a JSON file, which may be absent; return its folder."""
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | dict(values)))
    return path.parent


@pytest.mark.parametrize("split", [False, True])
def test_special_tokens_named_in_texts_are_read_as_the_tokenizers_files_say(split: bool, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder as Peer
    from sentence_transformers import SentenceTransformer

    setting = {"split_special_tokens": split}
    folder = edited(save_cross_encoder(tmp_path / "ce", n_outputs=1) / "tokenizer_config.json", setting)
    logits = CrossEncoder(find_model(str(folder))).logits(QUERY, TEXTS)
    peer = Peer(str(folder), local_files_only=True, device="cpu")
    assert np.allclose(peer.predict([(QUERY, text) for text in TEXTS], activation_fn=_same), logits[:, 0], atol=1e-5)
    assert wordpiece_counter(str(folder))("[SEP]") == (5 if split else 1)

    folder = edited(save_encoder(tmp_path / "bi") / "tokenizer_config.json", setting)
    scorer, encoder = BiEncoder(find_model(str(folder))), SentenceTransformer(str(folder), device="cpu")
    cosines = encoder.encode(TEXTS, normalize_embeddings=True) @ encoder.encode(QUERY, normalize_embeddings=True)
    assert np.allclose(scorer.score([task(QUERY, TEXTS)])[0].scores, cosines, atol=1e-5)


def test_how_special_tokens_in_texts_are_read_is_a_part_of_the_identity_of_passages(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "m")
    plain = BiEncoder(find_model(str(folder))).offset_tokenizer.fingerprint
    edited(folder / "tokenizer_config.json", {"split_special_tokens": True})
    assert BiEncoder(find_model(str(folder))).offset_tokenizer.fingerprint != plain


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder"])
def test_a_tokenizer_that_cuts_the_beginning_of_a_text_is_refused(kind: str, tmp_path: Path) -> None:
    make, save = (CrossEncoder, save_cross_encoder) if kind == "cross-encoder" else (BiEncoder, save_encoder)
    folder = save(tmp_path / "m")
    edited(folder / "tokenizer_config.json", {"truncation_side": "left"})
    with pytest.raises(InputError, match=r"m: the model's tokenizer cuts a long text at its beginning.*=left"):
        make(find_model(str(folder)))


def _late(folder: Path) -> Path:
    return save_colbert(folder, "MultiVector")


def _sparse(model: Any) -> SparseModel:
    return SparseModel(model, Notes())


KINDS: dict[str, tuple[Callable[[Path], Path], Callable[[Any], object]]] = {
    "cross-encoder": (save_cross_encoder, CrossEncoder),
    "bi-encoder": (save_encoder, BiEncoder),
    "colbert": (_late, Colbert),
    "splade": (save_splade, _sparse),
}
READING: list[tuple[dict[str, Any], str]] = [
    ({"text": {"max_length": 9}}, "max_length=9"),
    ({"common": {"add_special_tokens": False}}, "add_special_tokens=False"),
    ({"text": {"return_token_type_ids": False}}, "return_token_type_ids=False"),
    ({"common": {"split_special_tokens": True}}, "split_special_tokens=True"),
    ({"text": {"truncation_side": "left"}}, "truncation_side=left"),
    ({"text": {"truncation": False}}, "truncation=False"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_the_tokenizers_call_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    save, load = KINDS[kind]
    own = save(tmp_path / "m") / "sentence_bert_config.json"
    for options, said in READING:
        edited(own, {"processing_kwargs": options})
        with pytest.raises(InputError, match=f"sentence_bert_config.json: the model's files set how texts are.*{said}"):
            load(find_model(str(tmp_path / "m")))
    edited(own, {"processing_kwargs": {"text": {"truncation": True, "add_special_tokens": True, "padding": True}}})
    load(find_model(str(tmp_path / "m")))


def test_so_are_those_of_the_network_behind_a_router(tmp_path: Path) -> None:
    folder = save_inference_free(tmp_path / "m")
    (own,) = folder.glob("*/sentence_bert_config.json")
    edited(own, {"document_length": 9})
    with pytest.raises(InputError, match="document_length=9"):
        _sparse(find_model(str(folder)))


@pytest.mark.parametrize("kind", ["cross-encoder", "colbert"])
def test_options_of_loading_are_refused_unless_they_change_no_score(kind: str, tmp_path: Path) -> None:
    save, load = KINDS[kind]
    own = save(tmp_path / "m") / "sentence_bert_config.json"
    for name, options, said in (
        ("processor_kwargs", {"model_max_length": 12}, "model_max_length=12"),
        ("tokenizer_args", {"truncation_side": "left"}, "truncation_side=left"),
        ("config_args", {"hidden_act": "relu"}, "hidden_act=relu"),
        ("model_kwargs", {"num_hidden_layers": 1}, "num_hidden_layers=1"),
    ):
        edited(own, {name: options})
        with pytest.raises(InputError, match=f"sentence_bert_config.json: .*how the model is loaded.*{said}"):
            load(find_model(str(tmp_path / "m")))
        edited(own, {name: {"trust_remote_code": False, "torch_dtype": "float32"}})
    load(find_model(str(tmp_path / "m")))


def test_the_file_of_the_module_is_read_under_its_older_names(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    edited(folder / "sentence_roberta_config.json", {"max_seq_length": 20, "query_length": 5})
    assert CrossEncoder(find_model(str(folder))).max_tokens == 20
    edited(folder / "sentence_bert_config.json", {"max_seq_length": 16})
    assert CrossEncoder(find_model(str(folder))).max_tokens == 16
    cased = save_cross_encoder(tmp_path / "cased", "roberta")
    edited(cased / "sentence_xlm-roberta_config.json", {"do_lower_case": True})
    with pytest.raises(InputError, match=r"sentence_xlm-roberta_config.json: the model's texts are to be made lower"):
        CrossEncoder(find_model(str(cased)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_whose_texts_belong_into_a_chat_template_is_refused(kind: str, tmp_path: Path) -> None:
    save, load = KINDS[kind]
    folder = save(tmp_path / "m")
    own, template = folder / "sentence_bert_config.json", "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    before = json.loads(own.read_text()) if own.is_file() else {}
    text = {"method": "forward", "method_output_name": "last_hidden_state"}
    modalities = {"message": {**text, "format": "flat"}, "text": text}
    (folder / "chat_template.jinja").write_text(template)
    edited(own, {"module_output_name": "token_embeddings", "modality_config": modalities})
    with pytest.raises(InputError, match=r"sentence_bert_config.json: .* put into its chat template.*leave 'message'"):
        load(find_model(str(folder)))
    own.write_text(json.dumps(before))
    if kind != "cross-encoder":  # what modules.json names reads plain texts unless the module's file says otherwise
        load(find_model(str(folder)))
        return
    with pytest.raises(InputError, match=r"m: .* put into its chat template.*remove chat_template"):
        load(find_model(str(folder)))
    (folder / "chat_template.jinja").unlink()
    load(find_model(str(folder)))


def test_a_bi_encoder_without_modules_that_has_a_chat_template_is_refused(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "m")
    (folder / "modules.json").unlink()
    BiEncoder(find_model(str(folder)))
    (folder / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'] }} {% endfor %}")
    with pytest.raises(InputError, match="put into its chat template"):
        BiEncoder(find_model(str(folder)))


def _same(values: Any) -> Any:
    return values
