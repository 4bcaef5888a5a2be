from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from fakes import CountingScorer, documents, index_of, queries
from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.errors import InputError, LongRankError
from longrank.formats.evidence import read_evidence
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.protocols import Candidate, PassageScores
from longrank.ranking.passages import FEW_BLANKS, TITLE_TWICE, UNREAD_TITLE, PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline, rerank
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Document, Notes, Query, Run, ScoredDoc
from tiny_models import save_cross_encoder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(40), tmp_path_factory.mktemp("collection") / "index")


def counting(index: Index, *assignments: str) -> tuple[Pipeline, CountingScorer]:
    """The lexical pipeline with the counting scorer in it."""
    pipeline = open_pipeline(index, "lexical", assignments=assignments, notes=Notes())
    scorer = CountingScorer()
    bound = PassageDocumentScorer(
        make_segmenter("windows"), make_selector("all"), scorer, title=pipeline.settings.title
    )
    return replace(pipeline, scorer=bound), scorer


def first_stage(index: Index, n_queries: int = 10, k: int = 30) -> Run:
    retriever = open_pipeline(index, "bm25", notes=Notes()).retriever
    return Run("bm25", [row for query in queries(n_queries) for row in retriever.retrieve(query, k)])


def test_the_score_of_maxp_is_that_of_the_best_window(index: Index, tmp_path: Path) -> None:
    pipeline, _ = counting(index)
    run = rerank(pipeline, queries(1), first_stage(index, 1), tmp_path / "e", tag="t", notes=Notes())
    best = run["q00"][0]
    words = index.document(best.doc_id).text.split()
    wanted = set(queries(1)[0].text.split())
    windows = [words[i : i + 150] for i in range(0, max(1, len(words)), 75)]
    assert best.score == max(sum(word in wanted for word in window) for window in windows)


def test_evidence_offsets_slice_the_document_to_the_window(index: Index, tmp_path: Path) -> None:
    pipeline, _ = counting(index)
    rerank(pipeline, queries(2), first_stage(index, 2), tmp_path / "e", tag="t", notes=Notes())
    for one in read_evidence(tmp_path / "e")[1]:
        text = index.document(one.doc_id).text
        for start, end in zip(one.passage_start, one.passage_end, strict=True):
            assert len(text[start:end].split()) <= 150
            assert text[start:end] == text[start:end].strip()


def test_a_second_rerank_scores_nothing_and_gives_the_same_run(index: Index, tmp_path: Path) -> None:
    run = first_stage(index)
    pipeline, first = counting(index)
    once = rerank(pipeline, queries(10), run, tmp_path / "e", tag="t", notes=Notes())
    pipeline, second = counting(index)
    again = rerank(pipeline, queries(10), run, tmp_path / "e", tag="t", notes=Notes())
    assert first.n_scored > 0
    assert second.n_scored == 0
    assert list(once.rows()) == list(again.rows())


