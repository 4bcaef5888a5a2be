"""Every loader refuses a folder whose weights lack a part of the network: transformers would draw it at random."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from late_models import save_colbert
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.scoring import PASSAGE_SCORERS, make_scorer, scorer_class
from longrank.types import Notes
from tiny_language_models import save_decoder, save_seq2seq
from tiny_models import rewrite, save_cross_encoder, save_document_network, save_encoder, save_next_sentence

pytestmark = pytest.mark.neural


def scorer(name: str, **options: object) -> Callable[[Path], object]:
    return lambda folder: make_scorer(name, index=None, model=str(folder), options=options)


def network(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> object:
        from longrank.models.new import new_network

        return new_network(name, find_model(str(folder)), Notes(), options={})

    return make


def predictor(folder: Path) -> object:
    from longrank.expansion.network import open_seq2seq

    return open_seq2seq(find_model(str(folder)))


PARADE = {"network": "parade-transformer", "allow_untrained": True}
LOADERS = {
    "cross-encoder": (save_cross_encoder, "classifier.", scorer("cross-encoder")),
    "next sentence": (save_next_sentence, "cls.seq_relationship.", scorer("cross-encoder")),
    "bi-encoder": (save_encoder, "encoder.layer.1.output.dense.", scorer("bi-encoder")),
    "colbert": (save_colbert, "linear.", scorer("colbert")),
    "colbert's encoder": (save_colbert, "bert.encoder.layer.1.output.dense.", scorer("colbert")),
    "monot5": (save_seq2seq, "decoder.block.0.layer.0.SelfAttention.q.", scorer("monot5")),
    "decoder": (save_decoder, "model.layers.0.mlp.up_proj.", scorer("decoder", prompt="{query}: {passage}")),
    "document-network": (save_document_network, "head.", scorer("document-network", **PARADE)),
    "doc2query": (save_seq2seq, "decoder.block.0.layer.0.SelfAttention.q.", predictor),
    "maxp on a classifier": (save_cross_encoder, "classifier.", network("maxp")),
    "maxp on Birch": (save_next_sentence, "cls.seq_relationship.", network("maxp")),
    "parade on an encoder": (save_encoder, "encoder.layer.1.output.dense.", network("parade-max")),
}


def test_every_scorer_of_a_model_is_tested() -> None:
    assert {name for name in PASSAGE_SCORERS if scorer_class(name).needs_model} <= set(LOADERS)


@pytest.mark.parametrize("name", LOADERS)
def test_a_folder_that_lacks_weights_is_refused(name: str, tmp_path: Path) -> None:
    save, prefix, load = LOADERS[name]
    folder = save(tmp_path / "m")
    load(folder)  # whole, it is read

    def drop(tensors: dict[str, object]) -> None:
        lost = [key for key in tensors if key.startswith(prefix)]
        assert lost
        for key in lost:
            del tensors[key]

    rewrite(folder, drop)
    with pytest.raises(InputError, match=r"the weights lack \d+ parameters of the network, which would be random"):
        load(folder)


def test_birch_saved_with_a_random_head_is_noted(tmp_path: Path) -> None:
    """The class for classification draws a new head for a next-sentence model, and saves it."""
    import torch
    from transformers import AutoModelForNextSentencePrediction, AutoModelForSequenceClassification, AutoTokenizer

    folder = save_next_sentence(tmp_path / "birch")
    trained = AutoModelForNextSentencePrediction.from_pretrained(folder)
    torch.nn.init.constant_(trained.cls.seq_relationship.bias, 0.25)
    trained.save_pretrained(folder)
    for kind, said in ((AutoModelForSequenceClassification, True), (AutoModelForNextSentencePrediction, False)):
        again = tmp_path / kind.__name__
        for part in (kind, AutoTokenizer):
            part.from_pretrained(folder).save_pretrained(again)
        notes = Notes()
        make_scorer("cross-encoder", index=None, model=str(again), notes=notes)
        assert any("has biases of exactly 0, as a new head" in line for line in notes.lines()) is said
