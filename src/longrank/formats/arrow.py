"""Tables of Parquet and Arrow files, and Hugging Face ``datasets`` on disk, by pyarrow (extra ``arrow``).

A dataset that ``save_to_disk`` wrote is a folder of Arrow files, which `dataset_files` lists; the library ``datasets``
is not needed to read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from longrank.errors import InputError, MissingExtra, first_line
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.rows import records_of
from longrank.types import Notes
from longrank.types.frames import python_values

_ROWS = 1000  # rows in memory at a time
_MAGIC = b"ARROW1"  # of Arrow files; Arrow streams have none


def read_parquet(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the rows of a Parquet file.

    Raises:
        InputError: a damaged file, or a row without a usable id; names the row.
        MissingExtra: pyarrow is not installed.
    """
    del notes, options
    return _records(file.path, _parquet)


def read_arrow(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the rows of an Arrow (Feather) file or an Arrow stream.

    Raises:
        InputError, MissingExtra: as `read_parquet`.
    """
    del notes, options
    return _records(file.path, _arrow)


def dataset_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a dataset, or of all splits of a dataset, that ``save_to_disk`` wrote; else none.

    Raises:
        InputError: its list of files cannot be read, or a split or a file of the list is missing.
    """
    splits, state = folder / "dataset_dict.json", folder / "state.json"
    try:
        if splits.is_file():
            names = json.loads(splits.read_text("utf-8"))["splits"]
            parts = [folder / Path(name).name for name in names]
            _refuse_missing(folder, (part for part in parts if not (part / state.name).is_file()))
            return [path for part in parts for path in dataset_files(part)]
        if state.is_file() and (folder / "dataset_info.json").is_file():
            names = json.loads(state.read_text("utf-8"))["_data_files"]
            files = [folder / Path(file["filename"]).name for file in names]
            _refuse_missing(folder, (file for file in files if not file.exists()))
            return files
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"its list of files cannot be read ({error})", path=folder, fix="save it again") from None
    return []


def _refuse_missing(folder: Path, missing: Iterator[Path]) -> None:
    if (first := next(missing, None)) is not None:
        what = "a part of this dataset is missing"
        raise InputError(what, path=folder, got=str(first.relative_to(folder)), fix="save it again")


def _records(path: Path, read: Callable[[Path], Iterator[Any]]) -> Iterator[Record]:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("reading Parquet and Arrow", "arrow") from None
    try:
        batches = read(path)
        names = next(batches)
        yield from records_of(names, _rows(batches), path)
    except (pa.ArrowException, OSError, ValueError) as error:  # no UTF-8
        raise InputError(f"cannot be read: {first_line(error)}", path=path) from None


def _rows(batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            rows = batch.slice(start, _ROWS)
            rows.validate(full=True)  # pyarrow follows the offsets of a damaged file out of its memory
            try:
                columns = [python_values(column) for column in rows.columns]
            except KeyError as error:  # of pyarrow, for a number that is no type
                raise ValueError(f"unknown type {error}") from None
            yield from zip(*columns, strict=True)


def _parquet(path: Path) -> Iterator[Any]:
    """Yield the names of the columns, then batches of rows."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        yield table.schema_arrow.names
        yield from table.iter_batches(batch_size=_ROWS)


def _arrow(path: Path) -> Iterator[Any]:
    """Yield the names of the columns, then batches of rows."""
    import pyarrow as pa

    with path.open("rb") as stream:
        magic = stream.read(len(_MAGIC)) == _MAGIC
    with pa.memory_map(str(path)) as source:
        if not magic:
            with pa.ipc.open_stream(source) as batches:
                yield batches.schema.names
                yield from batches
            return
        with pa.ipc.open_file(source) as table:
            yield table.schema.names
            yield from (table.get_batch(number) for number in range(table.num_record_batches))
