"""Settings of late-interaction models (ColBERT) from the files of three layouts; no torch.

HF_ColBERT     ``linear.weight`` beside the encoder's tensors, ``artifact.metadata``   (stanford-futuredata/ColBERT)
PyLate         modules Transformer and Dense; its keys in config_sentence_transformers.json
MultiVector    modules Transformer, Dense, MultiVectorMask, Normalize   (sentence-transformers 6)
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.networks.checks import modules_of, read_json
from longrank.networks.model_files import Model
from longrank.networks.module_settings import own_settings
from longrank.small_files import CONFIG, read_small
from longrank.types import Notes

ARCHITECTURE, METADATA = "HF_ColBERT", "artifact.metadata"
QUERY_TOKENS, DOCUMENT_TOKENS = 32, 180
"""Tokens of a query and a passage in files of ColBERT and PyLate that do not name them."""

_FIX = "use a checkpoint of PyLate, of sentence-transformers' MultiVectorEncoder, or of ColBERT (HF_ColBERT)"
_MODULES = ("Transformer", "Dense", "MultiVectorMask", "Normalize")


class LateSettings(NamedTuple):
    """Inputs and scoring of a model: markers, lengths, query augmentation, skipped tokens, projections.

    Attributes:
        query: marker and prompt before a query, such as ``[Q] ``.
        document: marker and prompt before a passage.
        query_tokens: tokens of a query, special tokens included, up to which a shorter query is filled with ``[MASK]``
            if `expands`.
        most_query_tokens: tokens of a query, special tokens included: a longer query is cut; None: the encoder's limit.
        document_tokens: tokens of a passage, special tokens included; None: the encoder's limit.
        expands: True: query augmentation.
        attends: True: the encoder attends to the tokens that fill a query up.
        filler: token that fills a query up; empty: the tokenizer's mask token.
        skipped: tokens of passages that are left out of MaxSim.
        normalizes: True: token vectors are scaled to length 1.
        projections: folders of the dense layers; empty: ``linear.weight`` of the encoder's own file.
    """

    query: str
    document: str
    query_tokens: int
    most_query_tokens: int | None
    document_tokens: int | None
    expands: bool
    attends: bool
    filler: str
    skipped: tuple[str, ...]
    normalizes: bool
    projections: tuple[Path, ...]


def is_late(folder: Path) -> bool:
    """Tell whether a folder that names modules is a late-interaction model's."""
    return any(kind == "MultiVectorMask" for kind, _ in modules_of(folder)) or _is_pylate(folder)


def read_late_settings(model: Model, notes: Notes) -> LateSettings:
    """Return the settings of a model.

    Args:
        model: the model's files.
        notes: says if ``artifact.metadata`` is missing and ColBERT's defaults are used.

    Raises:
        InputError: no late-interaction model, or settings that are not supported; names the file.
    """
    try:
        architectures = read_json(model.network / "config.json").get("architectures") or []
        if ARCHITECTURE in architectures and not is_late(model.path):  # PyLate's files may keep ColBERT's name
            settings = _of_metadata(model, notes)
        else:
            settings = _of_modules(model)
        if min(settings.query_tokens, settings.document_tokens or 1) < 1:
            raise ValueError
        return settings
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise InputError("holds settings of late interaction that cannot be read", path=model.path) from None


def _of_metadata(model: Model, notes: Notes) -> LateSettings:
    path = model.path / METADATA
    try:
        values = json.loads(read_small(path, CONFIG, "a model's settings"))
    except FileNotFoundError:
        notes.say(f"'{model.name}' has no {METADATA} (folder or cache may lack it): ColBERT's defaults are used")
        values = {}
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise InputError("is not a JSON object", path=path)
    query_tokens = int(values.get("query_maxlen") or QUERY_TOKENS)
    return LateSettings(
        query=f"{values.get('query_token_id') or '[unused0]'} ",
        document=f"{values.get('doc_token_id') or '[unused1]'} ",
        query_tokens=query_tokens,
        most_query_tokens=query_tokens,
        document_tokens=int(values.get("doc_maxlen") or DOCUMENT_TOKENS),
        expands=True,
        attends=bool(values.get("attend_to_mask_tokens")),
        filler="",
        skipped=tuple(string.punctuation) if values.get("mask_punctuation", True) else (),
        normalizes=True,
        projections=(),
    )


