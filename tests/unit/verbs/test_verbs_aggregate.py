"""longrank.aggregate on evidence files and on evidence in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidences import evidence, run, scores, write_evidence
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.formats.trec import write_run
from longrank.verbs.aggregate import aggregate

EVIDENCE = [evidence("a", [1.0, 3.0], first_stage=5.0), evidence("b", [2.5], first_stage=4.0)]


def test_a_file_and_values_give_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_evidence(tmp_path / "e", [EVIDENCE])
    expected = {"b": 2.5, "a": 2.0}
    for source in (tmp_path / "e", str(tmp_path / "e"), EVIDENCE, iter(EVIDENCE), read_evidence(tmp_path / "e")):
        assert scores(aggregate(source, "avgp")) == expected
    assert capsys.readouterr() == ("", "")


def test_options_of_the_aggregator_are_keywords() -> None:
    for weights in ([1, 0.5], (1, 0.5), np.array([1, 0.5])):
        assert scores(aggregate(EVIDENCE, "birch", weights=weights)) == {"a": 3.5, "b": 2.5}
    assert scores(aggregate(EVIDENCE, "kmaxp", k=1)) == {"a": 3.0, "b": 2.5}


def test_the_first_stage_may_be_a_file_a_run_or_a_mapping(tmp_path: Path) -> None:
    first = {"q": {"a": 5.0, "b": 4.0, "c": 3.0}}
    write_run(run(first), tmp_path / "first.run")
    runs = [
        aggregate(EVIDENCE, "maxp", interpolate=0.5, normalize="minmax", first_stage=source)
        for source in (tmp_path / "first.run", run(first), first)
    ]
    assert [scores(each) for each in runs] == [scores(runs[0])] * 3
    assert list(scores(runs[0])) == ["a", "b", "c"]


@pytest.mark.parametrize(("tail", "fate"), [("keep", "ranked as in the first stage"), ("drop", "dropped")])
def test_queries_of_the_first_stage_without_evidence_are_counted(tail: str, fate: str) -> None:
    first = {"q": {"a": 5.0, "b": 4.0}, "other": {"a": 1.0}}
    found = aggregate(EVIDENCE, "maxp", first_stage=first, tail=tail)
    assert found.notes is not None
    assert f"queries without evidence, {fate}: 1 (first: other)" in found.notes.lines()
    assert list(found) == (["q", "other"] if tail == "keep" else ["q"])


def test_the_run_carries_the_notes() -> None:
    notes = aggregate([replace(EVIDENCE[0], n_passages=4)], "maxp").notes
    assert notes is not None and any("passages not scored" in line for line in notes.lines())


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (7, {}, "no evidence can be read from a int"),
        (["e"], {}, "item 1 is no evidence"),
        ([], {}, "there is no evidence"),
        (EVIDENCE, {"aggregator": "maxpp"}, "did you mean 'maxp'"),
        (EVIDENCE, {"k": 2}, "aggregator 'maxp' has no option 'k'"),
        (EVIDENCE, {"aggregator": "birch", "weights": [1e308] * 2}, "weights are too large for these sentence scores"),
        (EVIDENCE, {"aggregator": "birch", "weights": [1e39]}, "the score of document .* is too large for a 32-bit"),
        (EVIDENCE, {"normalize": "minmax"}, "has an effect on interpolation only"),
        (EVIDENCE, {"first_stage": 3}, "no run can be read from a int"),
    ],
)
def test_a_wrong_type_or_name_is_one_sentence(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        aggregate(source, **options)


@pytest.mark.parametrize(("aggregator", "n"), [("maxp", 1), ("document", 0)])
def test_own_scores_of_documents_that_are_not_used_are_counted(aggregator: str, n: int) -> None:
    own = evidence("d", [1.0, 2.0], document_score=5.0)
    found = aggregate([own], aggregator).notes
    assert found["documents with an own score that only the aggregator 'document' uses"] == n
