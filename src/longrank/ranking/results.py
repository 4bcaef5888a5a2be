"""Search results as a sequence that notebooks show as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from longrank.ranking.found import Marked, Partial, RankedText, Result, ShownPassage, marked
from longrank.types import Notes
from longrank.types.frames import pandas

if TYPE_CHECKING:
    from pandas import DataFrame


T = TypeVar("T", bound=Result | RankedText)


class Results(Sequence[T], Generic[T]):
    """Ranked documents of one query, best first.

    Attributes:
        query: the query.
        notes: remarks about the search.
        partial: counts of what a deadline left unread; None if all was read.

    A slice keeps the ranks of its documents.
    """

    def __init__(
        self,
        query: str,
        documents: Sequence[T],
        notes: Notes,
        partial: Partial | None = None,
        *,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self.query, self.notes, self.partial, self._documents = query, notes, partial, tuple(documents)
        self._ranks = range(1, len(self._documents) + 1) if ranks is None else ranks  # a RankedText has no rank

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Results[T]: ...

    def __getitem__(self, place: int | slice) -> T | Results[T]:
        if isinstance(place, slice):
            part, ranks = self._documents[place], self._ranks[place]
            return Results(self.query, part, self.notes, self.partial, ranks=ranks)
        return self._documents[place]

    def __len__(self) -> int:
        return len(self._documents)

    def __iter__(self) -> Iterator[T]:
        return iter(self._documents)

    def __repr__(self) -> str:
        best = f", best={self[0].title or self[0].key!r} ({self[0].score:.4f})" if self else ""
        partial = f", {self.partial}" if self.partial else ""
        return f"Results(query={self.query!r}, documents={len(self)}{best}{partial})"

    def to_frame(self) -> DataFrame:
        """Return a pandas table: query, docno, title, score, rank (from 0), the best passage and its best sentence.

        Raises:
            InputError: pandas is not installed.
        """
        columns: dict[str, Any] = {
            "query": self.query,
            "docno": [document.key for document in self],
            "title": [document.title for document in self],
            "score": [document.score for document in self],
            "rank": [rank - 1 for rank in self._ranks],
            "passage": [document.passages[0].text if document.passages else "" for document in self],
            "sentence": [document.passages[0].sentence if document.passages else "" for document in self],
        }
        return pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        rows = "".join(_row(rank, document) for rank, document in zip(self._ranks, self, strict=True))
        head = f"<p style='{_QUERY}'>{escape(self.query)}</p>"
        remarks = [str(self.partial)] if self.partial else []
        head += "".join(f"<p>{escape(remark)}</p>" for remark in [*remarks, *self.notes.lines()])
        return f"<div style='{_BOX}'>{head}{rows or '<p>no document was found</p>'}</div>"


# Colours are those of the page, with a part of grey: they suit light and dark notebooks.
_BOX = "max-width:60em;line-height:1.45;text-align:left"
_QUERY = "font-style:italic;margin:0 0 .6em"
_ROW = "border-top:1px solid rgba(128,128,128,.35);padding:.5em 0"
_HEAD = "display:flex;justify-content:space-between;gap:1.5em;align-items:baseline"
_SCORE = "font-variant-numeric:tabular-nums;white-space:nowrap;font-weight:600"
_SMALL = "font-size:.85em;opacity:.7;font-variant-numeric:tabular-nums"
_TEXT = "margin:.25em 0 0 2.2em"
_BEST = "border-bottom:2px solid rgba(255,196,0,.75)"
_MARK = "background:rgba(255,196,0,.35);color:inherit;border-radius:2px;padding:0 .1em"


def _row(rank: int, document: Result | RankedText) -> str:
    key = f"[{escape(document.key)}]"
    name = f"<strong>{escape(document.title)}</strong> <span style='{_SMALL}'>{key}</span>" if document.title else key
    head = (
        f"<div style='{_HEAD}'><span><span style='display:inline-block;width:2.2em;opacity:.7'>{rank}</span>"
        f"{name}</span>"
        f"<span style='{_SCORE}'>{document.score:.4f}</span></div>"
        f"<div style='{_SMALL};margin-left:2.6em'>{escape(document.detail)}</div>"
    )
    best, *others = map(_passage, document.passages) if document.passages else [""]
    hidden = f"{len(others)} more passage{'s' if len(others) > 1 else ''}"
    more = f"<details style='{_TEXT}'><summary style='{_SMALL}'>{hidden}</summary>{''.join(others)}</details>"
    return f"<div style='{_ROW}'>{head}{best}{more if others else ''}</div>"


def _passage(passage: ShownPassage) -> str:
    place = f"{escape(passage.place)} · " if passage.place else ""
    place += f"passage {passage.index} · characters {passage.start} to {passage.end} · {passage.score:.4f}"
    place += escape(passage.detail)
    return f"<div style='{_TEXT}'><div style='{_SMALL}'>{place}</div>{''.join(map(_part, marked(passage)))}</div>"


def _part(part: Marked) -> str:
    text = escape(part.text)
    text = f"<mark style='{_MARK}'>{text}</mark>" if part.word else text
    return f"<span style='{_BEST}'>{text}</span>" if part.best else text
