from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fakes import documents, index_of, queries
from longrank.errors import InputError, IntegrityError
from longrank.index import Index, verify_index
from longrank.index.vectors import PassageVectors
from longrank.retrieval import Dense, first_stage
from longrank.retrieval.ann_methods import ANN_METHODS, IvfPq
from longrank.retrieval.approximate import Graph, open_graph, write_graph
from longrank.retrieval.dense import FEWER
from longrank.retrieval.products import products
from longrank.retrieval.vector_groups import grouped
from longrank.types import Float32s, Notes
from stored import H, encode, random_vectors, store, unit

pytest.importorskip("faiss", reason="needs the extra ann")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(documents(50), tmp_path / "index")


@pytest.fixture
def stored(index: Index) -> PassageVectors:
    return store(index, random_vectors(index))


def scored(stored: PassageVectors, rows: NDArray[np.int64], query: Float32s) -> tuple[NDArray[np.int64], Float32s]:
    return rows, products(stored.matrix[rows], query)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("method", ANN_METHODS)
def test_a_graph_of_few_vectors_finds_what_exact_search_finds(
    index: Index, stored: PassageVectors, method: str
) -> None:
    graph = write_graph(index, stored, method)
    assert graph.recall > 0.99
    for query in queries(8):
        exact = Dense(index, stored, encode).retrieve(query, 10)
        found = Dense(index, stored, encode, graph=graph).retrieve(query, 10)
        assert [row.score for row in found] == [row.score for row in exact]
        assert found == exact


