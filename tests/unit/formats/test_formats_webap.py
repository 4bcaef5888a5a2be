"""WebAP's graded sentences: documents, and passages merged for table 9 of PARADE."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank import analyze
from longrank.collections.documents import read_documents
from longrank.errors import InputError
from longrank.formats.webap import Merged, Sentence, merged, passage_grades
from longrank.types import Notes

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<ROOT>\n'


def document(doc_id: str, query_id: str, *graded: tuple[str, str]) -> str:
    text = "".join(
        f"<{grade}>\n" + "".join(f"<SENTENCE>{one}</SENTENCE>\n" for one in sentences.split("|")) + f"</{grade}>\n"
        for grade, sentences in graded
    )
    ids = f"<DOCNO>{doc_id}-{query_id}</DOCNO>\n<TARGET_QID>{query_id}</TARGET_QID>\n"
    return f"<DOC>\n{ids}<ORIGINAL_DOCNO>{doc_id}</ORIGINAL_DOCNO>\n<TEXT>\n{text}</TEXT>\n</DOC>\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two queries, three documents; passages of grade 3 or more: GX1 has two for 701, GX2 one, and GX1 one for 702."""
    path = tmp_path / "grade.trectext_patched"
    path.write_text(
        HEAD
        + document(
            "GX1", "701", ("PERFECT", "One a.|One b."), ("EXCEL", "Two."), ("NONE", "x &amp; y"), ("PERFECT", "Z.")
        )
        + document("GX2", "701", ("FAIR", "No."), ("GOOD", "No."), ("EXCEL", "Yes."))
        + document("GX1", "702", ("EXCEL", "Yes."))
        + "</ROOT>\n"
    )
    return path


def test_a_document_is_its_sentences_and_its_passages_are_merged(path: Path) -> None:
    found = list(read_documents(str(path)))
    assert [each.doc_id for each in found] == ["GX1-701", "GX2-701", "GX1-702"]
    assert found[0].text == "One a.\nOne b.\nTwo.\nx & y\nZ."
    assert [found[0].text[a:b] for a, b in found[0].passages] == ["One a.\nOne b.\nTwo.", "x & y", "Z."]


def test_neighbours_are_merged_up_to_130_words() -> None:
    long = Sentence("word " * 100, 3)
    short = Sentence("word " * 30, 4)
    sentences = [long, short, Sentence("one", 3), Sentence("no", 2), Sentence("no", 0), Sentence("word " * 200, 0)]
    expected = [Merged(0, 2, 4), Merged(2, 3, 3), Merged(3, 5, 2), Merged(5, 6, 0)]
    assert merged(sentences) == expected
    assert merged([]) == []


def test_table_9_counts_the_merged_passages_of_each_document(path: Path) -> None:
    assert passage_grades(path, Notes())["701"] == {"GX1#0": 4, "GX1#1": 0, "GX1#2": 4, "GX2#0": 2, "GX2#1": 3}
    counted = analyze.relevant_passages(str(path), level=3).values
    assert (counted.n, counted.counts) == (3, {1: 2, 2: 1})
    assert analyze.relevant_passages(str(path), level=3, qrels={"701": {"GX1": 1}}).values.counts == {2: 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<DOC>\n<DOCNO>a</DOCNO>\n<TARGET_QID>7</TARGET_QID>\n</DOC>\n", "no <ORIGINAL_DOCNO>"),
        (document("a", "7", ("NONE", "x")).replace("NONE", "SOME"), "x:7: a <SENTENCE> outside"),
        (document("a b", "7"), "x:2: "),
        (document("a", "7", ("NONE", "x")) * 2, "graded twice for query 7"),
    ],
)
def test_faults_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        passage_grades(tmp_path / "x", Notes())
