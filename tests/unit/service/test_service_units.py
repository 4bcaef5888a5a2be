"""Scoring units: splitting tasks, joining scores, costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from hypothesis import given
from hypothesis import strategies as st

from longrank.aggregation.mixing import Mix
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.scoring.lexical import LexicalScorer
from longrank.scoring.mixed import MixedScorer
from longrank.service.units import joined, tokens_of, units_of, weight_of
from longrank.types import Passage, Query


class Network:
    """A scorer whose score of a text is its length."""

    unit, fingerprint = "logit", "network"
    needs_model, scores_documents = True, False

    def score(self, tasks: Any) -> list[PassageScores]:
        return [
            PassageScores(np.array([len(text) for text in task.texts], np.float32), np.zeros(len(task.texts), np.bool_))
            for task in tasks
        ]


def scorer_of(scorer: Any) -> PassageDocumentScorer:
    return PassageDocumentScorer(None, None, scorer, title=False)  # type: ignore[arg-type]


def task_of(lengths: list[int]) -> ScoringTask:
    texts = tuple("a" * n for n in lengths)
    passages = tuple(Passage("d", n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query("q", "fox"), "d", passages, texts)


@given(
    documents=st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=12), min_size=1, max_size=6),
    batch_tokens=st.integers(1, 200),
    weight=st.sampled_from([1.0, 0.02]),
)
def test_units_hold_every_passage_once_in_order(documents: list[list[int]], batch_tokens: int, weight: float) -> None:
    tasks = [task_of(lengths) for lengths in documents]
    units = units_of(scorer_of(Network()), tasks, batch_tokens, weight)
    for unit in units:
        tokens = sum(tokens_of("fox", text) for text in unit.task.texts)
        assert unit.tokens == max(1, int(weight * tokens))
        assert len(unit.task.texts) == 1 or tokens <= batch_tokens / weight
    scores = joined(tasks, Network().score([unit.task for unit in units]))
    assert [one.scores.tolist() for one in scores] == documents


def test_a_network_that_aggregates_gets_its_documents_whole() -> None:
    aggregating = DocumentNetworkScorer.__new__(DocumentNetworkScorer)
    units = units_of(scorer_of(aggregating), [task_of([400] * 9)], 10, 1.0)
    assert [len(unit.task.texts) for unit in units] == [9]


def test_only_what_a_network_reads_costs_its_full_price() -> None:
    class Stored(Network):
        has_stored_vectors = True

    assert weight_of(scorer_of(Network()), indexed=True) == 1.0
    assert weight_of(scorer_of(Stored()), indexed=False) == 1.0  # texts of a request are in no index
    assert weight_of(scorer_of(Stored()), indexed=True) < 0.1
    assert weight_of(scorer_of(LexicalScorer.__new__(LexicalScorer)), indexed=False) < 0.1


def test_the_parts_of_a_mix_are_joined_as_the_scores_are() -> None:
    mixed = MixedScorer(Mix({"long": 0.5, "again": 0.5}), [Network(), Network()])
    tasks = [task_of([5, 300, 7]), task_of([9])]
    units = units_of(scorer_of(mixed), tasks, 60, 1.0)
    assert len(units) > len(tasks)
    for one, lengths in zip(joined(tasks, mixed.score([unit.task for unit in units])), ([5, 300, 7], [9]), strict=True):
        assert one.parts is not None
        assert {name: part.tolist() for name, part in one.parts.items()} == {"long": lengths, "again": lengths}


def test_a_mix_costs_what_its_networks_cost() -> None:
    class Stored(Network):
        has_stored_vectors = True

    cheap = LexicalScorer.__new__(LexicalScorer)
    for networks, full in (([Network()], True), ([Stored(), Network()], True), ([Stored()], False), ([], False)):
        scorers = [*networks, cheap]
        mixed = MixedScorer(Mix({f"s{n}": 1 / len(scorers) for n in range(len(scorers))}), scorers)
        assert (weight_of(scorer_of(mixed), indexed=True) == 1.0) == full
        assert (weight_of(scorer_of(mixed), indexed=False) == 1.0) == bool(networks)
