"""Find the parts of a collection: its documents, queries, judgments and folds.

    robust04              a name of the catalogue, read through ir_datasets
    robust04=FOLDER       a folder that holds that collection; missing parts come from ir_datasets
    FOLDER                any collection; the folder's name may be a name of the catalogue
    irds:ID               any dataset of ir_datasets

A folder holds ``docs.jsonl`` or ``docs/`` (the corpus as it is distributed), ``queries.jsonl`` or ``topics*``,
``qrels.txt`` or ``qrels.*``, and perhaps ``passage_qrels.txt`` (`longrank.formats.passage_qrels`), ``folds.json`` and
``judged-before.txt``; files may be gzipped (``.gz``). A folder of BEIR holds ``corpus.jsonl``, ``queries.jsonl`` and
``qrels/test.tsv``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from longrank.collections.catalogue import LAYOUT, CatalogueEntry, catalogue, find_entry
from longrank.errors import InputError

IRDS = "irds:"
_BACKUPS = ("~", ".bak", ".old", ".orig", ".swp", ".tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The places of a collection's parts: files, folders or ``irds:ID``; empty if a part is missing.

    Attributes:
        name: its name in the catalogue, else the folder's name or ``irds:ID``.
        entry: its entry in the catalogue, if it has one.
        sources: the documents.
        fields: the fields to index, if the default is wrong for these documents.
        queries: query files; several if the collection is of several years.
        qrels: judgment files, likewise.
        passage_qrels: judgments of passages.
        judged_before: judgment files whose documents are left out of rankings (residual evaluation).
        folds: splits of the queries.
        folder: the collection folder, if it has one.
    """

    name: str
    entry: CatalogueEntry | None = None
    sources: tuple[str, ...] = ()
    fields: str | None = None
    queries: tuple[str, ...] = ()
    qrels: tuple[str, ...] = ()
    passage_qrels: tuple[str, ...] = ()
    judged_before: tuple[str, ...] = ()
    folds: Path | None = None
    folder: Path | None = None

    @property
    def index_options(self) -> tuple[str, ...]:
        """The options that ``longrank index`` needs for these documents."""
        fields = ("--fields", self.fields) if self.fields else ()
        if self.entry is None or not self._has_fields:
            return fields
        index_only = ("--index-only", self.entry.index_only) if self.entry.index_only else ()
        return (*fields, *index_only, *(("--title-in-text",) if self.entry.title_in_text else ()))

    def document_files(self) -> list[Path]:
        """Return all files of the documents' sources; none of ``irds:ID``."""
        found = ((source, *sorted(source.rglob("*"))) for source in map(Path, self.sources))
        return [path for paths in found for path in paths if path.is_file()]

    @property
    def _has_fields(self) -> bool:
        """True if documents have the fields of the catalogue, as those of ir_datasets, and of MS MARCO's TSV files."""
        files = [file for source in self.sources for file in (Path(source).glob("*.tsv*") if source else ())]
        return bool(self.sources) and (self.sources[0].startswith(IRDS) or bool(files))


def open_collection(source: str | Path | Collection) -> Collection:
    """Find the parts of a collection. Parts may be missing, and nothing is read or fetched.

    Args:
        source: ``NAME``, ``NAME=FOLDER``, ``FOLDER``, ``irds:ID`` or ``NAME=irds:ID``.

    Raises:
        InputError: no such name, folder or id, or a part lies there both plain and gzipped.
        MissingExtra: ir_datasets is needed and not installed.
    """
    if isinstance(source, Collection):
        return source
    if not isinstance(source, str | Path):
        fix = "give a folder, a name of the catalogue, NAME=FOLDER or irds:ID"
        raise InputError("is not a collection", got=source, fix=fix)
    source = str(source)
    name, _, place = ("", "", source) if is_folder(Path(source)) else source.rpartition("=")
    entry = find_entry(name) if name else None
    folder = Path(place)
    if place.startswith(IRDS):
        return completed(_dataset(place.removeprefix(IRDS), entry))
    if is_folder(folder):
        collection = _folder(folder, entry or catalogue().get(folder.resolve().name))
        return completed(collection) if entry else collection
    if entry is not None or "/" in place:
        raise InputError("no such folder", path=place, fix=entry.how_to_get() if entry else None)
    return completed(Collection(name=place, entry=find_entry(place)))


def places(source: str | Path | Collection, part: Literal["queries", "qrels", "passage_qrels"]) -> tuple[str, ...]:
    """Return the files, or ``irds:ID``, that hold one part of a collection; a file stands for itself.

    Raises:
        InputError: as `open_collection`, or the collection has no such part.
        MissingExtra: as `open_collection`.
    """
    if source == "":  # Path("") would be the current folder
        raise InputError("the name of the file or collection is empty")
    if isinstance(source, str | Path):
        text = str(source)
        if not (text.startswith(IRDS) or is_folder(Path(text)) or is_in_catalogue(text)):
            return (text,)
    collection = open_collection(source)
    parts: tuple[str, ...] = getattr(collection, part)
    if not parts:
        what = f"is a folder without {part}" if collection.folder else f"this collection has no {part}"
        raise missing(collection, what, str(collection.folder or collection.name))
    return parts


