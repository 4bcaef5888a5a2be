"""Rerank the top of a run by comparing the best passages of its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.collections import read_queries, read_run
from longrank.config import check_at_least, lookup
from longrank.errors import InputError
from longrank.formats.evidence import open_evidence
from longrank.index import Index
from longrank.networks.model_files import find_model
from longrank.ranking.comparing import by_lists, by_pairs, windows
from longrank.types import Evidence, Notes, Query, Run
from longrank.verbs.naming import naming_files

Scores = Callable[[str, Sequence[str]], Sequence[float]]


@naming_files
def compare(
    index: Index | Path | str,
    queries: Any,
    run: Any,
    evidence: Any,
    *,
    model: str,
    method: str = "pairs",
    depth: int = 20,
    window: int = 20,
    step: int = 10,
    device: str = "auto",
    format: str | None = None,
    field: str | None = None,
    tag: str = "longrank",
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Run:
    """Rerank the top of a run by comparing the best passages of its documents with each other.

    Args:
        index: the index with the documents' texts, or its folder.
        queries: queries, as of `longrank.rerank`.
        run: the run to rerank, as of `longrank.rerank`.
        evidence: evidence of that run's documents (`longrank.rerank`); the passage with the highest score is compared.
        model: ``pairs``: a duoT5; ``lists``: a decoder that follows instructions.
        method: ``pairs``, every two passages in both orders (duoT5), or ``lists``, sliding windows (RankGPT).
        depth: documents compared per query, 1 or more; pairs need depth * (depth - 1) prompts.
        window: ``lists``: passages of a prompt, 2 or more.
        step: ``lists``: passages by which the window moves, 1 to `window`.
        device: a torch device, or ``auto``.
        format: query format, if it cannot be detected.
        field: topic field that is the query.
        tag: tag of the new run.
        notes: counts malformed answers, cut passages and documents without evidence.
        progress: called with the number of queries just done.

    Returns:
        The run: compared documents first, by wins (``pairs``) or place (``lists``); the others follow in their order.

    Raises:
        InputError: no query in common, an unknown method, a value out of range, or a model that cannot be loaded.
        MissingExtra: torch or transformers is not installed.
        IntegrityError: files of the index, the model or the evidence are damaged.

    Example:
        >>> compare("my.index", queries, run, "maxp.run.evidence", model="./duot5")  # doctest: +SKIP
    """
    check_at_least("depth", depth, 1)
    list(windows(1, window, step))  # refused before a model is loaded
    notes = Notes() if notes is None else notes
    index, first_stage = Index.open(index), read_run(run, notes)
    texts = {query.query_id: query for query in read_queries(queries, notes, format=format, field=field)}
    common = [query_id for query_id in first_stage if query_id in texts]
    if not common:
        raise InputError("none of the queries occurs in the run", about=("queries", "run"))
    wanted = {query_id: {row.doc_id for row in first_stage[query_id][:depth]} for query_id in common}
    known = _evidence_of(evidence, wanted, index)
    scores = lookup(_METHODS, method, "method of comparison")(model, device, notes, window, step)

    def compared() -> Iterator[Evidence]:
        for query_id in common:
            yield from _compared(index, texts[query_id], first_stage, known.get(query_id, {}), depth, scores, notes)
            if progress is not None:
                progress(1)

    result = aggregate_run(
        compared(),
        make_aggregator("document"),
        first_stage=first_stage,
        alpha=None,
        normalize="none",
        tail="keep",
        tag=tag,
    )
    result.notes = notes
    return result


def _evidence_of(evidence: Any, wanted: Mapping[str, set[str]], index: Index) -> dict[str, dict[str, Evidence]]:
    """Return the evidence of the wanted documents, by query and document.

    Raises:
        InputError: the evidence is of another index, so its offsets do not fit.
    """
    header, documents = open_evidence(evidence)
    if header.get("collection", index.digest) != index.digest:
        raise InputError("the evidence is of another index", about=("evidence",), fix="rerank the run on this index")
    known: dict[str, dict[str, Evidence]] = {}
    for document in documents:
        if document.doc_id in wanted.get(document.query_id, ()):
            known.setdefault(document.query_id, {})[document.doc_id] = document
    return known


def _compared(  # noqa: PLR0917 - a step of `compare`
    index: Index,
    query: Query,
    run: Run,
    known: Mapping[str, Evidence],
    depth: int,
    scores: Scores,
    notes: Notes,
) -> Iterator[Evidence]:
    """Yield the evidence of a query's first documents, with the score of the comparison as the document's."""
    doc_ids = [row.doc_id for row in run[query.query_id][:depth]]
    lacking = [doc_id for doc_id in doc_ids if doc_id not in known]
    notes.add("documents without evidence, not compared", next(iter(lacking), ""), len(lacking))
    documents = [known[doc_id] for doc_id in doc_ids if doc_id in known]
    found = scores(query.text, [_best_passage(index, document) for document in documents])
    for document, score in zip(documents, found, strict=True):
        yield replace(document, document_score=float(score))


def _best_passage(index: Index, document: Evidence) -> str:
    best = int(document.passage_score.argmax())
    start, end = int(document.passage_start[best]), int(document.passage_end[best])
    return index.document(document.doc_id).text[start:end]


def _pairs(model: str, device: str, notes: Notes, window: int, step: int) -> Scores:
    """Every two passages in both orders (duoT5)."""
    from longrank.scoring.duot5 import DuoT5

    scorer = DuoT5(find_model(model), device=device, notes=notes)
    return lambda query, texts: by_pairs(query, texts, scorer.prefer).tolist()


def _lists(model: str, device: str, notes: Notes, window: int, step: int) -> Scores:
    """Sliding windows over the passages (RankGPT)."""
    from longrank.scoring.list_decoder import ListDecoder

    decoder = ListDecoder(find_model(model), device=device, notes=notes)

    def scores(query: str, texts: Sequence[str]) -> list[float]:
        order = by_lists(query, texts, decoder.arrange, notes, size=window, step=step)
        places = {place: len(order) - rank for rank, place in enumerate(order)}
        return [float(places[place]) for place in range(len(order))]

    return scores


_METHODS: dict[str, Callable[[str, str, Notes, int, int], Scores]] = {"pairs": _pairs, "lists": _lists}
