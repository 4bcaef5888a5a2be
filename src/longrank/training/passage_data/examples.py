"""Examples for passage networks: a query with a text or a group of texts, a JSONL line each.

{"query": ..., "text": ..., "label": 0 or 1}        a text: a row (`longrank.training.passage_data.rows`)
{"query": ..., "texts": [...], "taught": [...]}     two texts or more, the relevant text first; ``taught``, optional,
                                                    is a teacher's score of each text
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import file_digest
from os.path import samestat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.formats.jsonl import parse_object
from longrank.formats.lines import Line
from longrank.storage import changed
from longrank.training.passage_data.rows import Row, check_not_packed, row_of, write_records
from longrank.training.samples import place_in_pass
from longrank.types import Notes

_GROUP = 'a group is {"query": ..., "texts": [relevant, other, ...]}, and "taught": [score, ...] if there is a teacher'
_LARGEST = 3.4028234663852886e38  # of float32
_CHUNK = 1 << 24
_LINES = 1000  # read together


class Example(NamedTuple):
    """A query with one text, or with a group of texts.

    Attributes:
        query: the query.
        texts: one text, or two or more, the relevant text first.
        labels: of each text, 1: relevant, 0: not.
        taught: a teacher's score of each text, if there is a teacher.
    """

    query: str
    texts: tuple[str, ...]
    labels: tuple[float, ...]
    taught: tuple[float, ...] | None = None


def example_of_row(row: Row) -> Example:
    """Return a row as an example."""
    return Example(row.query, (row.text,), (float(row.label),))


def group(query: str, texts: Iterable[str], taught: Iterable[float] | None = None) -> Example:
    """Return a group; its first text is relevant."""
    members = tuple(texts)
    labels = (1.0,) + (0.0,) * (len(members) - 1)
    return Example(query, members, labels, None if taught is None else tuple(taught))


def write_examples(examples: Iterable[Example | Mapping[str, Any]], path: Path, *, before: Path | None = None) -> int:
    """Write examples, or the objects of their lines; return their number. `before`: as for `write_records`.

    Raises:
        InputError, LongRankError: as `write_records`.
    """
    return write_records(map(_record, examples), path, "example", before=before)


class ExampleFile:
    """A JSONL file of examples: ``file[i]`` is the example on line i + 1; needs eight bytes of memory per line.

    A line is read and checked on access. A file that is replaced meanwhile stays readable; one that is rewritten in
    place is refused.

    Attributes:
        path: the file.
        sha256: SHA-256 of its content, also if another file stands at its path now.

    Raises:
        InputError: no such file, a folder, a packed file, or a file without lines.
    """

    def __init__(self, path: Path, notes: Notes) -> None:
        self.path, self._notes, self._noted = path, notes, set[int]()
        check_not_packed(path)
        try:
            with path.open("rb") as file:
                self._state = os.fstat(file.fileno())
                if not self._state.st_size:
                    raise InputError("is empty", path=path)
                self.sha256 = file_digest(file, "sha256").hexdigest()
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
        self._ends = _line_ends(self._bytes)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines as they are, without the line ends.

        Raises:
            InputError: the file has changed.
        """
        start = 0
        for end in self._ends[_LINES - 1 :: _LINES].tolist() + self._ends[-1:].tolist():
            self._check_unchanged()
            yield from self._bytes[start:end].splitlines()
            start = end

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Example:
        """Return the example on line i + 1.

        Raises:
            IndexError: there is no such line.
            InputError: the line is blank or holds no example, or the file has changed.
        """
        i = range(len(self))[i]
        self._check_unchanged()
        start = int(self._ends[i - 1]) if i else 0
        try:
            text = self._bytes[start : int(self._ends[i])].decode("utf-8" if i else "utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8", path=self.path, line=i + 1) from None
        if not text.strip():
            raise InputError("is a blank line", path=self.path, line=i + 1, fix="delete it")
        line, remarks = Line(i + 1, text.rstrip("\r\n"), True), Notes()
        record = parse_object(line, self.path, remarks)
        if "texts" in record:
            example = _group_of(record, line, self.path)
        else:
            example = example_of_row(row_of(record, line, self.path))
        if remarks.lines() and i not in self._noted:  # a training reads a line many times
            self._noted.add(i)
            self._notes.merge(remarks)
        return example

    def _check_unchanged(self) -> None:
        with suppress(OSError):  # gone, or out of reach: the open file is still there
            now, opened = self.path.stat(), self._state
            if samestat(now, opened) and (now.st_size, now.st_mtime_ns) != (opened.st_size, opened.st_mtime_ns):
                raise changed(self.path)


class ExampleSamples:
    """Examples in endless passes, each in another order: ``samples[n]`` is a function of (seed, n).

    Args:
        examples: the file.
        seed: of the order.
        places: the examples to use, by number; None: all.
    """

    def __init__(self, examples: ExampleFile, seed: int, places: NDArray[np.int64] | None = None) -> None:
        self.examples, self._seed = examples, seed
        self._places = places

    def __len__(self) -> int:
        """Return the number of examples in a pass."""
        return len(self.examples if self._places is None else self._places)

    def __getitem__(self, n: int) -> Example:
        """Return the n-th example, counted over all passes.

        Raises:
            IndexError: n < 0.
            InputError: its line holds no example.
        """
        i = place_in_pass(n, len(self), self._seed)
        return self.examples[i if self._places is None else int(self._places[i])]


def _record(example: Example | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(example, Example):
        return example
    if len(example.texts) == 1:
        return {"query": example.query, "text": example.texts[0], "label": int(example.labels[0])}
    record: dict[str, Any] = {"query": example.query, "texts": list(example.texts)}
    return record if example.taught is None else record | {"taught": list(example.taught)}


def _group_of(record: dict[str, Any], line: Line, path: Path) -> Example:
    """Return the group of a line's object.

    Raises:
        InputError: the object is no group; names the line.
    """

    def refuse(what: str, got: object) -> InputError:
        return InputError(what, path=path, line=line.number, got=got, fix=_GROUP)

    query, texts, taught = record.get("query"), record["texts"], record.get("taught")
    if record.keys() - {"query", "texts", "taught"}:
        raise refuse("not the keys of a group", ", ".join(record))
    if not isinstance(query, str) or not query.strip():
        raise refuse("'query' is not a text", query)
    if not isinstance(texts, list) or len(texts) < 2 or not all(isinstance(t, str) and t.strip() for t in texts):
        raise refuse("'texts' are not two texts or more", texts)
    if taught is not None and not (
        isinstance(taught, list) and len(taught) == len(texts) and all(map(_is_float32, taught))
    ):
        raise refuse(f"'taught' are not {len(texts)} numbers of float32", taught)
    return group(query, texts, None if taught is None else map(float, taught))


def _is_float32(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _line_ends(content: mmap.mmap) -> NDArray[np.int64]:
    """Return the end of each line, int64[lines]; the last line may lack its line end."""
    whole = np.frombuffer(content, dtype=np.uint8)
    starts = range(0, len(whole), _CHUNK)
    ends = np.concatenate([at + np.flatnonzero(whole[at : at + _CHUNK] == ord("\n")) + 1 for at in starts])
    return ends if len(ends) and ends[-1] == len(whole) else np.append(ends, len(whole))
