from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from fakes import documents, index_of, queries
from longrank.errors import InputError, IntegrityError
from longrank.index import Index
from longrank.ranking.build import add_vectors
from longrank.ranking.explain import search
from longrank.ranking.one_query import candidates_for, rank_one
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import open_pipeline
from longrank.retrieval import make_retriever
from longrank.types import Document, Evidence, Notes, Query
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


def records(evidence: list[Evidence]) -> list[list[object]]:
    rows = [[getattr(one, field.name) for field in fields(one) if field.name != "passage_weight"] for one in evidence]
    return [[value.tobytes() if isinstance(value, np.ndarray) else value for value in row] for row in rows]


def test_evidence_from_vectors_is_that_of_the_scorer_and_no_text_is_read(
    index: Index, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = open_pipeline(index, "minilm", model=model, assignments=PASSAGES)
    scorer, query = pipeline.scorer, queries(1)[0]
    assert isinstance(scorer, PassageDocumentScorer)
    first_stage, candidates = candidates_for(pipeline, query, 5)
    expected = scorer.evidence(candidates)
    assert any(one.passage_weight.max() > 1 for one in expected)
    monkeypatch.setattr(Index, "document", None)
    ranked = rank_one(pipeline, query, 5)
    assert records(list(ranked.evidence)) == records(expected)
    assert all(one.passage_weight.tolist() == [1.0] * len(one.passage_weight) for one in ranked.evidence)
    assert list(ranked.run.rows()) == list(pipeline.run(expected, first_stage, "search").rows())


def test_an_aggregator_that_reads_weights_gets_the_counts(index: Index, model: str) -> None:
    pipeline = open_pipeline(index, "minilm", model=model, assignments=[*PASSAGES, "aggregate.name=wmean"])
    assert any(one.passage_weight.max() > 1 for one in rank_one(pipeline, queries(1)[0], 5).evidence)


@pytest.mark.parametrize("more", ["mix.lexical=0.5", "select.name=first", "select.name=termf"])
def test_a_scorer_that_reads_text_gives_the_same_scores_without_counts(index: Index, model: str, more: str) -> None:
    pipeline = open_pipeline(index, "minilm", model=model, assignments=[*PASSAGES, more])
    query = queries(1)[0]
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    expected = pipeline.scorer.evidence(candidates_for(pipeline, query, 5)[1])
    found = list(rank_one(pipeline, query, 5).evidence)
    for one, other in zip(found, expected, strict=True):
        assert one.passage_score.tobytes() == other.passage_score.tobytes()
        assert one.passage_index.tolist() == other.passage_index.tolist()


def test_a_stored_vector_that_is_not_finite_is_named_by_reranking(index: Index, model: str, tmp_path: Path) -> None:
    again = index_of(documents(3), tmp_path / "index")
    folder = add_vectors(again.path, model, "windows", Notes(), lambda done: None)
    values = np.fromfile(folder / "vectors", "<f4")
    values[-1] = np.inf
    values.tofile(folder / "vectors")
    pipeline = open_pipeline(again, "minilm", model=model, assignments=PASSAGES)
    with pytest.raises(IntegrityError, match="of document 'd002' is not finite"):
        rank_one(pipeline, queries(1)[0], 3)
