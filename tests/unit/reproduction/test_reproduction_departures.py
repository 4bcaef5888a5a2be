"""What tells other data than the paper's: the number of judged queries, and tested queries that were learned from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.collections.catalogue import FOLDS, find_entry
from longrank.collections.collection import Collection
from longrank.errors import InputError
from longrank.reproduction.departures import (
    check_heldout,
    data_departures,
    document_departures,
    fold_departures,
    folds_of,
    n_folds_of,
)
from longrank.reproduction.recipe_files import load_recipe


def queries_of(folder: Path, *queries: dict[str, str]) -> Path:
    folder.mkdir()
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    return folder


def test_another_number_of_judged_queries_departs_unless_a_part_was_asked_for() -> None:
    known = find_entry("gov-2002")  # 50 are judged
    assert data_departures(known, [f"query {i}" for i in range(50)], {}) == []
    assert data_departures(known, ["one"], {}) == ["1 judged queries, gov-2002 has 50"]
    assert data_departures(known, ["one"], {}, all_queries=False) == []
    assert data_departures(None, ["one"], {}) == []


def test_queries_that_are_learned_from_and_tested_depart_whatever_their_ids_and_fields(tmp_path: Path) -> None:
    other = queries_of(tmp_path / "other", {"query_id": "1", "text": "pears"})
    same = queries_of(tmp_path / "same", {"query_id": "7", "text": "apples", "description": "which apples"})
    tested = ["which apples", "plums"]  # query 1 of `other` is another query, though it may have the same id
    assert data_departures(None, tested, {"heldout": str(other), "train_on": "", "k": 3}) == []
    assert data_departures(None, tested, {"learn_on": str(same)}) == ["learn_on has 1 of the queries that are tested"]


def test_held_out_queries_are_others_than_the_ranked_ones(tmp_path: Path) -> None:
    other = queries_of(tmp_path / "other", {"query_id": "1", "text": "pears"})
    check_heldout(["2", "3"], {"heldout": str(other)})
    check_heldout(["1"], {"heldout": ""})
    check_heldout(["1"], {})
    with pytest.raises(InputError, match=r"1 held-out queries have ids of ranked queries \(got '1'\)"):
        check_heldout(["1", "2"], {"heldout": str(other)})


def test_a_folder_without_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="queries"):
        data_departures(None, ["one"], {"heldout": str(tmp_path)})


JUDGED = [f"{n}" for n in (*range(301, 451), *range(601, 672), *range(673, 701), *range(701, 851))]
"""Topics of robust04 and gov2, but for 672, of which nothing is relevant."""


def of(key: str, folds: Path | None = None) -> Collection:
    return Collection(name=key, entry=find_entry(key), folds=folds)


def test_folds_of_a_folder_depart_if_other_queries_are_tested_together(tmp_path: Path) -> None:
    recipe, own = load_recipe("maxp/table2-robust04-title")[0], tmp_path / "folds.json"
    published = json.loads((FOLDS / "robust04.json").read_text())
    own.write_text(json.dumps(dict(reversed(published.items()))))  # in another order, under the same names
    assert fold_departures(recipe, of("robust04", own), JUDGED) == fold_departures(recipe, of("robust04"), JUDGED) == []
    assert fold_departures(recipe, Collection(name="mine", folds=own), JUDGED) == []
    own.write_text(json.dumps([["301", "302"], ["303", "304"]]))
    departed = [f"folds of {own}, published are other ones"]
    assert fold_departures(recipe, of("robust04", own), JUDGED) == departed
    assert (
        fold_departures(load_recipe("santos/table2-2002")[0], of("gov-2002", own), JUDGED) == []
    )  # none are published


def test_where_a_paper_has_other_folds_than_the_catalogue_its_own_are_used_and_compared_with(tmp_path: Path) -> None:
    recipe, own = load_recipe("birch/first-version-two-folds")[0], tmp_path / "folds.json"
    two = FOLDS / "robust04-paper1.json"
    assert folds_of(recipe, of("robust04")) == two
    assert folds_of(recipe, of("robust04", own)) == own
    assert folds_of(recipe, of("gov2")) == FOLDS / "gov2.json"
    assert folds_of(recipe, Collection(name="mine")) is None and n_folds_of(recipe) == 2
    own.write_text((FOLDS / "robust04.json").read_text())
    assert fold_departures(recipe, of("robust04", own), JUDGED) == [f"folds of {own}, published are other ones"]
    own.write_text((FOLDS / "robust04-huston14-title.json").read_text())  # CEDR's, and topic 672
    assert fold_departures(load_recipe("parade/cedr-robust04-title")[0], of("robust04", own), JUDGED) == []
    own.write_text(two.read_text())
    assert fold_departures(recipe, of("robust04", own), JUDGED) == fold_departures(recipe, of("robust04"), JUDGED) == []


def test_where_the_papers_folds_are_not_published_those_of_the_package_depart_and_given_ones_do_not(
    tmp_path: Path,
) -> None:
    recipe, own = load_recipe("parade/table2-gov2-title")[0], tmp_path / "folds.json"
    own.write_text(json.dumps([["701", "702"], ["703", "704"]]))
    assert folds_of(recipe, of("gov2")) == FOLDS / "gov2.json" and n_folds_of(recipe) == 5
    assert fold_departures(recipe, of("gov2"), JUDGED) == [
        "folds that come with the package, the paper's are not published"
    ]
    assert fold_departures(recipe, of("gov2", own), JUDGED) == []
    assert fold_departures(recipe, of("time"), JUDGED) == []  # another collection departs already


def test_another_number_of_documents_departs() -> None:
    robust = find_entry("robust04")
    assert document_departures(robust, 528155) == document_departures(robust, 528000) == []
    assert document_departures(robust, 500000) == ["500000 documents, robust04 has 528155"]
    assert document_departures(None, 1) == []
