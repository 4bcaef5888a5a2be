"""The demo's collection folder: documents of this Python, and shipped queries and judgments.

    FOLDER/demo.json       marks the folder as a demo, and names its content by a digest
    FOLDER/docs.jsonl      the documents (see `longrank.demo.stdlib`)
    FOLDER/queries.jsonl   queries, written before any system ranked the documents
    FOLDER/qrels.txt       judgments of the pooled top ten of all systems: 2: a passage answers the query,
                           1: partly, 0: not

Judgments are of modules, so they hold for every Python whose standard library has the module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path

from longrank.demo.stdlib import documents
from longrank.errors import InputError
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.storage import atomic_write, digest_of
from longrank.types import Document, Notes, Qrels, Query

MARK, DOCS, QUERIES, QRELS = "demo.json", "docs.jsonl", "queries.jsonl", "qrels.txt"


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """Documents, queries and judgments; `digest` depends on their content and on the version of LongRank."""

    documents: Sequence[Document]
    queries: Sequence[Query]
    qrels: Qrels
    digest: str


def load(notes: Notes, root: Path | None = None) -> DemoCollection:
    """Read documents, queries and judgments; nothing is written.

    Args:
        notes: counts missing modules, their judgments, and queries that only they answer.
        root: folder of the standard library; default: this Python's.

    Raises:
        InputError: none of the modules exists.
    """
    modules = documents(notes, root=root)
    if not modules:
        raise InputError("this Python has no sources of its standard library, so the demo has no documents")
    queries, qrels = _judged(modules, notes)
    shipped = [version("longrank"), [(d.doc_id, d.title, d.text) for d in modules], [q.text for q in queries], qrels]
    return DemoCollection(modules, queries, qrels, digest_of(shipped))


def _judged(modules: Sequence[Document], notes: Notes) -> tuple[list[Query], Qrels]:
    """Return the shipped queries and judgments of the modules that exist."""
    names = {document.doc_id for document in modules}
    with as_file(files("longrank.demo") / QUERIES) as path:
        queries = read_queries(path, notes)
    with as_file(files("longrank.demo") / QRELS) as path:
        judged = read_qrels(path, notes)
    qrels = {q: {doc_id: grade for doc_id, grade in row.items() if doc_id in names} for q, row in judged.items()}
    dropped = sum(len(judged[q]) - len(qrels[q]) for q in judged)
    notes.add("judgments of missing modules, dropped", "", dropped)
    answered = [query for query in queries if max(qrels[query.query_id].values(), default=0) > 0]
    notes.add("queries that only missing modules answer, dropped", "", len(queries) - len(answered))
    return answered, {query.query_id: qrels[query.query_id] for query in answered}


def write(collection: DemoCollection, folder: Path) -> None:
    """Write the collection into a folder, unless the folder has it already.

    Raises:
        InputError: the folder holds other files, or the demo of another Python; nothing is removed.
    """
    _refuse_other(folder, collection.digest)
    if (folder / QRELS).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / MARK, [json.dumps({"format": "longrank demo", "digest": collection.digest})])
    _write_lines(folder / DOCS, (_json(doc_id=d.doc_id, title=d.title, text=d.text) for d in collection.documents))
    _write_lines(folder / QUERIES, (_json(query_id=q.query_id, text=q.text) for q in collection.queries))
    judged = ((q, doc_id, grade) for q, row in collection.qrels.items() for doc_id, grade in row.items())
    # Last: it completes the collection.
    _write_lines(folder / QRELS, (f"{query_id} 0 {doc_id} {grade}" for query_id, doc_id, grade in judged))


def _refuse_other(folder: Path, digest: str) -> None:
    if not folder.exists() or (folder.is_dir() and all(path.name.startswith(f".{MARK}.") for path in folder.iterdir())):
        return
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        found = mark["digest"] if mark["format"] == "longrank demo" else None
    except (OSError, ValueError, KeyError, TypeError):
        found = None
    if found != digest:
        what = "is not a demo" if found is None else "is the demo of another Python or LongRank"
        raise InputError(what, path=folder, fix="name a new folder with --folder")


def _json(**row: str) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path, "w") as stream:
        stream.writelines(f"{line}\n" for line in lines)
