from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fakes import documents, index_of, queries
from longrank.errors import IntegrityError
from longrank.index import Index, verify_index
from longrank.index.vectors import PassageVectors
from longrank.retrieval import Dense, first_stage
from longrank.retrieval.approximate import Graph, open_graph, write_graph
from longrank.retrieval.nearest import products
from stored import encode, random_vectors, store

pytest.importorskip("faiss", reason="needs the extra ann")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(documents(50), tmp_path / "index")


@pytest.fixture
def stored(index: Index) -> PassageVectors:
    return store(index, random_vectors(index))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_graph_of_few_vectors_finds_what_exact_search_finds(index: Index, stored: PassageVectors) -> None:
    graph = write_graph(index, stored)
    assert graph.recall > 0.99
    for query in queries(8):
        exact = Dense(index, stored, encode).retrieve(query, 10)
        found = Dense(index, stored, encode, graph=graph).retrieve(query, 10)
        assert [row.score for row in found] == [row.score for row in exact]
        assert found == exact


def test_recall_in_the_manifest_is_that_of_the_sampled_passages(index: Index, stored: PassageVectors) -> None:
    graph, shares = write_graph(index, stored), []
    for row in np.linspace(0, len(stored) - 1, min(200, len(stored))).astype(int):
        scores = products(stored.matrix, stored.matrix[row])
        found = graph.passages(stored.matrix[row], 100)
        shares.append((scores[found] >= np.sort(scores)[-100] - 1e-5).mean())
    assert graph.recall == pytest.approx(np.mean(shares), abs=1e-4)
    assert json.loads((stored.path / "hnsw" / "manifest.json").read_text())["recall@100"] == graph.recall


def test_a_graph_is_kept_and_another_build_has_the_same_bytes(index: Index, stored: PassageVectors) -> None:
    write_graph(index, stored)
    folder = stored.path / "hnsw"
    first, made = files(folder), (folder / "graph").stat().st_ino
    write_graph(index, stored)
    assert (folder / "graph").stat().st_ino == made
    (folder / "graph").unlink()
    write_graph(index, stored)
    assert files(folder) == first


def test_checksums_of_a_graph_are_verified(index: Index, stored: PassageVectors) -> None:
    write_graph(index, stored)
    verify_index(index.path)
    path = stored.path / "hnsw" / "graph"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match="graph"):
        verify_index(index.path)


def test_a_graph_of_other_vectors_is_refused_and_built_again(index: Index, stored: PassageVectors) -> None:
    write_graph(index, stored)
    manifest = stored.path / "hnsw" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"vectors": "other"}))
    with pytest.raises(IntegrityError, match="of other vectors; build it again"):
        open_graph(stored)
    assert isinstance(write_graph(index, stored), Graph)
    assert open_graph(stored) is not None


def test_vectors_that_are_stored_again_have_no_graph(index: Index, stored: PassageVectors) -> None:
    write_graph(index, stored)
    assert open_graph(store(index, random_vectors(index, seed=4))) is None


def test_a_vector_that_is_not_finite_is_named(index: Index) -> None:
    vectors = random_vectors(index)
    vectors[3][0, 0] = np.inf
    with pytest.raises(IntegrityError, match="passage 0 of document 'd003' is not finite"):
        write_graph(index, store(index, vectors))
    assert sorted(path.name for path in index.path.iterdir() if path.name.startswith(".building")) == []


def test_exact_search_is_an_option() -> None:
    assert first_stage("hybrid", {"exact": True}).vectors == {"exact": True}
