"""TREC qrels and runs, read strictly and written exactly.

    qrels:  query_id iteration doc_id grade           run:  query_id Q0 doc_id rank score tag

Other tools give plausible numbers for damaged files: trec_eval reads the score ``abc`` as 0, others
keep the last of two rows for a document. Here each such row is an error with its line. As in
trec_eval, the score decides the order, and the rank column is only compared with it. Scores are
float32, written with 9 significant digits, which is enough to read the same float32 back.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, cast

import numpy as np

from longrank.errors import InputError, LongRankError
from longrank.formats.columns import INTEGER, REAL, Rows, numbers, split_rows
from longrank.formats.ids import check_id, check_ids
from longrank.formats.lines import DEFAULT_TEXT, Block, TextOptions, read_blocks
from longrank.storage import atomic_write
from longrank.types import Notes, Run, ScoredDoc

_QRELS = ("query_id", "iteration", "doc_id", "grade")
_BEIR = ("query-id", "corpus-id", "score")
_RUN = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
_MAX_GRADE = 127
_MAX_SCORE = float(np.finfo(np.float32).max)

# --- qrels ------------------------------------------------------------------------------------


def read_qrels(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> dict[str, dict[str, int]]:
    """Read judgments: TREC's four columns, or BEIR's three tab-separated ones under their header.

    Args:
        path: the file, ``.gz`` or not. Blank lines and lines that begin with ``#`` are passed over.
        notes: counts pairs judged twice alike, negative grades ("not judged", as trec_eval has it),
            and queries without a relevant document.
        options: encoding and limits.

    Returns:
        query_id -> doc_id -> grade, in the order of the file.

    Raises:
        InputError: no judgment at all, a row of another shape, a grade that is not an integer
            from -127 to 127, or a pair judged twice differently (names both lines).
    """
    qrels: dict[str, dict[str, int]] = {}
    for rows in _judgment_rows(path, notes, options):
        query_ids, *_, doc_ids, column = zip(*rows.fields, strict=True)
        grades = numbers(column, rows.lines, INTEGER, "grade", path)
        for query_id, doc_id, grade, line in zip(query_ids, doc_ids, grades, rows.lines, strict=True):
            judged = qrels.setdefault(query_id, {})
            if doc_id in judged:
                _check_same(path, (query_id, doc_id), (judged[doc_id], grade), line, options)
                notes.add("judgments given twice alike", f"{path}:{line}")
            elif abs(grade) > _MAX_GRADE:
                raise InputError(f"grade is beyond {_MAX_GRADE}", path=path, line=line, got=grade)
            judged[doc_id] = grade
    if not qrels:
        raise InputError("holds no judgment", path=path)
    _note_judgments(qrels, path, notes)
    return qrels


def _judgment_rows(path: Path, notes: Notes, options: TextOptions) -> Iterator[Rows]:
    columns: tuple[str, ...] = _QRELS
    for block in read_blocks(path, notes, options):
        head, _, rest = block.text.partition("\n")
        body = block
        if block.first == 1 and tuple(head.split("\t")) == _BEIR:
            columns, body = _BEIR, Block(2, rest, block.ended)
        rows = split_rows(body, columns, path, comments=True)
        if rows.fields:
            yield rows


def _check_same(path: Path, pair: tuple[str, str], grades: tuple[int, int], line: int, options: TextOptions) -> None:
    if grades[0] == grades[1]:
        return
    first = "earlier"
    if path.is_file():  # a pipe cannot be read again
        found = (
            number
            for rows in _judgment_rows(path, Notes(), options)
            for number, row in zip(rows.lines, rows.fields, strict=True)
            if (row[0], row[-2]) == pair
        )
        first = f"on line {next(found)}"
    what = f"document {pair[1]} is judged twice for query {pair[0]}: {grades[0]} {first}, {grades[1]} here"
    raise InputError(what, path=path, line=line)


def _note_judgments(qrels: dict[str, dict[str, int]], path: Path, notes: Notes) -> None:
    negative = sum(grade < 0 for judged in qrels.values() for grade in judged.values())
    notes.add("negative grades, read as not judged", str(path), negative)
    barren = [query_id for query_id, judged in qrels.items() if max(judged.values()) < 1]
    notes.add("judged queries without a relevant document", f"{path}: {barren[0] if barren else ''}", len(barren))


# --- runs -------------------------------------------------------------------------------------


def read_run(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Run:
    """Read a run; its tag is that of the first row. Topics need not be contiguous, nor rows sorted.

    Args:
        path: the file, ``.gz`` or not. Blank lines are passed over.
        notes: counts rows whose rank contradicts the score (compared with the row before, of the
            same query), tied scores, rows of another tag, and queries with fewer documents than
            the longest ranking.
        options: encoding and limits.

    Raises:
        InputError: an empty file, a row that has not six columns, a rank that is not an integer, a
            score that is not a number float32 can hold, or a document twice for a query (names
            both lines).
    """
    tags: Counter[str] = Counter()
    try:
        run = Run("", _scored(path, notes, tags, options))
    except InputError:
        raise
    except LongRankError as error:  # the only thing left for `Run` to refuse
        raise _repeated(path, options) or error from None
    if not tags:
        raise InputError("holds no row: an empty run", path=path)
    run.tag = next(iter(tags))
    notes.add(f"rows with another tag than {run.tag}", str(path), tags.total() - tags[run.tag])
    _note_rankings(run, path, notes)
    return run


def _run_rows(path: Path, notes: Notes, options: TextOptions) -> Iterator[Rows]:
    for block in read_blocks(path, notes, options):
        rows = split_rows(block, _RUN, path)
        if rows.fields:
            yield rows


def _scored(path: Path, notes: Notes, tags: Counter[str], options: TextOptions) -> Iterator[ScoredDoc]:
    new_row = cast(partial[ScoredDoc], partial(tuple.__new__, ScoredDoc))  # without the cost of a Python call
    last: tuple[str, int, float] | None = None
    for rows in _run_rows(path, notes, options):
        names, _, doc_ids, rank_column, score_column, tag_column = zip(*rows.fields, strict=True)
        query_ids = list(map(sys.intern, names))  # one string per query instead of one per row
        ranks = numbers(rank_column, rows.lines, INTEGER, "rank", path)
        scores = numbers(score_column, rows.lines, REAL, "score", path)
        _check_range(scores, rows.lines, path)
        tags.update(tag_column)
        table = list(zip(query_ids, ranks, scores, strict=True))
        wrong = _contradictions(table, last)
        if wrong:
            notes.add("ranks that contradict the scores, which decide", f"{path}:{rows.lines[wrong[0]]}", len(wrong))
        last = table[-1]
        yield from map(new_row, zip(query_ids, doc_ids, scores, strict=True))


def _check_range(scores: Sequence[float], lines: Sequence[int], path: Path) -> None:
    wrong = np.flatnonzero(np.abs(np.array(scores)) > _MAX_SCORE)
    if len(wrong):
        raise InputError("score is beyond float32", path=path, line=lines[wrong[0]], got=scores[wrong[0]])


def _contradictions(table: Sequence[tuple[str, int, float]], last: tuple[str, int, float] | None) -> list[int]:
    """Return the rows that stand on the other side of the row before them, of the same query, than their score says."""
    rows = [last or table[0], *table]
    ranks = np.sign(np.diff(np.array([rank for _, rank, _ in rows], dtype=np.int64)))
    scores = np.sign(np.diff(np.array([score for _, _, score in rows]).astype(np.float32)))
    return [i for i in np.flatnonzero(ranks * scores > 0).tolist() if rows[i][0] == rows[i + 1][0]]


def _note_rankings(run: Run, path: Path, notes: Notes) -> None:
    tied = sum(len(run[query_id]) - len({row.score for row in run[query_id]}) for query_id in run)
    notes.add("tied scores, ordered by document id descending as in trec_eval", str(path), tied)
    longest = max(len(run[query_id]) for query_id in run)
    short = sum(len(run[query_id]) < longest for query_id in run)
    notes.add(f"queries with fewer than {longest} documents, the most in the run", str(path), short)


def _repeated(path: Path, options: TextOptions) -> InputError | None:
    """Find both lines of the first repeated document: read again, so that the good case stores no line numbers."""
    seen: dict[tuple[str, str], int] = {}
    for rows in _run_rows(path, Notes(), options) if path.is_file() else ():
        for line, row in zip(rows.lines, rows.fields, strict=True):
            first = seen.setdefault((row[0], row[2]), line)
            if first != line:
                what = f"document {row[2]} occurs twice for query {row[0]}, first on line {first}"
                return InputError(what, path=path, line=line)
    return None


def write_run(run: Run, path: Path) -> None:
    """Write a run, ranks from 1, gzipped if `path` ends in ``.gz``; equal runs give equal bytes.

    Reading the file back gives the same run, and its scores decide the same order in any tool.

    Raises:
        InputError: the folder does not exist or cannot be written to, or the tag or an id is not one word.
        LongRankError: writing failed (no space left, ...).
    """
    check_id(run.tag, "tag", path)
    with atomic_write(path) as stream:
        if path.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed:
                _write_rows(run, cast(IO[bytes], packed), path)
        else:
            _write_rows(run, stream, path)


def _write_rows(run: Run, stream: IO[bytes], path: Path) -> None:
    for query_id in run:
        ranking = run[query_id]
        check_ids([query_id, *(row.doc_id for row in ranking)], "id", path)
        rows = [f"{query_id} Q0 {row.doc_id} {rank} {row.score:.9g} {run.tag}\n" for rank, row in enumerate(ranking, 1)]
        stream.write("".join(rows).encode())
