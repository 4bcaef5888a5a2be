"""First stages: what finds the candidates of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from longrank.config import lookup, suggestion
from longrank.errors import InputError
from longrank.index import Index
from longrank.retrieval.batch import retrieve_all
from longrank.retrieval.bm25 import BM25
from longrank.retrieval.expanded import WithFeedback
from longrank.retrieval.feedback import FEEDBACKS, Feedback
from longrank.retrieval.presets import PRESETS, SETTINGS, FirstStage
from longrank.retrieval.query_likelihood import QueryLikelihood
from longrank.retrieval.replay import Replay
from longrank.retrieval.searcher import ExpandedQuery, Hits, Searcher
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.retrieval.lucene import LuceneRetriever

SIMILARITIES: dict[str, type[Searcher]] = {"bm25": BM25, "ql": QueryLikelihood}
"""Searchers by the name of their similarity."""

PARAMETERS = {"bm25": ("k1", "b"), "ql": ("mu",)}
"""Which settings are of one similarity alone."""

ENGINES: dict[str, type[LuceneRetriever] | str] = {"lucene": "longrank.retrieval.lucene:LuceneRetriever"}
"""First stages over the indexes of other engines, by what stands before the colon of ``lucene:PATH``."""


def open_retriever(
    source: str, stage: FirstStage, *, notes: Notes | None = None
) -> Searcher | WithFeedback | LuceneRetriever:
    """Return the retriever of a first stage over an index of ours, or over one of another engine (``lucene:PATH``).

    Raises:
        InputError: as `make_retriever`, `Index` or the engine says.
    """
    engine, _, path = source.partition(":")
    if path and engine in ENGINES:
        return lookup(ENGINES, engine, "engine")(path, stage, notes=notes)
    return make_retriever(Index.open(source), stage, notes=notes)


def make_retriever(
    index: Index, preset: str | FirstStage = "bm25-anserini", *, notes: Notes | None = None, **settings: Any
) -> Searcher | WithFeedback:
    """Return the retriever of a first stage, with some of its settings replaced.

    Args:
        index: what is searched.
        preset: a key of `PRESETS`, or what `first_stage` gave.
        notes: counts queries without terms, and those that feedback could not expand.
        settings: as for `first_stage`.

    Raises:
        InputError: as `first_stage`, a value out of range, or an index built with another analyzer
            than the preset needs.
    """
    stage = first_stage(preset, settings)
    if stage.analyzer not in ("", index.options.analyzer):
        fix = f"build it with --analyzer {stage.analyzer}, or take another preset"
        raise InputError("this first stage is of another kind of index", got=index.options.analyzer, fix=fix)
    notes = Notes() if notes is None else notes
    if stage.similarity == "bm25":
        searcher: Searcher = BM25(index, stage.k1, stage.b, doc_lengths=stage.doc_lengths, notes=notes)
    else:
        searcher = QueryLikelihood(index, stage.mu, doc_lengths=stage.doc_lengths, notes=notes)
    feedback = make_feedback(stage)
    return searcher if feedback is None else WithFeedback(searcher, feedback)


def make_feedback(stage: FirstStage) -> Feedback | None:
    """Return the feedback model of a first stage, if it has one.

    Raises:
        InputError: an option out of range.
    """
    return None if stage.feedback == "none" else FEEDBACKS[stage.feedback](**stage.options)


def first_stage(preset: str | FirstStage, settings: Mapping[str, Any]) -> FirstStage:
    """Return a preset with some settings replaced.

    Args:
        preset: a key of `PRESETS`, or a first stage.
        settings: settings of `FirstStage`, and options of the feedback model (``fb_docs``). Those
            that are None count as not given.

    Raises:
        InputError: unknown preset or setting (suggests the nearest), a value of another type, or a
            setting of a similarity or a feedback model that is not used.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    stage = preset if isinstance(preset, FirstStage) else lookup(PRESETS, preset, "preset")
    stage = replace(stage, **{n: _like(getattr(stage, n), n, given[n]) for n in SETTINGS if n in given})
    lookup(SIMILARITIES, stage.similarity, "similarity")
    for similarity, parameters in PARAMETERS.items():
        if similarity != stage.similarity and (idle := [name for name in parameters if name in given]):
            raise InputError(f"similarity '{stage.similarity}' has no such parameter", got=idle[0])
    if stage.feedback != "none":
        lookup(FEEDBACKS, stage.feedback, "feedback")
    options = {name: value for name, value in given.items() if name not in SETTINGS}
    known = feedback_options(stage.feedback)
    for name in options:
        if name not in known:
            what = f"feedback '{stage.feedback}' has no such option" if _is_option(name) else "unknown setting"
            raise InputError(what, got=name, fix=suggestion(name, (*SETTINGS, *known)))
    return replace(stage, options={**stage.options, **{n: _like(known[n], n, v) for n, v in options.items()}})


def feedback_options(feedback: str) -> dict[str, Any]:
    """Return the options of a feedback model with their defaults; ``none`` has no options."""
    return {} if feedback == "none" else {one.name: one.default for one in fields(FEEDBACKS[feedback])}  # type: ignore[arg-type]


def _like(default: object, name: str, value: Any) -> Any:
    """Return `value` if it is of the type of `default`; a whole number may stand for any."""
    wanted = (int, float) if isinstance(default, float) else type(default)
    if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(default, bool)):
        kind = {float: "a number", int: "a whole number", bool: "true or false"}.get(type(default), "a word")
        raise InputError(f"{name} must be {kind}", got=value)
    return value


def _is_option(name: str) -> bool:
    return any(name in feedback_options(feedback) for feedback in FEEDBACKS)


__all__ = [
    "BM25",
    "ENGINES",
    "FEEDBACKS",
    "PARAMETERS",
    "PRESETS",
    "SETTINGS",
    "SIMILARITIES",
    "ExpandedQuery",
    "FirstStage",
    "Hits",
    "QueryLikelihood",
    "Replay",
    "Searcher",
    "WithFeedback",
    "feedback_options",
    "first_stage",
    "make_retriever",
    "open_retriever",
    "retrieve_all",
]
