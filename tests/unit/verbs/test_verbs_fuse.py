"""longrank.fuse on values in memory and on files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidences import run, scores
from longrank.errors import InputError
from longrank.formats.trec import write_run
from longrank.verbs.fuse import fuse

A = run({q: {"r": 2.0, "x": 1.0} for q in "12"}, "a")
B = run({q: {"x": 2.0, "r": 1.0} for q in "12"}, "b")
OLD = {"7": {"r": 1}}
OLD_A, OLD_B = {"7": {"r": 2.0, "x": 1.0}}, {"7": {"x": 2.0, "r": 1.0}}


def test_files_and_values_give_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(A, tmp_path / "a.run")
    write_run(B, tmp_path / "b.run")
    both = [fuse([A, B]), fuse([tmp_path / "a.run", str(tmp_path / "b.run")])]
    assert scores(both[0], "1") == scores(both[1], "1") == {d: pytest.approx(1 / 61 + 1 / 62) for d in "rx"}
    assert capsys.readouterr() == ("", "")


def test_topics_that_a_heldout_run_lacks_are_counted() -> None:
    fused = fuse([A, B], method="mapfuse", heldout=[{**OLD, "8": {"r": 1}}, {**OLD_A, "8": {"r": 1.0}}, OLD_B])
    assert fused.notes is not None
    assert "1 of 2 topics missing from held-out run 2 (count as 0 in its MAP)" in fused.notes.lines()


def test_queries_that_a_run_lacks_are_counted() -> None:
    fused = fuse([A, run({"1": {"r": 1.0}, "3": {"x": 1.0}}, "c")])
    assert fused.notes is not None
    assert fused.notes.lines() == ["queries that a run lacks, ranked by the others: 2 (first: 2)"]


def test_each_method_takes_its_options() -> None:
    assert scores(fuse([A, B], "linear", weights=[2, 1]), "1") == {"r": 5.0, "x": 4.0}
    assert scores(fuse({"a": A, "b": B}, "linear", weights=np.array([2, 1])), "1") == {"r": 5.0, "x": 4.0}
    assert scores(fuse((run for run in (A, B)), k=np.int64(60)), "1") == scores(fuse([A, B]), "1")
    assert scores(fuse([A, B], k=1), "1") == {d: pytest.approx(1 / 2 + 1 / 3) for d in "rx"}
    assert scores(fuse([A, B], "mapfuse", maps=[0.5, 0.25]), "1") == {"r": 0.625, "x": 0.5}


def test_maps_come_from_heldout_runs_or_from_folds() -> None:
    heldout = fuse([A, B], "mapfuse", heldout=[OLD, OLD_A, OLD_B])
    assert scores(heldout, "1") == {"r": 1.25, "x": 1.0}
    assert heldout.notes is not None and "held-out MAP: 1.0000, 0.5000" in heldout.notes.lines()
    qrels = {q: {"r": 1} for q in "12"}
    folds = {"s1": {"train": ["2"], "dev": [], "test": ["1"]}, "s2": {"train": ["1"], "dev": [], "test": ["2"]}}
    assert scores(fuse([A, B], "mapfuse", folds=folds, qrels=qrels), "1") == {"r": 1.25, "x": 1.0}


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([A], {}, "fusion needs two runs or more"),
        ("a.run", {}, r"fusion needs a list of two runs or more \(got 'str'\)"),
        ([A, 3], {}, "no run can be read from a int"),
        ([A, B], {"method": "rff"}, "did you mean 'rrf'"),
        ([A, B], {"weights": [1, 1]}, "fusion method 'rrf' has no option 'weights'"),
        ([A, B], {"method": "linear", "maps": [1, 1]}, "`maps` is an option of fusion method 'mapfuse'"),
        ([A, B], {"method": "mapfuse"}, "from one source"),
        ([A, B], {"method": "mapfuse", "folds": {}}, "`folds` and `qrels` go together"),
    ],
)
def test_a_wrong_type_or_option_is_one_sentence(runs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fuse(runs, **options)
