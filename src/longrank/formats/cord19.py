"""CORD-19: one paper per row of ``metadata.csv``, with its full text from the JSON files beside it.

    metadata.csv
    document_parses/pmc_json/PMC123.xml.json, document_parses/pdf_json/SHA1.json    from May 19, 2020 (rounds 3 to 5)
    SUBSET/pmc_json/PMC123.xml.json, SUBSET/pdf_json/SHA1.json                      before (rounds 1 and 2)

The JSON of PubMed Central is taken before the JSON of a PDF, since its makers call it cleaner on average.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.jsonl import read_json
from longrank.formats.lines import TextOptions, read_lines
from longrank.formats.opening import is_file, open_bytes
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.types import Notes

METADATA = "metadata.csv"
_ID = "cord_uid"
_LISTS = ("pmc_json_files", "pdf_json_files")


class _Row(NamedTuple):
    """A row of the table and its first line."""

    values: dict[str, str]
    line: int


def is_cord19(path: Path) -> bool:
    """Tell whether a file is the table of a CORD-19 release, by its name and first bytes."""
    if path.name not in (METADATA, METADATA + ".gz"):
        return False
    with suppress(InputError, OSError, EOFError), open_bytes(path) as stream:
        return stream.read(16).removeprefix(b"\xef\xbb\xbf").startswith(_ID.encode())
    return False


def read_cord19(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the papers of a release: ``title``, ``abstract``, ``body``, and ``text``, abstract and body together.

    The other columns of the table are metadata. ``abstract`` and ``body`` are left out where no option names them: the
    text holds both.

    A paper of several rows is read once, from the first row with full text. Section names stand before the first of
    their paragraphs.

    Raises:
        InputError: no CSV table with a column ``cord_uid``, a row of another length, an id that cannot be used, a path
            outside the folder, or a JSON file of another form; names the line.
    """
    named = {*options.fields, *options.index_only, *(options.metadata or ())}
    left_out = {_ID, *_LISTS, *({"abstract", "body", "text"} - named)}
    chosen: dict[str, tuple[bool, int]] = {}
    n_rows = 0
    for row in _rows(file.path, Notes(), options.text):
        n_rows += 1
        full = bool(_parses(row.values))
        first, _ = chosen.setdefault(row.values[_ID], (full, row.line))
        if full and not first:
            chosen[row.values[_ID]] = (True, row.line)
    notes.add("rows of papers that have another row, left out", str(file.path), n_rows - len(chosen))
    for row in _rows(file.path, notes, options.text):
        doc_id = check_id(row.values[_ID], _ID, file.path, row.line)
        if chosen[doc_id][1] == row.line:
            columns = {name: cell for name, cell in row.values.items() if cell}
            values = {**columns, **_texts(row, file.path, notes)}
            yield Record(doc_id, {name: values[name] for name in values if name not in left_out}, row.line)


def _rows(path: Path, notes: Notes, options: TextOptions) -> Iterator[_Row]:
    csv.field_size_limit(min(options.limits.max_line, 2**31 - 1))  # some abstracts are longer than Python's limit
    table = csv.reader((line.text + "\n" for line in read_lines(path, notes, options)), strict=True)
    names: list[str] | None = None
    begun = 1
    try:
        for cells in table:
            line, begun = begun, table.line_num + 1
            if names is None:
                names = cells
                if _ID not in names:
                    raise InputError(f"has no column {_ID}", path=path, line=1, fix="see --format")
            elif cells:
                if len(cells) != len(names):
                    raise InputError(f"{len(cells)} cells instead of {len(names)}", path=path, line=line)
                yield _Row(dict(zip(names, cells, strict=True)), line)
    except csv.Error as error:
        raise InputError(f"is no CSV: {error}", path=path, line=begun) from None


def _texts(row: _Row, path: Path, notes: Notes) -> dict[str, str]:
    abstract, body = row.values.get("abstract", "").strip(), ""
    where = f"{path}:{row.line}"
    names = _parses(row.values)
    parse = next((found for name in names if is_file(found := _inside(path, row.line, name))), None)
    if parse is not None:
        paper = read_json(parse, notes)
        body = "\n\n".join(_paragraphs(paper, "body_text", parse))
        abstract = abstract or "\n\n".join(_paragraphs(paper, "abstract", parse))
    elif names:
        notes.add("papers whose JSON is not in the folder, read without full text", where)
    else:
        notes.add("papers without full text", where)
    text = "\n\n".join(filter(None, (abstract, body)))
    title = " ".join(row.values.get("title", "").split())
    return {"title": title, "abstract": abstract, "body": body, "text": text}


def _parses(row: dict[str, str]) -> list[str]:
    """Return the places of a paper's JSON files, best first."""
    if any(name in row for name in _LISTS):
        return [place for name in _LISTS for place in _split(row.get(name, ""))]
    subset = row.get("full_text_file", "")
    found = []
    if row.get("has_pmc_xml_parse") == "True" and row.get("pmcid"):
        found.append(f"{subset}/pmc_json/{row['pmcid']}.xml.json")
    if row.get("has_pdf_parse") == "True":
        found += [f"{subset}/pdf_json/{sha}.json" for sha in _split(row.get("sha", ""))]
    return found


def _split(cell: str) -> list[str]:
    return [part for part in map(str.strip, cell.split(";")) if part]


def _inside(path: Path, line: int, name: str) -> Path:
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise InputError("names a file outside the folder", path=path, line=line, got=name)
    return path.parent / name


def _paragraphs(paper: Any, key: str, path: Path) -> Iterator[str]:
    """Yield the paragraphs of a part of a paper, each section's name before its first paragraph."""
    listed = paper.get(key, []) if isinstance(paper, dict) else None
    if not isinstance(listed, list):
        raise InputError(f"is no CORD-19 paper: '{key}' is not a list", path=path)
    before = ""
    for paragraph in listed:
        text = paragraph.get("text") if isinstance(paragraph, dict) else None
        if not isinstance(text, str):
            raise InputError(f"is no CORD-19 paper: a paragraph of '{key}' has no text", path=path, got=paragraph)
        section = paragraph.get("section")
        if key == "body_text" and isinstance(section, str) and section.strip() and section != before:
            yield section.strip()
            before = section
        if text.strip():
            yield text.strip()
