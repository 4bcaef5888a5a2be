"""Contributions against leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from evidences import evidence
from longrank.analysis.contributions import contribution_agreement, leave_one_out
from longrank.errors import InputError
from longrank.protocols import Candidate, PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Document, Evidence, Query

TEXT = "aaa b aaaaa"


class Longest:
    """A document is worth its longest word, to the power 2; each passage contributes its length."""

    needs_model, scores_documents, unit, fingerprint = False, True, "logit", "longest"

    def __init__(self, *, documents: bool = True) -> None:
        self._documents = documents

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        return [self._score(np.array(list(map(len, task.texts)), np.float32)) for task in tasks]

    def _score(self, lengths: Any) -> PassageScores:
        document = float(lengths.max()) ** 2 if self._documents else None
        return PassageScores(lengths, np.zeros(len(lengths), np.bool_), document, lengths)


def scorer(**options: Any) -> PassageDocumentScorer:
    words = make_segmenter("windows", {"length": 1, "stride": 1})
    return PassageDocumentScorer(words, make_selector("all"), cast(Any, Longest(**options)), title=False)


def candidates(*texts: str) -> list[Candidate]:
    return [Candidate(Query("q", "x"), Document(f"d{n}", "", text), 0.0) for n, text in enumerate(texts)]


def test_leave_one_out_is_the_loss_of_score() -> None:
    several, single = leave_one_out(scorer(), candidates(TEXT, "bb"))
    assert several.passage_weight.tolist() == [0, 0, 25 - 9]
    assert (single.passage_weight.tolist(), single.document_score) == ([4], 4)


def test_a_scorer_of_passages_is_refused() -> None:
    with pytest.raises(InputError, match="needs the document scores of a document network"):
        leave_one_out(scorer(documents=False), candidates(TEXT))


def weighted(weights: list[float], doc_id: str = "d") -> Evidence:
    return evidence(doc_id, [0] * len(weights), weights=weights, document_score=1)


def test_agreement_by_hand() -> None:
    ones = [weighted([1, 2, 3]), weighted([3, 1], "e"), weighted([1], "single"), weighted([2, 2], "equal")]
    others = [weighted([1, 3, 2]), weighted([9, 1], "e"), weighted([5], "single"), weighted([1, 2], "equal")]
    found = contribution_agreement([*ones, weighted([1, 2], "only")], others)
    assert found.documents == 3
    assert found.tau is not None and found.tau.queries == 2
    assert found.tau.mean == pytest.approx((1 / 3 + 1) / 2)
    assert found.top_1.mean == pytest.approx(1 / 3)  # not d; e; not "equal", whose first of two equal counts
    assert found.by_chance == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)


def test_evidence_of_another_segmenter_is_refused() -> None:
    with pytest.raises(InputError, match="document d has other passages for query q: the segmenters differ"):
        contribution_agreement([weighted([1, 2])], [weighted([1, 2, 3])])


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="there is no document of two passages or more to compare"):
        contribution_agreement([weighted([1])], [weighted([1])])
