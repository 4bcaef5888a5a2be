from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evidences import evidence, run, scores, write_evidence
from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.cli.main import main
from longrank.formats.trec import read_run, write_run
from longrank.fusion import FUSIONS
from longrank.types import Notes, Run

Files = dict[str, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A run of two queries with 1000 documents, and evidence of the first 30 of each."""
    rng = random.Random(1)
    first = run({q: {f"d{i:04d}": 15 - i / 99 for i in range(1000)} for q in ("1", "2")}, tag="bm25")
    write_run(first, tmp_path / "first.run")
    first = read_run(tmp_path / "first.run", Notes())
    write_evidence(
        tmp_path / "e",
        [
            [
                evidence(
                    row.doc_id,
                    [rng.gauss(0, 1) for _ in range(rng.randint(1, 6))],
                    query_id=query_id,
                    first_stage=row.score,
                )
                for row in first[query_id][:30]
            ]
            for query_id in first
        ],
    )
    return {"evidence": tmp_path / "e", "first": tmp_path / "first.run", "out": tmp_path / "out.run"}


def arguments(files: Files, *more: str) -> list[str]:
    return ["aggregate", str(files["evidence"]), "-o", str(files["out"]), *more]


def test_the_run_has_all_documents_and_is_that_of_the_library(files: Files) -> None:
    more = ["--aggregator", "birch", "--weights", "1,0.5,0.2", "--interpolate", "0.4"]
    assert main(arguments(files, *more, "--first-stage", str(files["first"]), "--tag", "mine")) == 0
    from longrank.formats.evidence import read_evidence

    expected = aggregate_run(
        read_evidence(files["evidence"])[1],
        make_aggregator("birch", weights=[1, 0.5, 0.2]),
        first_stage=read_run(files["first"], Notes()),
        alpha=0.4,
        normalize="none",
        tail="keep",
        tag="mine",
    )
    written = read_run(files["out"], Notes())
    assert written.tag == "mine"
    assert list(written.rows()) == list(expected.rows())
    assert [len(written[q]) for q in ("1", "2")] == [1000, 1000]


def test_options_may_be_set_by_name(files: Files) -> None:
    runs = []
    for more in (["-k", "2"], ["--set", "k=2"], ["--set", "aggregate.k=2"], []):
        assert main(arguments(files, "-a", "kmaxp", *more)) == 0
        runs.append(files["out"].read_bytes())
    assert runs[0] == runs[1] == runs[2] != runs[3]


def test_without_a_first_stage_only_documents_with_evidence_are_ranked(files: Files) -> None:
    assert main(arguments(files, "-a", "kmaxp", "-k", "2", "--interpolate", "0.3", "--normalize", "minmax")) == 0
    assert [len(read_run(files["out"], Notes())[q]) for q in ("1", "2")] == [30, 30]


def test_documents_the_index_lacked_come_last_as_in_rerank(files: Files, tmp_path: Path) -> None:
    write_run(run({"q": {"gone": 3.0, "a": 2.0, "b": 1.0}}), tmp_path / "first")
    write_evidence(tmp_path / "with-missing", [[evidence("a", [0.5])]], missing=["gone"])
    more = ["-a", "maxp", "--first-stage", str(tmp_path / "first")]
    assert main(arguments({**files, "evidence": tmp_path / "with-missing"}, *more)) == 0
    assert list(scores(read_run(files["out"], Notes()))) == ["a", "b", "gone"]


def test_json_prints_one_object_per_document(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aggregate", str(files["evidence"]), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 60
    assert lines[0]["query_id"] == "1"
    assert lines[0]["passages"][0].keys() == {"index", "start", "end", "score", "weight"}
    assert not files["out"].exists()
    for option, value in (("--mix", "lexical=0"), ("--tail", "keep"), ("--normalize", "max"), ("--tag", "mine")):
        assert main(["aggregate", str(files["evidence"]), "--json", option, value]) == 2
        assert f"as it is written, without {option}; leave out one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-a", "maxpp"], "did you mean 'maxp'"),
        (["-a", "birch"], "needs weights"),
        (["-a", "birch", "--weights", "1,x"], "--weights takes numbers"),
        (["-a", "maxp", "--weights", "1"], "has no option 'weights'"),
        (["-a", "maxp", "--set", "tag=x"], "has no option 'tag'"),
        (["-a", "kmaxp", "--set", "aggregate.k=0"], "should be greater than or equal to 1"),
        (["-a", "maxp", "--interpolate", "2"], "between 0 and 1"),
        (["-a", "maxp", "--normalize", "minmax"], "has an effect on interpolation only (got 'minmax')"),
        (["-a", "maxp", "--interpolate", "0.5", "--normalize", "max"], "unknown normalisation"),
        (["-a", "maxp", "--tail", "cut"], "keep or drop"),
        (
            ["-a", "maxp", "--tail", "drop"],
            "--tail is of documents of the first stage (got 'drop'); give --first-stage",
        ),
        (["-a", "document"], "no document scores"),
        (["-a", "kmaxp", "-k", "5", "--set", "k=2"], "k is given twice (got '--set k=2')"),
        (["-a", "birch", "--weights", "1", "--set", "aggregate.weights=1,0.2"], "weights is given twice"),
        (["-a", "maxp", "--set", "aggregate.name=avgp"], "name is given twice"),
        (["--json"], "--json prints the evidence as it is written, without -o"),
        ([], "missing: --aggregator NAME; give both, or print the evidence with --json"),
    ],
)
def test_a_mistake_is_one_line_exit_2_and_no_run(
    files: Files, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(files, *more)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not files["out"].exists()


def test_evidence_of_early_stopping_is_ranked_by_the_options_of_its_bound(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [[evidence("d0000", [1.0], query_id="1", first_stage=2.0)]]
    for learned, taken, refused in (("kmaxp", ["-k", "3"], ["-k", "1"]), ("kmaxp k=1", ["-k", "1"], [])):
        files["evidence"] = files["evidence"].with_name(f"stopped {learned}")
        write_evidence(files["evidence"], rows, stopped=learned)
        assert main(arguments(files, "-a", "kmaxp", *refused)) == 2
        assert f"its bound holds for {learned} only (got 'kmaxp" in capsys.readouterr().err
        assert main(arguments(files, "-a", "kmaxp", *taken)) == 0


def test_evidence_of_early_stopping_is_ranked_alone(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[evidence("d0000", [1.0], query_id="1", first_stage=2.0)]]
    write_evidence(files["evidence"].with_name("stopped"), rows, stopped="maxp")
    files["evidence"] = files["evidence"].with_name("stopped")
    assert main(arguments(files, "-a", "maxp", "--interpolate", "0.5")) == 2
    assert "early stopping left this evidence incomplete" in capsys.readouterr().err
    assert main(arguments(files, "-a", "sump")) == 2
    assert "its bound holds for maxp only (got 'sump')" in capsys.readouterr().err
    lacks = "the run lacks documents that early stopping skipped"
    assert main(arguments(files, "-a", "maxp", "--first-stage", str(files["first"]))) == 0
    assert lacks not in capsys.readouterr().err
    assert main(arguments(files, "-a", "maxp")) == 0
    assert lacks in capsys.readouterr().err


def test_evidence_is_not_replaced_by_its_run(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    before = files["evidence"].read_bytes()
    assert main(arguments({**files, "out": files["evidence"]}, "-a", "maxp")) == 2
    assert "is also an input and would be overwritten" in capsys.readouterr().err
    assert files["evidence"].read_bytes() == before


def test_a_run_of_other_documents_is_refused(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Run("x", run({"1": {"d0001": 1.0}}).rows()), tmp_path / "other")
    assert main(arguments(files, "-a", "maxp", "--first-stage", str(tmp_path / "other"))) == 2
    assert "give the run that was reranked" in capsys.readouterr().err


def test_a_first_stage_of_other_scores_is_said(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same, other = read_run(files["first"], Notes()), "with another score in this first stage"
    write_run(
        Run("x", (row._replace(score=row.score + row.query_id.count("2")) for row in same.rows())), tmp_path / "o"
    )
    for stage, said in ((files["first"], ""), (tmp_path / "o", "30 (first: query 2, d0000: 15 then, 16 here)")):
        assert main(arguments(files, "-a", "maxp", "--interpolate", "0.5", "--first-stage", str(stage))) == 0
        found = capsys.readouterr().err
        assert said in found and (other in found) is bool(said)


@pytest.mark.parametrize(("command", "registry"), [("aggregate", AGGREGATORS), ("fuse", FUSIONS)])
def test_help_names_every_choice(command: str, registry: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in registry)


def test_neither_command_loads_torch_or_transformers(files: Files) -> None:
    aggregate = arguments(files, "-a", "maxp", "--first-stage", str(files["first"]))
    fuse = ["fuse", str(files["first"]), str(files["out"]), "-o", str(files["out"]) + ".fused", "--method", "rrf"]
    code = (
        "import sys; from longrank.cli.main import main; "
        f"codes = main({aggregate!r}), main({fuse!r}); "
        "heavy = {'torch', 'transformers', 'scipy', 'ir_measures', 'pandas'} & set(sys.modules); "
        "sys.exit(f'{codes} {heavy}' if heavy or codes != (0, 0) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_was_not_read_is_said_again(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    long = replace(evidence("long", [1.0, 2.0], query_id="1"), n_passages=5, n_truncated=1)
    files["evidence"].unlink()
    write_evidence(files["evidence"], [[long, evidence("short", [0.5], query_id="1")]])
    assert main(arguments(files, "--aggregator", "maxp")) == 0
    said = capsys.readouterr().err
    assert "passages cut at the scorer's length limit" in said
    assert "passages scored: 3 of 6 (50.0%)" in said
