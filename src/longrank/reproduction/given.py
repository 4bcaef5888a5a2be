"""Opening what a user gives as a collection, in one of four ways:

    robust04              the catalogue's, through ir_datasets
    robust04=FOLDER       a folder that holds it; what the folder lacks comes from ir_datasets
    FOLDER                any collection; one that is called as an entry of the catalogue is taken for it
    irds:ID               any collection of ir_datasets

A folder holds ``docs.jsonl`` or ``docs/`` (the corpus as it is distributed), ``queries.jsonl`` or ``topics*``,
``qrels.txt`` or ``qrels.*``, and perhaps ``folds.json`` and ``judged-before.txt``; files may be packed (``.gz``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from longrank.errors import InputError, MissingExtra
from longrank.formats.collection import IRDS, documents_of
from longrank.formats.collection import open_collection as open_irds
from longrank.formats.queries import read_queries as read_file
from longrank.formats.topics import field_among
from longrank.formats.trec import read_qrels as read_qrels_file
from longrank.reproduction.collections import LAYOUT, Collection, catalogue, find_collection
from longrank.types import Notes, Qrels, Query

_SHOWN = 120  # characters of why ir_datasets fails


@dataclass(frozen=True, slots=True)
class Given:
    """Where the parts of a collection are: files, folders or ``irds:ID``, as commands take them.

    Attributes:
        key: its name in the catalogue, else the folder's or ``irds:ID``.
        known: its entry in the catalogue; None if it has none.
        sources: what ``longrank index`` takes.
        index_options: what ``longrank index`` is told besides.
        queries: files of queries; more than one if the collection is of several years.
        qrels: files of judgments, likewise.
        judged_before: files of judgments whose documents are left out of rankings (residual evaluation).
        folds: splits of the queries, if the folder holds some.
        folder: the folder that was given, if one was.
    """

    key: str
    known: Collection | None = None
    sources: tuple[str, ...] = ()
    index_options: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    qrels: tuple[str, ...] = ()
    judged_before: tuple[str, ...] = ()
    folds: Path | None = None
    folder: Path | None = None


def open_collection(given: str, *, check: bool = True) -> Given:
    """Return where the parts of a collection are.

    Args:
        given: ``NAME``, ``NAME=FOLDER``, ``FOLDER``, ``irds:ID`` or ``NAME=irds:ID``.
        check: look whether ir_datasets has, or can fetch, what is to come from it.

    Raises:
        InputError: no such name, folder or id, or a part of the collection is not there; says where to get it.
        MissingExtra: ir_datasets is needed and not installed.
    """
    key, _, source = ("", "", given) if _is_folder(Path(given)) else given.rpartition("=")
    known = find_collection(key) if key else None
    folder = Path(source)
    if source.startswith(IRDS):
        found = _in_irds(source.removeprefix(IRDS), known)
    elif _is_folder(folder):
        found = _in_folder(folder, known or catalogue().get(folder.resolve().name))
    elif known is not None or "/" in source:
        raise InputError("no such folder", path=source, fix=known.how_to_get() if known else None)
    else:
        found = Given(source, find_collection(source))
    found = _completed(found)
    for part, places in (("documents", found.sources), ("queries", found.queries), ("judgments", found.qrels)):
        if not places:
            raise _wanting(
                found, f"has no {part}" if _is_folder(folder) or source != found.key else "is not here", given
            )
    if check:
        _check_irds(found)
    return found


def _in_folder(folder: Path, known: Collection | None) -> Given:
    documents = documents_of(folder) or next(filter(_is_folder, [folder / "docs"]), None)
    folds = folder / "folds.json"
    return Given(
        known.key if known else folder.resolve().name,
        known,
        () if documents is None else (str(documents),),
        queries=_files(folder, "queries.jsonl") or _files(folder, "topics*"),
        qrels=_files(folder, "qrels.txt") or _files(folder, "qrels.*"),
        judged_before=_files(folder, "judged-before.txt"),
        folds=folds if folds.is_file() else None,
        folder=folder,
    )


def _files(folder: Path, pattern: str) -> tuple[str, ...]:
    """Return the files of a pattern, packed or not, in the order of their names."""
    found = {*folder.glob(pattern), *folder.glob(f"{pattern}.gz")}
    return tuple(sorted(str(path) for path in found if path.is_file()))


def _in_irds(dataset_id: str, known: Collection | None) -> Given:
    known = known or next((one for one in catalogue().values() if dataset_id == one.irds), None)
    found = open_irds(IRDS + dataset_id)
    queries, qrels = (tuple(filter(None, [part])) for part in (found.queries, found.qrels))
    return Given(known.key if known else IRDS + dataset_id, known, found.sources, queries=queries, qrels=qrels)


def _completed(found: Given) -> Given:
    """Return what was found, with what it lacks from ir_datasets."""
    known = found.known
    if known is None:
        return found
    here = (found.sources, found.queries, found.qrels, found.judged_before or not known.judged_before)
    if known.irds is not None and not all(here):
        topics = [open_irds(IRDS + one) for one in known.irds_queries or (known.irds,)]
        found = replace(
            found,
            sources=found.sources or open_irds(IRDS + known.irds).sources,
            queries=found.queries or tuple(one.queries for one in topics if one.queries),
            qrels=found.qrels or tuple(one.qrels for one in topics if one.qrels),
            judged_before=found.judged_before or tuple(IRDS + one for one in known.judged_before),
        )
    fields = known.index_fields if found.sources and found.sources[0].startswith(IRDS) else None
    return replace(found, index_options=("--fields", fields) if fields else ())


def _check_irds(found: Given) -> None:
    """Read the first licensed document, or queries and judgments: what is open is fetched when it is indexed."""
    from longrank.formats.irds import irds_qrels, irds_queries, irds_records

    if found.known is None:
        return
    parts: list[tuple[tuple[str, ...], Callable[[str], object]]] = [
        (found.sources if found.known.licence == "licensed" else (), lambda one: next(irds_records(one))),
        (found.queries, irds_queries),
        ((*found.qrels, *found.judged_before), irds_qrels),
    ]
    try:
        for places, read in parts:
            for place in places:
                if place.startswith(IRDS):
                    read(place.removeprefix(IRDS))
    except MissingExtra:
        raise
    except InputError as error:
        lacks = f"{found.folder} has no docs.jsonl or docs/, and " if found.folder and place in found.sources else ""
        raise _wanting(found, f"{lacks}{error.what[:_SHOWN]}", str(error.path)) from error


def _wanting(found: Given, what: str, place: str) -> InputError:
    fix = found.known.how_to_get() if found.known else f"a folder of a collection holds {LAYOUT}"
    return InputError(what, path=place, fix=fix)


def read_queries(given: Given, field: str | None, notes: Notes) -> tuple[list[Query], bool]:
    """Read the queries of a collection.

    Args:
        given: the collection.
        field: which field of a topic is the query, by any of its names; None: its text.
        notes: counts what was accepted with a remark.

    Returns:
        The queries, and whether there is no such field, so that the text was taken.

    Raises:
        InputError: as the readers say, or a query id in two files.
    """
    queries: dict[str, Query] = {}
    lacking = False
    for source in given.queries:
        plain = _read(source, None, given, Notes())
        has = field is not None and any(field_among(field, query.fields) for query in plain)
        lacking |= field is not None and not has
        for query in _read(source, field if has else None, given, notes):
            if queries.setdefault(query.query_id, query) is not query:
                raise InputError("a query of this id is in another file, too", path=source, got=query.query_id)
    return list(queries.values()), lacking


def read_qrels(sources: Iterable[str], notes: Notes) -> Qrels:
    """Read judgments, of several files as if they were one.

    Raises:
        InputError: as the readers say, or two files contradict each other.
    """
    qrels: dict[str, dict[str, int]] = {}
    for source in sources:
        for query_id, judged in _judgments(source, notes).items():
            known = qrels.setdefault(query_id, {})
            for doc_id, grade in judged.items():
                if known.setdefault(doc_id, grade) != grade:
                    what = f"judges document {doc_id} for query {query_id} otherwise than another file"
                    raise InputError(what, path=source, got=grade)
    return qrels


def _judgments(source: str, notes: Notes) -> Qrels:
    if source.startswith(IRDS):
        from longrank.formats.irds import irds_qrels

        return irds_qrels(source.removeprefix(IRDS))
    return read_qrels_file(Path(source), notes)


def _read(source: str, field: str | None, given: Given, notes: Notes) -> list[Query]:
    if source.startswith(IRDS):
        from longrank.formats.irds import irds_queries

        return irds_queries(source.removeprefix(IRDS), field)
    told = source.removesuffix(".gz").endswith((".jsonl", ".tsv", ".xml"))
    format = None if told or given.known is None else given.known.query_format
    return read_file(Path(source), notes, format=format, field=field)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that no file can have
        return False
