"""TREC qrels and runs, read strictly and written exactly.

    qrels:  query_id iteration doc_id grade           run:  query_id Q0 doc_id rank score tag

A damaged row is an error with its line; other tools read the score ``abc`` as 0 (trec_eval) or keep the last of two
rows for a document. As in trec_eval, the score decides the order, and the rank column is only compared with it.
Scores are float32, written with 9 significant digits, so that the same float32 is read back.
"""

from __future__ import annotations

import gzip
import zlib
from array import array
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import IO

import numpy as np

from longrank.errors import InputError, LongRankError
from longrank.formats.columns import INTEGER, REAL, Table, numbers, split_columns
from longrank.formats.ids import check_id, check_ids
from longrank.formats.lines import DEFAULT_TEXT, Block, TextOptions, read_blocks
from longrank.storage import atomic_write
from longrank.types import Notes, Qrels, Ranking, Run
from longrank.types.run import CONTRADICTIONS, contradictions

_QRELS = ("query_id", "iteration", "doc_id", "grade")
BEIR_COLUMNS = ["query-id", "corpus-id", "score"]
"""Header of BEIR's judgments, tab-separated."""
_RUN = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
MAX_GRADE = 127
REPEATED = "repeated judgments with the same grade"
BARREN = "judged queries without a relevant document"
_BEGINNING = 1 << 16  # bytes that hold the first line of a run


class _Pairs:
    """The (query, document) pairs of a file and their lines; five words of memory per row."""

    def __init__(self) -> None:
        self.query_ids: list[str] = []
        self.doc_ids: list[str] = []
        self.lines = array("q")

    def extend(self, query_ids: Sequence[str], doc_ids: Sequence[str], lines: Sequence[int]) -> None:
        shared: dict[str, str] = {}  # the rows of a query share a string
        self.query_ids += [shared.setdefault(query_id, query_id) for query_id in query_ids]
        self.doc_ids += doc_ids
        self.lines.extend(lines)

    def repeated(self) -> Iterator[tuple[int, int]]:
        """Yield (first row, later row) of every repeated pair."""
        seen: dict[tuple[str, str], int] = {}
        for row, pair in enumerate(zip(self.query_ids, self.doc_ids, strict=True)):
            first = seen.setdefault(pair, row)
            if first != row:
                yield first, row


# --- qrels ------------------------------------------------------------------------------------


