"""What training gains: who is evaluated, how a system is chosen on dev, and what a row says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from evidences import evidence, write_evidence
from longrank.formats.folds import Fold
from longrank.ranking.settings import shipped_pipelines

pytestmark = pytest.mark.neural


@pytest.fixture
def tasks() -> ModuleType:
    return import_module("benchmarks.gains_tasks")


@pytest.fixture
def gains_report() -> ModuleType:
    return import_module("benchmarks.gains_report")


@pytest.mark.parametrize("name", ["squad-dev-sections", "squad-dev-mixed", "qmsum"])
def test_no_evaluated_query_may_be_trained_on(tasks: ModuleType, shared_data: Path, name: str) -> None:
    pools = import_module("benchmarks.training_pools")
    queries = tasks.evaluated_queries(shared_data, tasks.TASKS[name])
    assert len(queries) == tasks.TASKS[name].n_queries
    assert {query.text.lower() for query in queries} <= pools.evaluated_texts(shared_data)
    if name.startswith("squad"):
        articles = tasks.articles_of(shared_data, queries)
        assert not any(map(pools.is_training_article, articles.values()))


@pytest.mark.parametrize(("every", "n"), [(False, 300), (True, 1109)])
def test_splits_that_models_learn_from_count_where_no_model_reads(
    tasks: ModuleType, shared_data: Path, every: bool, n: int
) -> None:
    task = tasks.Task("scifact", "nDCG@10", 50, None, "", every_split=every)
    assert len(tasks.evaluated_queries(shared_data, task)) == n


def write_run(path: Path, **rankings: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{query} Q0 {doc} {rank} {10 - rank} t\n"
        for query, docs in rankings.items()
        for rank, doc in enumerate(docs.split(), start=1)
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def prepared(tmp_path: Path) -> Any:
    """Two queries, each the other's dev; a is relevant to both."""

    class Prepared(SimpleNamespace):
        def __getitem__(self, name: str) -> Path:
            return tmp_path / name

        @property
        def mix(self) -> tuple[object, ...]:
            return ("--interpolate", 0.3, "--normalize", "minmax", "--first-stage", self["bm25.run"])

    folds = {"s1": Fold((), ("q2",), ("q1",)), "s2": Fold((), ("q1",), ("q2",))}
    task = SimpleNamespace(measure="RR@10", collection="c", about="of a test", depth=2)
    return Prepared(task=task, folds=folds, qrels={"q1": {"a": 1}, "q2": {"a": 1}})


def trained(folder: Path, *best: float) -> Path:
    for name, value in zip(("s1", "s2"), best, strict=True):
        (folder / name).mkdir(parents=True)
        record = {
            "best_measure": value,
            "best_step": 20,
            "steps": 30,
            "validations": [[10, 0.1], [20, value], [30, 0.1]],
            "settings": {"seed": 3},
        }
        (folder / name / "record.json").write_text(json.dumps(record))
    return folder


def test_the_system_of_a_fold_is_the_one_that_is_best_on_its_dev_queries(
    gains_report: ModuleType, prepared: Any, tmp_path: Path
) -> None:
    system = gains_report.System
    first = system("bm25", write_run(tmp_path / "bm25.run", q1="a b", q2="a b"), "first stage")
    zero_shot = system("maxp", write_run(tmp_path / "maxp.run", q1="b a", q2="a b"), "zero-shot")
    network = system(
        "parade", write_run(tmp_path / "p.run", q1="a b", q2="b a"), "aggregator", trained(tmp_path / "p", 0.9, 0.6)
    )
    # fold s1 (dev q2): maxp has 1, parade says .9; fold s2 (dev q1): maxp has .5, parade says .6
    chosen = gains_report.chosen_by_dev(prepared, [first, zero_shot, network])
    assert chosen.name == "best on dev (s1: maxp, s2: parade)"
    values = gains_report.values_of(prepared, chosen.run, prepared.qrels)
    assert values == {"q1": 0.5, "q2": 0.5}


