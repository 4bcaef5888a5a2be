"""Learned sparse retrieval against dot products written out, through changes of the index and bad inputs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fakes import documents, index_of
from longrank.cli.main import main
from longrank.errors import InputError, IntegrityError
from longrank.index import Index
from longrank.index.publishing import STALE
from longrank.index.sparse import stored_sparse
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.ranking.explain import search
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.retrieval import make_retriever
from longrank.scoring import make_scorer
from longrank.types import Document, Notes, Query
from longrank.verbs.index import add_sparse
from slow_values import slow
from sparse_models import save_inference_free, save_splade
from tiny_models import save_encoder

pytestmark = pytest.mark.neural

QUERIES = [Query(f"q{n}", text) for n, text in enumerate(["river stone", "the long fish", "moon", "king of bread"])]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("sparse")
    made = {"splade": save_splade(root / "splade"), "inference-free": save_inference_free(root / "free")}
    return made | {"other": save_splade(root / "other", seed=8)}


def new_index(folder: Path) -> Index:
    return index_of([*documents(25), Document("long", "", "a long river. the stone and the moon. " * 20)], folder)


@pytest.fixture(scope="module")
def index(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("sparse-index") / "index"
    new_index(folder)
    return add_sparse(folder, str(models["splade"]))


def naive(index: Index, model: Path, query: Query, best: int = 1) -> list[tuple[str, float]]:
    """Every passage of every document, encoded by sentence-transformers, times the query."""
    from sentence_transformers import SparseEncoder

    encoder = SparseEncoder(str(model), device="cpu", local_files_only=True)
    wanted: NDArray[np.float64] = encoder.encode_query(query.text, convert_to_sparse_tensor=False).numpy().astype(float)
    stored, scores = stored_sparse(index), {}
    for document in index:
        kept = stored.document(index.number(document.doc_id), document)
        texts = [passage.text for passage in kept.segmentation.passages]
        rows = encoder.encode_document(texts, convert_to_sparse_tensor=False).numpy().astype(float)
        scores[document.doc_id] = float(np.sort(rows @ wanted)[::-1][:best].sum())
    return sorted(((d, s) for d, s in scores.items() if s > 0), key=lambda row: (row[1], row[0]), reverse=True)


@pytest.mark.parametrize("best", [1, 3])
def test_rankings_are_the_best_products_of_all_passages(index: Index, models: dict[str, Path], best: int) -> None:
    sparse = make_retriever(index, "sparse", model=str(models["splade"]), best=best)
    assert len(stored_sparse(index)) > len(index) + 3  # the long document has several passages
    for query in QUERIES:
        expected = naive(index, models["splade"], query, best)
        found = sparse.retrieve(query, 100)
        assert dict(expected) == pytest.approx({row.doc_id: row.score for row in found}, rel=1e-4)
        assert found[:7] == sparse.retrieve(query, 7)
        assert found == sorted(found, key=lambda row: (row.score, row.doc_id), reverse=True)


def test_an_empty_text_has_no_term(models: dict[str, Path]) -> None:
    rows = SparseModel(find_model(str(models["splade"])), Notes()).encode(["moon", "", " \n"])
    assert rows.lengths[0] > 0
    assert rows.lengths[1:].tolist() == [0, 0]


@pytest.mark.slow
def test_a_model_that_keeps_some_weights_of_a_text_does_so_for_passages_and_queries(tmp_path: Path) -> None:
    folder = save_splade(tmp_path / "five", max_active_dims=5)
    made = add_sparse(new_index(tmp_path / "index"), str(folder))
    rows = SparseModel(find_model(str(folder)), Notes()).encode(["a long river. the stone", "moon"])
    assert rows.lengths.max() <= 5
    sparse = make_retriever(made, "sparse", model=str(folder))
    for query in QUERIES:
        found = {row.doc_id: row.score for row in sparse.retrieve(query, 100)}
        assert dict(naive(made, folder, query)) == pytest.approx(found, rel=1e-4)
    assert " max_active_dims=5 " in stored_sparse(made).encoder


@pytest.mark.slow
def test_vectors_of_an_older_version_for_such_a_model_are_refused_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(save_splade(tmp_path / "five", max_active_dims=5))
    with monkeypatch.context() as older:
        older.setattr(
            SparseModel, "weights", property(lambda self: f"sparse {self.model.fingerprint}", _nothing), raising=False
        )
        made = add_sparse(new_index(tmp_path / "index"), folder)
    stale = stored_sparse(made).path
    said = "were stored with other settings of the model.*remove this folder, and then store them: longrank index"
    for again in (False, True):  # who stored them again has two sets, and names one
        made = add_sparse(made, folder) if again else made
        with pytest.raises(InputError, match=f"{stale}: .*{said}"):
            make_retriever(made, f"sparse:{stale.name}", model=folder)
    shutil.rmtree(stale)
    assert make_retriever(made, "sparse", model=folder).retrieve(QUERIES[0], 5)


def _nothing(*_: object) -> None:
    """Set nothing."""


def test_an_inference_free_model_looks_the_query_up(models: dict[str, Path], tmp_path: Path) -> None:
    made = add_sparse(new_index(tmp_path / "index"), str(models["inference-free"]))
    sparse = make_retriever(made, "sparse", model=str(models["inference-free"]))
    for query in QUERIES:
        found = {row.doc_id: row.score for row in sparse.retrieve(query, 100)}
        assert dict(naive(made, models["inference-free"], query)) == pytest.approx(found, rel=1e-4)
    terms, _ = SparseModel(find_model(str(models["inference-free"])), Notes()).query_weights(QUERIES[0], Notes())
    assert len(terms) == 2


def test_a_filter_changes_no_score_and_an_empty_query_finds_nothing(index: Index, models: dict[str, Path]) -> None:
    notes = Notes()
    sparse = make_retriever(index, "sparse", model=str(models["splade"]), notes=notes)
    mask = np.arange(len(index)) % 2 == 0
    kept = set(index.doc_ids(np.flatnonzero(mask)))
    every = sparse.retrieve(QUERIES[0], 100)
    assert sparse.within(mask).retrieve(QUERIES[0], 100) == [row for row in every if row.doc_id in kept]
    assert sparse.retrieve(Query("empty", " "), 5) == []
    assert notes.lines() == ["queries without a weight, not searched: 1 (first: empty)"]


def test_the_hybrid_fuses_the_ranks_of_bm25_and_of_sparse_passages(index: Index, models: dict[str, Path]) -> None:
    model = str(models["splade"])
    stages = [make_retriever(index, "bm25-anserini"), make_retriever(index, "sparse", model=model)]
    ranks = [[row.doc_id for row in stage.retrieve(QUERIES[0], 1000)] for stage in stages]
    expected = {d: sum(1 / (60 + one.index(d) + 1) for one in ranks if d in one) for d in {*ranks[0], *ranks[1]}}
    found = make_retriever(index, "sparse-hybrid", model=model).retrieve(QUERIES[0], 1000)
    assert {row.doc_id: row.score for row in found} == pytest.approx(expected)


@pytest.mark.parametrize(("name", "reranks"), [("sparse", False), ("minilm-sparse", True)])
def test_pipelines_rank_and_rerank_what_sparse_vectors_found(
    index: Index, models: dict[str, Path], name: str, reranks: bool, tmp_path: Path
) -> None:
    model, encoder = str(models["splade"]), str(save_encoder(tmp_path / "encoder"))
    pipeline = open_pipeline(index, name, model=encoder, assignments=[f"first_stage.model={model}"])
    sparse = make_retriever(index, "sparse", model=model)
    for query in QUERIES:
        ranked = rank_one(pipeline, query, 9)
        found = [row.doc_id for row in sparse.retrieve(query, 1000)]
        order = [row.doc_id for row in ranked.run.get(query.query_id)]
        assert sorted(order) == sorted(found) == sorted(one.doc_id for one in ranked.evidence)
        assert reranks or order == found
    assert all(result.passages for result in search(pipeline, "stone", k=3))


def files(index: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((index / "sparse").rglob("*")) if path.is_file()}


def test_a_changed_index_has_the_bytes_of_a_new_one_and_unchanged_documents_are_not_encoded(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = str(models["splade"]), tmp_path / "index"
    changed = add_sparse(new_index(folder), model)
    assert files(folder) == files(add_sparse(new_index(tmp_path / "again"), model).path)
    changed.delete(["d003"])
    changed.add([Document("d004", "", "the king of the moon"), Document("new", "", "a river of bread")], replace=True)
    notes, seen = changed.notes.copy(), []
    assert STALE in notes
    with pytest.raises(InputError, match=r"of other documents or another version; .* --sparse MODEL --passages"):
        make_retriever(Index(folder), "sparse", model=model)
    encode = SparseModel.encode
    monkeypatch.setattr(SparseModel, "encode", lambda self, texts: (seen.append(texts), encode(self, texts))[1])
    updated = add_sparse(folder, model, notes=notes)
    assert sorted(seen) == [["a river of bread"], ["the king of the moon"]]
    assert STALE not in notes  # they have just been stored
    fresh = add_sparse(index_of(list(updated), tmp_path / "fresh"), model)
    for query in QUERIES:
        one, other = (make_retriever(made, "sparse", model=model).retrieve(query, 50) for made in (updated, fresh))
        assert one == other
        assert "d003" not in {row.doc_id for row in one}
    add_sparse(folder, model)
    assert len(seen) == 2 + len(fresh)


def test_indexes_and_models_that_do_not_fit_are_one_line(models: dict[str, Path], tmp_path: Path) -> None:
    index = new_index(tmp_path / "index")
    with pytest.raises(InputError, match=r"the index has no sparse vectors; store them: longrank index .* --sparse"):
        make_retriever(index, "sparse")
    index = add_sparse(index, str(models["splade"]))
    with pytest.raises(InputError, match="the sparse vectors are of another model"):
        make_retriever(index, "sparse", model=str(models["other"]))
    with pytest.raises(InputError, match="the vectors do not name their model"):
        make_retriever(index, "sparse")
    with pytest.raises(InputError, match=r"no sparse vectors of this name \(got 'splad'\)"):
        make_retriever(index, "sparse:splad", model=str(models["splade"]))
    with pytest.raises(InputError, match="preset 'sparse' has no such setting"):
        make_retriever(index, "sparse", k1=2.0)
    bi_encoder = save_encoder(tmp_path / "encoder")
    with pytest.raises(InputError, match="is no sparse encoder; use a SPLADE model"):
        add_sparse(index, str(bi_encoder))
    with pytest.raises(InputError, match="is a sparse encoder, no bi-encoder"):
        make_scorer("bi-encoder", index=None, model=str(models["splade"]))


@pytest.mark.slow
def test_another_model_of_the_same_name_replaces_no_vectors(models: dict[str, Path], tmp_path: Path) -> None:
    index, notes = add_sparse(new_index(tmp_path / "index"), str(models["splade"])), Notes()
    first = stored_sparse(index).path
    before, other = (first / "weights").read_bytes(), shutil.copytree(models["other"], tmp_path / "splade")
    add_sparse(index, str(other), notes=notes)
    (second,) = set(first.parent.iterdir()) - {first}
    assert (first / "weights").read_bytes() == before != (second / "weights").read_bytes()
    said = f"splade-tokens has sparse vectors of another model, which stay: the new ones are {second.name};"
    assert any(line.startswith(said) for line in notes.lines())
    for path, model in ((first, models["splade"]), (second, other)):
        assert make_retriever(index, f"sparse:{path.name}", model=str(model)).retrieve(QUERIES[0], 3)


@pytest.mark.parametrize("changes", [True, False])
def test_vectors_with_a_flipped_bit_are_neither_copied_nor_kept(
    models: dict[str, Path], tmp_path: Path, changes: bool
) -> None:
    model = str(models["splade"])
    index = add_sparse(new_index(tmp_path / "index"), model)
    path = stored_sparse(index).path / "weights"
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    changed = index.add([Document("new", "", "a river of bread")]) if changes else index
    stored = add_sparse(changed.path, model, notes=(notes := Notes()))
    assert "checksum differs" in notes.lines()[0]
    assert (stored_sparse(stored).path / "weights").read_bytes().startswith(whole)


@pytest.mark.parametrize("name", ["impacts", *slow("rows", "offsets")])
def test_damaged_vectors_are_refused_and_stored_again(name: str, models: dict[str, Path], tmp_path: Path) -> None:
    index, model = add_sparse(new_index(tmp_path / "index"), str(models["splade"])), str(models["splade"])
    before = files(index.path)
    path = stored_sparse(index).path / name
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(IntegrityError, match=name):
        make_retriever(index, "sparse", model=model)
    assert main(["check", str(index.path)]) == 3
    notes = Notes()
    assert files(add_sparse(index, model, notes=notes).path) == before
    assert "computed again" in notes.lines()[0]


def test_a_weight_that_is_not_finite_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    index = add_sparse(new_index(tmp_path / "index"), str(models["splade"]))
    path = stored_sparse(index).path / "impacts"
    values = np.fromfile(path, "<f4")
    values[:] = np.nan
    values.tofile(path)
    with pytest.raises(IntegrityError, match="a weight is not finite"):
        make_retriever(index, "sparse", model=str(models["splade"])).retrieve(QUERIES[0], 3)


def test_the_commands_store_and_search(
    models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = new_index(tmp_path / "index").path, str(models["splade"])
    (tmp_path / "queries.jsonl").write_text(json.dumps({"query_id": "q", "text": "river stone"}) + "\n")
    assert main(["index", str(folder), "--sparse", model]) == 0
    assert f"sparse vectors\t{model} tokens" in capsys.readouterr().out
    command = ["retrieve", str(folder), str(tmp_path / "queries.jsonl"), "--set", f"model={model}", "-k", "5"]
    for preset in ("sparse", "sparse:splade-tokens", "sparse-hybrid"):
        assert main([*command, "--preset", preset, "-o", str(tmp_path / f"{preset[-6:]}.run")]) == 0
        assert len((tmp_path / f"{preset[-6:]}.run").read_text().splitlines()) == 5
    capsys.readouterr()
    assert main([*command, "--preset", "sparse", "-o", str(tmp_path / "x.run"), "--explain-query"]) == 2
    assert "a preset of vectors alone searches for no terms" in capsys.readouterr().err
    assert main(["check", str(folder)]) == 0
