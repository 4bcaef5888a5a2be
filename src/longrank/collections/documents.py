"""Read documents from files, folders, collections, ir_datasets or values in memory, as one stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import escape
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from longrank.collections.collection import IRDS, Collection, is_folder, is_in_catalogue, missing, open_collection
from longrank.collections.databases import database_records, is_address, parse_address, shown_source
from longrank.collections.files import files_of, named_files, note_unread, skip
from longrank.collections.irds import irds_records
from longrank.collections.patterns import matching
from longrank.collections.values import EMPTY, rows
from longrank.errors import InputError, MissingExtra
from longrank.formats.composing import Composer
from longrank.formats.corpora import READERS, WHOLE_FILES, Located
from longrank.formats.ids import check_id
from longrank.formats.metadata import metadata_of
from longrank.formats.ocr import Failed, NotStarted
from longrank.formats.parsed.child import NoTextLayer
from longrank.formats.parsed_files import SCANNED
from longrank.formats.records import ID_KEYS, NAMES_OF_TEXT, CorpusOptions, Record, SourceFile
from longrank.formats.spans import spans_of
from longrank.registries import lookup
from longrank.types import UNMATCHED, Document, Notes, headings_of, id_of
from longrank.types.pages import HEADINGS

_HERE = Path("documents")  # the place that messages name for values in memory
_FIX = (
    "documents are files, folders, databases, collections, irds:ID, Document values, mappings with an id, "
    "or (id, text) pairs"
)
_PLACE = str | Path | Collection


def read_documents(source: Any, options: CorpusOptions | None = None, notes: Notes | None = None) -> Iterator[Document]:
    """Yield documents one after another, in bounded memory.

    Args:
        source: a file, a folder, a collection folder, a name of the catalogue, ``irds:ID`` or an address of a database
            (`longrank.collections.databases`), or a list of these; or a table with a column
            ``docno``, or an iterable of `Document`, mappings with an id, or (id, text) pairs.
        options: format, fields and encoding.
        notes: counts remarks on accepted input.

    Raises:
        InputError: a fault of a source, with file and line; no document at all; a field that no document has (after
            the last document). Repeated ids are not checked.
        MissingExtra: an extra for HTML or ir_datasets is needed and not installed.

    Example:
        >>> next(read_documents([("d1", "Dogs bark.")]))
        Document(doc_id='d1', title='', text='Dogs bark.', passages=())
    """
    return (located.document for located in locate_documents(source, Notes() if notes is None else notes, options))


def locate_documents(source: Any, notes: Notes, options: CorpusOptions | None = None) -> Iterator[Located]:
    """Yield documents as `read_documents`, each with its file and line.

    Raises:
        InputError, MissingExtra: as `read_documents`.
    """
    options = options or CorpusOptions()
    if options.format is not None:
        lookup(READERS, options.format, "format")
    composer, composed, number = Composer(options), False, 0
    if isinstance(source, Mapping) and source.keys() & {*NAMES_OF_TEXT} and source.keys() & {*ID_KEYS}:
        raise InputError("a mapping of documents is id -> text", got=sorted(source), fix="give a list: [{...}]")
    items = [source] if isinstance(source, _PLACE) else rows(source, "documents", _FIX)
    for number, item in enumerate(items, 1):
        if isinstance(item, _PLACE):
            for place in _places(item):
                yield from _of_place(place, composer, notes, options)
            composed = True
        elif isinstance(item, Located):
            yield item
        elif isinstance(item, Document):
            document, index_only = composer.adopted(_checked(item, number, notes), (_HERE, number), notes)
            yield Located(document, str(_HERE), number, index_only)
            composed = True
        else:
            yield _composed(composer, _record(item, number), _HERE, notes)
            composed = True
    if not number:
        raise InputError("there is no document", fix=EMPTY)
    if composed:
        composer.check_seen(notes, _shown(source))


def locate_in_files(sources: Sequence[str], notes: Notes, options: CorpusOptions) -> Iterator[Located]:
    """Yield the documents of some files and folders as `locate_documents`; there may be none.

    Raises:
        InputError, MissingExtra: as `read_documents`.
    """
    composer = Composer(options)
    for source in sources:
        yield from _documents(source, composer, notes, options)


def places_of(sources: Sequence[str]) -> tuple[str, ...]:
    """Return the files, folders and datasets that hold the documents of some sources."""
    return tuple(place for source in sources for place in _places(source))


def paths_of(sources: Iterable[str | Path]) -> list[str]:
    """Return the files and folders that sources read, so that an output takes the place of none.

    Raises:
        InputError: no file matches a pattern, or a collection is not here.
    """
    places = [place for source in sources for place in _places(source) if not place.startswith(IRDS)]
    databases = (parse_address(place).place for place in places if place.lower().startswith("sqlite:"))
    return [place for place in places if not is_address(place)] + [str(file) for file in databases]


def _shown(source: Any) -> str | None:
    """Return the places of a source, for a message."""
    places = [source] if isinstance(source, _PLACE) else source
    named = (
        [shown_source(str(place)) for place in places if isinstance(place, str | Path)]
        if isinstance(places, list | tuple)
        else []
    )
    return ", ".join(named[:3]) or None


def _places(source: str | Path | Collection) -> tuple[str, ...]:
    """Return the files, folders and datasets that hold the documents of a source."""
    if isinstance(source, str) and is_address(source):
        return (source,)
    if not isinstance(source, Collection) and not is_in_catalogue(str(source)):
        return matching(str(source))
    collection = open_collection(source)
    if not collection.sources:
        raise missing(collection, "this collection has no documents", collection.name)
    return collection.sources


def _of_place(place: str, composer: Composer, notes: Notes, options: CorpusOptions) -> Iterator[Located]:
    n_documents = 0
    for located in _documents(place, composer, notes, options):
        n_documents += 1
        yield located
    if not n_documents:
        raise InputError("holds no document", path=parse_address(place).place if is_address(place) else place)


def _documents(source: str, composer: Composer, notes: Notes, options: CorpusOptions) -> Iterator[Located]:
    if source.startswith(IRDS):
        for record in irds_records(source.removeprefix(IRDS)):
            yield _composed(composer, record, Path(source), notes)._replace(path=source)
        return
    if is_address(source):
        yield from _of_database(source, composer, notes, options)
        return
    options = replace(options, guess=is_folder(Path(source)))
    lenient = options.guess and not options.files.strict
    n_documents, first_fault = 0, None
    visited = options.files.visited or (lambda path, whole: None)
    for file, format in _chosen(source, options, notes):
        try:
            for record in READERS[format](file, notes, options):
                yield _composed(composer, record, file.path, notes)
                n_documents += 1
            visited(file.path, True)
        except InputError as error:
            if not lenient or format not in WHOLE_FILES or isinstance(error, MissingExtra | NotStarted):
                _name_exclude(error, file.path, source, options)
                raise
            first_fault = first_fault or error
            kind = f"{SCANNED} skipped" if isinstance(error, NoTextLayer) else "files that cannot be read skipped"
            skip(file.path, kind, str(error), options.files, notes)
            if not isinstance(error, Failed):
                visited(file.path, False)
    if first_fault and not n_documents and options.files.only is None:
        raise first_fault


def _name_exclude(error: InputError, file: Path, source: str, options: CorpusOptions) -> None:
    """Name the option that leaves a faulty file out in its error, if the folder has others."""
    updates, folder = options.files.only is not None, Path(source)
    if options.guess and not updates and error.path is not None and not named_files(folder, options):
        option = f"longrank index --exclude {quote('/' + escape(file.relative_to(folder).as_posix()))}"
        error.fix = "; ".join(filter(None, (error.fix, f"or leave it out: {option}")))
        error.located(error.path)


def _chosen(source: str, options: CorpusOptions, notes: Notes) -> Iterator[tuple[SourceFile, str]]:
    """Yield the files to read and their formats; count the bytes of files that are read whole."""
    if options.guess:  # a folder
        note_unread(Path(source), options, notes)
    for file, format in files_of(source, options, notes):
        if options.files.only is not None and file.path not in options.files.only:
            continue
        if options.text.on_bytes is not None and format in WHOLE_FILES:
            with suppress(OSError):  # the reader tells
                options.text.on_bytes(file.path.stat().st_size)
        yield file, format


def _of_database(source: str, composer: Composer, notes: Notes, options: CorpusOptions) -> Iterator[Located]:
    address = parse_address(source)
    if options.files.only is None or Path(address.shown) in options.files.only:
        for record in database_records(address):
            yield _composed(composer, record, address.place, notes)._replace(path=address.shown)


def _composed(composer: Composer, record: Record, path: Path, notes: Notes) -> Located:
    document = composer.document(record, path, notes)
    return Located(document, str(path), record.line, composer.index_only(record, path))


def _checked(document: Document, number: int, notes: Notes) -> Document:
    for name, value in (("doc_id", document.doc_id), ("title", document.title), ("text", document.text)):
        if not isinstance(value, str):
            raise InputError(f"{name} is not a string", path=_HERE, line=number, got=value)
    check_id(document.doc_id, "doc_id", _HERE, number)
    passages = spans_of(document, _HERE, number)
    for span in passages:
        if span != UNMATCHED and not 0 <= span[0] <= span[1] <= len(document.text):
            what = f"a passage of document {document.doc_id!r} lies outside its text of {len(document.text)} characters"
            fix = "passages are (start, end), half-open, and count code points"
            raise InputError(what, path=_HERE, line=number, got=span, fix=fix)
    for span, later in pairwise(passages):
        if later[0] < span[0]:
            what = f"the passages of document {document.doc_id!r} are not in order of appearance"
            raise InputError(what, path=_HERE, line=number, got=later, fix="sort them")
    headings = {HEADINGS: [list(heading) for heading in document.headings]} if document.headings else {}
    if headings and not headings_of(headings):
        raise InputError("headings are not (start, end, level)", path=_HERE, line=number, got=document.headings)
    fields = {**document.metadata, **headings}
    metadata = metadata_of(fields, fields, notes, f"{_HERE}:{number}") if fields else document.metadata
    return replace(document, metadata=metadata, passages=passages)


def _record(item: Any, number: int) -> Record:
    if isinstance(item, tuple) and len(item) == 2:
        doc_id, text = item
        values = dict(text) if isinstance(text, Mapping) else {"text": text}
    elif isinstance(item, Mapping):
        key = next((key for key in ID_KEYS if key in item), None)
        if key is None:
            raise InputError(
                "no id", path=_HERE, line=number, got=dict(item), fix=f"one of {', '.join(ID_KEYS)} is needed"
            )
        doc_id, values = item[key], dict(item)
    else:
        raise InputError("is not a document", path=_HERE, line=number, got=item, fix=_FIX)
    try:
        return Record(check_id(id_of(doc_id, "doc_id"), "doc_id", _HERE, number), values, number)
    except InputError as error:
        raise InputError(error.what, path=_HERE, line=number, got=error.got, fix=error.fix) from None
