from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import index_of
from longrank.errors import InputError
from longrank.formats.evidence import EvidenceWriter, evidence_header, read_evidence
from longrank.training.passage_data.examples import Example
from longrank.training.weak_labels import (
    Sentence,
    Triplet,
    WeakLabelOptions,
    WeakLabels,
    best_sentences,
    training_queries,
    triplet_examples,
    weak_labels,
)
from longrank.types import Document, Evidence, Notes, Query, Run, ScoredDoc


def evidence_of(query_id: str, doc_id: str, scores: list[float]) -> Evidence:
    """Sentences 1, 3, 5, ... of the document, ten characters each."""
    index = 2 * np.arange(len(scores), dtype=np.int32) + 1
    ones = np.ones(len(scores), dtype=np.float32)
    return Evidence(
        query_id, doc_id, 0.0, index, index * 10, index * 10 + 10, np.float32(scores), ones, 2 * len(scores) + 1, 0
    )


# 30 documents a query: d0 and d1 are relevant, d2 is judged not to be, the others are unjudged
QRELS = {"q1": {"d0": 1, "d1": 2, "d2": 0}, "q2": {"d0": 1, "d1": 2, "d2": 0}}
RUN = Run("bm25", [ScoredDoc(q, f"d{i}", -i) for q in QRELS for i in range(30)])
EVIDENCE = [evidence_of(q, f"d{i}", [0.1, 0.9, 0.5]) for q in QRELS for i in range(30)]


def labels(
    options: WeakLabelOptions | None = None,
    *,
    seed: int = 42,
    notes: Notes | None = None,
    evidence: list[Evidence] = EVIDENCE,
    qrels: dict[str, dict[str, int]] = QRELS,
) -> WeakLabels:
    options = options or WeakLabelOptions()
    return weak_labels(["q2", "q1"], qrels, RUN, evidence, options, seed=seed, notes=notes or Notes())


def negatives(found: WeakLabels) -> set[str]:
    return {triplet.negative.doc_id for part in found for triplet in part}


def test_the_best_sentence_is_the_first_of_the_highest_score() -> None:
    rows = [evidence_of("q", "a", [0.1, 0.9, 0.9]), evidence_of("q", "b", [-1.0])]
    assert best_sentences(rows) == {("q", "a"): Sentence("a", 3, 30, 40), ("q", "b"): Sentence("b", 1, 10, 20)}


def test_every_relevant_document_comes_five_times_with_different_negatives() -> None:
    train, dev = labels()
    assert (len(train), len(dev)) == (18, 2)  # 2 queries, 2 relevant documents, 5 times; a tenth of 20 validates
    both = train + dev
    assert Counter((one.query_id, one.positive.doc_id) for one in both) == {
        (query_id, doc_id): 5 for query_id in QRELS for doc_id in ("d0", "d1")
    }
    assert len({(one.query_id, one.positive.doc_id, one.negative.doc_id) for one in both}) == 20
    assert {one.positive[1:] for one in both} == {(3, 30, 40)}


def test_negatives_are_the_first_documents_of_the_run_that_are_not_relevant() -> None:
    found = labels(WeakLabelOptions(depth=6, repeats=6))
    assert negatives(found) == {"d2", "d3", "d4", "d5", "d6", "d7"}


def test_lower_grades_are_negatives_and_unjudged_documents_may_be_left_out() -> None:
    assert negatives(labels(WeakLabelOptions(relevance_level=2, repeats=1, unjudged=False))) <= {"d0", "d2"}
    assert negatives(labels(WeakLabelOptions(unjudged=False))) == {"d2"}


def test_what_lacks_evidence_or_negatives_is_counted() -> None:
    notes = Notes()
    evidence = [one for one in EVIDENCE if (one.query_id, one.doc_id) not in {("q1", "d0"), ("q1", "d5")}]
    options = WeakLabelOptions(depth=4, repeats=4)
    found = labels(options, notes=notes, evidence=evidence)
    assert len(found.train) + len(found.dev) == 3 + 8  # q1: d1 with d2, d3, d4; q2: d0 and d1 with four each
    assert notes["documents without evidence, left out"] == 2
    assert notes["relevant documents with fewer than 4 negatives"] == 1


