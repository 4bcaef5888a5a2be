"""First stages: they retrieve the candidates of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.index import Index
from longrank.index.filters import Filter
from longrank.protocols import Retriever
from longrank.registries import checked_options, defaults_of, lookup, suggestion
from longrank.retrieval.batch import retrieve_all as retrieve_all
from longrank.retrieval.batch import sparing_old_objects as sparing_old_objects
from longrank.retrieval.bm25 import BM25 as BM25
from longrank.retrieval.deferred import Deferred
from longrank.retrieval.dense import Dense as Dense
from longrank.retrieval.dense import open_dense
from longrank.retrieval.expanded import WithFeedback as WithFeedback
from longrank.retrieval.feedback import FEEDBACKS as FEEDBACKS
from longrank.retrieval.feedback import Feedback
from longrank.retrieval.feedback.rocchio import Rocchio
from longrank.retrieval.hybrid import Hybrid as Hybrid
from longrank.retrieval.hybrid import open_hybrid, open_sparse_hybrid
from longrank.retrieval.presets import PRESETS as PRESETS
from longrank.retrieval.presets import SETTINGS as SETTINGS
from longrank.retrieval.presets import FirstStage as FirstStage
from longrank.retrieval.query_likelihood import QueryLikelihood as QueryLikelihood
from longrank.retrieval.replay import Replay as Replay
from longrank.retrieval.searcher import Hits as Hits
from longrank.retrieval.searcher import Searcher as Searcher
from longrank.retrieval.similarities import SIMILARITIES as SIMILARITIES
from longrank.retrieval.similarities import parameters_of as parameters_of
from longrank.retrieval.similarities import similarity_options as similarity_options
from longrank.retrieval.sparse import Sparse as Sparse
from longrank.retrieval.sparse import open_sparse
from longrank.retrieval.stores import STORES as STORES
from longrank.retrieval.stores import StoreRetriever, check_no_filter, is_store, open_store
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.retrieval.lucene import LuceneRetriever

ENGINES: dict[str, type[LuceneRetriever] | str] = {"lucene": "longrank.retrieval.lucene:LuceneRetriever"}
"""First stages over indexes of other engines, by the prefix of ``lucene:PATH``."""

VECTOR_STAGES: dict[str, Callable[..., Dense | Sparse | Hybrid]] = {
    "dense": open_dense,
    "hybrid": open_hybrid,
    "sparse": open_sparse,
    "sparse-hybrid": open_sparse_hybrid,
}
"""First stages over the passage vectors stored with an index; their keyword-only parameters are options."""


def open_retriever(
    source: Index | Path | str, stage: FirstStage, *, notes: Notes | None = None, filter: Filter | None = None
) -> Searcher | WithFeedback | Dense | Sparse | Hybrid | LuceneRetriever | StoreRetriever:
    """Return the retriever of a first stage over a LongRank index, another engine's (``lucene:PATH``) or a store.

    Raises:
        InputError: as `make_retriever`, `Index.open`, `Index.mask`, the engine or `open_store`; or another engine's
            index for a stage with vectors, or either for a filter; or a store for another stage than the default.
    """
    if not isinstance(source, Index) and is_store(source):
        return _of_store(source, stage, notes, filter)
    if not isinstance(source, Index) and _is_other_engine(source):
        if stage.kind != "words":
            fix = "build one: longrank index"
            raise InputError(f"preset '{stage.kind}' needs a LongRank index", got=str(source), fix=fix)
        if filter is not None:
            raise InputError("a filter needs a LongRank index", got=str(source), fix="build one: longrank index")
        engine, _, path = str(source).partition(":")
        return lookup(ENGINES, engine, "engine")(path, stage, notes=notes)
    index = Index.open(source)
    mask = None if filter is None else index.mask(filter, notes)
    retriever = make_retriever(index, stage, notes=notes)
    return retriever if mask is None else retriever.within(mask)


def vectors_of(retriever: object) -> str:
    """Return the fingerprint of the stored vectors that a first stage searches; empty: none."""
    return retriever.vectors if isinstance(retriever, Dense | Sparse | Hybrid) else ""


def opened(source: Index | Path | str) -> Index | str:
    """Return the index of a source, or the address of another engine's index or of a store.

    Raises:
        InputError, IntegrityError: as `Index.open`.
    """
    if not isinstance(source, Index) and (is_store(source) or _is_other_engine(source)):
        return str(source)
    return Index.open(source)


def _is_other_engine(source: Path | str) -> bool:
    engine, _, path = str(source).partition(":")
    return bool(path) and engine in ENGINES


def _of_store(source: Path | str, stage: FirstStage, notes: Notes | None, filter: Filter | None) -> StoreRetriever:
    if stage != PRESETS["bm25-anserini"]:
        fix = "leave the preset and its options out; the settings file says how the store ranks"
        raise InputError("a store ranks by itself, not by a preset", got=str(source), fix=fix)
    check_no_filter(source, filter)
    return StoreRetriever(open_store(source), Notes() if notes is None else notes)


def pipeline_retriever(index: Index, stage: FirstStage, notes: Notes) -> Retriever:
    """Return the retriever of a pipeline; a stage with vectors is opened by its first query.

    Raises:
        InputError: as `make_retriever`; of a stage with vectors, the first query raises it.
    """
    if stage.kind == "words":
        return make_retriever(index, stage, notes=notes)
    return Deferred(lambda: make_retriever(index, stage, notes=notes))


def make_retriever(
    index: Index, preset: str | FirstStage = "bm25-anserini", *, notes: Notes | None = None, **settings: Any
) -> Searcher | WithFeedback | Dense | Sparse | Hybrid:
    """Return the retriever of a first stage, with some of its settings replaced.

    Args:
        index: the index to search.
        preset: a key of `PRESETS`, ``dense:VECTORS`` (and so on), or a result of `first_stage`.
        notes: counts queries without terms, and queries that feedback could not expand.
        settings: as of `first_stage`.

    Raises:
        InputError: as `first_stage`, a value out of range, the index has another analyzer than the preset needs, or
            stored vectors that do not fit.
        MissingExtra: a stage with vectors needs the extras for neural networks.
        IntegrityError: stored vectors are damaged.
    """
    stage = first_stage(preset, settings)
    if stage.analyzer not in ("", index.options.analyzer):
        fix = f"build it with --analyzer {stage.analyzer}, or choose another preset"
        raise InputError("this first stage needs an index with another analyzer", got=index.options.analyzer, fix=fix)
    notes = Notes() if notes is None else notes
    if not stage.reads_words:
        return VECTOR_STAGES[stage.kind](index, notes=notes, **stage.vectors)
    words = _by_words(index, stage, notes)
    return words if stage.kind == "words" else VECTOR_STAGES[stage.kind](index, words, notes=notes, **stage.vectors)


def _by_words(index: Index, stage: FirstStage, notes: Notes) -> Searcher | WithFeedback:
    make: Callable[..., Searcher] = SIMILARITIES[stage.similarity]
    searcher = make(index, doc_lengths=stage.doc_lengths, notes=notes, **stage.parameters)
    feedback = make_feedback(stage)
    if isinstance(feedback, Rocchio):
        feedback.note_unused(notes)
    return searcher if feedback is None else WithFeedback(searcher, feedback)


def make_feedback(stage: FirstStage) -> Feedback | None:
    """Return the feedback model of a first stage; None: it has none.

    Raises:
        InputError: an option out of range.
    """
    return None if stage.feedback == "none" else FEEDBACKS[stage.feedback](**stage.options)


def first_stage(preset: str | FirstStage, settings: Mapping[str, Any]) -> FirstStage:
    """Return a preset with some settings replaced.

    Args:
        preset: a key of `PRESETS`, ``dense:VECTORS`` (and so on), or a first stage.
        settings: `SETTINGS`, options of the similarity (``k1``), of the feedback model (``fb_docs``) and of the stage
            in `VECTOR_STAGES` (``best``); None stands for the preset's value.

    Raises:
        InputError: unknown preset, similarity or feedback model, a setting that they do not have (suggests the
            nearest), or a value of a wrong type.
    """
    values = {name: value for name, value in settings.items() if value is not None}
    stage = preset if isinstance(preset, FirstStage) else _preset(preset)
    options = {name: values.pop(name) for name in vector_options(stage.kind) if name in values}
    if options:
        options = checked_options(VECTOR_STAGES[stage.kind], f"preset '{stage.kind}'", options)
        stage = replace(stage, vectors={**stage.vectors, **options})
    if not stage.reads_words and values:
        name, known = next(iter(values)), vector_options(stage.kind)
        raise InputError(f"preset '{stage.kind}' has no such setting", got=name, fix=suggestion(name, known))
    return _words_of(stage, values)


def _preset(name: str) -> FirstStage:
    """Return a preset; ``dense:NAME`` names its vectors."""
    base, _, vectors = str(name).partition(":")
    if vectors and base in PRESETS and PRESETS[base].kind != "words":
        return replace(PRESETS[base], vectors={"vectors": vectors})
    return lookup(PRESETS, name, "preset")


def _words_of(stage: FirstStage, values: dict[str, Any]) -> FirstStage:
    """Return a stage with other settings of its words."""
    similarity = values.pop("similarity", stage.similarity)
    feedback = values.pop("feedback", stage.feedback)
    searcher = lookup(SIMILARITIES, similarity, "similarity")
    model = lookup(FEEDBACKS, feedback, "feedback") if feedback != "none" else None
    doc_lengths = values.pop("doc_lengths", stage.doc_lengths)
    parameters = {name: values.pop(name) for name in similarity_options(similarity) if name in values}
    for name in values:
        if name not in feedback_options(feedback):
            known = (*SETTINGS, *similarity_options(similarity), *feedback_options(feedback))
            stage_name = f"similarity '{similarity}' with feedback '{feedback}'"
            raise InputError(f"{stage_name} has no such setting", got=name, fix=suggestion(name, known))
    parameters = checked_options(searcher, f"similarity '{similarity}'", parameters)
    if model is not None:
        values = checked_options(model, f"feedback '{feedback}'", values)
    return replace(
        stage,
        similarity=similarity,
        parameters={**(stage.parameters if similarity == stage.similarity else {}), **parameters},
        doc_lengths=doc_lengths,
        feedback=feedback,
        options={**(stage.options if feedback == stage.feedback else {}), **values},
    )


def vector_options(kind: str) -> dict[str, Any]:
    """Return the options of a stage with vectors, with their defaults; ``words`` has no options."""
    return {} if kind == "words" else defaults_of(VECTOR_STAGES[kind])


def feedback_options(feedback: str) -> dict[str, Any]:
    """Return the options of a feedback model with their defaults; ``none`` has no options."""
    return {} if feedback == "none" else defaults_of(FEEDBACKS[feedback])
