"""What trainings over folds learn from: sampled judgments, the same in every fold, and negatives of a model's run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels, read_run, write_run
from longrank.index import Index
from longrank.types import Notes, Run
from training_collections import N_QUERIES, write_collection

pytestmark = pytest.mark.neural

FOLDS = make_folds([f"q{n:02d}" for n in range(N_QUERIES)], 4, 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("experiment"))


def opened(
    folder: Path,
    folds: Mapping[str, Fold] | None = FOLDS,
    notes: Notes | None = None,
    judgments: dict[str, Any] | None = None,
    **samples: Any,
) -> Any:
    from longrank.training.experiment import open_experiment
    from longrank.training.settings import DocumentTraining

    found: dict[str, Any] = {
        "network": {"name": "parade-max"},
        "samples": samples,
        "loss": [{"name": "hinge"}],
        "loop": {"steps": 1, "batch": 1, "optimizer": {"learning_rate": 0.1}},
    }
    if judgments is not None:
        found["judgments"] = judgments
    queries = {query.query_id: query for query in read_queries(folder / "queries.jsonl", Notes())}
    return open_experiment(
        DocumentTraining.model_validate(found),
        Index.open(folder / "index"),
        queries,
        read_qrels(folder / "qrels.txt", Notes()),
        read_run(folder / "first.run", Notes()),
        folds=folds,
        notes=Notes() if notes is None else notes,
    )


def candidates(experiment: Any, name: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return the positives and negatives of each query that a fold learns from."""
    found = experiment.material(name).samples.candidates
    return {query_id: (set(positives), set(negatives)) for query_id, positives, negatives in found}


def n_judgments(qrels: Mapping[str, Mapping[str, int]]) -> int:
    return sum(map(len, qrels.values()))


def test_without_the_section_all_judgments_are_learned_from(folder: Path) -> None:
    whole = opened(folder)
    assert (whole.learned.qrels, whole.learned.dropped, whole.learned.folds) == (whole.qrels, {}, FOLDS)


@pytest.mark.parametrize(("scheme", "queries"), [("deep", 6), ("shallow", 12)])
def test_train_and_dev_are_sampled_and_said_and_tests_are_not(folder: Path, scheme: str, queries: int) -> None:
    notes = Notes()
    some = opened(folder, notes=notes, judgments={"scheme": scheme, "rate": 0.5})
    total = n_judgments(some.qrels)
    assert n_judgments(some.learned.qrels) == total // 2
    assert len(some.learned.qrels) == pytest.approx(queries, abs=2)
    for name, fold in FOLDS.items():
        left = some.learned.folds[name]
        assert left.test == fold.test
        assert left.train == tuple(query_id for query_id in fold.train if query_id in some.learned.qrels)
        assert left.dev == tuple(query_id for query_id in fold.dev if query_id in some.learned.qrels)
    lost = N_QUERIES - len(some.learned.qrels)
    assert notes["queries whose judgments sampling dropped, not trained or validated on"] == lost
    said = f"judgments to learn from: {total // 2} of {total}, of {N_QUERIES - lost} queries"
    assert said in notes.lines()


def test_a_query_has_the_same_sampled_judgments_in_every_fold(folder: Path) -> None:
    some = opened(folder, judgments={"scheme": "shallow", "rate": 0.5})
    seen: dict[str, tuple[set[str], set[str]]] = {}
    for name in FOLDS:
        for query_id, sides in candidates(some, name).items():
            assert seen.setdefault(query_id, sides) == sides
    assert {doc_id for query_id, (positives, _) in seen.items() for doc_id in positives}


@pytest.mark.parametrize("may", [True, False])
def test_what_sampling_dropped_is_a_negative_only_if_it_may(folder: Path, may: bool) -> None:
    """A relevant document whose judgment is dropped looks like any unjudged one, unless that is ruled out."""
    some = opened(folder, judgments={"scheme": "shallow", "rate": 0.4}, dropped=may)
    dropped = {(query_id, doc_id) for query_id, docs in some.learned.dropped.items() for doc_id in docs}
    learned = [candidates(some, name) for name in FOLDS]
    negatives = {(query_id, doc_id) for fold in learned for query_id in fold for doc_id in fold[query_id][1]}
    assert bool(negatives & dropped) == may


def test_without_folds_all_queries_are_one_part(folder: Path) -> None:
    some = opened(folder, None, judgments={"scheme": "deep", "rate": 0.3})
    assert list(some.folds) == ["training"]
    assert len(some.folds["training"].train) == N_QUERIES
    assert set(some.learned.folds["training"].train) == set(some.learned.qrels) < set(some.qrels)


def test_another_seed_learns_from_other_judgments(folder: Path) -> None:
    one, other = (opened(folder, judgments={"scheme": "shallow", "rate": 0.5, "seed": seed}) for seed in (1, 2))
    assert one.learned.qrels != other.learned.qrels


def test_negatives_come_from_a_models_run_between_its_ranks(folder: Path, tmp_path: Path) -> None:
    whole = opened(folder)
    turned = Run("model", (row._replace(score=-row.score) for row in whole.run.rows()))
    write_run(turned, tmp_path / "model.run")
    hard = opened(folder, negatives="model", model_run=str(tmp_path / "model.run"), ranks=[1, 6])
    for query_id, (positives, negatives) in candidates(hard, "s1").items():
        ranked = [row.doc_id for row in turned[query_id][:6]]
        assert negatives == {doc_id for doc_id in ranked if not whole.qrels[query_id].get(doc_id)}
        assert positives


def test_a_models_run_is_checked_like_the_first_stage(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.run"
    path.write_text("".join(f"q{n:02d} Q0 gone 1 1.0 m\n" for n in range(N_QUERIES)))
    with pytest.raises(InputError, match=r"documents of samples.model_run that are not in the index: 1 \(gone\)"):
        opened(folder, negatives="model", model_run=str(path)).check(list(FOLDS))
    with pytest.raises(InputError, match=r"nowhere\.run: no such file"):
        opened(folder, negatives="model", model_run=str(tmp_path / "nowhere.run"))
