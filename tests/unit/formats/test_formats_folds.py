from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.folds import Fold, read_folds, write_folds
from longrank.types import Notes


def read(folder: Path, value: object, notes: Notes | None = None) -> dict[str, Fold]:
    (folder / "folds.json").write_text(json.dumps(value))
    return read_folds(folder / "folds.json", Notes() if notes is None else notes)


def test_our_shape_is_read_and_written(tmp_path: Path) -> None:
    folds = {"s1": Fold(("1", "2"), ("3",), ("é",)), "s2": Fold((), (), ("1",))}
    write_folds(folds, tmp_path / "folds.json")
    assert read_folds(tmp_path / "folds.json", Notes()) == folds


def test_capreolus_shape_is_read_with_lists_objects_and_numbers(tmp_path: Path) -> None:
    value = {"s1": {"train_qids": [1, "2"], "predict": {"dev": {"3": {"d": 1}}, "test": [4]}}}
    assert read(tmp_path, value) == {"s1": Fold(("1", "2"), ("3",), ("4",))}


def test_anserinis_lists_rotate(tmp_path: Path) -> None:
    assert read(tmp_path, [["a"], ["b"], ["c"], ["d", "e"]]) == {
        "s1": Fold(("c", "d", "e"), ("b",), ("a",)),
        "s2": Fold(("a", "d", "e"), ("c",), ("b",)),
        "s3": Fold(("a", "b"), ("d", "e"), ("c",)),
        "s4": Fold(("b", "c"), ("a",), ("d", "e")),
    }


def test_two_lists_choose_on_each_other(tmp_path: Path) -> None:
    assert read(tmp_path, [["a"], ["b"]]) == {"s1": Fold((), ("b",), ("a",)), "s2": Fold((), ("a",), ("b",))}


def test_repeated_ids_are_dropped_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    value = {"s1": {"train": ["b", "a", "b", 1, "1"], "dev": [], "test": ["c", "c"]}}
    assert read(tmp_path, value, notes) == {"s1": Fold(("b", "a", "1"), (), ("c",))}
    assert notes["repeated query ids in folds"] == 3


def test_other_lists_of_folds_are_left_out_and_counted(tmp_path: Path) -> None:
    notes, fold = Notes(), {"train": ["a"], "dev": [], "test": ["b"]}
    assert read(tmp_path, {"s1": {**fold, "valid": ["c"]}}, notes) == read(tmp_path, {"s1": fold}, notes)
    assert notes["lists of folds other than train, dev and test, left out"] == 1
    capreolus = {"s1": {"train_qids": ["a"], "predict": {"dev": [], "test": ["b"]}}}
    read(tmp_path, capreolus, notes := Notes())
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({}, "holds no folds"),
        ([], "holds no folds"),
        ("s1", "holds no folds"),
        ([["a"]], "two or more lists"),
        (["-bm25", "-rm3"], "two or more lists"),
        ({"s1": ["a"]}, "fold 's1' has not a train, a dev and a test list"),
        ({"s1": {"train": [], "test": ["a"]}}, "has not a train, a dev and a test list"),
        ({"s1": {"train": "abc", "dev": [], "test": ["a"]}}, "s1.train is not a list"),
        ({"s1": {"train": [1.5], "dev": [], "test": ["a"]}}, "s1.train holds a value that is not a query id (got 1.5)"),
        ({"s1": {"train": [True], "dev": [], "test": ["a"]}}, "s1.train holds a value that is not a query id"),
        ({"s1": {"train": ["a b"], "dev": [], "test": ["a"]}}, "an id of s1.train holds white space"),
        ({"s1": {"train": ["b"], "dev": [], "test": []}}, "fold 's1' has an empty test list"),
        ({"s1": {"train": ["b"], "dev": ["a"], "test": ["a"]}}, "also in its train or dev list (got 'a')"),
        ([["a"], ["a"]], "also in its train or dev list (got 'a')"),
    ],
)
def test_what_is_no_fold_is_refused(value: object, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, value)
    assert what in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'folds.json'}: ")
