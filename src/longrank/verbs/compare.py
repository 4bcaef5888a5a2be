"""Rerank the top of a run by comparing the best passages of its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from longrank.aggregation import make_aggregator, with_options
from longrank.aggregation.run import aggregate_run
from longrank.collections import read_queries, read_run
from longrank.errors import InputError
from longrank.formats.evidence import (
    COMPARED,
    LINEAGE,
    MIX,
    PARTS,
    STOPPED,
    evidence_header,
    open_evidence,
    read_evidence,
)
from longrank.index import Index
from longrank.index.languages import digest_of_queries
from longrank.networks.model_files import find_model
from longrank.ranking.comparing import by_lists, by_pairs, windows
from longrank.ranking.evidence_blocks import Block, check_queries, collect_evidence
from longrank.ranking.pipeline import common_queries
from longrank.registries import check_at_least, lookup
from longrank.storage import digest_of
from longrank.storage.workplace import check_outside
from longrank.types import Evidence, Notes, Query, Run
from longrank.verbs.naming import naming_files

Scores: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
"""(query, best passages) -> the score of each."""

_WINDOW, _STEP = 20, 10  # of method lists, as RankGPT


class Method(NamedTuple):
    """A loaded method of comparison: its scores, and the identity of all that they depend on.

    `check` refuses a number of passages for which a prompt has no room.
    """

    scores: Scores
    fingerprint: str
    check: Callable[[int], None] = lambda n: None


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
    window: int = _WINDOW,
    step: int = _STEP,
    device: str = "auto",
    output_evidence: Path | str | None = None,
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
        output_evidence: file for the evidence of the compared documents, with the score of the comparison as the
            document's (aggregator ``document``). An interrupted call resumes from it. None: nothing is kept.
        format: query format, if it cannot be detected.
        field: topic field that is the query.
        tag: tag of the new run.
        notes: counts malformed answers, cut passages and documents without evidence; says if the evidence may be of
            other queries.
        progress: called with the number of queries just done.

    Returns:
        The run: compared documents first, by wins (``pairs``) or place (``lists``); the others follow in their order.

    Raises:
        InputError: no query in common, evidence of another index or of other queries, an unknown method, a value out of
            range, a model that cannot be loaded, or an output evidence file of other settings.
        MissingExtra: torch or transformers is not installed.
        IntegrityError: files of the index, the model or the evidence are damaged.

    Example:
        >>> compare("my.index", queries, run, "maxp.run.evidence", model="./duot5")  # doctest: +SKIP
    """
    check_at_least("depth", depth, 1)
    if method == "pairs" and (window, step) != (_WINDOW, _STEP):
        raise InputError("`window` and `step` are options of method 'lists'", got=method, fix="leave them out")
    list(windows(1, window, step))  # refused before a model is loaded
    if output_evidence is not None:
        check_outside(output_evidence)
    notes = Notes() if notes is None else notes
    index, first_stage = Index.open(index), read_run(run, notes)
    texts = {query.query_id: query for query in read_queries(queries, notes, format=format, field=field)}
    common_queries(list(texts.values()), first_stage, "keep", notes)
    common = [query_id for query_id in first_stage if query_id in texts]
    wanted = {query_id: {row.doc_id for row in first_stage[query_id][:depth]} for query_id in common}
    header, known = _evidence_of(evidence, wanted, texts, index, notes)
    loaded = lookup(_METHODS, method, "method of comparison")(model, device, notes, window, step)
    compared = _Compared([texts[query_id] for query_id in common], first_stage, known, depth)
    loaded.check(max(len(compared.documents(query_id)) for query_id in common))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "evidence" if output_evidence is None else Path(output_evidence)
        done = collect_evidence(
            compared.queries,
            first_stage,
            path,
            lambda blocks: ([compared.evidence(index, block, loaded.scores)] for block in blocks),
            depth=depth,
            block_queries=1,
            header=compared.header(header, index, loaded.fingerprint),
            absent=set(),
            progress=progress or (lambda n: None),
        )
        notes.add("queries compared by an earlier call, whose malformed answers and cuts are not counted", "", done)
        compared.count_lacking(notes)
        result = aggregate_run(
            read_evidence(path)[1],
            make_aggregator("document"),
            first_stage=first_stage,
            alpha=None,
            normalize="none",
            tail="keep",
            tag=tag,
        )
    result.notes = notes
    return result