def read_qrels(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> dict[str, dict[str, int]]:
    """Read judgments as `read_grades`; notes count negative grades and queries without a relevant document, too."""
    qrels = read_grades(path, notes, options)
    note_judgments(qrels, path, notes)
    return qrels


def read_grades(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> dict[str, dict[str, int]]:
    """Read judgments: TREC's four columns, or BEIR's three tab-separated ones under their header.

    Args:
        path: the file, ``.gz`` or not. Blank lines and lines that begin with ``#`` are skipped.
        notes: counts lines that begin with ``#``, and repeated judgments with the same grade.

    Returns:
        query_id -> doc_id -> grade, in the order of the file.

    Raises:
        InputError: no judgment at all, a row of another shape, a grade that is not an integer
            from -127 to 127, or a pair with two different grades (names both lines).
    """
    pairs, grades = _Pairs(), array("b")
    for lines, (query_ids, *_, doc_ids, column) in _judgments(path, notes, options):
        pairs.extend(query_ids, doc_ids, lines)
        grades.extend(grades_of(column, lines, path))
    if not grades:
        raise InputError("holds no judgment", path=path)
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in zip(pairs.query_ids, pairs.doc_ids, grades, strict=True):
        qrels.setdefault(query_id, {})[doc_id] = grade
    if sum(map(len, qrels.values())) < len(grades):
        _check_repetitions(pairs, grades, path, notes)
    return qrels


def _judgments(path: Path, notes: Notes, options: TextOptions) -> Iterator[Table]:
    names: Sequence[str] = _QRELS
    for block in read_blocks(path, notes, options):
        head, _, body_text = block.text.partition("\n")
        body = block
        if block.first == 1 and head.split("\t") == BEIR_COLUMNS:
            names, body = BEIR_COLUMNS, Block(2, body_text, block.ended)
        yield split_columns(body, names, path, comments=notes)


def grades_of(column: Sequence[str], lines: Sequence[int], path: Path) -> list[int]:
    """Return the grades of a column.

    Raises:
        InputError: a grade that is not an integer from -127 to 127.
    """
    grades: list[int] = numbers(column, lines, INTEGER, "grade", path)
    if max(map(abs, grades), default=0) > MAX_GRADE:
        wrong = next(i for i, grade in enumerate(grades) if abs(grade) > MAX_GRADE)
        raise InputError(f"grade is beyond {MAX_GRADE}", path=path, line=lines[wrong], got=grades[wrong])
    return grades


def _check_repetitions(pairs: _Pairs, grades: Sequence[int], path: Path, notes: Notes) -> None:
    for first, row in pairs.repeated():
        if grades[first] != grades[row]:
            what = f"document {pairs.doc_ids[row]} is judged twice for query {pairs.query_ids[row]}: "
            what += f"{grades[first]} on line {pairs.lines[first]}, {grades[row]} here"
            raise InputError(what, path=path, line=pairs.lines[row])
        notes.add(REPEATED, f"{path}:{pairs.lines[row]}")


def note_judgments(qrels: Qrels, path: Path, notes: Notes) -> None:
    """Count negative grades ("not judged", as trec_eval has it), and queries without a relevant document."""
    negative = sum(grade < 0 for judged in qrels.values() for grade in judged.values())
    notes.add("negative grades, read as not judged", str(path), negative)
    barren = [query_id for query_id, judged in qrels.items() if max(judged.values()) < 1]
    notes.add(BARREN, f"{path}, {barren[0] if barren else ''}", len(barren))


def write_qrels(qrels: Qrels, path: Path) -> None:
    """Write judgments as TREC's four columns, in their order; the file appears when all are written.

    Raises:
        InputError: an id is not one word, a query id begins with ``#``, or the file cannot be written.
        LongRankError: writing failed (no space left, ...).
    """
    check_query_ids(list(qrels), path)
    check_ids([doc_id for judged in qrels.values() for doc_id in judged], "id", path)
    with atomic_write(path, "w") as stream:
        stream.writelines(qrels_lines(qrels))


def check_query_ids(query_ids: Sequence[str], path: Path) -> None:
    """Check ids of queries for judgments.

    Raises:
        InputError: an id is not one word, or begins with ``#``.
    """
    for query_id in query_ids:
        if query_id.startswith("#"):
            raise InputError(
                "query id would begin a comment", path=path, got=query_id, fix="choose ids without # in front"
            )
    check_ids(query_ids, "id", path)


def qrels_lines(qrels: Qrels) -> Iterator[str]:
    """Yield judgments as lines of TREC's four columns, in their order."""
    for query_id, judged in qrels.items():
        yield from (f"{query_id} 0 {doc_id} {grade}\n" for doc_id, grade in judged.items())


# --- runs -------------------------------------------------------------------------------------


def read_run(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Run:
    """Read a run; its tag is the tag of the first row. Queries need not be contiguous, nor rows sorted.

    Args:
        path: the file, ``.gz`` or not. Blank lines are skipped.
        notes: counts rows whose rank contradicts the score (compared with the row before, of the
            same query), tied scores, rows of another tag, and rankings of fewer documents than
            the longest ranking.
        options: encoding and limits.

    Raises:
        InputError: an empty file, a row that does not have six columns, a rank that is not an integer, a
            score that float32 cannot hold, or a document twice for a query (names
            both lines).
    """
    pairs, ranks, scores, tags = _Pairs(), array("q"), array("d"), Counter[str]()
    for block in read_blocks(path, notes, options):
        lines, (query_ids, _, doc_ids, rank_column, score_column, tag_column) = split_columns(block, _RUN, path)
        pairs.extend(query_ids, doc_ids, lines)
        ranks.extend(numbers(rank_column, lines, INTEGER, "rank", path))
        scores.extend(_scores(score_column, lines, path))
        tags.update(tag_column)
    if not scores:
        raise InputError("holds no row: an empty run", path=path)
    tag = next(iter(tags))
    notes.add(f"rows with another tag than {tag}", str(path), tags.total() - tags[tag])
    _note_contradictions(pairs, ranks, scores, path, notes)
    run = _built(tag, pairs, scores, path)
    run.note_rankings(notes, str(path))
    return run


def _scores(column: Sequence[str], lines: Sequence[int], path: Path) -> list[float]:
    scores: list[float] = numbers(column, lines, REAL, "score", path)
    with np.errstate(over="ignore"):
        wrong = np.flatnonzero(np.isinf(np.array(scores).astype(np.float32)))
    if len(wrong):
        raise InputError("score is beyond float32", path=path, line=lines[wrong[0]], got=column[wrong[0]])
    return scores


def _built(tag: str, pairs: _Pairs, scores: Sequence[float], path: Path) -> Run:
    try:
        return Run.from_columns(tag, pairs.query_ids, pairs.doc_ids, scores)
    except LongRankError:  # scores are finite, so a document is repeated
        first, row = next(pairs.repeated())
        what = f"document {pairs.doc_ids[row]} occurs twice for query {pairs.query_ids[row]}"
        raise InputError(f"{what}, first on line {pairs.lines[first]}", path=path, line=pairs.lines[row]) from None


def _note_contradictions(pairs: _Pairs, ranks: array[int], scores: array[float], path: Path, notes: Notes) -> None:
    """Count the rows whose rank and score put them on different sides of the row before."""
    rows = contradictions(pairs.query_ids, np.frombuffer(ranks, np.int64), np.frombuffer(scores, np.float64))
    for row in rows[:1]:
        notes.add(CONTRADICTIONS, f"{path}:{pairs.lines[row]}", len(rows))


def looks_like_run(path: Path) -> bool:
    """Tell whether a file is empty, or its first line but for comments is a row of a run."""
    try:
        with path.open("rb") as stream:
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            lines = gzip.GzipFile(fileobj=stream) if packed else stream
            start = lines.read(_BEGINNING).removeprefix(BOM_UTF8)
    except (OSError, EOFError, zlib.error):
        return False
    rows = [columns for line in start.splitlines() if (columns := line.split())]
    return not rows or _is_row(next((row for row in rows if not row[0].startswith(b"#") or _is_row(row)), []))


def _is_row(columns: Sequence[bytes]) -> bool:
    """Tell whether the columns of a line are those of a run, with a rank and a score."""
    try:
        return len(columns) == len(_RUN) and bool(list(map(float, columns[3:5])))
    except ValueError:
        return False


def write_run(run: Run, path: Path | str) -> None:
    """Write a run, ranks from 1, gzipped if `path` ends in ``.gz``; equal runs give equal bytes.

    The file gives the same run when read, and its scores give the same order in any tool.

    Raises:
        InputError: the folder does not exist or cannot be written to, or the tag or an id is not one word.
        LongRankError: writing failed (no space left, ...).
    """
    if not isinstance(run, Run):
        raise InputError("only a Run can be written", got=run, fix="read_run makes a Run of a mapping or a table")
    write_rankings(run.tag, run.rankings(), Path(path))


def write_rankings(tag: str, rankings: Iterable[Ranking], path: Path) -> None:
    """Write a run ranking by ranking; documents are best first, and ranks are written in this order.

    The file appears when all rankings are written.

    Raises:
        InputError, LongRankError: as `write_run`.
    """
    check_id(tag, "tag", path)
    with atomic_write(path) as stream:
        if path.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed:
                _write_rows(tag, rankings, packed, path)
        else:
            _write_rows(tag, rankings, stream, path)


def _write_rows(tag: str, rankings: Iterable[Ranking], stream: IO[bytes] | gzip.GzipFile, path: Path) -> None:
    for query_id, doc_ids, scores in rankings:
        if not all(map(isfinite, scores)):
            bad, score = next(row for row in zip(doc_ids, scores, strict=True) if not isfinite(row[1]))
            raise LongRankError(f"score {score} of document {bad!r} for query {query_id!r} is not finite")
        check_ids([query_id, *doc_ids], "id", path)
        ranked = enumerate(zip(doc_ids, scores, strict=True), 1)
        rows = [f"{query_id} Q0 {doc_id} {rank} {score:.9g} {tag}\n" for rank, (doc_id, score) in ranked]
        stream.write("".join(rows).encode())
