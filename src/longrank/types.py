"""The values that travel between the rooms: plain, immutable, no torch, no pandas.

    Query -> [ScoredDoc] -> Document -> [Passage] -> Evidence -> Run -> measures against Qrels

Offsets are half-open and count Unicode code points, as Python slices do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.errors import LongRankError

Float32s: TypeAlias = NDArray[np.float32]
Int32s: TypeAlias = NDArray[np.int32]

Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
"""query_id -> doc_id -> grade; grades below zero mean "not judged", as trec_eval reads them."""


@dataclass(frozen=True, slots=True)
class Query:
    """One information need.

    Attributes:
        query_id: its id.
        text: the text that is searched for.
        fields: all the texts the source gave (``title``, ``description``, ``narrative``, ...).
    """

    query_id: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One document, whole: a document is never cut before it is split into passages.

    Attributes:
        doc_id: its id.
        title: its title, possibly empty. Offsets never count it.
        text: its text, possibly empty.
        passages: the source's own (start, end) spans in `text`; empty if it names none.
    """

    doc_id: str
    title: str
    text: str
    passages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document: ``text == document.text[start:end]``. Its identity is (doc_id, index).

    Attributes:
        doc_id: the document's id.
        index: 0-based position among all passages of the document, also when some were left out.
        text: the passage.
        start: first code point in the document's text.
        end: one past the last.
    """

    doc_id: str
    index: int
    text: str
    start: int
    end: int


class Segmentation(NamedTuple):
    """What a segmenter makes of one document: at least one passage, in order of appearance.

    ``n_passages`` counts the passages before any cap, so ``n_passages - len(passages)`` were left out.
    """

    passages: tuple[Passage, ...]
    n_passages: int


class ScoredDoc(NamedTuple):
    """A document's score for a query; the names ir_datasets and ir_measures use."""

    query_id: str
    doc_id: str
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a scorer says about the passages of one (query, document) pair. P >= 1 passages.

    Attributes:
        query_id: the query.
        doc_id: the document.
        first_stage: its score in the first-stage run; NaN, where only a reranked run is known.
        passage_index: int32[P], ascending: which passages of the document were scored.
        passage_start: int32[P], first code point of each in the document's text.
        passage_end: int32[P], one past the last.
        passage_score: float32[P], in the unit the evidence file names.
        passage_weight: float32[P]: query terms in the sentence (Weighted Mean), or the attribution
            of an aggregating network; 1 where nothing is said.
        n_passages: passages of the document before a cap or a selection left some out.
        n_truncated: scored passages that the scorer could not read to their end.
        document_score: set only by networks that aggregate inside themselves.
    """

    query_id: str
    doc_id: str
    first_stage: float
    passage_index: Int32s
    passage_start: Int32s
    passage_end: Int32s
    passage_score: Float32s
    passage_weight: Float32s
    n_passages: int
    n_truncated: int
    document_score: float | None = None


class Run:
    """Ranked documents per query, in the order trec_eval will use.

    Scores are rounded to float32; documents are ordered by score descending, then by doc_id
    descending (trec_eval's rule for ties). Ranks exist only in files. Query order is kept.
    """

    __slots__ = ("_rankings", "tag")

    def __init__(self, tag: str, scored: Iterable[ScoredDoc]) -> None:
        """Group `scored` by query and order each group.

        Raises:
            LongRankError: a score is NaN or infinite (also after rounding to float32), or a
                document occurs twice for a query.
        """
        query_ids, doc_ids, scores = [], [], []
        for query_id, doc_id, score in scored:
            query_ids.append(query_id)
            doc_ids.append(doc_id)
            scores.append(score)
        self.tag = tag
        self._rankings = _rankings(query_ids, doc_ids, scores)

    @classmethod
    def from_columns(cls, tag: str, query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]) -> Run:
        """Build the same run from three columns of equal length: less time and memory for large ones.

        Raises:
            LongRankError: as the constructor.
        """
        run = cls(tag, ())
        run._rankings = _rankings(query_ids, doc_ids, scores)
        return run

    def __getitem__(self, query_id: str) -> tuple[ScoredDoc, ...]:
        return self._rankings[query_id]

    def get(self, query_id: str) -> tuple[ScoredDoc, ...]:
        """Return the ranking of a query, empty if the run has none."""
        return self._rankings.get(query_id, ())

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._rankings

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def rows(self) -> Iterator[ScoredDoc]:
        """Yield every scored document, query by query, best first."""
        for ranking in self._rankings.values():
            yield from ranking

    def __repr__(self) -> str:
        return f"Run(tag={self.tag!r}, queries={len(self)}, rows={sum(map(len, self._rankings.values()))})"


_scored_doc = partial(tuple.__new__, ScoredDoc)  # ScoredDoc._make without a Python call per row


def scored_docs(query_id: str, doc_ids: Iterable[str], scores: Iterable[float]) -> list[ScoredDoc]:
    """Return a `ScoredDoc` of the query for each id and score; several times as fast as making them one by one."""
    return list(map(_scored_doc, zip(repeat(query_id), doc_ids, scores)))


def _rankings(
    query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]
) -> dict[str, tuple[ScoredDoc, ...]]:
    """Rank all queries at once; queries in order of appearance."""
    values = _rounded(query_ids, doc_ids, scores)
    numbers: dict[str, int] = {}
    owner = np.fromiter((numbers.setdefault(name, len(numbers)) for name in query_ids), np.int64, len(query_ids))
    names = list(numbers)
    del numbers  # of a million queries it takes as much memory as their rankings
    order = np.lexsort((-values, owner))
    owner, values = owner[order], values[order]
    docs = [doc_ids[i] for i in order]
    _settle_ties(owner, values, docs)
    rounded, start, rankings = values.tolist(), 0, {}
    for query_id, count in zip(names, np.bincount(owner).tolist(), strict=True):
        end = start + count
        _refuse_twice(query_id, docs[start:end])
        rankings[query_id] = tuple(scored_docs(query_id, docs[start:end], rounded[start:end]))
        start = end
    return rankings


def _rounded(query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]) -> Float32s:
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, refused here by name
        values = np.array(scores, dtype=np.float64).astype(np.float32) + np.float32(0)  # -0 becomes 0
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise LongRankError(
            f"score {scores[bad]} of document {doc_ids[bad]!r} for query {query_ids[bad]!r} is not finite"
        )
    return values


def _settle_ties(owner: NDArray[np.int64], values: Float32s, docs: list[str]) -> None:
    """Order the documents of equal score of a query by doc_id descending, in place.

    Comparing str by code point is comparing UTF-8 bytes, which is what trec_eval's strcmp does.
    """
    tied = np.concatenate(([False], (owner[1:] == owner[:-1]) & (values[1:] == values[:-1]), [False]))
    starts = np.flatnonzero(tied[1:] & ~tied[:-1])
    ends = np.flatnonzero(tied[:-1] & ~tied[1:]) + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        docs[start:end] = sorted(docs[start:end], reverse=True)


def _refuse_twice(query_id: str, doc_ids: Sequence[str]) -> None:
    if len(set(doc_ids)) < len(doc_ids):
        seen: set[str] = set()
        twice = next(doc_id for doc_id in doc_ids if doc_id in seen or seen.add(doc_id))  # type: ignore[func-returns-value]
        raise LongRankError(f"document {twice!r} occurs twice for query {query_id!r}")


class Notes:
    """Counts what was accepted with a remark, so that nothing is skipped, capped or repaired silently.

    Readers and scorers call `add`; whoever talks to the user prints `lines()` once at the end.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str = "", count: int = 1) -> None:
        """Count one remark of the kind `what`; `where` of the first one is kept as the example."""
        if count < 1:
            return
        self._counts[what] = self._counts.get(what, 0) + count
        self._first.setdefault(what, where)

    def say(self, what: str) -> None:
        """Keep a remark that is not counted, such as a choice made on the user's behalf."""
        self._counts.setdefault(what, 0)

    def merge(self, later: Notes, part: str = "") -> None:
        """Add all remarks of another, as if they were made now; of a part of the work, with its name before each."""
        before = f"{part}: " if part else ""
        for what, count in later._counts.items():
            self._counts[before + what] = self._counts.get(before + what, 0) + count
        for what, first in later._first.items():
            self._first.setdefault(before + what, first)

    def __getitem__(self, what: str) -> int:
        return self._counts.get(what, 0)

    def lines(self) -> list[str]:
        """Return one readable line per kind, e.g. ``"tied scores: 3 (first: run.txt:7)"``."""
        return [self._line(what, count) for what, count in self._counts.items()]

    def _line(self, what: str, count: int) -> str:
        if count == 0:
            return what
        first = self._first.get(what)
        return f"{what}: {count}" + (f" (first: {first})" if first else "")
