"""Questions that nothing was chosen on: who they are, how the system is chosen before, and what is tested."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from longrank.evaluation.significance import t_test
from longrank.formats.folds import Fold, read_folds
from longrank.types import Notes

pytestmark = pytest.mark.neural

FOLDS = {"s1": Fold(("q3",), ("q2",), ("n1", "n2")), "s2": Fold(("q3",), ("q1",), ("n3",))}
QRELS = {query: {"a": 1} for query in ("q1", "q2", "q3", "n1", "n2")} | {"n3": {"b": 1}}
TESTED = {query: QRELS[query] for query in ("n1", "n2", "n3")}


@pytest.fixture
def other_questions() -> ModuleType:
    return import_module("benchmarks.other_questions")


@pytest.fixture
def prepared() -> SimpleNamespace:
    return SimpleNamespace(task=SimpleNamespace(measure="RR@10"), folds=FOLDS, qrels=QRELS, tested=TESTED)


def ranked(path: Path, **ranks: int) -> Path:
    """Write a run in which each query's relevant document has this rank."""
    lines = []
    for query, rank in ranks.items():
        docs = ["x", "y", "z"][: rank - 1] + list(QRELS[query])
        lines += [f"{query} Q0 {doc} {place} {10 - place} t\n" for place, doc in enumerate(docs, start=1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def test_other_queries_are_tested_in_the_fold_of_their_group() -> None:
    tasks = import_module("benchmarks.gains_tasks")
    folds = {"s1": Fold(("q3",), ("q2",), ("q1",)), "s2": Fold(("q1",), ("q3",), ("q2",))}
    group_of = {"q1": "one", "q2": "two", "n1": "two", "n2": "one", "n3": "two"}
    found = tasks.tested_on(["n1", "n2", "n3"], folds, group_of)
    assert found == {"s1": Fold(("q3",), ("q2",), ("n2",)), "s2": Fold(("q1",), ("q3",), ("n1", "n3"))}


def test_the_other_questions_are_new_and_their_articles_are_not_learned_from(
    other_questions: ModuleType, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = import_module("benchmarks.gains_tasks")
    monkeypatch.setattr(tasks, "run", lambda *_: None)
    known = tasks.Prepared(shared_data, tasks.TASKS["squad-dev-sections"], tmp_path / "known")
    found = tasks.Prepared(shared_data, other_questions.TASK, tmp_path / "others")
    assert len(found.tested) == 500 and not found.tested.keys() & known.qrels.keys()
    article_of = tasks.articles_of(shared_data, tasks.evaluated_queries(shared_data, other_questions.TASK))
    for name, fold in found.folds.items():
        assert (fold.train, fold.dev) == (known.folds[name].train, known.folds[name].dev)
        learned = {article_of[query_id] for query_id in (*fold.train, *fold.dev)}
        assert not learned & {article_of[query_id] for query_id in fold.test}
    tuning = read_folds(found[found.tuning_folds], Notes())
    assert {query_id for fold in tuning.values() for query_id in fold.test} == found.qrels.keys()
    assert [(fold.train, fold.dev) for fold in tuning.values()] == [
        (one.train, one.dev) for one in known.folds.values()
    ]


def test_one_system_is_chosen_by_the_dev_queries_of_all_folds_alone(
    other_questions: ModuleType, prepared: SimpleNamespace, tmp_path: Path
) -> None:
    report = import_module("benchmarks.gains_report")
    training = tmp_path / "parade"
    ranked(training / "s1" / "dev.run", q2=1)
    ranked(training / "s2" / "dev.run", q1=2)
    systems = [
        report.System("bm25", ranked(tmp_path / "bm25.run", q1=1, q2=1, n1=1, n2=1, n3=1), "first stage"),
        report.System("maxp", ranked(tmp_path / "maxp.run", q1=1, q2=4, n1=1, n2=1, n3=1), "zero-shot"),
        report.System("parade", ranked(tmp_path / "p.run", n1=4, n2=4, n3=4), "aggregator", training, "dev.run"),
    ]
    found = other_questions.chosen(prepared, systems)
    assert found["chosen"] == "parade" and found["dev"] == {"maxp": 0.625, "parade": 0.75}


def test_the_chosen_is_tested_by_question_by_document_and_by_article(
    other_questions: ModuleType, prepared: SimpleNamespace, tmp_path: Path
) -> None:
    report = import_module("benchmarks.gains_report")
    first, second, third = other_questions.COMPARED
    runs = {first: (1, 2, 1), second: (2, 2, 4), third: (1, 2, 2), "maxp": (1, 2, 2), "parade": (1, 1, 2)}
    kinds = {first: "first stage", second: "first stage", third: "untrained"}
    systems = [
        report.System(
            name, ranked(tmp_path / f"{i}.run", n1=ranks[0], n2=ranks[1], n3=ranks[2]), kinds.get(name, "aggregator")
        )
        for i, (name, ranks) in enumerate(runs.items())
    ]
    article_of = {"n1": "one", "n2": "one", "n3": "one"}
    found = other_questions.tested(prepared, systems, "parade", article_of)
    # parade has 1, 1, .5; n1 and n2 are about document a, n3 about b; all about one article
    assert found["tests"]["question"][second]["difference"] == pytest.approx((0.5 + 0.5 + 0.25) / 3, abs=1e-4)
    assert found["tests"]["document"][second] == {
        "n": 2,
        "difference": pytest.approx((0.5 + 0.25) / 2),
        "p_holm": pytest.approx(min(1, 3 * t_test(import_module("numpy").array([0.5, 0.25])))),
    }
    assert found["tests"]["article"][first] == {"n": 1, "difference": 0.0, "p_holm": None}
    assert found["compared_with"] == first and found["test"] == "paired t-test, Holm over 2"
    assert [row["value"] for row in found["rows"]] == [0.8333, 0.4167, 0.6667, 0.6667, 0.8333]
    assert [row["system"] for row in found["rows"] if "p_holm" in row] == ["maxp", "parade"]