class _Compared(NamedTuple):
    """Queries of a run, its evidence by query and document, and the number of documents compared for each query."""

    queries: Sequence[Query]
    run: Run
    known: Mapping[str, Mapping[str, Evidence]]
    depth: int

    def documents(self, query_id: str) -> list[Evidence]:
        """Return the evidence of the first documents of a query in the order of the run, with the scores of the run."""
        known = self.known.get(query_id, {})
        rows = [row for row in self.run[query_id][: self.depth] if row.doc_id in known]
        return [replace(known[row.doc_id], first_stage=row.score) for row in rows]

    def evidence(self, index: Index, block: Block, scores: Scores) -> list[Evidence]:
        """Return the evidence of a block of one query, with the score of the comparison as the document's."""
        ((query, _),) = block
        documents = self.documents(query.query_id)
        found = scores(query.text, [_best_passage(index, document) for document in documents])
        return [  # weights order the passages of documents with a score of their own: see `Evidence.worth`
            replace(document, document_score=float(score), passage_weight=document.worth)
            for document, score in zip(documents, found, strict=True)
        ]

    def header(self, read: Mapping[str, Any], index: Index, fingerprint: str) -> dict[str, object]:
        """Return the header of the evidence: all that the comparison depends on; `read` is that of the input."""
        candidates = [
            (document.query_id, document.doc_id, document.first_stage, *_best_span(document), _values_of(document))
            for query in self.queries
            for document in self.documents(query.query_id)
        ]
        return evidence_header(
            unit=str(read.get("unit", "score")),
            scorer=fingerprint,
            collection=index.digest,
            queries=digest_of_queries(self.queries, index.options),
            n_queries=len(self.queries),
            candidates=digest_of(candidates),
            options={
                "depth": self.depth,
                COMPARED: True,
                **{key: read[key] for key in (PARTS, MIX, LINEAGE) if key in read},
                **({STOPPED: with_options("document", make_aggregator("document"))} if STOPPED in read else {}),
            },
        )

    def count_lacking(self, notes: Notes) -> None:
        """Count the first documents of the run that have no evidence."""
        for query in self.queries:
            known = self.known.get(query.query_id, {})
            lacking = [row.doc_id for row in self.run[query.query_id][: self.depth] if row.doc_id not in known]
            notes.add("documents without evidence, not compared", next(iter(lacking), ""), len(lacking))


def _evidence_of(
    evidence: Any, wanted: Mapping[str, set[str]], queries: Mapping[str, Query], index: Index, notes: Notes
) -> tuple[Mapping[str, Any], dict[str, dict[str, Evidence]]]:
    """Return the header, and the evidence of the wanted documents by query and document.

    Raises:
        InputError: the evidence is of another index, so its offsets do not fit, or of other queries.
    """
    header, documents = open_evidence(evidence)
    if header.get("collection", index.digest) != index.digest:
        raise InputError("the evidence is of another index", about=("evidence",), fix="rerank the run on this index")
    known: dict[str, dict[str, Evidence]] = {}
    query_ids: dict[str, None] = {}
    for document in _with_parts(documents, PARTS in header):
        query_ids[document.query_id] = None
        if document.doc_id in wanted.get(document.query_id, ()):
            known.setdefault(document.query_id, {})[document.doc_id] = document
    found = [queries[query_id] for query_id in query_ids if query_id in queries]
    # the languages of the queries, which an index of several languages adds to their digest, are not known here
    told = len(found) == header.get("n_queries") and not index.options.analyzer_field
    check_queries(header, index, found, queries.values(), refused=told, notes=notes)
    return header, known


def _with_parts(documents: Iterable[Evidence], named: bool) -> Iterator[Evidence]:
    """Yield evidence; without the parts of a mix, unless the header names them."""
    return (document if named else replace(document, passage_parts=None) for document in documents)


def _best_span(document: Evidence) -> tuple[int, int]:
    best = int(document.passage_score.argmax())
    return int(document.passage_start[best]), int(document.passage_end[best])


def _values_of(document: Evidence) -> str:
    """Return a digest of what the output takes over from the evidence that is read."""
    parts = {name: scores.tolist() for name, scores in (document.passage_parts or {}).items()}
    places = [part.tolist() for part in (document.passage_index, document.passage_start, document.passage_end)]
    scores = [document.passage_score.tolist(), document.passage_weight.tolist()]
    return digest_of([*places, *scores, parts, document.n_passages, document.n_truncated])


def _best_passage(index: Index, document: Evidence) -> str:
    start, end = _best_span(document)
    return index.document(document.doc_id).text[start:end]


def _pairs(model: str, device: str, notes: Notes, window: int, step: int) -> Method:
    """Every two passages in both orders (duoT5)."""
    from longrank.scoring.duot5 import DuoT5

    scorer = DuoT5(find_model(model), device=device, notes=notes)
    return Method(lambda query, texts: by_pairs(query, texts, scorer.prefer).tolist(), f"pairs {scorer.fingerprint}")


def _lists(model: str, device: str, notes: Notes, window: int, step: int) -> Method:
    """Sliding windows over the passages (RankGPT)."""
    from longrank.scoring.list_decoder import ListDecoder

    decoder = ListDecoder(find_model(model), device=device, notes=notes)

    def scores(query: str, texts: Sequence[str]) -> list[float]:
        order = by_lists(query, texts, decoder.arrange, notes, size=window, step=step)
        places = {place: len(order) - rank for rank, place in enumerate(order)}
        return [float(places[place]) for place in range(len(order))]

    fingerprint = f"lists {decoder.fingerprint} window={window} step={step}"
    return Method(scores, fingerprint, lambda n: decoder.check_room(min(n, window)))


_METHODS: dict[str, Callable[[str, str, Notes, int, int], Method]] = {"pairs": _pairs, "lists": _lists}
