"""longrank.evaluate on values in memory and on files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidences import run
from longrank.cli.main import main
from longrank.collections.judgments import EARLIER
from longrank.errors import InputError
from longrank.formats.trec import write_run
from longrank.types import Run
from longrank.verbs.evaluate import evaluate

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2, "d": 1}, "3": {"e": 1}}
BM25 = run({"1": {"b": 2, "a": 1}, "2": {"x": 3, "c": 2}}, tag="bm25")
MAXP = run({"1": {"a": 2, "b": 1}, "2": {"c": 3, "d": 2}, "3": {"e": 1}}, tag="maxp")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        f"{query_id} 0 {doc_id} {grade}\n" for query_id, judged in QRELS.items() for doc_id, grade in judged.items()
    ]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    for system in (BM25, MAXP):
        write_run(system, tmp_path / f"{system.tag}.run")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_measure_of_one_run_is_its_figure_under_any_name() -> None:
    result = evaluate(QRELS, MAXP, ["nDCG@10", "AP"])
    assert result["nDCG@10"] == result["ndcg_cut_10"] == 1.0
    assert result["map"] == 1.0
    assert evaluate(QRELS, BM25, "RR")["RR"] == pytest.approx(1 / 3)


def test_objects_of_ir_measures_and_iterators_are_taken() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    named = evaluate(QRELS, [BM25, MAXP], ["nDCG@10", "AP(rel=2)"])
    given = evaluate(QRELS, iter([BM25, MAXP]), [ir_measures.nDCG @ 10, ir_measures.AP(rel=2)])
    assert given.rows == named.rows
    assert evaluate(QRELS, MAXP, ir_measures.RR)["RR"] == 1.0
    with pytest.raises(InputError, match="cutoff of nDCG must be between"):
        evaluate(QRELS, MAXP, ir_measures.nDCG @ 0)


def test_a_file_is_named_once_in_a_message(folder: Path) -> None:
    Path("other.run").write_text("9 Q0 a 1 1 other\n")
    Path("more.txt").write_text("9 0 a 1\n1 0 a 1\n")
    with pytest.raises(InputError, match=r"^other\.run, bm25\.run: bm25 has no topic in common with other$"):
        evaluate("more.txt", ["other.run", "bm25.run"], "AP", baseline="other.run", intersection=True)


def test_a_measure_of_one_of_several_runs_is_asked_by_name() -> None:
    result = evaluate(QRELS, [BM25, MAXP], "RR")
    assert (result["bm25", "RR"], result["maxp", "RR"]) == (pytest.approx(1 / 3), 1.0)
    assert result.per_query["bm25"]["RR"] == {"1": 0.5, "2": 0.5, "3": 0.0}
    with pytest.raises(InputError, match="2 systems were measured"):
        result["RR"]
    with pytest.raises(InputError, match="did you mean 'maxp'"):
        result["maxpp", "RR"]
    with pytest.raises(InputError, match=r"'AP'.*one of RR"):
        result["maxp", "AP"]


@pytest.mark.parametrize(
    ("runs", "baseline"),
    [
        (["bm25.run", Path("maxp.run")], "bm25.run"),
        ((BM25, "maxp.run"), BM25),
        ({"bm25": BM25, "maxp": "maxp.run"}, "bm25"),
        (
            {
                tag: {q: {row.doc_id: row.score for row in system[q]} for q in system}
                for tag, system in (("bm25", BM25), ("maxp", MAXP))
            },
            "bm25",
        ),
    ],
    ids=["paths", "mixed", "named", "mappings"],
)
def test_files_and_values_give_the_same_table(
    folder: Path, runs: Any, baseline: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = evaluate("qrels.txt", [BM25, MAXP], baseline=BM25)
    found = evaluate(QRELS, runs, baseline=baseline)
    assert [row.name for row in found.rows] == ["bm25", "maxp"]
    assert (found.rows, found.baseline, found.per_query) == (expected.rows, "bm25", expected.per_query)
    assert capsys.readouterr() == ("", "")


def test_the_text_is_the_commands_table_below_its_notes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = evaluate("qrels.txt", ["bm25.run", "maxp.run"], "RR", baseline="bm25.run")
    assert main(["evaluate", "qrels.txt", "bm25.run", "maxp.run", "-m", "RR", "--baseline", "bm25.run"]) == 0
    captured = capsys.readouterr()
    notes = captured.err.replace("longrank: note: ", "note: ")
    assert f"{result}\n" == f"{notes}\n{captured.out}"
    assert "note: 1 of 3 topics missing from bm25.run (count as 0; --intersection leaves them out)\n" in notes


def test_the_note_of_missing_topics_precedes_the_table_on_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setattr(sys, "stderr", sys.stdout)
    assert main(["evaluate", "qrels.txt", "bm25.run", "--baseline", "maxp.run"]) == 0
    out = capsys.readouterr().out
    assert out.index("--intersection leaves them out") < out.index("system")


def test_intersection_leaves_missing_topics_out() -> None:
    assert evaluate(QRELS, BM25, "RR", intersection=True)["RR"] == 0.5


def test_html_escapes_names_of_systems() -> None:
    html = evaluate(QRELS, {"<i>a</i>": BM25, "b": MAXP}, "RR", baseline="b")._repr_html_()
    assert "&lt;i&gt;a&lt;/i&gt;" in html and "<i>" not in html
    assert "<b>1.0000</b>" in html and "note: 1 of 3 topics missing" in html


def test_a_frame_has_a_row_for_each_system() -> None:
    pytest.importorskip("pandas")
    frame = evaluate(QRELS, [BM25, MAXP], ["RR", "P@1"]).to_frame()
    assert (list(frame.index), list(frame.columns)) == (["bm25", "maxp"], ["RR", "P@1"])
    assert frame.loc["maxp", "RR"] == 1.0


@pytest.mark.parametrize("baseline", ["b", BM25])
def test_a_run_under_two_names_has_two_rows(baseline: Any) -> None:
    result = evaluate(QRELS, {"a": MAXP, "b": BM25, "c": BM25}, "RR", baseline=baseline)
    assert ([row.name for row in result.rows], result.baseline) == (["b", "a", "c"], "b")


def test_figures_are_iterated_by_system_and_measure() -> None:
    both, one = evaluate(QRELS, [BM25, MAXP], ["RR", "AP"]), evaluate(QRELS, BM25, "RR")
    assert list(both) == [("bm25", "RR"), ("bm25", "AP"), ("maxp", "RR"), ("maxp", "AP")]
    assert all(pair in both for pair in both)
    assert "RR" in one
    assert not any(key in one for key in ("AP", ("bm25", "AP")))
    assert "RR" not in both


def test_runs_of_one_tag_in_memory_are_told_apart() -> None:
    other = Run("bm25", MAXP.rows())
    assert [row.name for row in evaluate(QRELS, [BM25, other]).rows] == ["run 1", "run 2"]
    named = evaluate(QRELS, {"m": MAXP, "bm25": other}, "RR", baseline=BM25)
    assert [row.name for row in named.rows] == ["run 1", "m", "bm25"]
    assert [row.name for row in evaluate(QRELS, {1: BM25, "1": MAXP}).rows] == ["run 1", "run 2"]
    assert len(evaluate(QRELS, [BM25, BM25]).rows) == 1


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (7, {}, "no run can be read from a int"),
        ([], {}, "there is no run"),
        ({}, {}, "there is no run"),
        ([BM25, None], {}, "no run can be read from a NoneType"),
        (BM25, {"measures": "ndgc@10"}, "did you mean 'nDCG@10'"),
        (BM25, {"measures": []}, "no measure is named"),
        (BM25, {"baseline": 3}, "no run can be read from a int"),
        (BM25, {"test": "z"}, r"unknown test \(got 'z'\)"),
        (BM25, {"correction": "sidak"}, r"unknown correction \(got 'sidak'\)"),
        (BM25, {"test": "t"}, r"a test has no effect without a baseline \(got 't'\)"),
        ([BM25, MAXP], {"correction": "holm"}, r"a correction has no effect without a baseline"),
        ([BM25, MAXP], {"threshold": 0.01}, r"a threshold has no effect without a baseline \(got 0.01\)"),
    ],
)
def test_a_wrong_type_or_name_is_one_sentence(runs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(QRELS, runs, **options)


def test_residual_takes_earlier_judgments_alone_or_several() -> None:
    qrels, run = {"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}
    alone, several = (
        evaluate(qrels, run, "RR", residual=earlier) for earlier in ({"q": {"d1": 1}}, [{"q": {"d1": 1}}])
    )
    assert alone["RR"] == several["RR"]


def test_earlier_judgments_of_a_collection_are_read_only_beside_those_to_leave_out(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 d1 1\n")
    (tmp_path / "judged-before.txt").write_text("damaged\n")
    run = {"q": {"d1": 1.0}}
    assert evaluate(tmp_path, run, "P@1")["P@1"] == 1.0
    with pytest.raises(InputError, match=r"judged-before\.txt"):
        evaluate(tmp_path, run, "P@1", residual={"q": {"d2": 1}})


def test_earlier_judgments_of_a_collection_are_said_to_count_unless_they_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 d1 1\nq 0 d2 1\n")
    (tmp_path / "judged-before.txt").write_text("q 0 d1 1\n")
    run = {"q": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}
    assert EARLIER in evaluate(tmp_path, run, "P@2").notes
    residual = evaluate(tmp_path, run, "P@2", residual=str(tmp_path / "judged-before.txt"))
    assert EARLIER not in residual.notes
    assert EARLIER in evaluate(tmp_path, run, "P@2", residual={"q": {"d9": 1}}).notes
    new = evaluate({"q": {"d3": 1}}, run, "P@2", residual=str(tmp_path))
    assert EARLIER not in new.notes and new["P@2"] == 0.5
    assert (evaluate(tmp_path, run, "P@2")["P@2"], residual["P@2"]) == (1.0, 0.5)
    assert EARLIER not in evaluate(tmp_path / "qrels.txt", run, "P@2").notes
