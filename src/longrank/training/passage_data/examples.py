"""Examples that passage models learn from: a query, and one text or a group of texts. JSONL, a line each:

{"query": ..., "text": ..., "label": 0 or 1}        one text: a row (`longrank.training.passage_data.rows`)
{"query": ..., "texts": [...], "taught": [...]}     a group of two texts or more, the relevant one first; ``taught``,
                                                    which may be left out, is a teacher's score of each text
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Line
from longrank.storage import atomic_write
from longrank.training.passage_data.line_file import LineFile, check_not_packed
from longrank.training.passage_data.rows import Row, row_of
from longrank.training.samples import place_in_pass

_GROUP = 'a group is {"query": ..., "texts": [relevant, other, ...]}, and "taught": [score, ...] if there is a teacher'
_LARGEST = 3.4028234663852886e38  # of float32


class Example(NamedTuple):
    """What is learned from at a time.

    Attributes:
        query: the query.
        texts: one, or a group of two or more, the relevant one first.
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
    """Return a group, its relevant text first."""
    own = tuple(texts)
    return Example(query, own, (1.0,) + (0.0,) * (len(own) - 1), None if taught is None else tuple(taught))


def write_examples(examples: Iterable[Example | Mapping[str, Any]], path: Path) -> int:
    """Write examples, or dicts as lines have them; return how many. Nothing is at `path` before all are written.

    Raises:
        InputError: there is none, the name ends in .gz, or the folder does not exist or cannot be written to; and what
            `examples` raises.
        LongRankError: writing failed (no space left, ...).
    """
    n = -1
    check_not_packed(path)
    with atomic_write(path, "w") as stream:
        for n, example in enumerate(examples):  # noqa: B007 - counted
            stream.write(json.dumps(_record(example), ensure_ascii=False) + "\n")
        if n < 0:
            raise InputError("not one example to write: nothing to train on", path=path)
    return n + 1


class ExampleFile(LineFile[Example]):
    """The examples of a file by number: training on them resumes and is shared out like any samples."""

    def _parsed(self, record: dict[str, Any], line: Line) -> Example:
        if "texts" not in record:
            return example_of_row(row_of(record, line, self.path))
        return _group_of(record, line, self.path)


class ExampleSamples:
    """Examples in passes without end, each in another order: ``samples[n]`` is a function of (seed, n).

    Attributes:
        examples: as given.
    """

    def __init__(self, examples: ExampleFile, seed: int) -> None:
        self.examples, self._seed = examples, seed

    def __len__(self) -> int:
        """Return how many examples one pass has."""
        return len(self.examples)

    def __getitem__(self, n: int) -> Example:
        """Return the n-th example, counted over all passes.

        Raises:
            IndexError: n < 0.
            InputError: its line holds no example.
        """
        return self.examples[place_in_pass(n, len(self.examples), self._seed)]


def _record(example: Example | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(example, Example):
        return dict(example)
    if len(example.texts) == 1:
        return {"query": example.query, "text": example.texts[0], "label": int(example.labels[0])}
    record: dict[str, Any] = {"query": example.query, "texts": list(example.texts)}
    return record if example.taught is None else record | {"taught": list(example.taught)}


def _group_of(record: dict[str, Any], line: Line, path: Path) -> Example:
    """Return the group that the object on a line is.

    Raises:
        InputError: it is none; names the line.
    """

    def refuse(what: str, got: object) -> InputError:
        return InputError(what, path=path, line=line.number, got=got, fix=_GROUP)

    query, texts, taught = record.get("query"), record["texts"], record.get("taught")
    if record.keys() - {"query", "texts", "taught"}:
        raise refuse("not the keys of a group", ", ".join(record))
    if not isinstance(query, str) or not query.strip():
        raise refuse("'query' is no text", query)
    if not isinstance(texts, list) or len(texts) < 2 or not all(isinstance(t, str) and t.strip() for t in texts):
        raise refuse("'texts' are not two texts or more", texts)
    if taught is not None and not (
        isinstance(taught, list) and len(taught) == len(texts) and all(map(_is_float32, taught))
    ):
        raise refuse(f"'taught' are not {len(texts)} numbers of float32", taught)
    return group(query, texts, None if taught is None else map(float, taught))


def _is_float32(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