def test_documents_are_scored_by_all_their_passages_whichever_was_found(
    index: Index, stored: PassageVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, offsets = write_graph(index, stored), stored.offsets.astype(np.int64)
    exact = [(query, Dense(index, stored, encode).retrieve(query, 50)) for query in queries(8)]
    last = offsets[1:] - 1  # the last passage of each document is found, mostly not its best
    assert (np.diff(offsets) > 1).any()
    monkeypatch.setattr(Graph, "passages", lambda self, query, n: scored(stored, last[: max(n // 4, 2)], query))
    for share in (0, 4):
        monkeypatch.setattr("longrank.retrieval.approximate._SHARE", share)
        for query, known in exact:
            scores = {row.doc_id: row.score for row in known}
            for k in (2, 10):
                found = Dense(index, stored, encode, graph=graph).retrieve(query, k)
                assert len(found) == k
                assert [row.score for row in found] == [scores[row.doc_id] for row in found]


def test_a_passage_that_is_not_finite_is_named_though_another_was_found(
    index: Index, stored: PassageVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, offsets = write_graph(index, stored), stored.offsets.astype(np.int64)
    bad = int(np.flatnonzero(np.diff(offsets) > 1)[0])
    matrix = stored.matrix.copy()
    matrix[offsets[bad]] = np.nan
    monkeypatch.setattr(type(stored), "matrix", matrix, raising=False)
    monkeypatch.setattr(Graph, "passages", lambda self, query, n: scored(stored, offsets[1:] - 1, query))
    monkeypatch.setattr("longrank.retrieval.approximate._SHARE", 0)
    with pytest.raises(IntegrityError, match=f"of document '{index.doc_id(bad)}' is not finite"):
        Dense(index, stored, encode, graph=graph).retrieve(queries(1)[0], 50)


@pytest.mark.parametrize("method", ANN_METHODS)
def test_recall_in_the_manifest_is_that_of_the_sampled_passages(
    index: Index, stored: PassageVectors, method: str
) -> None:
    graph, shares = write_graph(index, stored, method), []
    for row in np.linspace(0, len(stored) - 1, min(200, len(stored))).astype(int):
        scores = products(stored.matrix, stored.matrix[row])
        found, _ = graph.passages(stored.matrix[row], 100)
        shares.append(min(1.0, np.count_nonzero(scores[found] >= np.sort(scores)[-100] - 1e-5) / 100))
    assert graph.recall == pytest.approx(np.mean(shares), abs=1e-4)
    assert json.loads((stored.path / method / "manifest.json").read_text())["recall@100"] == graph.recall


@pytest.mark.parametrize("method", ANN_METHODS)
def test_a_graph_is_kept_and_another_build_has_the_same_bytes(
    index: Index, stored: PassageVectors, method: str
) -> None:
    write_graph(index, stored, method)
    folder = stored.path / method
    first, made = files(folder), (folder / "graph").stat().st_ino
    write_graph(index, stored, method)
    assert (folder / "graph").stat().st_ino == made
    (folder / "graph").unlink()
    write_graph(index, stored, method)
    assert files(folder) == first


@pytest.mark.parametrize("method", ANN_METHODS)
def test_checksums_of_a_graph_are_verified(index: Index, stored: PassageVectors, method: str) -> None:
    write_graph(index, stored, method)
    verify_index(index.path)
    path = stored.path / method / "graph"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match="graph"):
        verify_index(index.path)


@pytest.mark.parametrize("method", ANN_METHODS)
def test_a_graph_of_other_vectors_is_refused_and_built_again(index: Index, stored: PassageVectors, method: str) -> None:
    write_graph(index, stored, method)
    manifest = stored.path / method / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"vectors": "other"}))
    with pytest.raises(IntegrityError, match="of other vectors; build it again"):
        open_graph(stored)
    assert isinstance(write_graph(index, stored, method), Graph)
    assert open_graph(stored) is not None


@pytest.mark.parametrize("method", ANN_METHODS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_graph_with_a_flipped_bit_is_built_again(
    index: Index, stored: PassageVectors, method: str, place: int
) -> None:
    """faiss cannot read the file if the first byte, its kind, is another."""
    write_graph(index, stored, method)
    path = stored.path / method / "graph"
    whole = path.read_bytes()
    content = bytearray(whole)
    content[place] ^= 1
    path.write_bytes(content)
    if place == 0:
        with pytest.raises(IntegrityError, match=f"damaged; build it again: .* --ann {method}"):
            open_graph(stored)
    write_graph(index, stored, method)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("method", ANN_METHODS)
def test_a_graph_that_names_a_vector_beyond_the_stored_is_damaged(
    index: Index, stored: PassageVectors, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = write_graph(index, stored, method)
    monkeypatch.setattr("longrank.retrieval.approximate.search", lambda *_: np.array([len(stored), 0]))
    with pytest.raises(IntegrityError, match=f"damaged; build it again: .* --ann {method}"):
        graph.passages(stored.matrix[0], 2)


def test_vectors_that_are_stored_again_while_their_graph_is_built_get_none(
    index: Index, stored: PassageVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.retrieval.approximate._built", lambda *_: store(index, random_vectors(index, seed=5)))
    with pytest.raises(InputError, match="these vectors were replaced while their graph was built"):
        write_graph(index, stored)
    assert open_graph(PassageVectors(stored.path, index)) is None


@pytest.mark.parametrize("method", ANN_METHODS)
def test_vectors_that_are_stored_again_have_no_graph(index: Index, stored: PassageVectors, method: str) -> None:
    write_graph(index, stored, method)
    assert open_graph(store(index, random_vectors(index, seed=4))) is None


def test_a_vector_that_is_not_finite_is_named(index: Index) -> None:
    vectors = random_vectors(index)
    vectors[3][0, 0] = np.inf
    with pytest.raises(IntegrityError, match="passage 0 of document 'd003' is not finite"):
        write_graph(index, store(index, vectors))
    assert sorted(path.name for path in index.path.iterdir() if path.name.startswith(".building")) == []


def test_another_method_replaces_the_first(index: Index, stored: PassageVectors) -> None:
    for method in ("hnsw", "ivf-pq", "hnsw"):
        write_graph(index, stored, method)
        assert [name for name in ANN_METHODS if (stored.path / name).exists()] == [method]
        graph = open_graph(stored)
        assert graph is not None
        assert graph.method == method


@pytest.mark.parametrize("n", [1, 2, 40, 3000])
def test_lists_and_codes_fit_the_number_of_vectors(n: int) -> None:
    options = IvfPq().options(n, 384)
    assert 1 <= options["lists"] <= n
    assert 2 ** options["bits"] <= max(2, n)
    assert 384 % options["parts"] == 0


def test_a_single_vector_has_lists(tmp_path: Path) -> None:
    index = index_of(documents(1), tmp_path / "one")
    stored = store(index, random_vectors(index, largest=1))
    assert write_graph(index, stored, "ivf-pq").passages(encode(queries(1)[0]), 5)[0].tolist() == [0]


def test_exact_search_is_an_option() -> None:
    assert first_stage("hybrid", {"exact": True}).vectors == {"exact": True}


def test_documents_that_approximate_search_cannot_reach_are_said(
    index: Index, stored: PassageVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, notes = write_graph(index, stored, "ivf-pq"), Notes()
    monkeypatch.setattr(IvfPq, "probes", 1)
    monkeypatch.setattr("longrank.retrieval.approximate._SHARE", 0)  # so few passages would be searched exactly
    retriever = Dense(index, stored, encode, graph=graph, notes=notes)
    query = queries(1)[0]
    found = [len(retriever.retrieve(query, k)) for k in (1, 50)]
    assert found[0] == 1
    assert found[1] < 50
    assert notes[FEWER] == 1
    assert len(Dense(index, stored, encode).retrieve(query, 50)) == 50


def boilerplate(index: Index, seed: int) -> list[NDArray[np.float32]]:
    """A drawn vector and that of a text of all documents, which a model encodes with small differences."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(1, H))
    return [
        unit(np.concatenate([rng.normal(size=(1, H)), common + 1e-7 * rng.normal(size=(1, H))]))
        for _ in range(len(index))
    ]


def test_thousands_of_almost_equal_passages_hide_no_other(tmp_path: Path) -> None:
    index = index_of(documents(2000), tmp_path / "index")
    stored = store(index, boilerplate(index, 6))
    graph = write_graph(index, stored)
    assert graph.recall > 0.99
    for query in queries(12):
        exact = [row.score for row in Dense(index, stored, encode).retrieve(query, 10)]
        found = [row.score for row in Dense(index, stored, encode, graph=graph).retrieve(query, 10)]
        assert len(found) == 10
        assert min(found) >= exact[-1] - 1e-6


def test_almost_equal_passages_are_found_with_their_documents(tmp_path: Path) -> None:
    index = index_of(documents(300), tmp_path / "index")
    stored = store(index, boilerplate(index, 7))
    graph = write_graph(index, stored)
    rows, scores = graph.passages(stored.matrix[1], 5)
    assert np.isin(np.arange(1, len(stored), 2), rows).all()
    assert scores == pytest.approx(stored.matrix[rows] @ stored.matrix[1], abs=1e-3)
    hits = graph.best_documents(stored.matrix[1], np.arange(300, dtype=np.uint32), 40)
    assert hits.scores == pytest.approx(np.ones(40))


def test_groups_are_those_of_rounded_coordinates() -> None:
    rng = np.random.default_rng(5)
    matrix = unit(rng.integers(-1, 2, (400, 4)) + 1e-9 * rng.normal(size=(400, 4)))
    groups = grouped(matrix)
    by_hand: dict[tuple[float, ...], list[int]] = {}
    for row, vector in enumerate(matrix):
        by_hand.setdefault(tuple((np.rint(vector * 4096) + 0.0).tolist()), []).append(row)
    cut = np.split(groups.rows, groups.bounds[1:-1])
    assert [part.tolist() for part in cut] == list(by_hand.values())
    assert groups.first.tolist() == [rows[0] for rows in by_hand.values()]
    rows, of = groups.members(np.array([3, 1]))
    assert list(zip(rows.tolist(), of.tolist(), strict=True)) == sorted(
        [(row, 0) for row in cut[3].tolist()] + [(row, 1) for row in cut[1].tolist()]
    )


def test_groups_of_another_number_of_vectors_are_damaged(index: Index, stored: PassageVectors) -> None:
    write_graph(index, stored)
    path = stored.path / "hnsw" / "rows"
    path.write_bytes(path.read_bytes()[:-8])
    manifest = stored.path / "hnsw" / "manifest.json"
    record = json.loads(manifest.read_text())
    record["files"]["rows"]["size"] -= 8
    manifest.write_text(json.dumps(record))
    with pytest.raises(IntegrityError, match="damaged; build it again"):
        open_graph(stored)
