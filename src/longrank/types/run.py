"""A run: ranked documents per query, in the order of trec_eval."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError
from longrank.types.frames import column_names, columns_of, id_of, pandas
from longrank.types.html import html_table
from longrank.types.notes import Notes
from longrank.types.values import Float32s, Ranking, ScoredDoc, scored_docs

if TYPE_CHECKING:
    from pandas import DataFrame

CONTRADICTIONS = "ranks that contradict the scores, which decide"

_SHOWN_ROWS = 10
_MOST_RANKS = 1 << 53  # all ranks below are whole numbers of a float


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

    def __getitem__(self, query_id: str | int) -> tuple[ScoredDoc, ...]:
        return self._rankings[_name_of(query_id)]

    def get(self, query_id: str | int) -> tuple[ScoredDoc, ...]:
        """Return the ranking of a query, empty if the run has none."""
        return self._rankings.get(_name_of(query_id), ())

    def __contains__(self, query_id: object) -> bool:
        return _name_of(query_id) in self._rankings

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def keys(self) -> KeysView[str]:
        """Return the query ids."""
        return self._rankings.keys()

    def items(self) -> ItemsView[str, tuple[ScoredDoc, ...]]:
        """Return the query ids and their rankings."""
        return self._rankings.items()

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return query id -> doc id -> score, as pytrec_eval and ranx take runs; documents stay in their order."""
        return {query_id: {row.doc_id: row.score for row in rows} for query_id, rows in self._rankings.items()}

    def note_rankings(self, notes: Notes, place: str = "") -> None:
        """Count tied scores, and rankings of fewer documents than the longest ranking; `place` names the run."""
        tied = sum(len(rows) - len({row.score for row in rows}) for rows in self._rankings.values())
        notes.add("tied scores, ordered by document id descending as in trec_eval", place, tied)
        longest = max(map(len, self._rankings.values()), default=0)
        short = sum(len(rows) < longest for rows in self._rankings.values())
        notes.add(f"rankings of fewer than {longest} documents, the most in the run", place, short)

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
        """Build a run from a table with columns qid, docno and score; the scores decide the order, not ranks.

        Args:
            frame: the table, of pandas or alike; query_id and doc_id may stand for qid and docno.
            tag: the name of the run; default: the table's first tag, else ``longrank``.

        Raises:
            InputError: a column is missing, or as `from_values`.
        """
        rows = list(columns_of(frame, ("qid", "query_id"), ("docno", "doc_id"), ("score",)))
        if tag is None and "tag" in column_names(frame):
            first = next((row[0] for row in columns_of(frame, ("tag",))), None)
            tag = str(first) if isinstance(first, str | Integral) else None
        run = cls.from_values(tag or "longrank", rows)
        ranks = [row[0] for row in columns_of(frame, ("rank",))] if "rank" in column_names(frame) else []
        if ranks and all(map(_is_rank, ranks)):
            query_ids, _, scores = zip(*rows, strict=True)
            others = contradictions(query_ids, np.array(ranks, float), np.array(scores, float))
            run.notes.add(CONTRADICTIONS, "the table's column 'rank'", len(others))
        return run

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


def contradictions(query_ids: Sequence[Any], ranks: NDArray[Any], scores: NDArray[np.float64]) -> list[int]:
    """Return the rows whose rank and score put them on different sides of the row before, of the same query."""
    falls = np.sign(np.diff(ranks))
    with np.errstate(over="ignore"):  # a difference of two float32 may be infinite: its sign is right
        rises = np.sign(np.diff(scores.astype(np.float32)))
    suspects = (np.flatnonzero(falls * rises > 0) + 1).tolist()
    return [row for row in suspects if query_ids[row - 1] == query_ids[row]]


def _is_rank(value: Any) -> bool:
    """Tell whether a value is a number that a float holds, and not NaN."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(-_MOST_RANKS < value < _MOST_RANKS)


def _name_of(query_id: object) -> Any:
    """Return the id of a query, which a user may give as a number."""
    is_number = isinstance(query_id, Integral) and not isinstance(query_id, bool)
    return str(int(query_id)) if is_number else query_id  # type: ignore[call-overload]


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
