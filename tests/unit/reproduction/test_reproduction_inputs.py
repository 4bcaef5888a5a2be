"""Queries, judgments and folds of a recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.reproduction.inputs import fold_names, inputs_of
from longrank.types import Notes, Qrels, Query

QUERIES = [Query(f"q{n}", f"text {n}") for n in range(12)]
QRELS = {f"q{n}": {"d1": 1, "d2": 0} for n in range(10)}


def inputs(
    n: int | None = None,
    folds: Path | None = None,
    qrels: Qrels = QRELS,
    before: Qrels | None = None,
    notes: Notes | None = None,
) -> dict[str, str]:
    return inputs_of(QUERIES, qrels, before or {}, folds=folds, n_folds=5, n_queries=n, notes=notes or Notes())


def ids(found: dict[str, str]) -> list[str]:
    return [json.loads(line)["query_id"] for line in found["queries.jsonl"].splitlines()]


def test_queries_without_judgments_are_left_out_and_counted() -> None:
    notes = Notes()
    assert ids(inputs(notes=notes)) == [f"q{n}" for n in range(10)]
    assert notes["queries without judgments left out"] == 2
    inputs(qrels={**QRELS, "other": {"d1": 1}}, notes=(notes := Notes()))
    assert notes["judged topics that are not among the queries, left out"] == 1


def test_fewer_queries_are_the_same_ones_wherever_they_are_taken_and_keep_their_order() -> None:
    seven, three = ids(inputs(7)), ids(inputs(3))
    assert [one for one in seven if one in three] == three
    assert seven == sorted(seven)
    assert ids(inputs(99)) == ids(inputs())


def test_judgments_are_those_of_the_queries() -> None:
    found = inputs(1)
    (query_id,) = ids(found)
    assert found["qrels.txt"] == f"{query_id} 0 d1 1\n{query_id} 0 d2 0\n"


def test_five_folds_are_made_which_test_each_query_once() -> None:
    found = inputs()
    folds = json.loads(found["folds.json"])
    assert fold_names(found) == ["s1", "s2", "s3", "s4", "s5"]
    assert sorted(query_id for fold in folds.values() for query_id in fold["test"]) == sorted(QRELS)


def test_without_dev_its_queries_are_trained_on() -> None:
    found = inputs()
    with_dev, without = json.loads(found["folds.json"]), json.loads(found["folds-without-dev.json"])
    for name, fold in with_dev.items():
        assert without[name] == {"train": [*fold["train"], *fold["dev"]], "dev": [], "test": fold["test"]}


@pytest.mark.parametrize(("n", "folds"), [(1, 1), (2, 2), (4, 4)])
def test_of_few_queries_fewer_folds_are_made(n: int, folds: int) -> None:
    assert len(fold_names(inputs(n))) == folds


def test_given_folds_keep_the_queries_that_are_there(tmp_path: Path) -> None:
    given = {
        "s1": {"train": ["q1", "x"], "dev": ["q2"], "test": ["q3", "y"]},
        "s2": {"train": ["q3"], "dev": ["q2"], "test": ["z"]},
    }
    (tmp_path / "folds.json").write_text(json.dumps(given))
    notes = Notes()
    found: dict[str, Any] = json.loads(inputs(folds=tmp_path / "folds.json", notes=notes)["folds.json"])
    assert found == {"s1": {"train": ["q1"], "dev": ["q2"], "test": ["q3"]}}
    assert notes["judged queries that no fold tests"] == 9


def test_folds_of_other_queries_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folds.json").write_text('{"s1": {"train": [], "dev": [], "test": ["x"]}}')
    with pytest.raises(InputError, match="the folds test none of the queries"):
        inputs(folds=tmp_path / "folds.json")


def test_a_collection_without_a_judged_query_is_refused() -> None:
    with pytest.raises(InputError, match="no query of the collection is judged"):
        inputs(qrels={"other": {"d1": 1}})


def test_judgments_of_earlier_rounds_are_kept_apart() -> None:
    assert "judged-before.txt" not in inputs()
    found = inputs(before={"q1": {"d9": 0}, "other": {"d9": 1}})
    assert found["judged-before.txt"] == "q1 0 d9 0\n"


def test_fewer_than_one_query_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="queries must be 0 or more"):
        inputs_of([Query("1", "a")], {"1": {"d": 1}}, {}, folds=None, n_folds=5, n_queries=-3, notes=Notes())
