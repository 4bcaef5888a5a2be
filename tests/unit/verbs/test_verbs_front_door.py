"""Natural calls of the library: every kind of input that the verbs take, and the errors of wrong input."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from longrank.errors import InputError
from longrank.types import Notes

DOCUMENTS = [
    longrank.Document("bees", "Bees", "Bees eat pollen and honey. " * 30 + "A queen lays eggs."),
    longrank.Document("bread", "Bread", "Bread is baked from flour and water. " * 30),
    longrank.Document("tide", "Tides", "The moon pulls the water, and the tide rises. " * 30),
]
QUERIES = {"1": "what do bees eat", "2": "why does the water rise"}
RUN = {"1": {"bees": 2.0, "bread": 1.0}, "2": {"tide": 2.0, "bread": 1.0}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verbs")
    longrank.Index.build(DOCUMENTS, folder / "index")
    (folder / "queries.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in QUERIES.items()))
    longrank.write_run(longrank.read_run(RUN), folder / "bm25.run")
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> longrank.Index:
    return longrank.Index(folder / "index")


@pytest.fixture
def empty_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def frame_of_queries() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"qid": list(QUERIES), "query": list(QUERIES.values())})


def ranked(run: longrank.Run) -> dict[str, list[str]]:
    return {query_id: [row.doc_id for row in run[query_id]] for query_id in run}


@pytest.mark.parametrize("kind", ["path", "list", "mapping", "frame", "values"])
def test_retrieve_and_rerank_take_queries_of_every_kind(folder: Path, index: longrank.Index, kind: str) -> None:
    queries: Any = {
        "path": lambda: folder / "queries.tsv",
        "list": lambda: list(QUERIES.values()),
        "mapping": lambda: QUERIES,
        "frame": frame_of_queries,
        "values": lambda: [longrank.Query(key, text) for key, text in QUERIES.items()],
    }[kind]()
    run = longrank.retrieve(index, queries, k=2)
    assert ranked(run) == {"1": ["bees"], "2": ["tide", "bread"]}
    again = longrank.rerank(index, queries, run, pipeline="lexical")
    assert [ranking[0] for ranking in ranked(again).values()] == ["bees", "tide"]


@pytest.mark.parametrize("kind", ["Index", "Path", "str"])
def test_an_index_may_be_given_by_its_folder(folder: Path, kind: str) -> None:
    path = folder / "index"
    given: Any = {"Index": longrank.Index(path), "Path": path, "str": str(path)}[kind]
    run = longrank.retrieve(given, QUERIES)
    assert ranked(longrank.rerank(given, QUERIES, run, pipeline="lexical"))["1"][0] == "bees"
    assert longrank.search(given, "bees", pipeline="lexical")[0].doc_id == "bees"


@pytest.mark.parametrize("kind", ["path", "mapping", "frame", "run"])
def test_rerank_takes_runs_of_every_kind(folder: Path, index: longrank.Index, kind: str) -> None:
    run: Any = {"path": folder / "bm25.run", "mapping": RUN, "run": longrank.read_run(RUN)}.get(kind)
    if kind == "frame":
        pytest.importorskip("pandas")
        run = longrank.read_run(RUN).to_frame()
    assert set(longrank.rerank(index, QUERIES, run, pipeline="lexical")) == {"1", "2"}


def test_settings_of_the_first_stage_are_keywords(index: longrank.Index) -> None:
    plain = longrank.retrieve(index, QUERIES)
    assert longrank.retrieve(index, QUERIES, k1=0.9, b=0.4)["2"] == plain["2"]
    assert longrank.retrieve(index, QUERIES, preset="bm25-lucene")["2"] != plain["2"]
    assert "bees" in {row.doc_id for row in longrank.retrieve(index, QUERIES, feedback="rm3", fb_docs=1)["1"]}


def test_rerank_without_an_evidence_file_leaves_nothing_behind(
    index: longrank.Index, empty_temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(empty_temporary_folder)
    longrank.rerank(index, QUERIES, RUN, pipeline="lexical")
    assert list(empty_temporary_folder.iterdir()) == []


def test_evidence_is_kept_and_resumed(index: longrank.Index, tmp_path: Path) -> None:
    done: list[int] = []
    path = tmp_path / "evidence"
    first = longrank.rerank(index, QUERIES, RUN, pipeline="lexical", evidence=path)
    again = longrank.rerank(index, QUERIES, RUN, pipeline="lexical", evidence=str(path), progress=done.append)
    assert list(first.rows()) == list(again.rows())
    assert done == [2]  # both queries were done


def test_an_open_pipeline_keeps_its_models_and_takes_another_depth(index: longrank.Index) -> None:
    pipeline = longrank.open_pipeline(index, "lexical")
    assert ranked(longrank.rerank(index, QUERIES, RUN, pipeline=pipeline)) == ranked(
        longrank.rerank(index, QUERIES, RUN, pipeline="lexical")
    )
    shallow = longrank.rerank(index, QUERIES, RUN, pipeline=pipeline, depth=1, tail="drop")
    assert [len(ranking) for ranking in ranked(shallow).values()] == [1, 1]
    assert longrank.search(index, "bees", pipeline=pipeline)[0].doc_id == "bees"
    assert len(repr(pipeline)) < 200
    assert longrank.Reranker(pipeline).rank("bees", ["bread", "bees"], k=1)[0].index == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "minilm"}, "takes no other model"),
        ({"assignments": {"passages.preset": "dai"}}, "only settings of"),
        ({"depth": 0}, "final.depth"),
    ],
)
def test_an_open_pipeline_refuses_what_it_cannot_change(
    index: longrank.Index, options: dict[str, Any], message: str
) -> None:
    pipeline = longrank.open_pipeline(index, "lexical")
    with pytest.raises(InputError, match=message):
        longrank.rerank(index, QUERIES, RUN, pipeline=pipeline, **options)


def test_an_open_pipeline_of_another_index_is_refused(index: longrank.Index) -> None:
    other = longrank.Index.build(DOCUMENTS[:2])
    with pytest.raises(InputError, match="another index"):
        longrank.search(index, "bees", pipeline=longrank.open_pipeline(other, "lexical"))


@pytest.mark.parametrize("assignments", ["final.depth=1", ["final.depth=1"], {"final.depth": 1}])
def test_assignments_may_be_given_in_several_ways(index: longrank.Index, assignments: Any) -> None:
    found = longrank.search(index, "water", pipeline="lexical", assignments=assignments)
    assert [hit.aggregate is None for hit in found] == [False, True]


def test_a_pipeline_may_be_given_by_its_path(index: longrank.Index, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[scorer]\nname = "lexical"\n')
    for given in (path, str(path)):
        assert longrank.search(index, "bees", pipeline=given)[0].doc_id == "bees"


def test_remarks_are_attached_to_the_results(index: longrank.Index) -> None:
    run = longrank.retrieve(index, {"1": "bees", "2": "unicorns"})
    assert run.notes["queries without results"] == 1
    notes = Notes()
    again = longrank.rerank(index, QUERIES, {**RUN, "3": {"tide": 1.0}}, pipeline="lexical", notes=notes)
    assert again.notes is notes
    assert notes["queries of the run without a query text, ranking kept"] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: longrank.retrieve(index, 7), "quer"),
        (lambda index: longrank.retrieve(7, QUERIES), "index"),
        (lambda index: longrank.retrieve(None, QUERIES), "an index is a folder; give its path"),
        (lambda index: longrank.retrieve(index, longrank.read_run(RUN)), "no queries can be read from a Run"),
        (lambda index: longrank.search(index, "bees", pipeline="lexical", k="2"), "k must be an integer, 1 or more"),
        (lambda index: longrank.search(index, "bees", pipeline="lexical", k=3.0), "k must be an integer, 1 or more"),
        (lambda index: longrank.fuse([RUN, RUN], "mapfuse", heldout="qrels"), "`heldout` takes judgments, then a run"),
        (lambda index: longrank.Reranker("lexical").rank("bees", None), "a list of texts is needed, not a NoneType"),
        (lambda index: longrank.Reranker("lexical").rank("bees", {"1": "a"}), "a list of texts is needed, not a dict"),
        (lambda index: longrank.Reranker("lexical").rank("bees", {"a", "b"}), "a list of texts is needed, not a set"),
        (lambda index: longrank.Reranker("lexical").predict(None), "a list of pairs of query and text is needed"),
        (lambda index: longrank.Reranker("lexical").predict([(["bees"], "a")]), "predict takes"),
        (lambda index: longrank.Reranker("birch"), "needs a model; name it with `model`"),
        (lambda index: longrank.write_run("bees.run", RUN), "only a Run can be written"),
        (lambda index: longrank.aggregate(longrank.read_run(RUN)), r"item 1 is no evidence \(got '1'\)"),
        (lambda index: longrank.rerank(index, QUERIES, 7), "run"),
        (lambda index: longrank.rerank(index, QUERIES, RUN, missing="drop"), "missing takes error or keep"),
        (lambda index: longrank.rerank(index, QUERIES, {"1": {"wax": 1.0}}, pipeline="lexical"), "not in the index"),
        (lambda index: longrank.search(index, ["bees"], pipeline="lexical"), "one query"),
        (lambda index: longrank.search(index, " ", pipeline="lexical"), "the query is empty"),
        (lambda index: longrank.search(index, "bees", pipeline="lexicl"), "did you mean 'lexical'"),
        (lambda index: longrank.retrieve(index, QUERIES, k0=1), "no such setting"),
        (lambda index: longrank.retrieve(index, QUERIES, k=0), "k must be 1 or more"),
        (lambda index: longrank.search(index, "bees", pipeline="lexical", k=0), "k must be 1 or more"),
        (lambda index: longrank.Reranker("lexical").rank("bees", ["bees"], k=0), "k must be 1 or more"),
        (lambda index: longrank.search(index, "bees", pipeline=7), "a pipeline is a name or a TOML file"),
        (lambda index: longrank.search(index, "bees", pipeline="lexical", passages=-1), "passages must be 0 or more"),
        (lambda index: longrank.Reranker("lexical").rank("bees", ["a"], passages=-1), "passages must be 0 or more"),
        (lambda index: longrank.evaluate({"1": {"a": 1}}, RUN, 3), r"a measure is a name, .* \(got 3\)"),
        pytest.param(
            lambda index: longrank.train("monobert", 3, output="t"),
            "no examples can be read from a int",
            marks=pytest.mark.neural,
        ),
        (lambda index: longrank.Reranker("bm25"), "no passage scorer"),
        (lambda index: longrank.Reranker("lexical").rank("bees", "bees"), "a list of texts is needed, not a str"),
        (lambda index: longrank.Reranker("lexical").rank("bees", [7]), "a text, a Document, a mapping or an"),
        (lambda index: longrank.Reranker("lexical").predict(["bees", "eat", "honey"]), "pairs"),
    ],
)
def test_wrong_input_is_a_sentence(index: longrank.Index, call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(index)


def test_iterators_of_texts_and_pairs_are_ranked_as_lists() -> None:
    reranker = longrank.Reranker("lexical")
    texts = ["Bread is baked.", "Bees eat honey."]
    assert reranker.rank("bees", iter(texts))[0].index == 1
    pairs = [("bees", text) for text in texts]
    assert reranker.predict(iter(pairs)).tolist() == reranker.predict(pairs).tolist()


def test_predict_scores_pairs_in_their_order_as_rank_does() -> None:
    reranker = longrank.Reranker("lexical")
    texts = ["Bees eat honey.", "Bread is baked."]
    pairs = [("what do bees eat", texts[1]), ("how is bread baked", texts[1]), ("what do bees eat", texts[0])]
    scores = reranker.predict(pairs)
    assert (scores.dtype, scores.shape) == (np.float32, (3,))
    by_index = {text.index: text.score for text in reranker.rank("what do bees eat", [texts[1], texts[0]])}
    assert [scores[0], scores[2]] == pytest.approx([by_index[0], by_index[1]])
    assert reranker.predict(("bees", "Bees eat honey.")) > 0
    assert reranker.predict([]).shape == (0,)


@pytest.mark.neural
def test_the_embedded_model_reranks_and_predicts(index: longrank.Index) -> None:
    reranker = longrank.Reranker()
    ranking = reranker.rank("what do bees eat", ["Bread is baked.", "Bees eat pollen."], k=1)
    assert (len(ranking), ranking[0].index) == (1, 1)
    scores = reranker.predict([("what do bees eat", "Bread is baked."), ("what is baked", "Bread is baked.")])
    assert scores[1] > scores[0]
    assert ranked(longrank.rerank(index, QUERIES, RUN))["1"][0] == "bees"


@pytest.mark.neural
def test_a_cross_encoder_is_named_by_its_folder(index: longrank.Index, tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    model = str(save_cross_encoder(tmp_path / "model"))
    run = longrank.rerank(index, QUERIES, RUN, pipeline="maxp", model=model)
    assert set(run) == {"1", "2"}
    assert longrank.Reranker("maxp", model=model).predict([("water", "the bank"), ("fox", "a dog")]).shape == (2,)


@pytest.fixture
def results(index: longrank.Index) -> Iterator[Any]:
    return longrank.search(index, "bees & <water>", pipeline="lexical", passages=3)


def test_results_are_a_sequence_with_a_short_repr(results: Any) -> None:
    assert (len(results), results[0].rank, [hit.rank for hit in results]) == (3, 1, [1, 2, 3])
    assert len(results[:2]) == 2
    assert len(repr(results)) < 120
    assert len(repr(results[0])) < 300


def test_results_show_as_escaped_html_with_the_words_marked(results: Any) -> None:
    html = results._repr_html_()
    assert "bees &amp; &lt;water&gt;" in html
    assert ">Bees</mark>" in html
    assert "<span style='border-bottom:2px solid rgba(255,196,0,.75)'>" in html
    assert "<water>" not in html


def test_results_become_a_table(results: Any) -> None:
    pytest.importorskip("pandas")
    frame = results.to_frame()
    assert list(frame.columns) == ["query", "docno", "title", "score", "rank", "passage", "sentence"]
    assert frame["docno"][0] == "bees"
    assert frame["sentence"][0] == results[0].passages[0].sentence in frame["passage"][0]