def test_a_query_without_labels_is_counted_and_none_at_all_is_an_error() -> None:
    notes = Notes()
    labels(notes=notes, qrels={"q1": {"d0": 1}, "q2": {"d0": 0}})
    assert notes["queries that give no weak labels"] == 1
    with pytest.raises(InputError, match="no query has both"):
        labels(qrels={"q1": {"d0": 0}})


def test_labels_depend_on_the_seed_and_on_no_order() -> None:
    assert labels() == labels(evidence=EVIDENCE[::-1])
    assert labels() != labels(seed=43)
    other = {query_id: dict(reversed(judged.items())) for query_id, judged in reversed(QRELS.items())}
    assert labels() == labels(qrels=other)


def test_labels_stay_what_they_were() -> None:
    train, _ = labels()
    assert train[0] == Triplet("q2", Sentence("d1", 3, 30, 40), Sentence("d13", 3, 30, 40))


def test_an_evidence_file_is_read_as_it_is(tmp_path: Path) -> None:
    header = evidence_header(
        unit="cosine", scorer="s", collection="c", queries="q", n_queries=2, candidates="r", options={}
    )
    with EvidenceWriter(tmp_path / "run.evidence", header) as writer:
        for query_id in QRELS:
            writer.write_query(query_id, [one for one in EVIDENCE if one.query_id == query_id])
        writer.commit()
    _, rows = read_evidence(tmp_path / "run.evidence")
    assert labels(evidence=list(rows)) == labels()


@pytest.mark.parametrize("options", [{"relevance_level": 0}, {"depth": 0}, {"repeats": 0}, {"dev": 1.0}, {"dev": -0.1}])
def test_numbers_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        WeakLabelOptions(**options)


def test_triplets_become_groups_of_the_sentences_own_characters_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    index = index_of([Document("a", "title", "Ünique. The rest."), Document("b", "", "  \n x")], tmp_path / "index")
    queries, notes = {"q": Query("q", "what?")}, Notes()
    first, rest = Sentence("a", 0, 0, 7), Sentence("a", 1, 8, 17)
    triplets = [Triplet("q", rest, first), Triplet("q", first, Sentence("b", 0, 0, 3))]
    found = list(triplet_examples(triplets, queries, index, notes))
    assert found == [Example("what?", ("The rest.", "Ünique."), (1.0, 0.0))]
    assert notes["triplets with a blank sentence, left out"] == 1


def test_evidence_of_another_text_of_a_query_is_noted(tmp_path: Path) -> None:
    import longrank
    from longrank.training.weak_labels import weak_examples

    texts = {"a": "Cats purr loudly. Dogs bark at night.", "b": "Dogs bark at night. Cats purr loudly."}
    index = longrank.Index.build(list(texts.items()), tmp_path / "i")
    run = Run("r", [ScoredDoc("q", "a", 2.0), ScoredDoc("q", "b", 1.0)])
    path, passages = tmp_path / "e", ["passages.preset=sentences"]
    longrank.rerank(index, {"q": "cats"}, run, pipeline="lexical", assignments=passages, evidence=path)
    for text, n in (("cats", 0), ("dogs", 1)):
        notes, known = Notes(), {"q": Query("q", text)}
        of: Any = {"queries": known, "qrels": {"q": {"a": 1}}, "run": run, "index": index, "evidence": path}
        weak_examples(["q"], **of, options=WeakLabelOptions(repeats=1, dev=0), seed=1, notes=notes)
        assert sum("evidence is of other queries" in line for line in notes.lines()) == n


def test_queries_without_judgments_and_judged_topics_without_a_query_are_counted() -> None:
    notes = Notes()
    assert list(training_queries(["q1", "q2"], ["q2", "q3"], None, None, notes)) == ["q2"]
    assert notes.lines() == [
        "judged topics that are not among the queries, left out: 1 (first: q3)",
        "queries without judgments, left out: 1 (first: q1)",
    ]
