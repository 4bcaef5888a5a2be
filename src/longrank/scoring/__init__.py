"""Passage scorers: how relevant is each passage to a query?

To add one, write a class with the `PassageScorer` seam whose options are keywords, and add a line to
`PASSAGE_SCORERS`. One that has an ``example`` of a model is made with a `Model` and ``notes``, else with the index.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from longrank.config import lookup, suggestion
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.index import Index
    from longrank.protocols import PassageScorer

PASSAGE_SCORERS: dict[str, str] = {
    "lexical": "longrank.scoring.lexical:LexicalScorer",
    "bi-encoder": "longrank.scoring.bi_encoder:BiEncoder",
    "cross-encoder": "longrank.scoring.cross_encoder:CrossEncoder",
    "monot5": "longrank.scoring.monot5:MonoT5",
    "decoder": "longrank.scoring.decoder:Decoder",
    "document-network": "longrank.scoring.document_network:DocumentNetworkScorer",
}
"""Passage scorers by name; each is imported when it is used."""

SCORES_DOCUMENTS = frozenset({"document-network"})
"""Those that give a score of the document, too, for the aggregator ``document``."""


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
        index: the collection whose passages are scored; None: there is none, and only models can score.
        model: a Hugging Face name, a folder or an alias; needed by the neural ones, refused by others.
        options: keyword options of the scorer.
        notes: counts queries that a model could not read to their end.

    Raises:
        InputError: no such scorer or option, a value out of range, or a model that cannot be had.
        MissingExtra: the scorer's optional dependency is not installed.
        IntegrityError: the model's files are damaged.
    """
    kind: Callable[..., PassageScorer] = lookup(PASSAGE_SCORERS, name, "passage scorer")
    options = options or {}
    known = options_of(name)
    for option in options:
        if option not in known:
            raise InputError(f"the {name} scorer has no option", got=option, fix=suggestion(option, known))
    _check_types(name, kind, options)
    example = getattr(kind, "example", None)
    if example is None and model is not None:
        raise InputError(f"the {name} scorer takes no model", got=model)
    if example is None and index is None:
        raise InputError(f"the {name} scorer needs a collection's statistics", fix="give an index, or another scorer")
    if example is None:
        return kind(index, **options)
    if model is None:
        raise InputError(f"the {name} scorer needs a model", fix=f"name one, such as {example}")
    return kind(find_model(model), notes=Notes() if notes is None else notes, **options)


def _check_types(name: str, kind: Callable[..., PassageScorer], options: Mapping[str, Any]) -> None:
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    parameters = inspect.signature(kind, eval_str=True).parameters
    for option, value in options.items():
        try:
            TypeAdapter(parameters[option].annotation, config=ConfigDict(strict=True)).validate_python(value)
        except ValidationError as error:
            fault = error.errors()[0]["msg"].removeprefix("Input ")
            raise InputError(f"{option} of the {name} scorer {fault}", got=value) from None


def options_of(name: str) -> list[str]:
    """Return the names of the options that a passage scorer takes.

    Raises:
        InputError: no such scorer.
    """
    parameters = inspect.signature(lookup(PASSAGE_SCORERS, name, "passage scorer")).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.name != "notes"]
