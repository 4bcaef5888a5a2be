"""Queries, judgments and folds of a recipe, written into its folder.

FOLDER/PAPER/RECIPE/queries.jsonl, qrels.txt, folds.json
                    folds-without-dev.json      the same folds; development queries are moved to training
                    qrels-tested.txt           judgments of the queries that the folds test
                    judged-before.txt           judgments of earlier rounds, if the collection has rounds
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.collections.judgments import note_topics
from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, folds_text, read_folds

if TYPE_CHECKING:
    from longrank.types import Notes, Qrels, Query

N_FOLDS, FOLD_SEED = 5, 42
QUERIES, QRELS, FOLDS, BEFORE = "queries.jsonl", "qrels.txt", "folds.json", "judged-before.txt"
FOLDS_WITHOUT_DEV, TESTED = "folds-without-dev.json", "qrels-tested.txt"
INPUTS = (QUERIES, QRELS, FOLDS, BEFORE, FOLDS_WITHOUT_DEV, TESTED)


def inputs_of(
    queries: Sequence[Query],
    qrels: Qrels,
    before: Qrels,
    *,
    folds: Path | None,
    n_folds: int,
    n_queries: int | None,
    notes: Notes,
) -> dict[str, str]:
    """Return the judged queries, their judgments and their folds: file name -> content.

    Args:
        queries: queries of the collection.
        qrels: judgments of the collection.
        before: judgments whose documents are left out of rankings; may be empty.
        folds: file of folds; queries that the collection lacks are dropped. None: make folds with seed 42.
        n_folds: number of folds to make, at most one per query.
        n_queries: number of queries to take, by the hash of their ids; None: all.
        notes: counts queries that are left out.

    Raises:
        InputError: no query is judged, the folds test none of the queries, or `n_queries` is below 1.
    """
    if n_queries is not None and n_queries < 1:
        raise InputError("setting queries must be 0 or more", got=n_queries, fix="0: all")
    chosen = _chosen([query for query in queries if query.query_id in qrels], n_queries)
    if not chosen:
        raise InputError(
            "no query of the collection is judged", about=("collection",), got=queries[0].query_id if queries else None
        )
    note_topics(qrels, {query.query_id for query in queries}, notes)
    notes.add("queries without judgments left out", count=sum(query.query_id not in qrels for query in queries))
    judged = {query.query_id: qrels[query.query_id] for query in chosen}
    splits = _folds(list(judged), folds, n_folds, notes)
    return {
        QUERIES: "".join(map(_line, chosen)),
        QRELS: _trec(judged),
        FOLDS: folds_text(splits),
        TESTED: _trec({query_id: judged[query_id] for fold in splits.values() for query_id in fold.test}),
        FOLDS_WITHOUT_DEV: folds_text(
            {name: Fold(train=(*fold.train, *fold.dev), dev=(), test=fold.test) for name, fold in splits.items()}
        ),
        **({BEFORE: _trec({query_id: before.get(query_id, {}) for query_id in judged})} if before else {}),
    }


def _line(query: Query) -> str:
    return json.dumps({"query_id": query.query_id, "text": query.text}, ensure_ascii=False) + "\n"


def _trec(qrels: Qrels) -> str:
    return "".join(
        f"{query_id} 0 {doc_id} {grade}\n" for query_id, judged in qrels.items() for doc_id, grade in judged.items()
    )


def fold_names(inputs: Mapping[str, str]) -> list[str]:
    """Return the names of the folds among inputs."""
    return list(json.loads(inputs[FOLDS]))


def tested(inputs: Mapping[str, str]) -> set[str]:
    """Return the queries that the folds among inputs test."""
    return {query_id for fold in json.loads(inputs[FOLDS]).values() for query_id in fold["test"]}


def _chosen(queries: list[Query], n: int | None) -> list[Query]:
    if n is None or n >= len(queries):
        return queries
    first = sorted(queries, key=lambda query: hashlib.sha256(query.query_id.encode()).digest())[:n]
    kept = {query.query_id for query in first}
    return [query for query in queries if query.query_id in kept]


def _folds(query_ids: list[str], path: Path | None, n: int, notes: Notes) -> Mapping[str, Fold]:
    if path is None and len(query_ids) == 1:  # it can only be tested on
        return {"s1": Fold((), (), tuple(query_ids))}
    if path is None:
        return make_folds(query_ids, min(n, len(query_ids)), FOLD_SEED)
    known = set(query_ids)
    folds = {name: fold.among(known) for name, fold in read_folds(path, notes).items()}
    tested_folds = {name: fold for name, fold in folds.items() if fold.test}
    if not tested_folds:
        raise InputError("the folds test none of the queries", path=path)
    left_out = known.difference(*(fold.test for fold in tested_folds.values()))
    notes.add("judged queries that no fold tests", str(path), len(left_out))
    return tested_folds
