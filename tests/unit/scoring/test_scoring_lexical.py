from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.index.similarity import idf
from longrank.protocols import ScoringTask
from longrank.scoring import passage_terms
from longrank.scoring.lexical import LexicalScorer
from longrank.text.analysis import ANALYZERS, Analyzer
from longrank.types import Passage, Query


class Statistics:
    """Three documents of 4 terms on average: "fox" is in one of them, "dog" in two, "run" in all."""

    n_nonempty = 3
    avgdl = 4.0
    digest = "toy"

    def query_terms(self, query: Query) -> Counter[str]:
        return Counter(ANALYZERS["porter"](query.text))

    def document_analyzer(self, doc_id: str) -> Analyzer:
        return ANALYZERS["porter"]

    def df(self, term: str) -> int:
        return {"fox": 1, "dog": 2, "run": 3}.get(term, 0)


def task(query: str, texts: Sequence[str]) -> ScoringTask:
    passages = tuple(Passage("d", n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query("q", query), "d", passages, tuple(texts))


def score(query: str, *texts: str, k1: float = 0.9, b: float = 0.4) -> list[float]:
    (scores,) = LexicalScorer(Statistics(), k1=k1, b=b).score([task(query, texts)])
    assert scores.scores.dtype == np.float32
    assert not scores.truncated.any()
    return scores.scores.tolist()


def test_the_score_is_bm25_with_the_collections_idf_and_average_length() -> None:
    weight = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = weight * 2 / (2 + 0.9 * (1 - 0.4 + 0.4 * 3 / 4))
    assert score("fox", "foxes, the fox: running") == pytest.approx([expected], rel=1e-6)


def test_a_word_said_twice_in_the_query_counts_twice() -> None:
    assert score("dog dog", "dog") == pytest.approx([2 * score("dog", "dog")[0]], rel=1e-6)


def test_terms_add_up_and_unknown_ones_add_nothing() -> None:
    both = score("fox dog unicorn", "fox dog")[0]
    assert both == pytest.approx(score("fox", "fox dog")[0] + score("dog", "fox dog")[0], rel=1e-6)


def test_a_longer_passage_with_the_same_matches_scores_less_unless_b_is_zero() -> None:
    short, long = score("fox", "fox", "fox " + "filler " * 50)
    assert short > long
    short, long = score("fox", "fox", "fox " + "filler " * 50, b=0)
    assert short == long


def test_without_a_match_or_a_text_the_score_is_zero() -> None:
    assert score("fox", "dog", "", "the") == [0, 0, 0]
    assert score("", "dog") == [0]


def test_k1_of_zero_counts_presence() -> None:
    once, thrice = score("fox", "fox", "fox fox fox", k1=0)
    assert once == thrice == pytest.approx(math.log(1 + 2.5 / 1.5), rel=1e-6)


def test_a_collection_of_empty_documents_gives_zeros() -> None:
    class Empty(Statistics):
        avgdl = 0.0

        def df(self, term: str) -> int:
            return 0

    (scores,) = LexicalScorer(Empty()).score([task("fox", ["fox", ""])])
    assert scores.scores.tolist() == [0, 0]


@pytest.mark.parametrize("bad", [{"k1": -1}, {"k1": math.nan}, {"b": 1.5}, {"b": -0.1}])
def test_parameters_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be"):
        LexicalScorer(Statistics(), **bad)


def test_the_fingerprint_names_parameters_and_collection() -> None:
    assert LexicalScorer(Statistics(), k1=1.2).fingerprint == "lexical k1=1.2 b=0.4 collection=toy"


def reference(query: str, texts: Sequence[str], k1: float, b: float) -> list[float]:
    """The formula, passage by passage."""
    statistics, scores = Statistics(), []
    weights = {
        term: n * float(idf(statistics.df(term), statistics.n_nonempty))
        for term, n in statistics.query_terms(Query("q", query)).items()
        if statistics.df(term)
    }
    for text in texts:
        counts = Counter(statistics.document_analyzer("")(text))
        norm = k1 * (1 - b + b * (counts.total() / statistics.avgdl))
        gains = [weights[term] * counts[term] / (counts[term] + norm) for term in weights if term in counts]
        scores.append(float(np.float32(math.fsum(gains))))
    return scores


WORDS = st.sampled_from(
    ["fox", "foxes", "dogs", "run,", "(running)", "fox's", "the", "é", "fox-dog", "u.s", "", "x" * 99]
)
PASSAGES = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.lists(WORDS, max_size=6).map("\n".join), PASSAGES), max_size=6), st.booleans())
def test_scores_are_those_of_the_formula_whatever_was_scored_before(
    asked: list[tuple[str, list[str]]], presence: bool
) -> None:
    k1, b = (0.0, 0.4) if presence else (0.9, 0.4)
    expected = [reference(query, texts, k1, b) for query, texts in asked]
    scorer = LexicalScorer(Statistics(), k1=k1, b=b)
    together = [scores.scores.tolist() for scores in scorer.score([task(*each) for each in asked])]
    apart = [scorer.score([task(*each)])[0].scores.tolist() for each in reversed(asked)][::-1]
    assert together == apart == expected


def test_a_document_that_is_kept_is_not_analysed_again() -> None:
    read: list[str] = []

    def analyzer(text: str) -> list[str]:
        read.append(text)
        return ANALYZERS["porter"](text)

    class Counted(Statistics):
        def query_terms(self, query: Query) -> Counter[str]:
            return Counter(analyzer(query.text))

        def document_analyzer(self, doc_id: str) -> Analyzer:
            return analyzer

    scorer = LexicalScorer(Counted())
    first = scorer.score([task("fox", ["a fox", "the fox runs"])])
    assert read == ["fox", "a", "fox", "the", "runs"]  # the query, and each part once
    again = scorer.score([task("dog", ["a fox", "the fox runs"]), task("fox", ["a fox", "the fox runs"])])
    assert read[5:] == ["dog", "fox"]
    assert again[1].scores.tolist() == first[0].scores.tolist()


@pytest.mark.parametrize("limit", ["_KEPT_BYTES", "_MOST_TERMS", "_MOST_PARTS", "_LONG"])
def test_scores_do_not_depend_on_what_is_kept(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [task(query, [f"{word} fox dog", "foxes run"]) for query in ("fox", "dog run") for word in "abcd"]
    expected = [scores.scores.tolist() for scores in LexicalScorer(Statistics()).score(asked)]
    monkeypatch.setattr(passage_terms, limit, 1)
    scorer = LexicalScorer(Statistics())
    for _ in range(2):
        assert [scores.scores.tolist() for one in asked for scores in scorer.score([one])] == expected


def test_threads_may_share_a_scorer() -> None:
    asked = [task("fox dog", [f"w{n} fox w{n + m} dog" for m in range(9)]) for n in range(60)]
    expected = [scores.scores.tolist() for scores in LexicalScorer(Statistics()).score(asked)]
    scorer = LexicalScorer(Statistics())
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda one: scorer.score([one])[0].scores.tolist(), asked * 4)
    assert list(found) == expected * 4
