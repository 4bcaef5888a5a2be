"""What a reproduction works on: an index, queries, judgments and folds, written once into its folder.

FOLDER/index                     of the collection, shared by all recipes in the folder
FOLDER/PAPER/RECIPE/queries.jsonl, qrels.txt, folds.json
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import read_folds, write_folds
from longrank.storage import atomic_write

if TYPE_CHECKING:
    from longrank.formats.folds import Fold
    from longrank.types import Notes, Qrels, Query

N_FOLDS, FOLD_SEED = 5, 42


def write_inputs(
    folder: Path,
    queries: Sequence[Query],
    qrels: Qrels,
    *,
    folds: Path | None,
    n_queries: int | None,
    notes: Notes,
) -> None:
    """Write the judged queries, their judgments, and folds of them.

    Args:
        folder: where to; files that are there are replaced.
        queries: of the collection.
        qrels: of the collection.
        folds: the collection's folds, which then hold no other queries; None: five are made with seed 42.
        n_queries: take this many of the queries, those whose ids hash least; None: all.
        notes: counts what is left out.

    Raises:
        InputError: no query is judged; the folds name none of the queries; files cannot be written.
    """
    chosen = _chosen([query for query in queries if query.query_id in qrels], n_queries)
    if not chosen:
        raise InputError("no query of the collection is judged", got=queries[0].query_id if queries else None)
    notes.add("queries without judgments left out", count=sum(query.query_id not in qrels for query in queries))
    judged = {query.query_id: qrels[query.query_id] for query in chosen}
    with atomic_write(folder / "queries.jsonl", "w") as stream:
        for query in chosen:
            stream.write(json.dumps({"query_id": query.query_id, "text": query.text}, ensure_ascii=False) + "\n")
    with atomic_write(folder / "qrels.txt", "w") as stream:
        for query_id, grades in judged.items():
            stream.writelines(f"{query_id} 0 {doc_id} {grade}\n" for doc_id, grade in grades.items())
    write_folds(_folds(list(judged), folds, notes), folder / "folds.json")


def _chosen(queries: list[Query], n: int | None) -> list[Query]:
    if n is None or n >= len(queries):
        return queries
    least = sorted(queries, key=lambda query: hashlib.sha256(query.query_id.encode()).digest())[:n]
    kept = {query.query_id for query in least}
    return [query for query in queries if query.query_id in kept]


def _folds(query_ids: list[str], path: Path | None, notes: Notes) -> Mapping[str, Fold]:
    if path is None:
        return make_folds(query_ids, min(N_FOLDS, len(query_ids)), FOLD_SEED)
    known = set(query_ids)
    folds = {name: _among(fold, known) for name, fold in read_folds(path, notes).items()}
    found = {name: fold for name, fold in folds.items() if fold.test}
    if not found:
        raise InputError("the folds test none of the queries", path=path)
    return found


def _among(fold: Fold, known: set[str]) -> Fold:
    return type(fold)(*(tuple(query_id for query_id in part if query_id in known) for part in fold))
