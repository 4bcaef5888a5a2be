"""evaluate by its documented command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 d 1\n3 0 e 1\n"
BM25 = "1 Q0 b 1 2.0 bm25\n1 Q0 a 2 1.0 bm25\n2 Q0 x 1 3.0 bm25\n2 Q0 c 2 2.0 bm25\n"
MAXP = "1 Q0 a 1 2.0 maxp\n1 Q0 b 2 1.0 maxp\n2 Q0 c 1 3.0 maxp\n2 Q0 d 2 2.0 maxp\n3 Q0 e 1 1.0 maxp\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels.txt", QRELS), ("bm25.run", BM25), ("maxp.run", MAXP)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["evaluate", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_stdout_is_the_table_and_stderr_says_what_was_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "qrels.txt", "bm25.run", "maxp.run", "-m", "RR", "-m", "P_2")
    assert code == 0
    assert out == (
        "system      RR      P@2\nbm25    0.3333   0.3333\nmaxp    1.0000^  0.6667^\n\n^ best of the column\n"
    )
    assert "longrank: note: 1 of 3 topics missing from bm25.run (count as 0; --intersection leaves them out)\n" in err
    assert "missing from maxp.run" not in err


def test_the_default_measures_are_those_of_the_field(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = outcome(capsys, "qrels.txt", "maxp.run")
    assert out.splitlines()[0].split() == ["system", "AP", "nDCG@10", "P@20", "RR", "R@1000"]


def test_intersection_leaves_missing_topics_out_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = outcome(capsys, "qrels.txt", "bm25.run", "-m", "RR", "--intersection")
    assert out.splitlines()[1].split() == ["bm25", "0.5000"]
    assert "1 of 3 topics missing from bm25.run (left out)" in err


def test_unjudged_queries_are_ignored_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "more.run").write_text(MAXP + "8 Q0 a 1 1.0 maxp\n9 Q0 a 1 1.0 maxp\n")
    code, out, err = outcome(capsys, "qrels.txt", "more.run", "-m", "RR")
    assert (code, out.splitlines()[1].split()) == (0, ["maxp", "1.0000"])
    assert "2 of 5 queries of more.run have no judgments (ignored)" in err


def test_level_and_depth_are_trec_evals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = outcome(capsys, "qrels.txt", "bm25.run", "-m", "map", "-m", "ndcg", "-l", "2")
    assert out.splitlines()[0].split() == ["system", "AP(rel=2)", "nDCG"]
    assert out.splitlines()[1].split()[1] == "0.1667"
    assert "2 of 3 topics have no document of grade 2 or more (0 in binary measures)" in err
    _, out, err = outcome(capsys, "qrels.txt", "bm25.run", "-m", "map", "-l", "1")
    assert "has no effect" not in err
    _, out, err = outcome(capsys, "qrels.txt", "bm25.run", "-m", "AP(rel=1)", "-m", "nDCG@10", "-l", "2")
    assert "the lowest relevant grade has no effect: no measure takes it, or each has its own" in err
    assert "of grade 2" not in err
    _, out, _ = outcome(capsys, "qrels.txt", "bm25.run", "-m", "map", "-M", "1")
    assert out.splitlines()[1].split() == ["bm25", "0.0000"]


def test_a_baseline_is_compared_with_and_shown_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("qrels.txt", "maxp.run", "--baseline", "bm25.run", "-m", "RR", "-m", "num_ret", "--format", "json")
    for test, p in (("t", pytest.approx(0.0572, abs=1e-4)), ("randomization", 0.25)):
        _, out, _ = outcome(capsys, *arguments, "--test", test, "--correction", "holm")
        read = json.loads(out)
        assert [system["name"] for system in read["systems"]] == ["bm25", "maxp"]
        assert read["comparisons"] == 1
        assert read["systems"][1]["comparisons"]["RR"]["p"] == p
        assert read["systems"][1]["comparisons"]["RR"]["delta"] == pytest.approx(2 / 3)


def test_a_baseline_among_the_runs_is_read_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("qrels.txt", "maxp.run", "bm25.run", "--baseline", str(folder / "bm25.run"), "-m", "RR")
    _, out, _ = outcome(capsys, *arguments)
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["bm25", "maxp"]
    assert "1 comparisons" in out


def test_runs_of_one_tag_are_named_by_their_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "again.run").write_text(BM25)
    (folder / "sub").mkdir()
    (folder / "sub" / "again.run").write_text(BM25)
    runs = ("bm25.run", "again.run", "sub/again.run", "maxp.run")
    _, out, _ = outcome(capsys, "qrels.txt", *runs, "-m", "RR", "--format", "csv")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["bm25.run", "again.run", "sub/again.run", "maxp"]


def test_per_query_is_trec_evals_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = outcome(capsys, "qrels.txt", "bm25.run", "-m", "recip_rank", "--per-query")
    assert out == (
        "runid                 \tall\tbm25\n"
        "RR                    \t1\t0.5000\n"
        "RR                    \t2\t0.5000\n"
        "RR                    \t3\t0.0000\n"
        "RR                    \tall\t0.3333\n"
    )


@pytest.mark.parametrize("format", ["table", "json", "csv", "latex", "markdown"])
def test_every_format_prints_the_same_figures(format: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "qrels.txt", "bm25.run", "maxp.run", "-m", "RR", "--format", format)
    assert code == 0
    assert "0.3333" in out and "1.0" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qrels.txt", "other.run"), "other.run: the run has no query in common with the judgments"),  # case 22
        (("qrels.txt", "empty.run"), "empty.run: holds no row"),  # case 36
        (("qrels.txt", "wide.run"), "wide.run:1: 7 columns instead of 6"),  # case 26
        (("qrels.txt", "nan.run"), "nan.run:1: "),  # case 29
        (("none.txt", "bm25.run"), "none.txt: no such file"),
        (("qrels.txt", "bm25.run", "-m", "ndgc@10"), "unknown measure (got 'ndgc@10'); did you mean 'nDCG@10'?"),
        (("qrels.txt", "bm25.run", "-m", "P@0"), "cutoff of P must be between 1"),
        (("qrels.txt", "bm25.run", "-l", "0"), "must be between 1 and 127 (got 0)"),
        (("qrels.txt", "bm25.run", "-M", "0"), "depth of evaluation must be at least 1 (got 0)"),
        (
            ("qrels.txt", "bm25.run", "--baseline", "maxp.run", "--test", "z"),
            "unknown test (got 'z'); one of randomization, t",
        ),
        (
            ("qrels.txt", "bm25.run", "--baseline", "maxp.run", "--correction", "sidak"),
            "unknown correction (got 'sidak'); one of bonferroni, holm",
        ),
        (("qrels.txt", "bm25.run", "--format", "xml"), "--format takes table or json or csv or latex or markdown"),
        (("qrels.txt", "bm25.run", "--per-query", "--format", "latex"), "--format takes table or json or csv (got"),
        (("qrels.txt", "bm25.run", "--per-query", "--baseline", "maxp.run"), "use one of them"),
        (("qrels.txt", "bm25.run", "--threshold", "2"), "a threshold has no effect without a baseline (got 2.0)"),
        (
            ("qrels.txt", "bm25.run", "--baseline", "maxp.run", "--threshold", "2"),
            "threshold must be between 0 and 1 (got 2.0)",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    arguments: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.run").write_text("77 Q0 a 1 1.0 x\n")
    (folder / "empty.run").write_text("")
    (folder / "wide.run").write_text("1 Q0 a 1 1.0 x y\n")
    (folder / "nan.run").write_text("1 Q0 a 1 nan x\n")
    code, out, err = outcome(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("longrank: error: ") and err.count("\n") == 1


def test_a_test_without_a_baseline_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["evaluate", str(tmp_path / "q"), str(tmp_path / "r"), "--correction", "holm"]) == 2
    assert "a correction has no effect without a baseline (got 'holm'); name a baseline" in capsys.readouterr().err


def test_a_collection_folder_stands_for_its_queries_and_qrels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "text": "stone"}\n{"id": "d2", "text": "river"}\n')
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q", "text": "stone"}\n')
    (tmp_path / "qrels.txt").write_text("q 0 d1 1\n")
    index, run = str(tmp_path / "index"), str(tmp_path / "run")
    assert main(["index", str(tmp_path), "-o", index]) == 0
    assert main(["retrieve", index, str(tmp_path), "-o", run]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path), run, "-m", "RR"]) == 0
    assert "1.0000" in capsys.readouterr().out


def test_a_collection_folder_without_qrels_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "text": "stone"}\n')
    assert main(["evaluate", str(tmp_path), str(tmp_path / "run")]) == 2
    assert "is a folder without qrels" in capsys.readouterr().err


def test_residual_leaves_out_what_was_judged_before_and_says_how_much(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "round1.txt").write_text("1 0 b 0\n2 0 d 1\n")
    (folder / "round2.txt").write_text("2 0 x 0\n3 0 e 1\n")
    code, out, err = outcome(capsys, "qrels.txt", "bm25.run", "--residual", "round1.txt", "--residual", "round2.txt")
    assert code == 0
    assert out.splitlines()[1].split() == ["bm25", "1.0000", "1.0000", "0.0500", "1.0000", "1.0000"]
    assert "3 judgments of qrels.txt left out: their documents were judged before\n" in err
    assert "1 of 3 topics of qrels.txt left out: nothing else is judged\n" in err
    assert "2 documents of bm25.run left out: they were judged before\n" in err
    code, out, err = outcome(capsys, "qrels.txt", "bm25.run", "--residual", "qrels.txt")
    assert (code, out) == (2, "")
    assert "every judged document was judged before" in err