def test_rows_are_compared_with_the_best_that_was_not_trained(
    gains_report: ModuleType, prepared: Any, tmp_path: Path
) -> None:
    system = gains_report.System
    systems = [
        system("bm25", write_run(tmp_path / "bm25.run", q1="b a", q2="b a"), "first stage"),
        system("minilm", write_run(tmp_path / "minilm.run", q1="a b", q2="b a"), "untrained"),
        system(
            "parade", write_run(tmp_path / "p.run", q1="a b", q2="a b"), "aggregator", trained(tmp_path / "p", 0.9, 0.6)
        ),
    ]
    gains_report.report(prepared, systems, tmp_path / "results")
    found = json.loads((tmp_path / "results" / "gains-c.json").read_text())
    assert found["compared_with"] == "minilm"
    assert [row["difference"] for row in found["rows"]] == [-0.25, 0.0, 0.25]
    assert [row["p_holm"] is None for row in found["rows"]] == [True, True, False]
    assert found["rows"][2]["dev"] == 0.75 and found["rows"][2]["not_converged"] == ""
    assert (tmp_path / "results" / "gains-c.svg").exists()


def test_a_training_whose_best_validation_is_its_last_has_not_converged(
    gains_report: ModuleType, prepared: Any, tmp_path: Path
) -> None:
    folder = trained(tmp_path / "p", 0.9, 0.6)
    record = json.loads((folder / "s1" / "record.json").read_text())
    record |= {"best_step": 30}
    (folder / "s1" / "record.json").write_text(json.dumps(record))
    run = write_run(tmp_path / "p.run", q1="a", q2="a")
    base = gains_report.System("bm25", run, "first stage")
    gains_report.report(prepared, [base, gains_report.System("p", run, "aggregator", folder)], tmp_path / "results")
    found = json.loads((tmp_path / "results" / "gains-c.json").read_text())
    assert found["rows"][1]["not_converged"] == "1 of 2 folds"


def trained_end_to_end(prepared: Any, name: str, folds: Iterable[str]) -> None:
    """Write what a training has ranked: document a before b, which SumP has the other way round."""
    for fold in folds:
        folder = prepared["end-to-end"] / name / fold
        folder.mkdir(parents=True, exist_ok=True)
        known = {} if name == "maxp" else {"document_score": 2.0}
        query_id = prepared.folds[fold].test[0]
        ranked = [
            evidence("a", [1.0, -3.0], query_id=query_id, **known),
            evidence("b", [0.0, -1.0], query_id=query_id, **(known and {"document_score": 1.0})),
        ]
        write_evidence(folder / "test.run.evidence", [ranked])
        write_run(folder / "test.run", **{query_id: "a b"})


def test_rows_of_trainings_that_were_not_kept_stay_and_are_corrected_with_what_is_new(
    monkeypatch: pytest.MonkeyPatch, prepared: Any, tmp_path: Path
) -> None:
    end_to_end = import_module("benchmarks.end_to_end")
    first, second = (write_run(tmp_path / f"{name}.run", q1="b a", q2=q2) for name, q2 in (("x", "b a"), ("y", "a b")))
    runs = dict(zip(end_to_end.UNTRAINED, (first, first, second), strict=True))
    monkeypatch.setattr(end_to_end, "untrained", lambda *_, mixed: runs)
    every, model = ("s1", "s2"), tmp_path / "model"

    def train(name: str) -> Path:
        folder = trained(prepared["end-to-end"] / name, 0.9, 0.1)
        trained_end_to_end(prepared, name, every)
        return folder

    folder = train("maxp")
    found = end_to_end.measured(prepared, model, every)
    assert found["compared_with"] == "cross-encoder, MaxP"
    values = {row["system"]: row["value"] for row in found["rows"]}
    assert values == dict(zip(end_to_end.UNTRAINED, (0.5, 0.5, 0.75), strict=True)) | {
        "MAXP, firstp": 1.0,
        "MAXP, maxp": 1.0,
        "MAXP, sump": 0.5,
        "MAXP, avgp": 0.5,
    }
    assert found["rows"][-1]["validations"] == [[0.1, 0.9, 0.1], [0.1, 0.1, 0.1]]
    drawn = end_to_end.curves(found["rows"])
    assert {name: [one.validations for one in folds] for name, folds in drawn.items()} == {
        "MAXP": [[(50, 0.1), (100, 0.9), (150, 0.1)], [(50, 0.1), (100, 0.1), (150, 0.1)]]
    }
    shutil.rmtree(folder)
    known = json.loads(json.dumps(found["rows"]))
    assert end_to_end.measured(prepared, model, every, known) == found
    train("knrm")
    grown = end_to_end.measured(prepared, model, every, known)
    assert [row["system"] for row in grown["rows"]] == [*values, "KNRM"]
    assert grown["test"] == "paired t-test, Holm over 5"
    assert [row["values"] for row in grown["rows"][:-1]] == [row["values"] for row in found["rows"]]


