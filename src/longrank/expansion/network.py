"""Load a sequence-to-sequence model, to train it or to predict queries."""

from __future__ import annotations

from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import check_weights, read_json
from longrank.networks.loading import loading
from longrank.networks.model_files import Model
from longrank.networks.pretrained import load_pretrained


def open_seq2seq(model: Model, dtype: str = "float32") -> tuple[Any, Any]:
    """Load a model such as T5 or BART; return the network, on the CPU, and its tokenizer.

    Args:
        model: its files.
        dtype: as for `load_pretrained`.

    Raises:
        InputError: the model cannot be loaded, is not sequence-to-sequence, has no tokenizer, or has no tokens to
            begin and to pad with.
        MissingExtra: torch or transformers are not installed.
    """
    config = read_json(model.network / "config.json")
    if config.get("is_encoder_decoder") is not True:
        raise InputError(
            "is not a sequence-to-sequence model",
            path=model.path,
            got=config.get("model_type"),
            fix="use a model such as T5 or BART",
        )
    with loading(model):
        network, tokenizer, missing = load_pretrained(model, "AutoModelForSeq2SeqLM", dtype)
    check_weights(model.path, network, tokenizer, missing)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]  # BERT's would make token types, which none reads
    for name in ("decoder_start_token_id", "pad_token_id"):
        if getattr(network.config, name) is None:
            raise InputError(f"config.json names no {name}", path=model.path)
    return network, tokenizer
