from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import documents, index_of, queries
from longrank.errors import InputError, IntegrityError
from longrank.fusion import linear, rrf
from longrank.index import Index
from longrank.index.vectors import PassageVectors, stored_vectors
from longrank.retrieval import BM25, Dense, Hybrid, first_stage, make_retriever, open_retriever, retrieve_all
from longrank.retrieval.nearest import best_documents, pooled
from longrank.retrieval.products import products, rounding
from longrank.scoring.vectors import cosines
from longrank.types import Notes, Query, Run, ScoredDoc
from stored import H, encode, random_vectors, store, unit


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(60), tmp_path_factory.mktemp("dense") / "index")


@pytest.fixture(scope="module")
def stored(index: Index) -> PassageVectors:
    return store(index, random_vectors(index))


def naive(index: Index, stored: PassageVectors, query: Query, best: int) -> list[ScoredDoc]:
    """Every document, scored passage by passage and sorted as a whole."""
    offsets, rows = stored.offsets.astype(int), []
    for number in range(len(index)):
        scores = np.sort(cosines(stored.matrix[offsets[number] : offsets[number + 1]], encode(query)))[::-1][:best]
        rows.append(ScoredDoc(query.query_id, index.doc_id(number), float(np.float32(scores.astype(float).sum()))))
    return list(Run("naive", rows)[query.query_id])


@pytest.mark.parametrize("best", [1, 2, 100])
@pytest.mark.parametrize("k", [1, 7, 60, 1000])
def test_documents_are_those_of_a_search_passage_by_passage(
    index: Index, stored: PassageVectors, best: int, k: int
) -> None:
    dense = Dense(index, stored, encode, best=best)
    for query in queries(5):
        assert dense.retrieve(query, k) == naive(index, stored, query, best)[:k]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4))
def test_equal_vectors_are_ordered_by_doc_id(
    index: Index, stored: PassageVectors, seed: int, k: int, best: int
) -> None:
    query = unit(np.random.default_rng(seed).integers(-1, 2, (1, H)))[0]
    numbers, scores = best_documents(stored, query, index.id_ranks, k, best=best)
    rows = list(zip(scores.tolist(), index.doc_ids(numbers), strict=True))
    assert rows == sorted(rows, reverse=True)
    assert len(set(numbers.tolist())) == min(k, len(index))


@pytest.mark.parametrize("rows", [1, 3, 64, 10_000])
def test_blocks_change_no_product_beyond_rounding(rows: int) -> None:
    rng = np.random.default_rng(1)
    matrix, query = unit(rng.normal(size=(1000, 384))), unit(rng.normal(size=(1, 384)))[0]
    true = matrix.astype(np.float64) @ query.astype(np.float64)
    assert np.abs(products(matrix, query, rows) - true).max() < rounding(query) / 2


def test_pooled_adds_the_largest_scores_of_each_document() -> None:
    scores, offsets = np.array([0.5, -1, 0.25, 0, -0.5], np.float32), np.array([0, 3, 4, 5])
    assert pooled(scores, offsets, 1).tolist() == [0.5, 0, -0.5]
    assert pooled(scores, offsets, 2).tolist() == [0.75, 0, -0.5]
    assert pooled(scores, offsets, 9).tolist() == [-0.25, 0, -0.5]
    assert pooled(scores[:0], np.zeros(1, np.int64), 1).tolist() == []


def test_a_query_without_text_finds_nothing_and_is_counted(index: Index, stored: PassageVectors) -> None:
    notes = Notes()
    assert Dense(index, stored, encode, notes=notes).retrieve(Query("q", " \n"), 5) == []
    assert notes["queries without text, not encoded"] == 1


def test_threads_change_nothing(index: Index, stored: PassageVectors) -> None:
    hybrid = Hybrid(BM25(index), Dense(index, stored, encode))
    expected = [hybrid.retrieve(query, 9) for query in queries(6)]
    assert [ranking.rows() for ranking in retrieve_all(hybrid, queries(6), 9, 4)] == expected
    assert hybrid.noting(Notes()).retrieve(queries(1)[0], 9) == expected[0]


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_1(index: Index, stored: PassageVectors, k: int) -> None:
    dense = Dense(index, stored, encode)
    for stage in (dense, Hybrid(BM25(index), dense)):
        with pytest.raises(InputError, match="k must be at least 1"):
            stage.retrieve(queries(1)[0], k)


def test_hybrid_is_the_fusion_of_both_runs(index: Index, stored: PassageVectors) -> None:
    words, dense, query = BM25(index), Dense(index, stored, encode), queries(1)[0]
    runs = [Run("run", stage.retrieve(query, 20)) for stage in (words, dense)]
    expected = list(rrf(runs, tag="t")[query.query_id])
    assert Hybrid(words, dense, depth=20).retrieve(query, 10) == expected[:10]
    assert Hybrid(words, dense, depth=20).retrieve(query, 30) == expected[:30]  # fused to the same depth
    weighted = Hybrid(
        words, dense, lambda runs, tag: linear(runs, tag=tag, weights=[0.25, 0.75], normalize="minmax"), depth=20
    )
    expected = linear(runs, tag="t", weights=[0.25, 0.75], normalize="minmax")[query.query_id][:10]
    assert weighted.retrieve(query, 10) == list(expected)


