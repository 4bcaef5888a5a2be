from __future__ import annotations

from pathlib import Path

import pytest

from fakes import documents, index_of, queries
from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking.build import add_vectors
from longrank.ranking.explain import search
from longrank.ranking.pipeline import open_pipeline, rank_one
from longrank.retrieval import make_retriever
from longrank.types import Document, Notes, Query
from tiny_models import save_encoder

pytestmark = pytest.mark.neural

PASSAGES = ("passages.preset=windows",)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, model: str) -> Index:
    folder = tmp_path_factory.mktemp("dense") / "index"
    built = index_of([*documents(12), Document("empty", "", "")], folder)
    add_vectors(built.path, model, "windows", Notes(), lambda done: None)
    return built


@pytest.mark.parametrize("name", ["dense", "hybrid"])
def test_the_evidence_shows_the_passage_that_found_the_document(index: Index, model: str, name: str) -> None:
    assignments = [*PASSAGES, f"first_stage.model={model}"]
    pipeline = open_pipeline(index, name, model=model, assignments=assignments)
    for query in queries(3):
        ranked = rank_one(pipeline, query, 5)
        assert list(ranked.run[query.query_id]) == list(ranked.first_stage[query.query_id])
        dense = {row.doc_id: row.score for row in make_retriever(index, "dense", model=model).retrieve(query, 99)}
        assert {one.doc_id: float(one.passage_score.max()) for one in ranked.evidence} == dense


@pytest.mark.parametrize("name", ["dense", "hybrid", "minilm-hybrid", "mixed-hybrid"])
def test_documents_without_a_query_term_are_found_and_shown(index: Index, model: str, name: str) -> None:
    pipeline = open_pipeline(index, name, model=model, assignments=[*PASSAGES, f"first_stage.model={model}"])
    results = search(pipeline, "elsewhere", k=3)
    assert len(results) == 3
    assert all(result.passages for result in results)


def test_a_relative_folder_is_no_model_name_of_the_vectors(index: Index) -> None:
    with pytest.raises(InputError, match="do not name their model"):
        make_retriever(index, "dense")


def test_another_model_is_refused(index: Index, tmp_path: Path) -> None:
    other = save_encoder(tmp_path / "other", family="distilbert")
    with pytest.raises(InputError, match=r"tiny-windows: the vectors are of another model .*other"):
        make_retriever(index, "dense", model=str(other))


def test_a_query_cut_at_the_models_limit_is_counted(index: Index, model: str) -> None:
    notes = Notes()
    make_retriever(index, "dense:tiny-windows", model=model, notes=notes).retrieve(Query("q7", "word " * 2000), 3)
    assert any("queries cut" in line and "q7" in line for line in notes.lines())


def test_searching_is_the_same_with_vectors_stored_again(index: Index, model: str, tmp_path: Path) -> None:
    again = index_of(list(index), tmp_path / "index")
    folder = add_vectors(again.path, model, "windows", Notes(), lambda done: None)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert files == {path.name: path.read_bytes() for path in (index.path / "vectors" / folder.name).iterdir()}
