"""Grades of documents for queries, kept in a qrels file that `longrank evaluate` reads.

Queries are the topics of a file; without one, any query can be judged, gets an id (q1, q2, ...), and is kept beside the
grades, so that `longrank retrieve` can search for it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal

from longrank.collections.queries import read_queries
from longrank.errors import InputError
from longrank.formats.graded_lines import has_rows, with_grade
from longrank.formats.ids import check_id
from longrank.formats.trec import check_query_ids, qrels_lines, read_qrels
from longrank.storage import Stamp, atomic_write, stamp_of
from longrank.storage.workplace import check_apart, check_outside, working_on
from longrank.text.words import readable
from longrank.types import Notes, Query

GRADES: Mapping[int, str] = {0: "not relevant", 1: "related", 2: "relevant", 3: "answers it fully"}
"""Grades that the page offers, with their meanings; a file may have others."""


class Judging:
    """Judgments of a server: each grade is in the file when `judge` returns.

    Args:
        path: the qrels file.
        grades: its grades; query_id -> doc_id -> grade.
        topics: the queries to judge.
        own: file of queries that clients add; None: only topics can be judged.
        depth: documents that each pipeline gives to a pool.
        seed: seed of the order in which pooled documents are shown.
    """

    def __init__(
        self,
        path: Path,
        grades: Mapping[str, Mapping[str, int]],
        topics: Sequence[Query],
        own: Path | None,
        *,
        depth: int = 10,
        seed: int = 1,
    ) -> None:
        self._path, self._own, self.depth, self.seed = path, own, depth, seed
        self._grades = {query_id: dict(judged) for query_id, judged in grades.items()}
        self._take(topics)
        self._one_writer = threading.Lock()
        self._stamp, self._own_stamp = stamp_of(path), None if own is None else stamp_of(own)

    def _take(self, topics: Sequence[Query]) -> None:
        self._topics = {topic.query_id: topic for topic in topics}
        self._ids = {_normalized(topic.text): topic.query_id for topic in reversed(topics)}

    @property
    def topics(self) -> list[Query]:
        """The queries to judge, in order; queries that another program has added are among them."""
        self._follow_own()
        return list(self._topics.values())

    @property
    def takes_any(self) -> bool:
        """True if any query can be judged, not only the topics of a file."""
        return self._own is not None

    def describe(self) -> dict[str, object]:
        """Return the entry of ``/info``."""
        grades = [{"grade": grade, "meaning": meaning} for grade, meaning in GRADES.items()]
        return {"grades": grades, "any_query": self.takes_any}

    def topic(self, query_id: str) -> Query | None:
        """Return a query by its id; None: no such query."""
        self._follow_own()
        return self._topics.get(query_id)

    def find(self, text: str) -> Query | None:
        """Return the query with a text, white space apart; None: no such query."""
        self._follow_own()
        return self._found(text)

    def _found(self, text: str) -> Query | None:
        query_id = self._ids.get(_normalized(text))
        return None if query_id is None else self._topics.get(query_id)  # another thread may have read the file again

    def grades(self, query_id: str) -> dict[str, int]:
        """Return the grades of a query: doc_id -> grade, negative grades ("not judged") among them.

        Grades that another program has written are among them, unless it has made the file wrong.
        """
        if stamp_of(self._path) != self._stamp:
            with self._one_writer, suppress(InputError):
                self._read_again()
        return dict(self._grades.get(query_id, {}))

    def judge(self, query_id: str, doc_id: str, grade: int | None, was: int | Literal["any"] | None = "any") -> bool:
        """Keep a grade of a query's document; None: remove its grade.

        Returns False, and changes nothing, if the document's grade is another than `was` by now (None: no grade).
        All other lines of the file stay as they are, also those that another program has written into it.

        Raises:
            InputError: an id does not fit into qrels files (the document's is not one word, or the query's begins with
                ``#``), or another program has made the file wrong; nothing is changed.
            LongRankError: the file cannot be written; nothing is changed.
        """
        check_id(doc_id, "doc_id", self._path)
        check_query_ids([query_id], self._path)
        with self._one_writer:
            written = False
            while not written:
                text, stamp = self._newest()
                mine = dict(self._grades.get(query_id, {}))
                if was not in ("any", mine.get(doc_id)):
                    return False
                text = with_grade(text or "".join(qrels_lines(self._grades)), query_id, doc_id, grade)
                written = _replaced(self._path, stamp, text.encode(errors="surrogateescape"))
            mine.pop(doc_id, None)
            mine |= {} if grade is None else {doc_id: grade}
            self._grades, self._stamp = {**self._grades, query_id: mine}, stamp_of(self._path)
        return True

    def _newest(self) -> tuple[str, Stamp | None]:
        """Return text and stamp of the file, after reading all its grades: another program may write meanwhile."""
        while True:
            self._read_again()
            stamp, text = stamp_of(self._path), _text(self._path)
            if not text or stamp == self._stamp:
                return text, stamp

    def _read_again(self) -> None:
        """Read the grades of a file that another program has changed; if it is gone or empty, the grades stay.

        A program that writes a file in place empties it first.
        """
        stamp = stamp_of(self._path)
        if stamp is not None and stamp != self._stamp and stamp[1]:
            self._grades, self._stamp = _grades(self._path, Notes()), stamp

    def add(self, text: str) -> Query:
        """Return the query with a text, as a new one if there is none, and keep it in the file of own queries.

        The file keeps its lines, also those that another program has written into it.

        Raises:
            InputError: only the topics of a file can be judged, the text is blank, or another program has made the file
                of own queries or that of the grades wrong; nothing is changed.
            LongRankError: the file cannot be written; nothing is changed.
        """
        if not _normalized(text):
            raise InputError("a query to judge needs text", got=text)
        with self._one_writer:
            while True:
                stamp = None if self._own is None else stamp_of(self._own)
                before = self._own_lines()
                known = self._found(text)
                if known is not None:
                    return known
                if self._own is None:
                    raise InputError("only the queries of the topics file can be judged", got=text)
                self._read_again()  # another program may have used an id for its grades
                new = Query(self._new_id(), _normalized(text))
                if _replaced(self._own, stamp, before + _row(new)):
                    self._own_stamp = stamp_of(self._own)
                    self._take([*self._topics.values(), new])
                    return new

    def _follow_own(self) -> None:
        """Read the file of own queries if another program has changed it, unless it has made the file wrong."""
        if self._own is not None and stamp_of(self._own) != self._own_stamp:
            with self._one_writer, suppress(InputError, OSError):  # the file may be gone in between
                self._read_own_again(self._own)

    def _own_lines(self) -> bytes:
        """Return the lines of own queries, whole; read them again if another program has changed them.

        Of a file that is gone or empty, the queries stay.
        """
        if self._own is None or not self._read_own_again(self._own):
            return b"".join(map(_row, self._topics.values()))
        lines = self._own.read_bytes()
        return lines if lines.endswith(b"\n") else lines + b"\n"

    def _read_own_again(self, path: Path) -> bool:
        """Read the own queries of a file that another program has changed; False: the file is gone or empty."""
        stamp = stamp_of(path)
        if stamp is None or not stamp[1]:
            return False
        if stamp != self._own_stamp:
            self._take(read_queries(path, Notes()))
            self._own_stamp = stamp
        return True

    def _new_id(self) -> str:
        names = (f"q{n}" for n in range(1, len(self._topics) + len(self._grades) + 2))
        return next(name for name in names if name not in self._topics and name not in self._grades)


@contextmanager
def opened_judging(
    path: Path, queries: str | None = None, *, depth: int = 10, seed: int = 1, notes: Notes
) -> Iterator[Judging]:
    """Open a qrels file for judging, locked until the block ends; it may be new, and keeps the grades that it has.

    Args:
        path: the qrels file. Its queries without a topics file are beside it, or beside the file to which a link leads:
            ``qrels.queries.jsonl``, locked, too.
        queries: topics: a file, a collection folder or ``irds:ID``; None: any query.
        depth: documents that each pipeline gives to a pool.
        seed: seed of the order in which pooled documents are shown.
        notes: counts remarks on the files.

    Raises:
        InputError: a wrong file, one that cannot be written, or that another process judges into; or a packed one; or
            grades of another query that has the id of a topic.
    """
    if path.name.endswith(".gz"):
        raise InputError("judgments go to a plain file", path=path, fix="use a name without .gz")
    check_apart(path, queries)
    check_outside(path)
    real = path.resolve()
    places = [place.with_name(f"{place.stem}.queries.jsonl") for place in (real, path)]
    own = next(filter(Path.exists, places), places[0])  # earlier versions wrote beside the link
    with working_on(path), nullcontext() if queries is not None else working_on(own):
        grades = _grades(path, notes)
        if queries is None:
            topics: Sequence[Query] = read_queries(own, notes) if own.exists() else []
        else:
            topics = read_queries(queries, notes)
            _check_same(topics, own)
        yield Judging(path, grades, topics, own if queries is None else None, depth=depth, seed=seed)


def _check_same(topics: Sequence[Query], own: Path) -> None:
    """Refuse topics that have the ids of other queries, which were judged into the same file without topics."""
    kept: Sequence[Query] = []
    with suppress(InputError):  # a file of something else
        kept = read_queries(own, Notes()) if own.exists() else []
    texts = {query.query_id: _normalized(query.text) for query in kept}
    for topic in topics:
        if texts.get(topic.query_id, _normalized(topic.text)) != _normalized(topic.text):
            what = f"query {topic.query_id!r}, which was judged without topics, is no query of the topics"
            raise InputError(what, path=own, fix="judge the topics into another file")


def _grades(path: Path, notes: Notes) -> dict[str, dict[str, int]]:
    return read_qrels(path, notes) if has_rows(_text(path)) else {}


class _ChangedMeanwhile(Exception):
    """Another program has written into the file."""


def _replaced(path: Path, stamp: Stamp | None, content: bytes) -> bool:
    """Replace a file, unless its stamp is another by now; return whether it was replaced."""

    def check() -> None:
        if stamp_of(path) != stamp:
            raise _ChangedMeanwhile

    try:
        with atomic_write(path, check=check) as stream:
            stream.write(content)
    except _ChangedMeanwhile:
        return False
    return True


def _text(path: Path) -> str:
    """Return the text of a file, empty if there is none; bytes that are not UTF-8 are left to `read_qrels`."""
    return path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""


def _normalized(text: str) -> str:
    return " ".join(readable(text).split())


def _row(query: Query) -> bytes:
    row = {"query_id": query.query_id, "text": query.text, **query.fields}
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()
