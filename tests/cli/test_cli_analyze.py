"""The analyses by their documented command lines: what they print, write, and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidences import evidence, run
from longrank.cli.main import main
from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.formats.trec import write_run

DOCUMENTS = [("d1", "the river and the boat"), ("d2", "money in the bank of a city"), ("d3", "war")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection folder, two runs, and evidence of the first two documents of query 1; the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    rows = [json.dumps({"doc_id": name, "title": "", "text": text}) + "\n" for name, text in DOCUMENTS]
    (tmp_path / "c" / "docs.jsonl").write_text("".join(rows))
    (tmp_path / "c" / "queries.jsonl").write_text('{"query_id": "1", "text": "river boat"}\n')
    (tmp_path / "c" / "qrels.txt").write_text("1 0 d1 2\n1 0 d3 0\n1 0 d9 1\n")
    (tmp_path / "c" / "passage_qrels.txt").write_text("1 0 d1#0 1\n1 0 d1#2 1\n1 0 d3#0 1\n")
    write_run(run({"1": {"d2": 3, "d1": 2, "d3": 1}}, tag="first"), tmp_path / "first.run")
    write_run(run({"1": {"d1": 3, "d2": 2}}, tag="second"), tmp_path / "second.run")
    for name, options in (("e", {}), ("stopped", {"stopped": "maxp"})):
        header = evidence_header(
            unit="logit", scorer="s", collection="c", queries="q", n_queries=1, candidates="r", options=options
        )
        with EvidenceWriter(tmp_path / name, header) as writer:
            writer.write_query("1", [evidence("d2", [3, 1], query_id="1"), evidence("d1", [2, 8, 1], query_id="1")])
            writer.commit()
    return tmp_path


def analyze(*arguments: str) -> int:
    return main(["analyze", *arguments])


def written(path: Path) -> Any:
    return json.loads(path.read_text())


def test_collection(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "c", "-o", "i"]) == 0
    capsys.readouterr()
    assert analyze("collection", "c", "-o", "s.json") == 0
    printed = capsys.readouterr().out
    assert analyze("collection", "i", "c", "c") == 0
    assert capsys.readouterr().out == printed
    assert "judgments  3, 2 relevant (66.7%)" in printed
    assert "1 judged documents missing, with 1 judgments: d9" in printed
    assert "river boat" not in printed and "money" not in printed
    lines = [line.split() for line in printed.splitlines()]
    assert ["words", "of", "a", "document", "4.3", "1", *["1.8", "3", "5", "6", "6.6", "7.0"], "7"] in lines
    assert ["2", "1", "1", "d1", "5", "2"] in lines  # grade, judgments, query, document, words, terms
    assert ["1", "1", "-", "-", "-", "-"] in lines
    found = written(folder / "s.json")
    assert found["documents"]["lengths"]["terms"]["mean"] == 2  # river boat | monei bank citi | war
    assert [one["grade"] for one in found["judgments"]["examples"]] == [0, 2]


def test_texts_are_shown_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("collection", "c", "--show-text") == 0
    assert "grade 2, query 1: river boat\ndocument d1: the river and the boat" in capsys.readouterr().out
    assert main(["index", "c", "-o", "i"]) == 0
    assert analyze("collection", "i", "--show-text") == 2
    assert "only judged documents are shown; name the judgments, too" in capsys.readouterr().err


def test_texts_without_judgments_are_refused_before_anything_is_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "c" / "qrels.txt").unlink()
    assert analyze("collection", "c", "--show-text", "-o", "s.json") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "only judged documents are shown; name the judgments, too" in captured.err


def test_relevant_passages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.txt").write_text("1 0 7 1\n1 0 8 1\n1 0 9 1\n")
    (folder / "map.tsv").write_text("7\td1\n8\td1\n9\td3\n")
    outputs = []
    for arguments in (["c"], ["c/passage_qrels.txt"], ["own.txt", "--mapping", "map.tsv"]):
        assert analyze("relevant-passages", *arguments, "-o", "r.json") == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1
    assert "2 relevant documents have a relevant passage, 1.50 on average" in outputs[0]
    assert written(folder / "r.json")["result"]["counts"] == {"1": 1, "2": 1}
    assert analyze("relevant-passages", "c", "--qrels", "c") == 0  # d9 is relevant and has none; d3 is not
    assert "1 have none; 1 others have one and are not relevant themselves" in capsys.readouterr().out


def test_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c" / "queries.jsonl").write_text('{"query_id": "1", "text": "river boat", "answers": ["boat"]}\n')
    (folder / "c" / "passage_qrels.txt").write_text("1 d1 0 9 1\n")
    (folder / "c" / "docs.jsonl").write_text(
        '{"doc_id": "d1", "text": "the river and the boat of wood"}\n{"doc_id": "d2", "text": "%s"}\n' % ("money " * 5)
    )
    shown = {"query": "river boat", "doc_id": "d1", "passages": [{"start": 4, "end": 9}, {"start": 14, "end": 22}]}
    (folder / "s.jsonl").write_text(json.dumps(shown))
    (folder / "c" / "passage_qrels.txt").write_text("1 d1 0 22 1\n")
    assert analyze("evidence", "e", "s.jsonl", "c", "-k", "2", "-o", "m.json") == 0
    captured = capsys.readouterr()
    assert "answers of 1 relevant documents, 1 queries" in captured.out
    result = written(folder / "m.json")["result"]
    characters = {name: row["measures"]["characters"]["mean"] for name, row in result["inputs"].items()}
    assert characters == {"e": 30, "s.jsonl": 5 + 8}  # evidence passages 10:19, 0:9 and 20:29 cut the answer 18:22
    assert analyze("evidence", "e", "c", "--spans") == 0
    assert "spans of 1 relevant documents" in capsys.readouterr().out


def test_positions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--qrels", "c", "-k", "1", "--run", "first.run"]
    assert analyze("positions", "e", *more, "-o", "p.json") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "reranked", "2", "0", "50.0%", "41.7%", "0.5", "0.5", "37.5%"] in lines
    assert ["relevant", "1", "0", "0.0%", "33.3%", "1.0", "1", "50.0%"] in lines
    groups = written(folder / "p.json")["groups"]
    assert (groups["first 1"]["first"], groups["relevant"]["first"]) == (1, 0)  # d2, and d1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["positions", "e", "--level", "2"], "--level is an option of --qrels (got 2); give --qrels"),
        (
            ["relevant-passages", "c", "--document-level", "2"],
            "--document-level is an option of --qrels (got 2); give --qrels",
        ),
        (["latency", "--size", "tiny", "-o", "costs.txt"], "the output file must end in .json"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    pytest.importorskip("torch", reason="needs the extra neural")
    assert analyze(*arguments) == 2
    assert said in capsys.readouterr().err


def test_latency(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the extra neural")
    how = ["--size", "tiny", "--passages", "2", "--tokens", "16", "--seconds", "0", "--threads", "1"]
    assert analyze("latency", *how, "-o", "costs.json") == 0
    assert "tiny" in capsys.readouterr().out
    (row,) = written(folder / "costs.json")["rows"]
    assert (row["size"], row["layers"], row["hidden"]) == ("tiny", 2, 128)


def test_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--counts", "1,2", "-a", "max", "-a", "sum", "-m", "RR", "--first-stage", "first.run"]
    assert analyze("sentences", "e", "c", *more, "-o", "s.json") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["passages", "max", "RR", "sum", "RR"],
        ["1", "0.5000", "0.5000"],
        ["2", "1.0000", "1.0000"],
        ["all", "1.0000", "1.0000"],
    ]
    assert written(folder / "s.json")["points"][0] == {
        "n": 1,
        "aggregator": "max",
        "values": {"RR": 0.5},
        "per_query": {"RR": {"1": 0.5}},
    }


def test_depth(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    birch = ["-a", "maxp", "-a", "birch", "--weights", "1,0.5"]
    assert analyze("depth", "e", "first.run", "c", "--depths", "2,1,3", *birch, "-m", "RR", "-o", "d.json") == 0
    captured = capsys.readouterr()
    lines = [line.split()[:2] for line in captured.out.splitlines()[1:]]
    assert lines == [["0", "0.5000"], ["1", "0.5000"], ["2", "1.0000"], ["3", "1.0000"]]
    assert "the evidence reaches the first 2 documents of each query" in captured.err


def test_deltas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("deltas", "c", "second.run", "--baseline", "first.run", "-m", "RR", "-o", "d.json") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("RR: 1 wins, 0 ties, 0 losses; mean +0.5000\n")
    assert printed.splitlines()[-1].split() == ["1", "1.0000", "0.5000", "+0.5000"]
    assert written(folder / "d.json")["queries"] == [{"query_id": "1", "value": 1, "baseline": 0.5, "delta": 0.5}]


def test_a_run_does_not_differ_from_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("deltas", "c", "first.run", "--baseline", "first.run", "-m", "RR") == 0
    assert capsys.readouterr().out.startswith("RR: 0 wins, 1 ties, 0 losses; mean +0.0000\n")


def test_of_many_queries_the_best_and_the_worst_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q").write_text("".join(f"{q} 0 a 1\n" for q in range(1, 8)))
    for name, better in (("one", 4), ("other", 0)):
        ranking = {f"{q}": {"a": 1 if q > better else 3, "b": 2} for q in range(1, 8)}
        write_run(run(ranking, tag=name), folder / name)
    assert analyze("deltas", "q", "one", "--baseline", "other", "-m", "RR", "--show", "2") == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[3:]]
    assert rows == ["1", "2", "...", "6", "7"]
    assert analyze("deltas", "q", "one", "--baseline", "other", "-m", "RR", "--show", "0") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3 + 7


def test_judged_is_of_as_many_documents_as_were_retrieved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("judged", "c", "first.run", "second.run", "-k", "1", "-k", "10", "-o", "j.json") == 0
    assert written(folder / "j.json")["judged"] == {
        "first": {"1": 0, "10": pytest.approx(2 / 3)},
        "second": {"1": 1, "10": 0.5},
    }
    assert capsys.readouterr().out.splitlines()[-1].split() == ["second", "100.0%", "50.0%"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["deltas", "q", "second.run", "--baseline", "first.run", "-m", "RR"], "1 of 2 topics missing from second.run"),
        (["judged", "q", "first.run"], "1 of 2 topics missing from first.run (left out)"),
        (["sentences", "e", "q", "--counts", "1"], "1 of 2 topics have no ranking (count as 0)"),
        (["depth", "e", "first.run", "q", "--intersection"], "1 of 2 topics have no ranking (left out)"),
    ],
)
def test_topics_that_were_not_ranked_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (folder / "q").write_text("1 0 d1 1\n2 0 d1 1\n")
    assert analyze(*arguments) == 0
    assert said in capsys.readouterr().err


def test_agreement(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("agreement", "first.run", "second.run", "-k", "1", "-p", "0.5", "-o", "a.json") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["run", "other", "queries", "tau", "RBO", "0.5", "overlap@1"]
    assert lines[1] == ["first", "second", "1", "-1.0000", "0.5000", "0.0000"]
    assert written(folder / "a.json")["pairs"][0]["per_query"]["1"]["overlap"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["collection", "nowhere"], "nowhere: no such index"),
        (
            ["collection", "c", "-o", "s.txt"],
            "the output file must end in .json (got 's.txt')",
        ),
        (["collection", "c", "-o", "absent/s.json"], "its folder does not exist"),
        (["relevant-passages", "c", "--separator", "_"], "a passage id lacks '_' (got 'd1#0')"),
        (["relevant-passages", "c", "--level", "0"], "Invalid value for '-l' / '--level': "),  # the rest is Typer's
        (["relevant-passages", "c", "--document-level", "0"], "Invalid value for '--document-level': "),
        (["relevant-passages", "c", "--level", "9"], "no relevant document has a relevant passage"),
        (["evidence", "c"], "there is no evidence: the last argument is the collection (got 'c')"),
        (["evidence", "e", "c"], "passage_qrels.txt:1: document d1 has no passages of its source (got 0)"),
        (["evidence", "e", "c", "-k", "0"], "k must be 1 or more (got 0)"),
        (["evidence", "absent", "c", "--answers"], "the collection has no answers; answers are the field"),
        (["positions", "first.run"], "first.run: does not begin with a JSON header line"),
        (["positions", "e", "-k", "0"], "k must be 1 or more (got 0)"),
        (["positions", "e", "--run", "first.run"], "the run ranks the first k documents, and -k is not given"),
        (["sentences", "e", "c", "--counts", "1,x"], "--counts takes numbers between commas (got '1,x')"),
        (["sentences", "e", "c", "--counts", "1.5"], "--counts takes whole numbers of at least 1 (got '1.5')"),
        (["sentences", "e", "c", "-a", "birch"], "aggregator 'birch' needs weights"),
        (["sentences", "e", "c", "--weights", "1"], "--weights is an option of the aggregator birch"),
        (["sentences", "e", "c", "--rule", "frist"], "unknown rule (got 'frist'); did you mean 'first'?"),
        (["sentences", "e", "c", "--normalize", "minmax"], "--normalize has an effect on interpolation only"),
        (
            ["sentences", "stopped", "c"],
            "stopped: early stopping left this evidence incomplete: its bound holds for maxp only",
        ),
        (["depth", "stopped", "first.run", "c"], "rerank without stop.calibration"),
        (["depth", "e", "second.run", "c", "--interpolate", "2"], "between 0 and 1 (got 2.0)"),
        (["deltas", "c", "first.run", "--baseline", "second.run", "-m", "NumRet"], "a count is not compared"),
        (["judged", "c", "absent.run"], "absent.run: no such file"),
        (["agreement", "first.run"], "agreement needs two runs or more (got 1)"),
        (["agreement", "first.run", "second.run", "-p", "1"], "p of rank-biased overlap must be above 0 and below 1"),
    ],
)
def test_a_wrong_command_is_one_line_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    before = sorted(folder.rglob("*"))
    assert analyze(*arguments) == 2
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("longrank: error")]
    assert len(lines) == 1
    assert said in lines[0]
    assert captured.out == ""
    assert sorted(folder.rglob("*")) == before


def test_the_plot_goes_beside_the_json(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    assert analyze("judged", "c", "first.run", "-o", "j.json") == 0
    assert (folder / "j.svg").read_text().startswith("<?xml")


def test_without_the_extra_plots_the_json_is_written_and_the_extra_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert analyze("judged", "c", "first.run", "-o", "j.json") == 0
    assert "no plot: drawing needs the extra 'plots'" in capsys.readouterr().err
    assert (folder / "j.json").exists() and not (folder / "j.svg").exists()


def test_no_input_is_overwritten_by_the_plot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.run").rename(folder / "j.svg")
    assert analyze("judged", "c", "j.svg", "-o", "j.json") == 2
    assert "is also an input and would be overwritten" in capsys.readouterr().err
