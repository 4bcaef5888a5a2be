"""Texts are ranked by what is read until a deadline, on a clock that only reading moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.ranking.found import Partial
from longrank.ranking.results import Results
from longrank.ranking.texts import Reranker
from longrank.ranking.timed import Deadline
from longrank.types import Document
from slow_reading import Clock, Slow, slowed

FILLER = "moon tide chain wheel light house bread stone river salt"
FOX = f"{FILLER} the fox {FILLER} foxes: the Fox's FOX {FILLER}"
TEXTS = [FILLER, FOX, f"{FILLER} a fox", FILLER]
SET = ["passages.options={length=10, stride=10}"]


def slow() -> tuple[Reranker, Clock, Slow]:
    reranker, clock = Reranker("lexical", assignments=SET), Clock()
    return reranker, clock, slowed(reranker, clock)


def ranked(seconds: float, k: int | None = None, *, texts: Sequence[str | Document] = TEXTS) -> Results[Any]:
    reranker, clock, _ = slow()
    return reranker.rank("fox", texts, k, deadline=Deadline(seconds, clock))


def test_the_most_promising_passage_is_read_first_and_the_rest_is_counted() -> None:
    results = ranked(1)
    assert results.partial == Partial(n_documents=4, n_read=0, n_partly=1, n_unread=3)
    assert [text.index for text in results] == [1, 0, 2, 3]
    assert [text.n_scored for text in results] == [1, 0, 0, 0]
    assert "FOX" in results[0].passages[0].text
    assert all(text.cut for text in results)


def test_unread_texts_lie_below_those_that_were_read_and_have_no_relevance() -> None:
    results = ranked(1)
    scores = [text.score for text in results]
    assert scores == sorted(set(scores), reverse=True)
    assert [text.relevance for text in results[1:]] == [0.0, 0.0, 0.0]
    assert [text.passages for text in results[1:]] == [(), (), ()]
    assert "not read" in results[1].detail


def test_counts_are_seen_wherever_the_results_are() -> None:
    results = ranked(1)
    said = "3 of 4 documents were not read"
    assert said in repr(results)
    assert said in results._repr_html_()
    assert results[:2].partial == results.partial
    assert "documents that a deadline left unread: 3" in results.notes.lines()


def test_more_time_reads_more_and_no_batch_runs_past_the_end() -> None:
    read = []
    for seconds in (2, 4, 6, 8, 12, 100):
        reranker, clock, scorer = slow()
        began = clock.time
        results = reranker.rank("fox", TEXTS, deadline=Deadline(seconds, clock))
        assert clock.time - began <= seconds
        read.append(sum(text.n_scored for text in results))
        assert scorer.batches[0] == 1
    assert read == sorted(read)
    assert read[0] < read[-1]
    assert results.partial is None


def test_batches_grow_slowly_since_a_speed_may_be_that_of_cached_passages() -> None:
    reranker, clock, scorer = slow()
    results = reranker.rank("fox", [*TEXTS * 10], deadline=Deadline(10**6, clock))
    assert results.partial is None
    assert scorer.batches[:3] == [1, 4, 16]


def test_with_time_enough_the_ranking_is_the_same_as_without_a_deadline() -> None:
    whole, timed = Reranker("lexical", assignments=SET).rank("fox", TEXTS), ranked(1000)
    assert timed.partial is None
    assert [(t.index, t.score, t.passages, t.cut) for t in timed] == [
        (t.index, t.score, t.passages, t.cut) for t in whole
    ]
    assert whole.partial is None
    assert repr(timed) == repr(whole)


def test_best_sentences_that_no_time_is_left_for_are_said() -> None:
    results = ranked(1, texts=["The fox sleeps. A fox, the fox is up.", FILLER])
    assert results[0].passages[0].highlights == ()
    assert ranked(1000, texts=["The fox sleeps. A fox, the fox is up."])[0].passages[0].highlights
    assert "the deadline passed before the best sentences were found" in results.notes.lines()


def test_nothing_read_keeps_the_order_and_the_titles() -> None:
    reranker, clock, scorer = slow()
    deadline = Deadline(1, clock)
    clock.time += 5  # another thread used the reranker
    documents = [Document(f"d{n}", f"title {n}", text) for n, text in enumerate(TEXTS)]
    results = reranker.rank("fox", documents, 3, deadline=deadline)
    assert [(text.index, text.title) for text in results] == [(n, f"title {n}") for n in range(3)]
    assert results.partial == Partial(4, 0, 0, 4)
    assert sum(scorer.batches) == 0


def test_k_counts_unread_texts_too() -> None:
    assert [text.index for text in ranked(1, 2)] == [1, 0]


def test_an_empty_text_is_read_like_any_other() -> None:
    results = ranked(1000, texts=["", "a fox"])
    assert results.partial is None
    assert [text.index for text in results] == [1, 0]


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, True])
def test_a_wrong_deadline_is_named(wrong: float) -> None:
    with pytest.raises(InputError, match="deadline must be a number of seconds above 0"):
        Reranker("lexical").rank("fox", TEXTS, deadline=wrong)