def test_of_all_folds_what_reads_passages_is_measured_alone_and_interpolated(
    monkeypatch: pytest.MonkeyPatch, prepared: Any, tmp_path: Path
) -> None:
    end_to_end = import_module("benchmarks.end_to_end")
    ranked = write_run(tmp_path / "bm25.run", q1="a b", q2="b a")
    names = (*end_to_end.UNTRAINED, "cross-encoder, MaxP + BM25")
    monkeypatch.setattr(end_to_end, "untrained", lambda *_, mixed: dict.fromkeys(names, ranked))
    every = ("s1", "s2")
    for name in ("maxp", "knrm"):
        trained(prepared["end-to-end"] / name, 0.9, 0.1)
        trained_end_to_end(prepared, name, every)
    found = end_to_end.measured(prepared, tmp_path / "model", every, mixed=True)
    values = {row["system"]: row["value"] for row in found["rows"]}
    read = [f"MAXP, {name}" for name in ("firstp", "maxp", "sump", "avgp")]
    assert list(values) == [*names, *(f"{name}{mix}" for name in (*read, "KNRM") for mix in ("", " + BM25"))]
    assert values["MAXP, sump"] == 0.5
    assert values["MAXP, sump + BM25"] == 0.5  # .7 of what says b first outweighs .3 of BM25
    assert found["test"] == "paired t-test, Holm over 10" and found["queries"] == 2


def test_weights_are_told_apart_by_the_beginning_of_their_digest(tasks: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    assert tasks.weights_of(tmp_path) == "ba7816bf"


def test_what_is_trained_end_to_end_on_all_folds_is_among_the_systems_alone_and_interpolated(
    monkeypatch: pytest.MonkeyPatch, prepared: Any, tmp_path: Path
) -> None:
    gains = import_module("benchmarks.gains")
    write_run(tmp_path / "bm25.run", q1="b a", q2="b a")
    every = ("s1", "s2")
    for name, folds in {"knrm": every, "maxp-of-whole-documents": every, "maxp": every, "parade-max": ("s1",)}.items():
        trained_end_to_end(prepared, name, folds)
    reranked = []

    def rerank_dev(_: Any, trained: Path, pipeline: str, query_ids: tuple[str, ...], *more: str, cached: bool) -> None:
        assert pipeline in shipped_pipelines()
        reranked.append((trained.parent.name, *query_ids, *more, cached))
        ranked = [evidence("a", [1.0], query_id=query_ids[0], document_score=1.0)]
        write_evidence(trained / "dev.run.evidence", [ranked])
        write_run(trained / "dev.run", **{query_ids[0]: "a"})

    monkeypatch.setattr(gains, "_rerank_dev", rerank_dev)
    found = {system.name: system for system in gains.trained_end_to_end(prepared)}
    networks = {"maxp-of-whole-documents": "maxp", "knrm": "knrm"}
    assert reranked == [
        (name, query_id, "--set", f"scorer.options.network={network}", False)
        for name, network in networks.items()
        for query_id in ("q2", "q1")
    ]
    assert found["KNRM, end to end + BM25"].dev == "dev-mixed.run"
    assert found["MAXP, maxp, end to end"].dev is None
    read = [f"MAXP, {name}" for name in ("firstp", "maxp", "sump", "avgp")]
    expected = [
        f"{name}, end to end{mix}" for mix in ("", " + BM25") for name in (*read, "MaxP of whole documents", "KNRM")
    ]
    assert sorted(found) == sorted(expected)
    values = {name: gains.end_to_end.values_of(prepared, system.run, prepared.qrels) for name, system in found.items()}
    assert values["MAXP, maxp, end to end"] == values["KNRM, end to end"] == {"q1": 1.0, "q2": 1.0}
    assert values["MAXP, sump, end to end"] == {"q1": 0.5, "q2": 0.5}
    assert values["KNRM, end to end + BM25"] == {"q1": 1.0, "q2": 1.0}  # .7 of 1 against .3 of 1
