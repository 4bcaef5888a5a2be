"""longrank.analyze.evidence on values in memory, and on a collection folder."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from evidences import evidence, write_evidence
from longrank.collections import read_answers, read_gold_spans
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.types import Document
from longrank.verbs.analyze import analyze

DOCUMENTS = [Document("d1", "", "aaaa bbbb cccc dddd eeee ffff", ((0, 9), (10, 19), (20, 29))), Document("d2", "", "x")]
QRELS = {"q": {"d1": 1}, "r": {"d1": 1}}
ANSWERS = {"q": ["cccc", "nowhere"], "r": ["eeee"]}
EVIDENCE = [evidence("d1", [1, 3, 2], query_id=query_id) for query_id in ("q", "r")]  # passages of nine characters

SHOWN = [{"query": f"who {query_id}", "doc_id": "d1", "passages": [{"start": 0, "end": 9}]} for query_id in ("q", "r")]


def mean(found: Any, measure: str, name: str = "memory") -> float:
    return float(found.values.inputs[name].measures[measure].mean)


def test_answers_in_memory() -> None:
    found = analyze.evidence(EVIDENCE, DOCUMENTS, qrels=QRELS, answers=ANSWERS, k=[2, 1])
    assert (found.values.gold, found.values.cutoffs) == ("answers", (1, 2))
    assert (mean(found, "hit@1"), mean(found, "hit@2"), mean(found, "RR")) == (0.5, 1, 0.75)
    assert mean(found, "characters") == (4 + 9 + 4) / 2  # "cccc" begins the best passage, "eeee" the second


def test_spans_in_memory_and_of_a_level() -> None:
    spans = {"q": {"d1": [(10, 14), (20, 29)]}, "r": {"d1": [(20, 29)]}}
    found = analyze.evidence({"mine": EVIDENCE}, DOCUMENTS, qrels=QRELS, spans=spans, k=[1])
    assert found.values.gold == "spans"
    assert (mean(found, "coverage@1", "mine"), mean(found, "precision", "mine")) == (0.25, 2 / 9)


def test_answers_come_before_spans_unless_spans_are_asked_for() -> None:
    spans = {"q": {"d1": [(10, 19)]}, "r": {"d1": [(10, 19)]}}
    options = {"qrels": QRELS, "answers": ANSWERS, "spans": spans}
    found = analyze.evidence(EVIDENCE, DOCUMENTS, **options)
    assert (found.values.gold, found.values.pairs) == ("answers", 1)  # eeee is not in the gold span
    assert "relevant documents whose answer does not occur, left out: 1 (first: query r, d1)" in found.notes.lines()
    found = analyze.evidence(EVIDENCE, DOCUMENTS, **options, by="spans")
    assert (found.values.gold, found.values.pairs) == ("spans", 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gold = tmp_path / "gold"
    gold.mkdir()
    rows = [{"doc_id": d.doc_id, "title": "", "text": d.text, "passages": list(d.passages)} for d in DOCUMENTS]
    (gold / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"query_id": q, "text": f"who {q}", "answers": ANSWERS[q]} for q in ANSWERS]
    (gold / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (gold / "qrels.txt").write_text("q 0 d1 1\nr 0 d1 1\n")
    (gold / "passage_qrels.txt").write_text("q 0 d1#1 1\nr 0 d1#2 1\n")
    return gold


def test_a_folder_has_all_parts_and_both_forms_of_spans_agree(folder: Path) -> None:
    assert read_answers(folder) == {q: tuple(texts) for q, texts in ANSWERS.items()}
    for name in ("queries.json", "answers.txt"):  # told by its first line, as queries are
        (folder / name).write_text((folder / "queries.jsonl").read_text())
        assert read_answers(folder / name) == read_answers(folder)
    assert [row.passage for row in read_gold_spans(folder)] == [1, 2]
    numbered = analyze.evidence(EVIDENCE, folder, by="spans")
    (folder / "passage_qrels.txt").write_text("q d1 10 19 1\nr d1 20 29 1\n")
    assert analyze.evidence(EVIDENCE, folder, by="spans").values == numbered.values
    assert mean(numbered, "F1") == 0.5


def test_inputs_are_measured_on_what_they_have_in_common(folder: Path, tmp_path: Path) -> None:
    write_evidence(tmp_path / "all", [[row] for row in EVIDENCE])
    line = {"query": " who  q", "doc_id": "d1", "passages": [{"start": 0, "end": 19}]}
    (tmp_path / "some.jsonl").write_text(json.dumps(line) + "\n")
    found = analyze.evidence([tmp_path / "all", str(tmp_path / "some.jsonl")], folder, k=[1])
    assert (found.values.pairs, list(found.values.inputs)) == (1, ["all", "some.jsonl"])
    assert (mean(found, "characters", "all"), mean(found, "characters", "some.jsonl")) == (4, 14)
    said = "some.jsonl: relevant documents without evidence, left out of all rows: 1 (first: query r, d1)"
    assert said in found.notes.lines()


def test_evidence_is_compared_with_the_index(folder: Path, tmp_path: Path) -> None:
    write_evidence(tmp_path / "e", [[row] for row in EVIDENCE])
    index = Index.build(DOCUMENTS, tmp_path / "i")
    with pytest.raises(InputError, match="this evidence is of another index"):
        analyze.evidence(tmp_path / "e", folder, index=index)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the collection has no judgments of passages"),
        ({"by": "answers"}, "the collection has no answers; answers are the field 'answers' of queries.jsonl"),
        ({"by": "words", "answers": ANSWERS}, "unknown kind of gold"),
        ({"answers": {"q": ["zzz"]}}, "no answer occurs in a relevant document; take the judgments of passages"),
        ({"spans": {"q": {"d2": [(0, 1)]}}}, "no relevant document has a gold span"),
        ({"spans": {"q": {"d1": [(0, 99)]}}}, "is empty or outside document d1"),
        ({"spans": {"q": {"d1": [5]}}}, "a gold span is no (start, end) pair"),
        ({"spans": {"q": [(0, 1)]}}, "is no mapping of gold spans"),
        ({"answers": ["x"]}, "no answers can be read from a list"),
        ({"answers": {"q": "x"}}, "'answers' is no list of texts"),
        ({"answers": ANSWERS, "k": []}, "there is no k"),
        ({"answers": ANSWERS, "qrels": {"z": {"d1": 1}}}, "memory has no document that is relevant to its query"),
        ({"answers": ANSWERS, "qrels": None}, "there are no judgments of documents"),
    ],
)
def test_wrong_gold_is_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        analyze.evidence(EVIDENCE, DOCUMENTS, **{"qrels": QRELS, **options})
    assert message in str(raised.value)


def test_inputs_without_a_pair_in_common_and_texts_without_queries_are_refused() -> None:
    with pytest.raises(InputError, match="the inputs have no relevant document in common"):
        analyze.evidence({"a": EVIDENCE[:1], "b": EVIDENCE[1:]}, DOCUMENTS, qrels=QRELS, answers=ANSWERS)
    with pytest.raises(InputError, match="names queries by their texts, and there are no queries; give `queries`"):
        line = {"query": "who q", "doc_id": "d1", "passages": []}
        analyze.evidence([line], DOCUMENTS, qrels=QRELS, answers=ANSWERS)


def test_queries_that_change_between_their_answers_and_their_texts_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.verbs.analyze import shown

    (tmp_path / "shown.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SHOWN))
    assert analyze.evidence(tmp_path / "shown.jsonl", folder).values.pairs == 2
    real = shown.read_answers

    def replaced(*given: Any) -> Any:
        answers, path = real(*given), folder / "queries.jsonl"
        path.write_text(path.read_text().replace("nowhere", "elsewhere"))
        return answers

    monkeypatch.setattr(shown, "read_answers", replaced)
    with pytest.raises(InputError, match=r"queries\.jsonl: has changed since it was opened"):
        analyze.evidence(tmp_path / "shown.jsonl", folder)


def test_queries_of_a_pipe_are_read_once(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=((folder / "queries.jsonl").read_bytes(),))
    writer.start()
    rows = [
        {"query": f"who {item.query_id}", "doc_id": "d1", "passages": [{"start": 0, "end": 9}]} for item in EVIDENCE
    ]
    shown = [json.loads(json.dumps(row)) for row in rows]
    found = analyze.evidence(shown, folder, queries=tmp_path / "pipe")
    writer.join()
    assert found.values.pairs == 2


def test_documents_that_change_before_examples_are_shown_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = sys.modules["longrank.verbs.analyze.collection"]  # the package's attribute is the verb
    assert "document d1: aaaa" in analyze.collection(folder, show_text=True).text
    real = collection.examples_text

    def replaced(*given: Any) -> Any:
        path = folder / "docs.jsonl"
        path.write_text(path.read_text().replace("aaaa", "zzzz"))
        return real(*given)

    monkeypatch.setattr(collection, "examples_text", replaced)
    with pytest.raises(InputError, match=r"docs\.jsonl: has changed since it was opened"):
        analyze.collection(folder, show_text=True)


def test_an_index_of_other_texts_is_refused() -> None:
    """Texts that begin with titles shift offsets."""
    rows = [{"id": "d1", "title": "A title", "text": DOCUMENTS[0].text}, {"id": "d2", "text": "x"}]
    for title_in_text in (False, True):
        index = Index.build(rows, corpus=CorpusOptions(title_in_text=title_in_text))
        options: dict[str, Any] = {"qrels": QRELS, "answers": ANSWERS, "index": index}
        if title_in_text:
            with pytest.raises(InputError, match="its text has 37 characters in the index and 29 in the collection"):
                analyze.evidence(EVIDENCE, DOCUMENTS, **options)
        else:
            assert analyze.evidence(EVIDENCE, DOCUMENTS, **options).values.pairs == 2