def test_hybrid_finds_documents_without_a_query_term(index: Index, stored: PassageVectors) -> None:
    hybrid, query = Hybrid(BM25(index), Dense(index, stored, encode)), Query("q", "elsewhere")
    assert [row.doc_id for row in hybrid.retrieve(query, 5)] == [
        row.doc_id for row in Dense(index, stored, encode).retrieve(query, 5)
    ]
    assert hybrid.expand(queries(1)[0]) == BM25(index).expand(queries(1)[0])


def test_a_preset_names_its_vectors_and_takes_options() -> None:
    assert first_stage("dense:a-b", {}).vectors == {"vectors": "a-b"}
    assert first_stage("hybrid:a-b", {"best": 2, "k1": 1.5}).parameters == {"k1": 1.5, "b": 0.4}
    assert first_stage("hybrid", {"method": "minmax", "weight": 0.3}).vectors == {"method": "minmax", "weight": 0.3}


@pytest.mark.parametrize(
    ("preset", "options", "message"),
    [
        ("dense", {"best": 0}, "best of preset 'dense' should be greater than or equal to 1"),
        ("dense", {"k1": 1.0}, "preset 'dense' has no such setting .got 'k1'.*one of best, exact, model, vectors"),
        ("hybrid", {"method": "sum"}, "method of preset 'hybrid' should be 'rrf' or 'minmax'"),
        ("hybrid", {"weight": 1.5}, "weight of preset 'hybrid' should be less than or equal to 1"),
        ("hybrid", {"k2": 1.5}, "similarity 'bm25' with feedback 'none' has no such setting"),
        ("bm25-anserini:x", {}, "unknown preset"),
    ],
)
def test_wrong_settings_are_refused(preset: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        first_stage(preset, options)


def test_reciprocal_ranks_take_no_weight(index: Index, stored: PassageVectors) -> None:
    with pytest.raises(InputError, match=r"reciprocal ranks have no weight .*method=minmax"):
        make_retriever(index, "hybrid", weight=0.5)


def test_another_engine_has_no_vectors() -> None:
    with pytest.raises(InputError, match="preset 'hybrid' needs a LongRank index"):
        open_retriever("lucene:/nowhere", first_stage("hybrid", {}))


@pytest.fixture
def small(tmp_path: Path) -> Index:
    return index_of(documents(4), tmp_path / "index")


def test_an_index_without_vectors_is_refused_with_the_command(small: Index) -> None:
    with pytest.raises(InputError, match=r"no passage vectors.*longrank index .*index --vectors minilm"):
        make_retriever(small, "dense")


def test_vectors_must_be_finished_named_and_of_these_documents(small: Index, tmp_path: Path) -> None:
    store(small, random_vectors(small), "a-words")
    assert stored_vectors(small).path.name == "a-words"
    (small.path / "vectors" / "b-words").mkdir()
    with pytest.raises(
        InputError, match=r"b-words: these vectors were never finished; store them again, .* --vectors MODEL"
    ):
        stored_vectors(small, "b-words")
    with pytest.raises(InputError, match=r"no vectors of this name \(got 'a-word'\); did you mean 'a-words'"):
        stored_vectors(small, "a-word")
    store(small, random_vectors(small), "c-words")
    with pytest.raises(InputError, match=r"several sets of vectors \(got 'a-words, c-words'\); name one"):
        stored_vectors(small)
    manifest = small.path / "vectors" / "c-words" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"index": "other"}))
    with pytest.raises(InputError, match=r"c-words: .* of other documents .*store them again.* --vectors MODEL"):
        stored_vectors(small, "c-words")


def test_vectors_of_another_dimension_are_refused(small: Index) -> None:
    folder = store(small, random_vectors(small, largest=1)).path
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"dimension": 15}))
    with pytest.raises(IntegrityError, match="vectors of another dimension"):
        stored_vectors(small)


def test_a_vector_that_is_not_finite_is_named(small: Index) -> None:
    vectors = random_vectors(small, largest=3)
    vectors[2][-1, 0] = np.nan
    passage = len(vectors[2]) - 1
    dense = Dense(small, store(small, vectors), encode)
    with pytest.raises(IntegrityError, match=f"passage {passage} of document 'd002' is not finite; store"):
        dense.retrieve(queries(1)[0], 2)


def test_the_vectors_of_a_folder_name_no_model(small: Index) -> None:
    store(small, random_vectors(small))
    with pytest.raises(InputError, match=r"do not name their model; name its folder: --set model="):
        make_retriever(small, "dense")
