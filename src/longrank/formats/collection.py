"""A collection: documents, queries and judgments that belong together, in a folder or as ``irds:ID``.

A collection folder holds ``docs.jsonl[.gz]``, and may hold ``queries.jsonl[.gz]``, ``qrels.txt``, ``passage_qrels.txt``
(judged ids ``<doc_id>#<0-based passage>``) and ``folds.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from longrank.errors import InputError

IRDS = "irds:"


@dataclass(frozen=True, slots=True)
class Collection:
    """Where the parts of a collection are: paths, or ``irds:ID``, as commands take them; None where there is none.

    Attributes:
        name: the folder's name, or the dataset's id.
        sources: what to index.
        queries: the queries.
        qrels: the judgments.
        passage_qrels: judgments of passages.
        folds: splits of the queries.
    """

    name: str
    sources: tuple[str, ...]
    queries: str | None = None
    qrels: str | None = None
    passage_qrels: str | None = None
    folds: str | None = None


def open_collection(source: str | Path) -> Collection:
    """Return the parts of a collection folder, or of ``irds:ID``.

    Raises:
        InputError: no such folder, it holds no docs.jsonl, a part lies there both packed and unpacked,
            or ir_datasets knows no such id.
        MissingExtra: ir_datasets is asked for and not installed.
    """
    if str(source).startswith(IRDS):
        return _irds_collection(str(source).removeprefix(IRDS))
    folder = Path(source)
    documents = documents_of(folder)
    if documents is None:
        what = "holds no docs.jsonl" if folder.is_dir() else "no such folder"
        raise InputError(what, path=folder, fix="a collection folder holds docs.jsonl, queries.jsonl, qrels.txt")
    names = {"queries": "queries.jsonl", "qrels": "qrels.txt", "passage_qrels": "passage_qrels.txt"}
    parts = {part: _part(folder, name) for part, name in (names | {"folds": "folds.json"}).items()}
    found = {part: str(path) for part, path in parts.items() if path is not None}
    return Collection(folder.resolve().name, (str(documents),), **found)


def documents_of(folder: Path) -> Path | None:
    """Return the documents' file of a collection folder; None if the folder is none.

    Raises:
        InputError: it lies there both packed and unpacked.
    """
    return _part(folder, "docs.jsonl")


def _part(folder: Path, name: str) -> Path | None:
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if len(found) > 1:
        raise InputError("lies there packed and unpacked", path=found[0], fix="remove one of the two")
    return found[0] if found else None


def _irds_collection(dataset_id: str) -> Collection:
    from longrank.formats.irds import load

    dataset = load(dataset_id)
    source = IRDS + dataset_id
    return Collection(
        dataset_id,
        (source,) if dataset.has_docs() else (),
        source if dataset.has_queries() else None,
        source if dataset.has_qrels() else None,
    )
