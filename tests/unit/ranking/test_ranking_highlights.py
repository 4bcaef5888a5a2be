"""The best sentence of each shown passage is found by the pipeline's own scorer, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import index_of
from longrank.index import Index
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.explain import search
from longrank.ranking.found import Result, highlighted, marked
from longrank.ranking.highlights import sentence_scorer, sentences_of
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.texts import Reranker
from longrank.scoring import PASSAGE_SCORERS
from longrank.scoring.lexical import LexicalScorer
from longrank.text.sentences import make_splitter
from longrank.types import Document, Notes, Query

FILLER = "moon tide chain wheel light house bread stone river salt"
TEXT = f"Moon and tide 😀! A fox met a fox. The fox slept. {FILLER}. {FILLER}. {FILLER}. One bee. A bee, a fox?"
"""48 words; in windows of 12 the first has three foxes, the last one."""
WINDOWS = ["passages.options={length=12, stride=12}"]


class Recording:
    """Scores a text by how often the query's words occur in it; keeps the tasks of every call."""

    unit, fingerprint = "count", "recording"
    needs_model, scores_documents = False, False

    def __init__(self, index: Index | None = None) -> None:
        self.calls: list[list[ScoringTask]] = []

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        self.calls.append(list(tasks))
        return [self._score(task) for task in tasks]

    def _score(self, task: ScoringTask) -> PassageScores:
        words = task.query.text.split()
        counts = [sum(text.lower().count(word) for word in words) for text in task.texts]
        return PassageScores(np.array(counts, np.float32), np.zeros(len(counts), np.bool_))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document("d", "a bee", TEXT), Document("e", "", "A fox. A fox and a fox."), Document("f", "fox", "")]
    return index_of(documents, tmp_path_factory.mktemp("highlights") / "index")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSAGE_SCORERS, "counting", Recording)


def opened(index: Index, *assignments: str) -> Pipeline:
    return open_pipeline(index, "lexical", assignments=[*WINDOWS, *assignments], notes=Notes())


def recording(pipeline: Pipeline) -> Any:
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    return pipeline.scorer.scorer


def sentences(results: Sequence[Result]) -> dict[str, list[str]]:
    return {result.doc_id: [passage.sentence for passage in result.passages] for result in results}


@pytest.mark.usefixtures("counting")
def test_the_sentence_with_most_of_what_the_scorer_counts_is_marked(index: Index) -> None:
    results = search(opened(index, "scorer.name=counting"), "fox", passages=2)
    assert sentences(results) == {"d": ["A fox met a fox.", "A bee, a fox?"], "e": ["A fox and a fox."], "f": [""]}
    best = next(result for result in results if result.doc_id == "d").passages[0]
    assert best.highlights == ((TEXT.index("A fox"), TEXT.index(" The fox")),)
    assert [passage.highlights for result in results if result.doc_id == "f" for passage in result.passages] == [()]


@pytest.mark.usefixtures("counting")
def test_all_sentences_are_scored_in_one_call_that_no_stored_vector_can_answer(index: Index) -> None:
    pipeline = opened(index, "scorer.name=counting")
    search(pipeline, "fox", passages=2)
    _, of_sentences = recording(pipeline).calls
    assert len({task.doc_id for task in of_sentences}) == 3  # two passages of d, one of e
    assert all(" " in task.doc_id and task.doc_id not in index for task in of_sentences)
    assert {"A fox met a fox.", "A bee, a fox?", "A fox and a fox."} < {
        text for task in of_sentences for text in task.texts
    }


@pytest.mark.usefixtures("counting")
def test_a_passage_of_one_sentence_is_marked_without_scoring(index: Index) -> None:
    pipeline = opened(index, "scorer.name=counting", "passages.preset=sentences", "passages.options=")
    results = search(pipeline, "bee", k=1, passages=1)
    assert sentences(results) == {"d": ["One bee."]}
    _, of_sentences = recording(pipeline).calls
    assert of_sentences == []


@pytest.mark.usefixtures("counting")
def test_sentences_are_read_with_the_title_as_passages_are(index: Index) -> None:
    pipeline = opened(index, "scorer.name=counting", "title=true")
    search(pipeline, "fox", passages=1)
    texts = {text for task in recording(pipeline).calls[1] for text in task.texts}
    assert {"a bee A fox met a fox.", "A fox and a fox."} < texts


@pytest.mark.usefixtures("counting")
def test_a_mix_is_over_the_sentences_that_are_shown() -> None:
    """BM25 prefers the first sentence; the count, which counts stop words, the second (3 to 5)."""
    text, other = "Fox fox fox. The one, the two, the three, the fox.", "Fox. Fox the the the the the the the the."

    def best(weight: float, *texts: str) -> str:
        ranked = Reranker("lexical", assignments=[f"mix.counting={weight}"]).rank("fox the", texts)
        return next(one for one in ranked if one.index == 0).passages[0].sentence

    assert best(0.4, text) == "Fox fox fox."
    assert best(0.6, text) == "The one, the two, the three, the fox."
    assert best(0.6, text, other) == "Fox fox fox."  # counts from 1 to 9: the difference is worth .25, that of BM25 1


def test_of_a_document_network_bm25_marks_the_sentences(index: Index) -> None:
    pipeline = opened(index)
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    network = Recording()
    network.scores_documents = True
    own = PassageDocumentScorer(pipeline.scorer.segmenter, pipeline.scorer.selector, network, title=True)
    assert isinstance(sentence_scorer(own).scorer, LexicalScorer)
    assert not sentence_scorer(own).title
    found = sentences_of(own, Query("q", "fox"), search(pipeline, "fox"), index).find()
    assert highlighted(search(pipeline, "fox"), found) == search(pipeline, "fox")
    assert network.calls == []


def test_parts_of_a_passage_are_its_text_with_words_and_sentence_marked(index: Index) -> None:
    best = next(result for result in search(opened(index), "fox", passages=1) if result.doc_id == "d").passages[0]
    parts = list(marked(best))
    assert "".join(part.text for part in parts) == best.text
    assert [part.text for part in parts if part.word] == ["fox"] * len(best.words)
    assert "".join(part.text for part in parts if part.best) == best.sentence


WORDS = st.sampled_from(["fox", "Fox.", "moon!", "tide", "e.g.", "salt?", "\n\n", "😀", "Dr.", "The", "bee."])


@given(
    texts=st.lists(st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=3),
    query=st.sampled_from(["fox", "bee moon", "unicorn"]),
    n=st.integers(0, 4),
    length=st.integers(1, 12),
)
def test_highlights_are_sentences_inside_passages_that_share_no_character(
    texts: list[str], query: str, n: int, length: int
) -> None:
    options = f"passages.options={{length={length}, stride={(length + 1) // 2}}}"
    splitter = make_splitter("sentencex")
    for ranked in Reranker("lexical", assignments=[options]).rank(query, texts, passages=n):
        text = texts[ranked.index]
        assert len(ranked.passages) <= n
        for passage in ranked.passages:
            assert text[passage.start : passage.end] == passage.text
            units = splitter.sentences(passage.text, 512)
            spans = [(passage.start + a, passage.start + b) for a, b in zip(units.starts, units.ends, strict=True)]
            assert [*passage.highlights] in ([[span] for span in spans] if spans else [[]])
        for one, other in combinations(ranked.passages, 2):
            assert one.end < other.start or other.end < one.start
