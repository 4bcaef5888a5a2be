"""longrank.tune and longrank.weigh on values in memory and on files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tunable
from evidences import evidence, run, write_evidence
from longrank.errors import InputError
from longrank.formats.trec import write_run
from longrank.index import Index
from longrank.verbs.tune import tune
from longrank.verbs.weigh import weigh

GRID = {"b": "0:1:0.2"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    tunable.write_inputs(folder)
    return folder


def test_values_and_files_give_the_same_setting(
    inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.collections import read_qrels

    qrels = dict(read_qrels(inputs / "qrels.txt"))
    files = tune(inputs / "index", inputs / "queries.jsonl", inputs / "qrels.txt", GRID, measure="RR")
    values = tune(Index(inputs / "index"), tunable.QUERIES, qrels, ["b=0:1:0.2"], measure="RR", folder=tmp_path / "out")
    assert files.setting == values.setting == {"b": 0.6}
    assert (files.value, repr(files)) == (1.0, repr(values))
    assert list(files.run.rows()) == list(values.run.rows())
    assert (tmp_path / "out" / "tuning.json").read_text() == files.to_json()
    assert capsys.readouterr() == ("", "")


def test_nothing_is_kept_without_a_folder(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tune(inputs / "index", inputs / "queries.jsonl", inputs / "qrels.txt", {"b": [0.2, 0.4]}, measure="RR")
    assert list(tmp_path.iterdir()) == []


def test_settings_are_searched_for_the_sampled_queries_only(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of one of four queries: six settings for it, then the mean of the optima once for the other three."""
    from longrank.evaluation.tuning.search import Search

    searched: list[int] = []
    search = Search.__call__

    def counted(self: Search, setting: Any) -> Any:
        searched.append(len(self.queries))
        return search(self, setting)

    monkeypatch.setattr(Search, "__call__", counted)
    files = (inputs / "index", inputs / "queries.jsonl", inputs / "qrels.txt")
    result = tune(*files, GRID, measure="RR", samples=1, sample_size=1)
    assert searched == [1, 1, 1, 1, 1, 1, 3]
    assert (len(result.table.query_ids), len(result.run)) == (1, 3)


def test_a_number_of_folds_makes_folds(inputs: Path) -> None:
    done: list[tuple[int, int]] = []
    result = tune(
        inputs / "index",
        inputs / "queries.jsonl",
        inputs / "qrels.txt",
        GRID,
        measure="RR",
        folds=2,
        progress=lambda n, of: done.append((n, of)),
    )
    assert result.folds is not None and len(result.folds) == 2
    assert (result.setting, set(result.settings)) == (None, set(tunable.QUERIES))
    again = tune(
        inputs / "index", inputs / "queries.jsonl", inputs / "qrels.txt", GRID, measure="RR", folds=result.folds
    )
    assert (again.value, again.settings, again.folds) == (result.value, result.settings, None)
    assert sum(n for n, _ in done) == 6 and {of for _, of in done} == {6}
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"bb": [1]}}, "no setting to tune"),
        ({"grid": {}}, "the grid is empty"),
        ({"k": 0}, "k must be 1 or more"),
        ({"samples": 2}, "protocol 'samples' needs `sample_size`"),
        ({"protocol": "all", "folds": 2}, "`folds` is an option of protocol 'folds'"),
        ({"folds": 3.5}, "holds no folds"),
        ({"qrels": 3}, "no judgments can be read from a int"),
        ({"index": 3}, "an index is a folder"),
    ],
)
def test_a_wrong_type_or_option_is_one_sentence(inputs: Path, options: dict[str, Any], message: str) -> None:
    places = {"index": inputs / "index", "queries": inputs / "queries.jsonl", "qrels": inputs / "qrels.txt"}
    with pytest.raises(InputError, match=message):
        tune(**{**places, "grid": GRID, **options})


FIRST = {q: {"a": 3.0, "b": 2.0} for q in ("q1", "q2")}
EVIDENCE = [
    evidence(doc_id, values, query_id=q, first_stage=FIRST[q][doc_id])
    for q in FIRST
    for doc_id, values in (("a", [0.1]), ("b", [0.9, 0.8]))
]
QRELS = {q: {"b": 1} for q in FIRST}


def test_weights_are_learned_of_values_as_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run(FIRST), tmp_path / "first.run")
    write_evidence(tmp_path / "e", [EVIDENCE[:2], EVIDENCE[2:]])
    values = weigh(QRELS, FIRST, EVIDENCE, {"alpha": "0:1:0.5"})
    files = weigh(QRELS, tmp_path / "first.run", [tmp_path / "e"], ["alpha=0,0.5,1"], folder=tmp_path / "out")
    assert values.setting == files.setting == {"alpha": 0.0}
    assert (values.value, values.to_json()) == (1.0, files.to_json())
    assert [row.doc_id for row in values.run.rows()] == ["b", "a"] * 2
    assert list(values.run.rows()) == list(files.run.rows())
    assert (tmp_path / "out" / "weights.json").read_text() == files.to_json()
    assert capsys.readouterr() == ("", "")


def test_weights_of_another_set_in_memory_are_kept() -> None:
    other = {q.upper(): scores for q, scores in FIRST.items()}
    there = [
        evidence(e.doc_id, e.passage_score.tolist(), query_id=e.query_id.upper(), first_stage=e.first_stage)
        for e in EVIDENCE
    ]
    result = weigh(QRELS, FIRST, EVIDENCE, learn_on=[{q: {"b": 1} for q in other}, other, there])
    assert (result.setting, result.value, result.outcome.held_out) == ({"alpha": 0.0}, 1.0, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evidence": 3}, "no run can be read from a int"),
        ({"seed": 3}, "`seed` is an option of folds that are made"),
        ({"learn_on": "abc"}, "`learn_on` takes judgments"),
        ({"choose_by": "dev"}, "protocol 'folds' needs `folds`"),
    ],
)
def test_a_wrong_option_of_weigh_is_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        weigh(**{"qrels": QRELS, "run": FIRST, "evidence": EVIDENCE, **options})
