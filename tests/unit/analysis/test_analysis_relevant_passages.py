from __future__ import annotations

from pathlib import Path

import pytest

from longrank.analysis.relevant_passages import before, mapped, relevant_passages
from longrank.errors import InputError
from longrank.formats.trec import read_qrels
from longrank.types import Notes

JUDGED = {
    "q1": {"a#0": 1, "a#4": 2, "b#1": 1, "c#0": 0},
    "q2": {"a#1": 1, "a#2": 1, "a#3": 1, "b#0": -1},
    "q3": {"d#0": 1},
}


def test_relevant_passages_are_counted_by_query_and_document() -> None:
    found = relevant_passages(JUDGED, before("#"))
    assert found.n == 4  # q1 a: 2, q1 b: 1, q2 a: 3, q3 d: 1
    assert found.counts == {1: 2, 2: 1, 3: 1}
    assert (found.exactly_1, found.up_to_2, found.from_3) == (0.5, 0.75, 0.25)
    assert (found.per_document.mean, found.without, found.left_out) == (7 / 4, 0, 0)


def test_a_higher_level_leaves_passages_and_their_documents_out() -> None:
    found = relevant_passages(JUDGED, before("#"), level=2)
    assert (found.n, found.counts) == (1, {1: 1})


def test_documents_can_have_a_rule_of_their_own() -> None:
    """Grade 2 is relevant: q1 a and q2 z, which has no relevant passage; three pairs have one and are not relevant."""
    qrels = {"q1": {"a": 2, "b": 1}, "q2": {"z": 3}, "q4": {"a": 0}}
    found = relevant_passages(JUDGED, before("#"), qrels=qrels, document_level=2)
    assert (found.n, found.counts, found.without, found.left_out) == (1, {2: 1}, 1, 3)


def test_the_last_separator_counts() -> None:
    assert before("_")("D_12_3") == "D_12"
    assert before("#")("a#b#7") == "a#b"


def test_passages_with_ids_of_their_own_are_looked_up() -> None:
    found = relevant_passages({"q": {"7": 1, "8": 1, "9": 1}}, mapped({"7": "a", "8": "a", "9": "b"}))
    assert found.counts == {1: 1, 2: 1}


@pytest.mark.parametrize(
    ("document_of", "said"),
    [
        (before("_"), r"a passage id lacks '_' \(got 'a#0'\)"),
        (mapped({}), r"the mapping lacks a passage \(got 'a#0'\)"),
    ],
)
def test_an_id_without_a_document_is_an_error(document_of: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        relevant_passages(JUDGED, document_of)  # type: ignore[arg-type]


def test_no_relevant_passage_is_an_error_and_so_is_no_separator() -> None:
    with pytest.raises(InputError, match="no relevant document has a relevant passage"):
        relevant_passages(JUDGED, before("#"), level=3)
    with pytest.raises(InputError, match="cannot be empty"):
        before("")


@pytest.mark.parametrize(
    ("name", "documents", "per_document"),
    [("qmsum", 1576, 52.8), ("squad-dev-mixed", 10570, 1.0), ("scifact", 772, 1.8)],
)
def test_the_counts_are_those_that_the_collections_state(
    shared_data: Path, name: str, documents: int, per_document: float
) -> None:
    """Expected: the READMEs' relevant passages per query, of which each has one document (scifact: 1,390 / 772)."""
    found = relevant_passages(read_qrels(shared_data / name / "passage_qrels.txt", Notes()), before("#"))
    assert (found.n, round(found.per_document.mean, 1)) == (documents, per_document)


def test_fira_has_the_shares_that_parade_gives(shared_data: Path) -> None:
    """PARADE, table 9: 66, 87 and 14 per cent; the judgments of the final release give these to within a point."""
    folder = shared_data / "trec-topics-qrels"
    snippets = read_qrels(folder / "fira" / "fira-trec19-qrels-snippets.txt", Notes())
    documents = read_qrels(folder / "qrels" / "qrels.dl19-doc.txt", Notes())
    found = relevant_passages(snippets, before("_"), level=3, qrels=documents, document_level=2)
    assert (found.exactly_1, found.up_to_2, found.from_3) == pytest.approx((0.66, 0.87, 0.14), abs=0.01)
