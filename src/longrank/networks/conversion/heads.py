"""The head that the tensors of a checkpoint hold, by their names and the configuration; no torch."""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

from longrank.errors import InputError
from longrank.types import Notes

FAMILIES = MappingProxyType(
    {
        "classification": "AutoModelForSequenceClassification",
        "next-sentence": "AutoModelForNextSentencePrediction",
        "seq2seq": "AutoModelForSeq2SeqLM",
        "decoder": "AutoModelForCausalLM",
        "encoder": "AutoModel",
    }
)
"""Head -> class of transformers that loads it."""

AGGREGATOR = "aggregator."
"""First part of the names of a PARADE network's aggregator."""
_CLASSIFIERS = ("classifier.", "score.", "pre_classifier.")
_NEXT_SENTENCE = "cls.seq_relationship."
_PRETRAINING = "cls.predictions."


def choose_head(names: Collection[str], architecture: str, seq2seq: bool, notes: Notes) -> str:
    """Return the head that a checkpoint holds, a key of `FAMILIES`.

    Tensors count more than the configuration: a next-sentence checkpoint with the configuration of a classifier would
    rank by a random classifier.

    Args:
        names: new names of the tensors.
        architecture: the class that the configuration names; may be empty.
        seq2seq: whether the configuration is of an encoder with a decoder.
        notes: tells if the head is not the head of the configuration.

    Raises:
        InputError: the configuration names a classifier, and the tensors hold none.
    """
    if seq2seq:
        return "seq2seq"
    if any(name.startswith(_CLASSIFIERS) for name in names):
        return "classification"
    if any(name.startswith(_NEXT_SENTENCE) for name in names):
        if not any(name.startswith(_PRETRAINING) for name in names):
            if architecture and not architecture.endswith("ForNextSentencePrediction"):
                notes.say(f"config.json names {architecture}, and the weights hold a next-sentence head, which is kept")
            return "next-sentence"
        notes.say("the weights are those of BERT's pre-training: the encoder is kept, its heads are not rankers")
        return "encoder"
    if architecture.endswith("ForSequenceClassification"):
        raise InputError(
            f"the weights hold no head of {architecture}, which would be random",
            fix="convert a checkpoint that was trained to rank, or take this one as an encoder with --head encoder",
        )
    if architecture.endswith(("ForCausalLM", "LMHeadModel")) or "lm_head.weight" in names:
        return "decoder"
    notes.say("the weights hold no head that ranks: an encoder for longrank create and training")
    return "encoder"


def n_labels(shapes: dict[str, tuple[int, ...]]) -> int | None:
    """Return the number of outputs of a classification head by the shapes of its tensors; None: no such tensor."""
    for name in ("classifier.out_proj.weight", "classifier.weight", "score.weight"):
        if name in shapes:
            return shapes[name][0]
    return None
