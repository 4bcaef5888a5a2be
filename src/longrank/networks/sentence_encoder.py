"""Load the network of a bi-encoder: a checked sentence-transformers model in evaluation mode, not yet accelerated."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.networks.checks import check_weights
from longrank.networks.hub import note_unfetched
from longrank.networks.late_settings import is_late
from longrank.networks.loading import own_weights, position_limit
from longrank.networks.model_files import Model
from longrank.networks.module_settings import check_plain, check_reading
from longrank.networks.padding import check_padding
from longrank.networks.pretrained import check_unexpected
from longrank.types import Notes

_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # the names sentence-transformers looks for


_SPARSE = ("SpladePooling", "SparseStaticEmbedding", "MLMTransformer", "Router")

Limit: TypeAlias = Literal["model", "positions"]


class Prompts(NamedTuple):
    """Texts that the model expects before a query and before any other text; often empty."""

    query: str
    document: str


def load_sentence_encoder(model: Model, device: str, notes: Notes) -> Any:
    """Load a model of sentence-transformers in float32.

    Args:
        model: the model's files.
        device: a torch device.
        notes: counts models without pooling in their files, and models trained for another similarity.

    Raises:
        InputError: not a bi-encoder; weights that are missing, unknown or damaged; or vectors that depend on padding.
    """
    from sentence_transformers import SentenceTransformer

    note_unfetched(model.name, model.path, notes)
    modules = model.path / "modules.json"
    if modules.is_file() and "LogitScore" in modules.read_text(encoding="utf-8"):  # its words would not be read
        raise InputError("is a decoder reranker, no bi-encoder", path=modules, fix="use the scorer 'decoder'")
    if modules.is_file() and any(name in modules.read_text(encoding="utf-8") for name in _SPARSE):
        fix = "store its vectors: longrank index --sparse"
        raise InputError("is a sparse encoder, no bi-encoder", path=model.path, fix=fix)
    if is_late(model.path):  # its vectors of single tokens would not be compared
        raise InputError("is a late-interaction model, no bi-encoder", path=model.path, fix="use the scorer 'colbert'")
    network = SentenceTransformer(
        str(model.path),
        device=device,
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"use_safetensors": True},
    )
    network = network.float().eval()
    own_weights(network)
    encoder = network[0].auto_model
    check_weights(model.path, encoder, network.tokenizer, missing_weights(model, encoder))
    check_reading(model.network)
    check_plain(model.network, renders="message" in getattr(network[0], "modalities", ()))
    check_padding(model, network, network.tokenizer, lambda features: network(features)["sentence_embedding"], "a")
    _note_assumptions(model, network, notes)
    return network


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1, in place; zeros stay zeros."""
    with np.errstate(under="ignore"):  # squares of the smallest numbers are 0, also where the caller lets NumPy raise
        lengths = np.sqrt((rows * rows).sum(axis=1, dtype=np.float32, keepdims=True))
    np.divide(rows, lengths, out=rows, where=lengths != 0)
    return rows


def prompts_of(network: Any) -> Prompts:
    """Return the prompts in a model's files."""
    known = dict(network.prompts or {})
    document = next((known[name] for name in _DOCUMENT_PROMPTS if name in known), "")
    return Prompts(known.get("query", ""), document)


def limits_of(network: Any, limit: Limit = "model") -> tuple[int | None, ...]:
    """Return the limits of tokens: in a model's files and in its position embeddings, or (``positions``) only these."""
    positions = position_limit(network[0].auto_model)
    return (positions,) if limit == "positions" else (network.max_seq_length, positions)


def _note_assumptions(model: Model, network: Any, notes: Notes) -> None:
    if not (model.path / "modules.json").is_file():
        notes.add(
            "models without modules.json, which names the pooling (folder or cache may lack it): "
            "the mean of all tokens is used",
            model.name,
        )
    if (similarity := network.similarity_fn_name) != "cosine":
        notes.add(f"models made for the similarity '{similarity}': the cosine is used", model.name)


def missing_weights(model: Model, encoder: Any) -> list[str]:
    """Return the parameters that the weights file lacks, except the pooler, which is not read.

    Raises:
        InputError: as `longrank.networks.pretrained.check_unexpected`.
    """
    options = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    _, info = type(encoder).from_pretrained(
        str(model.network),
        device_map="meta",  # names only, no values
        output_loading_info=True,
        **options,
    )
    missing = [name for name in info["missing_keys"] if "pooler" not in name.split(".")]
    if not missing:
        check_unexpected(model, info["unexpected_keys"])
    return missing
