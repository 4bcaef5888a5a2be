"""A run: ranked documents per query, in the order of trec_eval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError
from longrank.types.frames import columns_of, id_of, pandas
from longrank.types.html import html_table
from longrank.types.notes import Notes
from longrank.types.values import Float32s, Ranking, ScoredDoc, scored_docs

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN_ROWS = 10


class Run:
    """Ranked documents per query, in the order of trec_eval.

    Scores are rounded to float32; documents are ordered by score descending, then by doc_id descending (trec_eval's
    rule for ties). Ranks exist only in files and tables. Query order is kept.

    Attributes:
        tag: the name of the run.
        notes: counts remarks on the run's input.
    """

    __slots__ = ("_rankings", "notes", "tag")

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
        self.tag, self.notes = tag, Notes()
        self._rankings = _rankings(query_ids, doc_ids, scores)

    @classmethod
    def from_columns(cls, tag: str, query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]) -> Run:
        """Build a run from three columns of equal length: less time and memory for large runs.

        Raises:
            LongRankError: as the constructor.
        """
        run = cls(tag, ())
        run._rankings = _rankings(query_ids, doc_ids, scores)
        return run

    @classmethod
    def from_rankings(cls, tag: str, rankings: Iterable[Ranking]) -> Run:
        """Build a run from the ranking of each query: (query id, document ids, scores), see `Ranking`.

        Raises:
            LongRankError: as the constructor.
        """
        query_ids: list[str] = []
        doc_ids: list[str] = []
        scores: list[float] = []
        for ranking in rankings:
            query_ids.extend([ranking.query_id] * len(ranking.doc_ids))
            doc_ids.extend(ranking.doc_ids)
            scores.extend(ranking.scores)
        return cls.from_columns(tag, query_ids, doc_ids, scores)

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

    def rankings(self) -> Iterator[Ranking]:
        """Yield the ranking of each query."""
        return (Ranking.of(query_id, rows) for query_id, rows in self._rankings.items())

    @classmethod
    def from_values(cls, tag: str, rows: Iterable[tuple[Any, Any, Any]]) -> Run:
        """Build a run from (query id, doc id, score) values that a user gives; integers become ids.

        Raises:
            InputError: an id is neither a string nor an integer, a score is not a finite number, or a document
                occurs twice for a query.
        """
        try:
            return cls(tag, (ScoredDoc(id_of(q, "query id"), id_of(d, "doc_id"), _score(s, d)) for q, d, s in rows))
        except InputError:
            raise
        except LongRankError as error:
            raise InputError(str(error)) from None

    def to_frame(self) -> DataFrame:
        """Return a pandas table with PyTerrier's columns: qid, docno, score, rank (from 0), and the tag.

        Raises:
            InputError: pandas is not installed.
        """
        rows = list(self.rows())
        columns: dict[str, Any] = {
            "qid": [row.query_id for row in rows],
            "docno": [row.doc_id for row in rows],
            "score": np.array([row.score for row in rows], np.float32),
            "rank": [rank for ranking in self._rankings.values() for rank in range(len(ranking))],
            "tag": self.tag,
        }
        return pandas().DataFrame(columns)

    @classmethod
    def from_frame(cls, frame: Any, tag: str | None = None) -> Run:
        """Build a run from a table with columns qid, docno and score; the scores decide the order.

        Args:
            frame: the table, of pandas or alike; query_id and doc_id may stand for qid and docno.
            tag: the name of the run; default: the table's first tag, else ``longrank``.

        Raises:
            InputError: a column is missing, or as `from_values`.
        """
        rows = list(columns_of(frame, ("qid", "query_id"), ("docno", "doc_id"), ("score",)))
        if tag is None and "tag" in frame.columns:
            tag = next((str(row[0]) for row in columns_of(frame, ("tag",))), None)
        return cls.from_values(tag or "longrank", rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the rows as objects with fields, so that ``pandas.DataFrame(run)`` has one column per field."""
        ranked = ((rank, row) for ranking in self._rankings.values() for rank, row in enumerate(ranking))
        rows = [_Row(row.query_id, row.doc_id, row.score, rank) for rank, row in ranked]
        array = np.empty(len(rows), object)
        array[:] = rows
        return array

    def __repr__(self) -> str:
        return f"Run(tag={self.tag!r}, queries={len(self)}, rows={sum(map(len, self._rankings.values()))})"

    def _repr_html_(self) -> str:
        ranked = ((rank, row) for ranking in self._rankings.values() for rank, row in enumerate(ranking))
        rows = [(row.query_id, row.doc_id, row.score, rank) for rank, row in islice(ranked, _SHOWN_ROWS)]
        hidden = sum(map(len, self._rankings.values())) - len(rows)
        more = f", {hidden:,} more rows" if hidden else ""
        return html_table(("qid", "docno", "score", "rank"), rows, f"run {self.tag}: {len(self):,} queries{more}")


@dataclass(frozen=True, slots=True)
class _Row:
    qid: str
    docno: str
    score: float
    rank: int


def _score(value: Any, doc_id: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"score of document {doc_id} is not a number", got=value)
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(f"score of document {doc_id} is too large for a 64-bit float", got=value) from error


def _rankings(
    query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]
) -> dict[str, tuple[ScoredDoc, ...]]:
    """Rank all queries at once; queries in order of appearance."""
    values = _rounded(query_ids, doc_ids, scores)
    numbers: dict[str, int] = {}
    owner = np.fromiter((numbers.setdefault(name, len(numbers)) for name in query_ids), np.int64, len(query_ids))
    names = list(numbers)
    del numbers  # for a million queries it takes as much memory as the rankings
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
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, refused below
        values = np.array(scores, dtype=np.float64).astype(np.float32) + np.float32(0)  # -0 becomes 0
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        where = f"of document {doc_ids[bad]!r} for query {query_ids[bad]!r}"
        if np.isfinite(scores[bad]):
            raise InputError(f"the score {where} is too large for a 32-bit float", got=scores[bad])
        raise LongRankError(f"score {scores[bad]} {where} is not finite")
    return values


def _settle_ties(owner: NDArray[np.int64], values: Float32s, docs: list[str]) -> None:
    """Order the documents of equal score of a query by doc_id descending, in place.

    Python compares str by code point; that is the order of UTF-8 bytes, in which trec_eval's strcmp compares.
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
