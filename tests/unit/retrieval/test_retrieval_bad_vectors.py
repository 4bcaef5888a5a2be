"""Stored vectors that cannot be searched: each is refused with its folder and a cure, by dense and hybrid alike."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import longrank.scoring
from fakes import documents, index_of, queries
from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.retrieval import BM25, Dense, Hybrid, make_retriever
from longrank.retrieval.approximate import Graph
from stored import KEY, H, encode, random_vectors, store

STAGES = ("dense", "hybrid")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(documents(6), tmp_path / "index")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["vectors", "offsets", "truncated", "passages", "starts"])
def test_a_missing_file_is_named(index: Index, stage: str, name: str) -> None:
    folder = store(index, random_vectors(index)).path
    (folder / name).unlink()
    with pytest.raises(IntegrityError, match=f"tiny-words.*{name}"):
        make_retriever(index, stage)


@pytest.mark.parametrize("stage", STAGES)
def test_a_file_that_was_written_in_part_is_named(index: Index, stage: str) -> None:
    path = store(index, random_vectors(index)).path / "vectors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(IntegrityError, match=r"tiny-words.*vectors"):
        make_retriever(index, stage)


@pytest.mark.parametrize("stage", STAGES)
def test_a_damaged_manifest_is_named(index: Index, stage: str) -> None:
    (store(index, random_vectors(index)).path / "manifest.json").write_text("{")
    with pytest.raises(IntegrityError, match=r"tiny-words.*manifest\.json"):
        make_retriever(index, stage)


@pytest.mark.parametrize("stage", STAGES)
def test_a_model_of_another_dimension_is_refused(index: Index, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = store(index, random_vectors(index), model="some/model").path
    encoder = SimpleNamespace(dimension=H + 1, model=SimpleNamespace(fingerprint=KEY.encoder.split()[1]))
    monkeypatch.setattr(longrank.scoring, "make_scorer", lambda *args, **options: encoder)
    with pytest.raises(IntegrityError, match=f"{folder}: dimension {H}, the model has {H + 1}"):
        make_retriever(index, stage)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_named_by_both_stages(index: Index, value: float) -> None:
    vectors = random_vectors(index)
    vectors[4][0, 1] = value
    dense, query = Dense(index, store(index, vectors), encode), queries(1)[0]
    for stage in (dense, Hybrid(BM25(index), dense)):
        with pytest.raises(IntegrityError, match="passage 0 of document 'd004' is not finite; store the vectors again"):
            stage.retrieve(query, 2)


def test_approximate_search_of_another_version_is_refused(index: Index) -> None:
    pytest.importorskip("faiss", reason="needs the extra ann")
    stored = store(index, random_vectors(index))
    from longrank.retrieval.approximate import write_graph

    write_graph(index, stored)
    manifest = stored.path / "hnsw" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 1}))
    with pytest.raises(IntegrityError, match="hnsw: not a graph of this version; build it again"):
        Graph(stored.path / "hnsw", stored)
