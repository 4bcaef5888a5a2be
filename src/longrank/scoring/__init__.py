"""Passage scorers: the relevance of each passage to a query.

To add a scorer, write a class that follows the `PassageScorer` protocol and add a line to `PASSAGE_SCORERS`. Its
options are its keyword-only parameters. With ``needs_model`` it also names an ``example`` of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.registries import checked_options, lookup
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.index import Index
    from longrank.protocols import PassageScorer

PASSAGE_SCORERS: dict[str, type[PassageScorer] | str] = {
    "lexical": "longrank.scoring.lexical:LexicalScorer",
    "bi-encoder": "longrank.scoring.bi_encoder:BiEncoder",
    "cross-encoder": "longrank.scoring.cross_encoder:CrossEncoder",
    "colbert": "longrank.scoring.colbert:Colbert",
    "monot5": "longrank.scoring.monot5:MonoT5",
    "decoder": "longrank.scoring.decoder:Decoder",
    "document-network": "longrank.scoring.document_network:DocumentNetworkScorer",
}
"""Passage scorers by name; each is imported when it is used."""

_KEPT: ContextVar[dict[Any, PassageScorer] | None] = ContextVar("kept", default=None)


def make_scorer(
    name: str,
    *,
    index: Index | None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    notes: Notes | None = None,
) -> PassageScorer:
    """Build the passage scorer `name`; models are loaded now.

    Args:
        name: a key of `PASSAGE_SCORERS`.
        index: the collection of the passages; None: documents come with the queries.
        model: a Hugging Face name, a folder or an alias; for scorers with ``needs_model`` only.
        options: keyword options of the scorer.
        notes: remarks on the model.

    Raises:
        InputError: no such scorer or option, a value out of range, or a model that cannot be had.
        MissingExtra: the scorer's optional dependency is not installed.
        IntegrityError: the model's files are damaged.
    """
    kind: Any = scorer_class(name)
    options = checked_options(kind, f"the {name} scorer", options or {})
    make: Callable[..., PassageScorer] = kind
    if not kind.needs_model:
        if model is not None:
            raise InputError(f"the {name} scorer takes no model", got=model)
        return make(index, **options)
    if model is None:
        raise InputError(f"the {name} scorer needs a model", fix=f"name one, such as {kind.example}")
    kept, key = _KEPT.get(), (name, model, repr(sorted(options.items())))
    if kept is None:
        return make(find_model(model), notes=Notes() if notes is None else notes, **options)
    if key not in kept:
        kept[key] = make(find_model(model), notes=Notes() if notes is None else notes, **options)
    return copy(kept[key])  # an index attaches its stored vectors to the copy


@contextmanager
def keeping_models(kept: dict[Any, PassageScorer]) -> Iterator[None]:
    """Load no model twice inside the block: `make_scorer` takes scorers with models from `kept`, and adds new ones.

    Each call gets a copy of the scorer that shares its network.

    Args:
        kept: scorers by name, model and options; empty at first.
    """
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def scorer_class(name: str) -> type[PassageScorer]:
    """Return the class of a passage scorer.

    Raises:
        InputError: no such scorer.
    """
    return lookup(PASSAGE_SCORERS, name, "passage scorer")
