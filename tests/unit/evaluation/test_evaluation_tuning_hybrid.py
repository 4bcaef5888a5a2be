"""The weight of a hybrid first stage, chosen by tune."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import stored
from fakes import documents, index_of, queries
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate
from longrank.fusion import linear
from longrank.index import Index
from longrank.retrieval import BM25, Dense, dense
from longrank.retrieval.approximate import write_graph
from longrank.types import Run
from longrank.verbs.tune import tune

QUERIES = queries(6)
WEIGHTS = (0.0, 0.3, 1.0)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(documents(40), tmp_path / "index")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The loads of the vectors' model, which a fake replaces."""
    calls: list[str] = []

    def load(vectors: object, model: object, notes: object) -> dense.Encode:
        calls.append("load")
        return stored.encode

    monkeypatch.setattr(dense, "open_encoder", load)
    return calls


def judged(index: Index) -> dict[str, dict[str, int]]:
    return {query.query_id: {index.doc_id(7 * n % 40): 1, index.doc_id(n): 1} for n, query in enumerate(QUERIES)}


def test_the_weight_is_chosen_by_folds_and_the_model_is_loaded_once_for_all_weights(
    index: Index, loads: list[str]
) -> None:
    words, dense = BM25(index), Dense(index, stored.store(index, stored.random_vectors(index)), stored.encode)
    qrels, fixed = judged(index), {"method": "minmax"}
    result = tune(index, QUERIES, qrels, {"weight": WEIGHTS}, preset="hybrid", settings=fixed, k=40, folds=2)
    assert len(loads) <= 1 + len(WEIGHTS)  # once for the grid; once more for each chosen weight
    for setting, values in zip(result.table.settings, result.table.values, strict=True):
        shares = [1 - setting["weight"], setting["weight"]]
        pairs = [[Run("r", stage.retrieve(query, 1000)) for stage in (words, dense)] for query in QUERIES]
        fused = [linear(runs, tag="t", weights=shares, normalize="minmax") for runs in pairs]
        run = Run("fused", [row for one, query in zip(fused, QUERIES, strict=True) for row in one[query.query_id][:40]])
        assert dict(zip(result.table.query_ids, values, strict=True)) == evaluate(qrels, run, ["AP"])["AP"]
    assert {setting["weight"] for setting in result.settings.values()} <= set(WEIGHTS)


def test_a_weight_of_reciprocal_ranks_is_refused_with_the_cure(index: Index, loads: list[str]) -> None:
    stored.store(index, stored.random_vectors(index))
    with pytest.raises(InputError, match=r"reciprocal ranks have no weight .*add --set method=minmax"):
        tune(index, QUERIES, judged(index), {"weight": WEIGHTS}, preset="hybrid")
    assert loads == []


def test_a_weight_above_one_is_refused(index: Index, loads: list[str]) -> None:
    stored.store(index, stored.random_vectors(index))
    with pytest.raises(InputError, match="weight of preset 'hybrid' should be less than or equal to 1"):
        tune(index, QUERIES, judged(index), {"weight": (0.5, 1.5)}, preset="hybrid", settings={"method": "minmax"})


@pytest.mark.parametrize("approximate", [False, True])
def test_values_of_other_stored_vectors_are_not_taken_over(
    index: Index, loads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, approximate: bool
) -> None:
    again = partial(
        tune, index, QUERIES, judged(index), {"weight": WEIGHTS}, preset="hybrid", settings={"method": "minmax"}
    )
    vectors = stored.store(index, stored.random_vectors(index))
    first = again(folder=tmp_path / "tuned")
    assert again(folder=tmp_path / "tuned").value == first.value
    if approximate:
        pytest.importorskip("faiss", reason="needs faiss-cpu")
        write_graph(index, vectors)
    else:  # of the same name: other passages, by the same model
        monkeypatch.setattr(stored, "KEY", stored.KEY._replace(segmenter="sentences"))
        stored.store(index, stored.random_vectors(index, seed=5))
    with pytest.raises(InputError, match=r"was begun with other vectors: .*words"):
        again(folder=tmp_path / "tuned")