class Dies(CountingScorer):
    """Fails at the `n`-th block, as a killed process would stop."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.left = n

    def score(self, tasks):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().score(tasks)


@pytest.mark.parametrize("blocks", [0, 1, 2, 4])
def test_interrupted_scoring_goes_on_to_the_same_bytes(index: Index, tmp_path: Path, blocks: int) -> None:
    run = first_stage(index)
    pipeline, _ = counting(index, "final.block_queries=2")
    rerank(pipeline, queries(10), run, tmp_path / "whole", tag="t", notes=Notes())
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    dying = PassageDocumentScorer(pipeline.scorer.segmenter, pipeline.scorer.selector, Dies(blocks), title=False)
    with pytest.raises(KeyboardInterrupt):
        rerank(replace(pipeline, scorer=dying), queries(10), run, tmp_path / "cut", tag="t", notes=Notes())
    rerank(pipeline, queries(10), run, tmp_path / "cut", tag="t", notes=Notes())
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


def test_evidence_of_other_settings_is_refused_by_name(index: Index, tmp_path: Path) -> None:
    run = first_stage(index)
    pipeline, _ = counting(index)
    rerank(pipeline, queries(10), run, tmp_path / "e", tag="t", notes=Notes())
    shallow, _ = counting(index, "final.depth=5")
    before = (tmp_path / "e").read_bytes()
    with pytest.raises(InputError, match=r"other candidates|other depth"):
        rerank(shallow, queries(10), run, tmp_path / "e", tag="t", notes=Notes())
    with pytest.raises(InputError, match=r"other n_queries|other queries|other candidates"):
        rerank(pipeline, queries(9), run, tmp_path / "e", tag="t", notes=Notes())
    assert (tmp_path / "e").read_bytes() == before


WINDOWS = "passages.options.max_passages=3"


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ([], "title=true"),
        ([], "scorer.options.k1=1.2"),
        ([], "scorer.options.b=0.75"),
        ([], "passages.options.length=100"),
        ([], "passages.options.stride=50"),
        ([], "passages.options.tail='keep'"),
        ([], WINDOWS),
        ([WINDOWS], "passages.options.overflow='first_last_random'"),
        ([WINDOWS, "passages.options.overflow='first_last_random'"], "passages.options.seed=1"),
        ([], "passages.preset='sentences'"),
        (["passages.preset='sentences'"], "passages.options.max_words=20"),
        (["passages.preset='sentences'"], "passages.options.language='de'"),
        (["passages.preset='sentences'"], "passages.options.splitter='pretokenized'"),
        ([], "select.name='first'"),
        (["select.name='first'"], "select.n=2"),
        ([], "select.name='bm25'"),
        (["select.name='bm25'"], "select.n=2"),
        (["select.name='bm25'"], "select.per_query=20"),
        (["select.name='bm25'"], "select.pooled=true"),
        ([], "final.depth=5"),
        ([], "final.block_queries=2"),
    ],
)
def test_every_setting_that_can_change_evidence_is_in_its_header(
    index: Index, tmp_path: Path, before: list[str], changed: str
) -> None:
    run = first_stage(index, 2, k=10)
    for assignments in (before, [*before, changed]):
        pipeline = open_pipeline(index, "lexical", assignments=assignments, notes=Notes())
        if assignments == before:
            rerank(pipeline, queries(2), run, tmp_path / "e", tag="t", notes=Notes())
            continue
        with pytest.raises(InputError, match="was begun with other"):
            rerank(pipeline, queries(2), run, tmp_path / "e", tag="t", notes=Notes())


def test_evidence_of_an_older_sentence_splitter_names_the_splitter(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rule, raised in (("plain", nullcontext()), ("lines-1", pytest.raises(InputError, match=_OTHER_SPLITTER))):
        monkeypatch.setattr("longrank.text.sentences.RULE", rule)
        pipeline = open_pipeline(index, "lexical", assignments=["passages.preset='santos'"], notes=Notes())
        with raised:
            rerank(pipeline, queries(2), first_stage(index, 2), tmp_path / "e", tag="t", notes=Notes())


_OTHER_SPLITTER = (
    r'other scorer: "splitter=sentencex-\S+ pairs-1 plain" then, "splitter=sentencex-\S+ pairs-1 lines-1" now'
)


def test_other_scores_of_the_first_stage_are_other_evidence(index: Index, tmp_path: Path) -> None:
    run, pipeline = first_stage(index, 2), counting(index)[0]
    rerank(pipeline, queries(2), run, tmp_path / "e", tag="t", notes=Notes())
    raised = Run("bm25", [row._replace(score=row.score + 1) for row in run.rows()])
    with pytest.raises(InputError, match="other candidates"):
        rerank(pipeline, queries(2), raised, tmp_path / "e", tag="t", notes=Notes())


def test_reranking_the_top_keeps_the_whole_run_below(index: Index, tmp_path: Path) -> None:
    run = first_stage(index, 3, k=30)
    pipeline, _ = counting(index, "final.depth=10")
    new = rerank(pipeline, queries(3), run, tmp_path / "e", tag="t", notes=Notes())
    for query_id in run:
        old = [row.doc_id for row in run[query_id]]
        ids = [row.doc_id for row in new[query_id]]
        assert set(ids[:10]) == set(old[:10])
        assert ids[10:] == old[10:]


def test_aggregating_the_evidence_gives_the_run_of_rerank(index: Index, tmp_path: Path) -> None:
    run = first_stage(index)
    pipeline, _ = counting(index, "final.depth=10", "final.interpolate=0.3", "final.normalize=minmax")
    new = rerank(pipeline, queries(10), run, tmp_path / "e", tag="t", notes=Notes())
    same = aggregate_run(
        read_evidence(tmp_path / "e")[1],
        make_aggregator("maxp"),
        first_stage=run,
        alpha=0.3,
        normalize="minmax",
        tail="keep",
        tag="t",
    )
    assert list(same.rows()) == list(new.rows())


def test_documents_that_the_index_lacks_are_refused_or_ranked_last(index: Index, tmp_path: Path) -> None:
    rows = list(first_stage(index, 2).rows())
    run = Run("bm25", [rows[0]._replace(doc_id="absent", score=999.0), *rows])
    pipeline, _ = counting(index)
    with pytest.raises(InputError, match=r"documents of the run that are not in the index: 1 \(absent\)"):
        rerank(pipeline, queries(2), run, tmp_path / "e", tag="t", notes=Notes())
    assert not (tmp_path / "e").exists()
    notes = Notes()
    new = rerank(pipeline, queries(2), run, tmp_path / "e", tag="t", keep_missing=True, notes=notes)
    assert new["q00"][-1].doc_id == "absent"
    assert notes["documents not in the index, ranked last"] == 1
    run = Run("bm25", [rows[0]._replace(doc_id="absent"), *(row for row in rows if row.query_id == "q01")])
    pipeline, notes = counting(index, "final.tail=drop")[0], Notes()
    assert list(rerank(pipeline, queries(2), run, tmp_path / "d", tag="t", keep_missing=True, notes=notes)) == ["q01"]
    assert notes["documents not in the index, dropped"] == 1
    assert notes["queries without a document in the index, dropped"] == 1


def test_a_query_without_text_keeps_the_place_of_a_document_that_the_index_lacks(index: Index, tmp_path: Path) -> None:
    rows = list(first_stage(index, 3).rows())
    lacking = [rows[0]._replace(query_id=f"q{n:02}", doc_id="absent", score=999.0) for n in (0, 1, 2)]
    run = Run("bm25", [*lacking, *(row for row in rows if row.query_id != "q01"), rows[0]._replace(query_id="q01")])
    pipeline, path = counting(index, "final.depth=1")[0], tmp_path / "e"  # only candidates that the index lacks
    new = rerank(pipeline, queries(2), run, path, tag="t", keep_missing=True, notes=Notes())
    assert [new[query_id][-1].doc_id for query_id in ("q00", "q01")] == ["absent", "absent"]
    assert list(new["q02"]) == list(run["q02"])
    same = longrank.aggregate(path, pipeline.settings.aggregate.name, first_stage=run, tag="t")
    assert list(same.rows()) == list(new.rows())


def test_a_document_that_the_index_lacks_is_refused_below_the_depth_too(index: Index, tmp_path: Path) -> None:
    rows = list(first_stage(index, 1).rows())
    run = Run("bm25", [*rows, rows[-1]._replace(doc_id="absent", score=-1.0)])
    pipeline, _ = counting(index, "final.depth=5")
    with pytest.raises(InputError, match=r"not in the index: 1 \(absent\)"):
        rerank(pipeline, queries(1), run, tmp_path / "e", tag="t", notes=Notes())


def test_queries_of_the_run_without_text_keep_their_ranking(index: Index, tmp_path: Path) -> None:
    run, notes = first_stage(index, 3), Notes()
    new = rerank(counting(index)[0], queries(2), run, tmp_path / "e", tag="t", notes=notes)
    assert [row.doc_id for row in new["q02"]] == [row.doc_id for row in run["q02"]]
    assert notes["queries of the run without a query text, ranking kept"] == 1


def test_queries_of_the_run_without_text_are_dropped_with_the_tail_and_said(index: Index, tmp_path: Path) -> None:
    run, notes = first_stage(index, 3), Notes()
    new = rerank(counting(index, "final.tail=drop")[0], queries(2), run, tmp_path / "e", tag="t", notes=notes)
    assert "q02" not in new
    assert notes["queries of the run without a query text, dropped"] == 1


def test_queries_that_were_cut_before_an_interruption_are_said_again(index: Index, tmp_path: Path) -> None:
    run, said = first_stage(index, 3), []
    for _ in range(2):
        pipeline, scorer = counting(index)
        scorer.cuts_query = lambda query: query == queries(3)[1].text  # type: ignore[attr-defined]
        notes = Notes()
        rerank(pipeline, queries(3), run, tmp_path / "e", tag="t", notes=notes)
        said.append(notes["queries cut at the scorer's limit"])
    assert said == [1, 1]


def test_no_query_in_common_is_refused(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the queries occurs in the run"):
        rerank(counting(index)[0], [Query("x", "stone")], first_stage(index, 1), tmp_path / "e", tag="t", notes=Notes())


class NotANumber(CountingScorer):
    def score(self, tasks):  # type: ignore[no-untyped-def]
        return [PassageScores(np.full(len(t.texts), np.nan, np.float32), np.zeros(len(t.texts), bool)) for t in tasks]


def test_a_score_that_is_not_a_number_names_query_document_and_passage(index: Index, tmp_path: Path) -> None:
    pipeline, _ = counting(index)
    bad = PassageDocumentScorer(make_segmenter("windows"), make_selector("all"), NotANumber(), title=False)
    with pytest.raises(LongRankError, match=r"passage 0 of document 'd\d+' for query 'q00' is not finite"):
        rerank(replace(pipeline, scorer=bad), queries(1), first_stage(index, 1), tmp_path / "e", tag="t", notes=Notes())


class CutsLong(CountingScorer):
    """Cannot read more than two words."""

    def score(self, tasks):  # type: ignore[no-untyped-def]
        scored = super().score(tasks)
        return [
            PassageScores(one.scores, np.array([len(text.split()) > 2 for text in task.texts]))
            for task, one in zip(tasks, scored, strict=True)
        ]


def test_evidence_says_what_was_scored_cut_and_left_out() -> None:
    """Four sentences, of which FIRST+TERMF with n = 2 takes the first and the one with two words of the query."""
    document = Document("d", "", "Salt.  A stone. Bread and salt. The stone, a stone!")
    one = PassageDocumentScorer(make_segmenter("sentences"), make_selector("first+termf", 2), CutsLong(), title=False)
    (found,) = one.evidence([Candidate(Query("q", "stone"), document, 7.25)])
    assert (found.query_id, found.doc_id, found.first_stage, found.document_score) == ("q", "d", 7.25, None)
    assert (found.n_passages, found.n_truncated) == (4, 1)
    assert found.passage_index.tolist() == [0, 3]
    assert found.passage_weight.tolist() == [0, 2]
    assert [document.text[a:b] for a, b in zip(found.passage_start, found.passage_end, strict=True)] == [
        *("Salt.", "The stone, a stone!")
    ]


def test_the_title_is_read_before_every_passage_only_if_asked(tmp_path: Path) -> None:
    index = index_of([Document("d", "stone", "river light"), Document("e", "river", "moon")], tmp_path / "index")
    run = first_stage_of(index, Query("q00", "stone light"))
    scores = {}
    for title in ("false", "true"):
        pipeline, _ = counting(index, f"title={title}")
        new = rerank(pipeline, [Query("q00", "stone light")], run, tmp_path / title, tag="t", notes=Notes())
        scores[title] = new["q00"][0].score
    assert scores == {"false": 1.0, "true": 2.0}


def first_stage_of(index: Index, query: Query) -> Run:
    return Run("bm25", open_pipeline(index, "bm25", notes=Notes()).retriever.retrieve(query, 10))


def test_a_pipeline_without_a_scorer_refuses_a_model_and_reranking(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no passage scorer"):
        open_pipeline(index, "bm25", model="minilm", notes=Notes())
    with pytest.raises(InputError, match="nothing to rerank with"):
        rerank(
            open_pipeline(index, "bm25", notes=Notes()),
            queries(1),
            first_stage(index, 1),
            tmp_path / "e",
            tag="t",
            notes=Notes(),
        )


def test_birch_without_a_model_says_how_to_name_one(index: Index) -> None:
    with pytest.raises(InputError, match="needs a model; name it with `model`"):
        open_pipeline(index, "birch", notes=Notes())


@pytest.mark.neural
def test_what_stands_in_for_a_model_takes_the_options_it_knows_and_is_named(index: Index) -> None:
    notes = Notes()
    pipeline = open_pipeline(index, "maxp", assignments=["scorer.options.max_tokens=64"], notes=notes)
    assert pipeline.scorer is not None
    assert (pipeline.scorer.unit, "max_tokens=64 " in pipeline.scorer.fingerprint) == ("cosine", True)
    assert notes.lines() == ["no model given: the bi-encoder minilm scores the passages, not a cross-encoder"]
    with pytest.raises(InputError, match="did you mean 'max_tokens'"):
        open_pipeline(index, "maxp", assignments=["scorer.options.max_token=64"], notes=Notes())


@pytest.mark.neural
def test_maxp_pools_the_logit_of_the_relevant_class(index: Index, tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    pipeline = open_pipeline(index, "maxp", model=str(folder), notes=Notes())
    assert pipeline.scorer is not None
    assert pipeline.scorer.unit == "logit"


def test_remarks_on_queries_belong_to_the_call_of_an_open_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = longrank.Index.build([("d", "a fox"), ("e", "the moon")], tmp_path / "index")
    pipeline = longrank.open_pipeline(index, "lexical")
    monkeypatch.setattr(PassageDocumentScorer, "cuts_query", lambda self, query: "moon" in query)
    reranker, run = longrank.Reranker(pipeline), longrank.retrieve(index, {"1": "fox", "2": "moon"})
    cut = "queries cut at the scorer's limit: 1"
    for _ in range(2):
        lines = [longrank.search(index, query, pipeline=pipeline).notes.lines() for query in ("the of", "fox", "moon")]
        assert lines == [["queries without terms after analysis: 1 (first: q)"], [], [f"{cut} (first: query q)"]]
        reranked = longrank.rerank(index, {"1": "fox", "2": "moon"}, run, pipeline=pipeline)
        assert reranked.notes.lines() == [f"{cut} (first: query 2)"]
    assert reranker.rank("fox", ["a fox"]).notes.lines() == []
    assert reranker.rank("moon", ["a fox and the moon"]).notes.lines() == [cut]
    reranker.predict([("moon", "the moon"), ("fox", "a fox")])
    assert reranker.notes.lines() == ["queries cut at the scorer's limit: 2"]


def test_a_setting_that_a_pipeline_without_a_scorer_does_not_read_is_noted(index: Index) -> None:
    notes = Notes()
    open_pipeline(index, "bm25", assignments=["final.interpolate=0.3", "final.depth=5"], notes=notes)
    assert notes.lines() == ["final.interpolate has no effect: pipeline 'bm25' has no passage scorer"]


def test_settings_without_effect_are_noted(tmp_path: Path) -> None:
    index = longrank.Index.build([("d", "a fox"), ("e", "the moon")], tmp_path / "index")
    without = ["final.normalize=minmax"]
    said = "final.normalize has no effect without final.interpolate"
    assert longrank.search(index, "fox", pipeline="lexical", assignments=without).notes.lines() == [said]
    run, together = longrank.retrieve(index, {"1": "fox"}), [*without, "final.interpolate=0.5"]
    options: dict[str, Any] = {"pipeline": "lexical", "assignments": [*together, "first_stage.k1=2"]}
    assert longrank.rerank(index, {"1": "fox"}, run, **options).notes.lines() == [
        "first_stage.k1 has no effect: the run is the first stage"
    ]
    assert longrank.search(index, "fox", **options).notes.lines() == []


@pytest.mark.parametrize(("preset", "noted"), [("windows", 1), ("sections", 1), ("sentences", 0), ("whole", 0)])
def test_windows_of_words_in_a_text_without_blanks_are_noted(preset: str, noted: int, tmp_path: Path) -> None:
    rows = [("zh", "", "面包在烤箱里慢慢变成金黄色。" * 100), ("en", "", "rivers flow to the sea " * 100)]
    index, notes = index_of([Document(*row) for row in rows], tmp_path / "index"), Notes()
    assignments = [f"passages.preset={preset}"]
    scorer = open_pipeline(index, "lexical", assignments=assignments, notes=notes).scorer
    scorer.evidence([Candidate(Query("q", "rivers"), index.document(doc_id), 0.0) for doc_id in ("zh", "en")])
    assert notes[FEW_BLANKS] == noted


def test_remarks_on_texts_are_of_each_call_and_are_counted_once(tmp_path: Path) -> None:
    rows = [("zh", "面包在烤箱里慢慢变成金黄色。" * 100 + " fox"), ("t", {"text": "", "title": "a fox"}), ("e", "moon")]
    index = longrank.Index.build(rows, tmp_path / "index")
    options: dict[str, Any] = {"pipeline": "lexical", "assignments": "passages.preset=windows"}
    expected = {FEW_BLANKS: 1, UNREAD_TITLE: 1}
    pipeline = open_pipeline(index, "lexical", assignments="passages.preset=windows", notes=(opened := Notes()))
    run = Run("r", [ScoredDoc("q", doc_id, 1.0) for doc_id, _ in rows])
    reranker = longrank.Reranker("lexical", index=index, assignments="passages.preset=windows")
    noted = [
        longrank.search(index, "fox", notes=Notes(), **options).notes,
        *(longrank.search(index, "fox", pipeline=pipeline).notes for _ in range(2)),
        longrank.rerank(index, {"q": "fox"}, run, notes=Notes(), **options).notes,
        *(longrank.rerank(index, {"q": "fox"}, run, pipeline=pipeline).notes for _ in range(2)),
        *(reranker.rank("fox", [index.document(doc_id) for doc_id, _ in rows]).notes for _ in range(2)),
    ]
    for notes in noted:
        assert {kind: notes[kind] for kind in expected} == expected
    assert {kind: reranker.notes[kind] for kind in expected} == dict.fromkeys(expected, 2)
    assert not opened[FEW_BLANKS]


@pytest.mark.parametrize("title", [False, True])
def test_candidates_whose_title_is_not_read_and_that_have_no_other_text_are_counted(
    title: bool, tmp_path: Path
) -> None:
    rows = [("t", "rivers", ""), ("a", "hills", "rivers flow"), ("b", "", "no rivers")]
    index = index_of([Document(*row) for row in rows], tmp_path / "index")
    pipeline, _ = counting(index, f"title={title}".lower())
    found = rerank(
        pipeline,
        [Query("q", "rivers")],
        Run("r", [ScoredDoc("q", doc_id, 1.0) for doc_id in "tab"]),
        tmp_path / "e",
        tag="t",
        notes=Notes(),
    )
    assert len(found["q"]) == 3
    assert pipeline.scorer.notes[UNREAD_TITLE] == int(not title)


def test_a_title_that_begins_its_text_is_said_to_be_read_twice() -> None:
    rows = [{"id": "a", "title": "Foxes", "text": "run"}, {"id": "b", "title": "A fox", "text": "sleeps"}]
    for title_in_text in (False, True):
        index = longrank.Index.build(rows, corpus=CorpusOptions(title_in_text=title_in_text))
        found = longrank.search(index, "fox", pipeline="lexical", assignments={"title": True})
        assert (TITLE_TWICE in found.notes.lines()) == title_in_text
