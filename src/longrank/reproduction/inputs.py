"""What a recipe works on: queries, judgments and folds, written into its folder.

FOLDER/PAPER/RECIPE/queries.jsonl, qrels.txt, folds.json
                    folds-without-dev.json      the same, and the queries to choose on are trained on
                    qrels-tested.txt           judgments of the queries that some fold tests
                    judged-before.txt           of a collection that is judged in rounds
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, read_folds

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
    """Return the judged queries, their judgments, and folds of them: name of a file -> what is in it.

    Args:
        queries: of the collection.
        qrels: of the collection.
        before: judgments whose documents are left out of rankings; empty: there are none.
        folds: of which those queries are taken that are there; None: `n_folds` are made with seed 42, or fewer of
            fewer queries.
        n_folds: how many are made.
        n_queries: take this many of the queries, those whose ids hash least; None: all.
        notes: counts what is left out.

    Raises:
        InputError: no query is judged; the folds name none of the queries; less than one query is asked for.
    """
    if n_queries is not None and n_queries < 1:
        raise InputError("setting queries is how many are taken", got=n_queries, fix="0: all")
    chosen = _chosen([query for query in queries if query.query_id in qrels], n_queries)
    if not chosen:
        raise InputError("no query of the collection is judged", got=queries[0].query_id if queries else None)
    notes.add("queries without judgments left out", count=sum(query.query_id not in qrels for query in queries))
    judged = {query.query_id: qrels[query.query_id] for query in chosen}
    found = _folds(list(judged), folds, n_folds, notes)
    return {
        QUERIES: "".join(map(_line, chosen)),
        QRELS: _trec(judged),
        FOLDS: _json(found),
        TESTED: _trec({query_id: judged[query_id] for fold in found.values() for query_id in fold.test}),
        FOLDS_WITHOUT_DEV: _json({name: _without_dev(fold) for name, fold in found.items()}),
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
    """Return the queries that some fold among inputs tests."""
    return {query_id for fold in json.loads(inputs[FOLDS]).values() for query_id in fold["test"]}


def _json(folds: Mapping[str, Fold]) -> str:
    made = {name: fold._asdict() for name, fold in folds.items()}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _without_dev(fold: Fold) -> Fold:
    return fold._replace(train=(*fold.train, *fold.dev), dev=())


def _chosen(queries: list[Query], n: int | None) -> list[Query]:
    if n is None or n >= len(queries):
        return queries
    least = sorted(queries, key=lambda query: hashlib.sha256(query.query_id.encode()).digest())[:n]
    kept = {query.query_id for query in least}
    return [query for query in queries if query.query_id in kept]


def _folds(query_ids: list[str], path: Path | None, n: int, notes: Notes) -> Mapping[str, Fold]:
    if path is None and len(query_ids) == 1:  # which can only be tested on
        return {"s1": Fold((), (), tuple(query_ids))}
    if path is None:
        return make_folds(query_ids, min(n, len(query_ids)), FOLD_SEED)
    known = set(query_ids)
    folds = {name: _among(fold, known) for name, fold in read_folds(path, notes).items()}
    found = {name: fold for name, fold in folds.items() if fold.test}
    if not found:
        raise InputError("the folds test none of the queries", path=path)
    left_out = known.difference(*(fold.test for fold in found.values()))
    notes.add("judged queries that no fold tests", str(path), len(left_out))
    return found


def _among(fold: Fold, known: set[str]) -> Fold:
    return type(fold)(*(tuple(query_id for query_id in part if query_id in known) for part in fold))