def missing(collection: Collection, what: str, place: str) -> InputError:
    """Return the error for a missing part; its cure says where to get the collection, or what its folder holds."""
    entry = collection.entry
    return InputError(what, path=place, fix=entry.how_to_get() if entry else f"a collection folder holds {LAYOUT}")


def is_in_catalogue(source: str) -> bool:
    """Tell whether a text is a name of the catalogue, alone or as in ``NAME=FOLDER``, and not a file."""
    return source.partition("=")[0] in catalogue() and not Path(source).exists()


def documents_of(folder: Path) -> Path | None:
    """Return the ``docs.jsonl``, or BEIR's ``corpus.jsonl``, of a collection folder; None if it has neither.

    Raises:
        InputError: the folder has both a plain and a gzipped file.
    """
    return next(map(Path, _documents(folder)), None)


def completed(collection: Collection) -> Collection:
    """Return a collection of the catalogue with its missing parts from ir_datasets, if ir_datasets has them."""
    entry = collection.entry
    if entry is None:
        return collection
    parts = (collection.sources, collection.queries, collection.qrels, collection.judged_before)
    needed = parts if entry.judged_before else parts[:3]
    if entry.irds is not None and not all(needed):
        topics = [_dataset(dataset_id, entry) for dataset_id in entry.irds_queries or (entry.irds,)]
        collection = replace(
            collection,
            sources=collection.sources or _dataset(entry.irds, entry).sources,
            queries=collection.queries or tuple(place for topic in topics for place in topic.queries),
            qrels=collection.qrels or tuple(place for topic in topics for place in topic.qrels),
            passage_qrels=collection.passage_qrels
            or tuple(place for topic in topics for place in topic.passage_qrels if not collection.qrels),
            judged_before=collection.judged_before or tuple(IRDS + before for before in entry.judged_before),
        )
    return replace(collection, fields=_fields(entry, collection.sources))


def is_folder(path: Path) -> bool:
    """Tell whether there is a folder; False for a name that no file can have."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _folder(folder: Path, entry: CatalogueEntry | None) -> Collection:
    docs, folds = folder / "docs", folder / "folds.json"
    return Collection(
        name=entry.key if entry else folder.resolve().name,
        entry=entry,
        sources=_documents(folder) or ((str(docs),) if is_folder(docs) else ()),
        queries=_file(folder, "queries.jsonl") or _files(folder, "topics*"),
        qrels=_file(folder, "qrels.txt") or _files(folder, "qrels.*") or _file(folder / "qrels", "test.tsv"),
        passage_qrels=_file(folder, "passage_qrels.txt"),
        judged_before=_file(folder, "judged-before.txt"),
        folds=folds if folds.is_file() else None,
        folder=folder,
    )


def _documents(folder: Path) -> tuple[str, ...]:
    """Return ``docs.jsonl``, or BEIR's ``corpus.jsonl``, which stands beside queries or judgments."""
    documents = _file(folder, "docs.jsonl")
    if documents or not (_file(folder, "queries.jsonl") or is_folder(folder / "qrels")):
        return documents
    return _file(folder, "corpus.jsonl")


def _file(folder: Path, name: str) -> tuple[str, ...]:
    paths = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if len(paths) > 1:
        raise InputError("lies there plain and gzipped", path=paths[0], fix="remove one of the two files")
    return tuple(map(str, paths))


def _files(folder: Path, pattern: str) -> tuple[str, ...]:
    """Return the files that match a pattern, gzipped or not, in the order of their names; no backups of editors."""
    found = (path for path in folder.glob(pattern) if path.is_file() and not path.name.lower().endswith(_BACKUPS))
    return tuple(sorted(map(str, found)))


def _dataset(dataset_id: str, entry: CatalogueEntry | None) -> Collection:
    from longrank.collections.irds import load
    from longrank.collections.irds_spans import has_spans

    dataset, place = load(dataset_id), (IRDS + dataset_id,)
    entry = entry or next((entry for entry in catalogue().values() if entry.irds == dataset_id), None)
    collection = Collection(
        name=entry.key if entry else place[0],
        entry=entry,
        sources=place if dataset.has_docs() else (),
        queries=place if dataset.has_queries() else (),
        qrels=place if dataset.has_qrels() else (),
        passage_qrels=place if has_spans(dataset) else (),
    )
    return replace(collection, fields=_fields(entry, collection.sources))


def _fields(entry: CatalogueEntry | None, sources: tuple[str, ...]) -> str | None:
    return entry.index_fields if entry and sources and sources[0].startswith(IRDS) else None