def _of_modules(model: Model) -> LateSettings:
    modules = modules_of(model.path)
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Dense"] or not is_late(model.path):
        raise InputError("is no late-interaction model", path=model.path, got=", ".join(kinds) or None, fix=_FIX)
    other = next((kind for kind in kinds if kind not in _MODULES), None)
    if other is not None:
        raise InputError("has a module that late interaction does not know", path=model.path, got=other, fix=_FIX)
    top, own = _json(model.path, "config_sentence_transformers.json"), own_settings(model.network)[1]
    mask = next((_json(place, "config.json") for kind, place in modules if kind == "MultiVectorMask"), None)
    if mask and (mask.get("keep_only_token_ids") or mask.get("skiplist_tasks", ["document"]) != ["document"]):
        raise InputError("the scoring mask has settings other than skiplist_words", path=model.path, fix=_FIX)
    expansion = _expansion(top, own)
    prompts = {name: _prompt(top, name) for name in ("query", "document")}
    pylate = _marks_pylate(top)
    whole = None if pylate else own.get("max_seq_length")  # of texts whose task has no length
    length = _query_length(top, own) or whole
    documents = own.get("document_length") or top.get("document_length") or (DOCUMENT_TOKENS if pylate else whole)
    skipped = string.punctuation if mask is None else mask.get("skiplist_words") or []
    query_tokens = int((expansion or {}).get("length") or length or QUERY_TOKENS)
    fixed = pylate or (expansion is not None and expansion.get("strategy") != "min")  # else a query has its own limit
    return LateSettings(
        **prompts,
        query_tokens=query_tokens,
        most_query_tokens=query_tokens if fixed else length and int(length),
        document_tokens=int(documents) if documents else None,
        expands=expansion is not None,
        attends=bool((expansion or {}).get("attend")),
        filler=str((expansion or {}).get("token") or ""),
        skipped=tuple(skipped if top.get("skiplist_words") is None or mask else top["skiplist_words"]),
        normalizes=mask is None or "Normalize" in kinds,
        projections=tuple(place for kind, place in modules if kind == "Dense"),
    )


def _expansion(top: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the augmentation of queries: sentence-transformers' dictionary, or PyLate's keys; None: none."""
    for values in (own, top):
        if "query_expansion" in values:
            found: Mapping[str, Any] | None = values["query_expansion"]
            return found
    if not _marks_pylate(top) or top.get("do_query_expansion") is False:
        return None
    attend = top.get("attend_to_expansion_tokens", top.get("attend_to_mask_tokens"))
    return {"strategy": "fixed", "attend": attend, "length": top.get("query_length")}


def _query_length(top: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """Return the length of a query; one beside PyLate's keys does not count where the module says how queries grow."""
    theirs = top.get("query_length") if "query_expansion" not in own or "query_expansion" in top else None
    return own.get("query_length") or theirs


def _prompt(top: Mapping[str, Any], name: str) -> str:
    marker, prompt = top.get(f"{name}_prefix") or "", (top.get("prompts") or {}).get(name) or ""
    return str(marker) + str(prompt).removeprefix(marker)


def _is_pylate(folder: Path) -> bool:
    return _marks_pylate(_json(folder, "config_sentence_transformers.json"))


def _marks_pylate(top: Mapping[str, Any]) -> bool:
    return top.get("model_type") == "ColBERT" or "query_prefix" in top or "document_prefix" in top


def _json(folder: Path, name: str) -> dict[str, Any]:
    return read_json(folder / name) if (folder / name).is_file() else {}
