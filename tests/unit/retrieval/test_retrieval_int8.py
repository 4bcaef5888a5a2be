"""A search that compares 8-bit numbers first finds what a search of float32 finds, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import documents, index_of, queries
from longrank.errors import IntegrityError
from longrank.index import Index, verify_index
from longrank.index.int8 import int8_rows
from longrank.index.vectors import PassageVectors, stored_vectors
from longrank.retrieval import Dense
from longrank.retrieval.nearest import best_documents
from longrank.retrieval.products import int8_products, products
from stored import H, encode, random_vectors, store, unit


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(60), tmp_path_factory.mktemp("int8") / "index")


@pytest.fixture(scope="module")
def pair(index: Index) -> tuple[PassageVectors, PassageVectors]:
    """The same vectors, without and with 8-bit numbers."""
    rng, vectors = np.random.default_rng(5), random_vectors(index)
    vectors[7:30] = [unit(rng.normal(size=(int(rng.integers(1, 9)), H))) for _ in range(23)]
    return store(index, vectors, "plain"), store(index, vectors, "small", dtype="int8")


@pytest.mark.parametrize("best", [1, 2, 100])
@pytest.mark.parametrize("k", [1, 7, 60, 1000])
def test_documents_and_scores_are_those_of_float32(
    index: Index, pair: tuple[PassageVectors, PassageVectors], best: int, k: int
) -> None:
    plain, small = (Dense(index, stored, encode, best=best) for stored in pair)
    for query in queries(5):
        assert small.retrieve(query, k) == plain.retrieve(query, k)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4))
def test_filters_and_any_query_change_nothing(
    index: Index, pair: tuple[PassageVectors, PassageVectors], seed: int, k: int, best: int
) -> None:
    rng = np.random.default_rng(seed)
    query = unit(rng.normal(size=(1, H)))[0] * np.float32(rng.integers(0, 2))  # a zero vector, too
    mask = rng.random(len(index)) < 0.6
    plain, small = (best_documents(stored, query, index.id_ranks, k, best=best, mask=mask) for stored in pair)
    assert small[0].tolist() == plain[0].tolist()
    assert small[1].tobytes() == plain[1].tobytes()


@pytest.mark.parametrize("dimension", [16, 384, 1024, 4096])
def test_every_error_is_within_its_bound_and_the_bound_is_small(dimension: int) -> None:
    rng = np.random.default_rng(1)
    matrix, query = unit(rng.normal(size=(300, dimension))), unit(rng.normal(size=(1, dimension)))[0]
    matrix[0], matrix[1] = query, -query
    scores, error = int8_products(int8_rows(matrix), query)
    assert isinstance(error, np.ndarray)
    assert (np.abs(scores.astype(np.float64) - matrix.astype(np.float64) @ query.astype(np.float64)) <= error).all()
    assert (np.abs(scores - products(matrix, query)) <= error).all()
    assert error.max() < 0.03


def test_sums_of_whole_numbers_do_not_overflow() -> None:
    rows = int8_rows(np.full((1, 8192), 8192**-0.5, np.float32))
    assert int8_products(rows, np.full(8192, 8192**-0.5, np.float32)).scores[0] == pytest.approx(1, abs=1e-3)


def test_the_same_vectors_give_the_same_bytes_and_float32_stays_as_it_was(
    index: Index, pair: tuple[PassageVectors, PassageVectors], tmp_path: Path
) -> None:
    plain, small = (
        {path.name: path.read_bytes() for path in stored.path.iterdir() if path.name != "manifest.json"}
        for stored in pair
    )
    assert {name: value for name, value in small.items() if name in plain} == plain
    assert sorted(set(small) - set(plain)) == ["errors", "int8", "scales"]
    again = store(index, [rows for rows in _of_documents(pair[0])], "again", dtype="int8").path
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in pair[1].path.iterdir()
    }
    assert verify_index(index.path) > len(plain) + len(small)


def _of_documents(stored: PassageVectors) -> list[np.ndarray]:
    return np.split(stored.matrix, stored.offsets[1:-1].astype(int))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_named(tmp_path: Path, value: float) -> None:
    few = index_of(documents(4), tmp_path / "index")
    vectors = random_vectors(few, largest=3)
    vectors[2][-1, 0] = value
    dense = Dense(few, store(few, vectors, dtype="int8"), encode)
    with pytest.raises(IntegrityError, match=f"passage {len(vectors[2]) - 1} of document 'd002' is not finite; store"):
        dense.retrieve(queries(1)[0], 2)


@pytest.mark.parametrize("name", ["int8", "scales", "errors"])
def test_files_that_do_not_fit_are_refused(tmp_path: Path, name: str) -> None:
    few = index_of(documents(4), tmp_path / "index")
    folder = store(few, random_vectors(few), dtype="int8").path
    whole = (folder / name).read_bytes()
    (folder / name).unlink()
    with pytest.raises(IntegrityError, match=f"tiny-words.*{name}"):
        stored_vectors(few)
    (folder / name).write_bytes(whole[:-4])
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name]["size"] -= 4
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(IntegrityError, match="tiny-words"):
        stored_vectors(few)
