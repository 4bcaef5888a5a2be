"""weigh by its documented command line: by folds, from another judged set, and what is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from evidences import evidence, write_evidence
from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.errors import LongRankError
from longrank.formats.trec import read_run
from longrank.types import Notes

BIRCH = ("--grid", "alpha=0:1:0.25", "--grid", "w2=0:1:0.5", "--grid", "w3=0,0.5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, two sets of queries with their runs, evidence and judgments: of a and b, with other ids."""
    folder = tmp_path_factory.mktemp("weigh")
    index_of(documents(30, words=60), folder / "index")
    rng, asked = random.Random(5), [query.text for query in queries(6)]
    for name in "ab":
        rows = [{"query_id": f"{name}{n}", "text": text} for n, text in enumerate(asked)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        inputs = [str(folder / "index"), str(folder / f"{name}.jsonl")]
        run = str(folder / f"{name}.run")
        assert main(["retrieve", *inputs, "-o", run]) == 0
        lexical = ["--pipeline", "lexical", "--depth", "8", "--set", "passages.options={length=20, stride=10}"]
        assert main(["rerank", *inputs, run, "-o", str(folder / f"{name}.reranked"), *lexical]) == 0
        found = read_run(Path(run), Notes())
        judged = [f"{row.query_id} 0 {row.doc_id} {rng.choice([0, 0, 1])}\n" for row in found.rows()]
        (folder / f"{name}.qrels").write_text("".join(judged))
    return folder


def weigh(folder: Path, output: Path, *more: str, reranked: str = "a.reranked.evidence") -> int:
    inputs = [str(folder / name) for name in ("a.qrels", "a.run", reranked)]
    return main(["weigh", *inputs, "-o", str(output), *more])


def weights_of(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "weights.json").read_text())
    return found


def aggregated(folder: Path, output: Path, setting: dict[str, float]) -> Any:
    """What aggregate makes of the same weights."""
    weights = ",".join(["1", *(str(value) for name, value in setting.items() if name != "alpha")])
    arguments = ["aggregate", str(folder / "a.reranked.evidence"), "-o", str(output), "--aggregator", "birch"]
    arguments += ["--weights", weights, "--interpolate", str(setting["alpha"])]
    assert main([*arguments, "--first-stage", str(folder / "a.run")]) == 0
    return read_run(output, Notes())


def test_each_fold_is_ranked_with_weights_learned_on_the_others_as_aggregate_ranks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.evaluation.measures import evaluate
    from longrank.formats.trec import read_qrels

    assert weigh(folder, tmp_path / "w", "--make-folds", "3", *BIRCH) == 0
    assert "each query is tested with the setting that its fold chose on other queries" in capsys.readouterr().out
    found, run = weights_of(tmp_path / "w"), read_run(tmp_path / "w" / "run.txt", Notes())
    assert (found["n_passages"], found["aggregator"], found["measure"]) == (3, "birch", "AP")
    assert set(run) == {f"a{n}" for n in range(6)}
    for choice in found["choices"]:
        assert not set(choice["chosen_on"]) & set(choice["tested_on"])
        expected = aggregated(folder, tmp_path / f"{choice['name']}.run", choice["setting"])
        assert all(run[query_id] == expected[query_id] for query_id in choice["tested_on"])
    values = evaluate(read_qrels(folder / "a.qrels", Notes()), run, ["AP"])["AP"].values()
    assert found["result"]["value"] == pytest.approx(sum(values) / 6)
    folds = str(tmp_path / "w" / "folds.json")
    assert weigh(folder, tmp_path / "again", "--folds", folds, *BIRCH) == 0
    assert (tmp_path / "again" / "run.txt").read_bytes() == (tmp_path / "w" / "run.txt").read_bytes()


def test_queries_without_judgments_are_ranked_by_the_setting_of_their_fold() -> None:
    import longrank

    first = {f"q{n}": {"a": 3.0, "b": 2.0, "c": 1.0} for n in range(1, 5)}
    reranked = {query_id: {"a": 1.0, "b": 2.0, "c": 0.0} for query_id in first}
    qrels = {"q1": {"b": 1}, "q2": {"b": 1}, "q3": {"a": 1}}
    folds = [["q1"], ["q2"], ["q3", "q4"]]
    found = longrank.weigh(qrels, first, reranked, {"alpha": [0, 1]}, folds=folds)
    assert list(found.run) == list(first)
    assert [row.doc_id for row in found.run["q4"]] == [row.doc_id for row in found.run["q3"]]
    assert set(found.outcome.setting_of) == {"q1", "q2", "q3"}  # of these the value is
    made = longrank.weigh(qrels, first, reranked, {"alpha": [0, 1]}, folds=3)
    assert (list(made.run), made.notes["queries that no fold tests, not in the run of the weighing"]) == (
        ["q1", "q2", "q3"],
        1,
    )


def test_weights_of_another_set_are_frozen(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = ",".join(str(folder / name) for name in ("b.qrels", "b.run", "b.reranked.evidence"))
    assert weigh(folder, tmp_path / "w", "--learn-on", other, *BIRCH, "-m", "nDCG@10") == 0
    said = capsys.readouterr()
    assert "chosen on the queries of another judged set, and kept for these" in said.out
    assert "weights are learned on passages by" not in said.err
    found, run = weights_of(tmp_path / "w"), read_run(tmp_path / "w" / "run.txt", Notes())
    (choice,) = found["choices"]
    assert choice["chosen_on"] == [f"b{n}" for n in range(6)]
    assert choice["value"] == max(one["value"] for one in found["values"])
    assert choice["setting"] == found["result"]["setting"]
    assert list(run.rows()) == list(aggregated(folder, tmp_path / "r.run", choice["setting"]).rows())


def test_a_repeated_option_takes_file_names_with_commas(folder: Path, tmp_path: Path) -> None:
    given = [str(folder / name) for name in ("b.qrels", "b.run", "b.reranked.evidence")]
    assert weigh(folder, tmp_path / "given", "--learn-on", ",".join(given)) == 0
    other = tmp_path / "b, judged.qrels"
    other.write_bytes((folder / "b.qrels").read_bytes())
    repeated = [part for place in (str(other), *given[1:]) for part in ("--learn-on", place)]
    assert weigh(folder, tmp_path / "repeated", *repeated) == 0
    assert (tmp_path / "repeated" / "run.txt").read_bytes() == (tmp_path / "given" / "run.txt").read_bytes()


def test_weights_learned_on_other_passages_are_pointed_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(iter(read_run(folder / "b.run", Notes()).rows()))
    write_evidence(tmp_path / "b.evidence", [[evidence(first.doc_id, [1.0], query_id=first.query_id)]])
    other = ",".join(map(str, (folder / "b.qrels", folder / "b.run", tmp_path / "b.evidence")))
    assert weigh(folder, tmp_path / "w", "--learn-on", other) == 0
    assert "weights are learned on passages by s, and used on those by " in capsys.readouterr().err


def test_alpha_alone_is_learned_by_default_and_of_a_run_as_of_its_evidence(folder: Path, tmp_path: Path) -> None:
    """Judged queries of both sets of ids: what the run lacks is said; the run's documents below depth 8 follow."""
    assert weigh(folder, tmp_path / "e") == 0
    assert weigh(folder, tmp_path / "r", "--depth", "8", reranked="a.reranked") == 0
    by_evidence, by_run = weights_of(tmp_path / "e"), weights_of(tmp_path / "r")
    assert len(by_evidence["values"]) == 11
    assert not by_evidence["result"]["held_out"]
    assert [one["value"] for one in by_run["values"]] == [one["value"] for one in by_evidence["values"]]
    runs = [read_run(tmp_path / name / "run.txt", Notes()) for name in "er"]
    assert [row[:2] for row in runs[0].rows()] == [row[:2] for row in runs[1].rows()]


def test_query_ids_of_both_sets_are_pointed_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = ",".join(str(folder / name) for name in ("a.qrels", "a.run", "a.reranked.evidence"))
    assert weigh(folder, tmp_path / "w", "--learn-on", same) == 0
    assert "6 query ids are in both sets (a0, ...): make sure that they are other queries" in capsys.readouterr().err
    result = weights_of(tmp_path / "w")["result"]
    assert not result["held_out"]
    assert result["remark"].endswith("; 6 query ids are in both, so these may not be unseen")


def test_queries_without_evidence_are_counted(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (folder / "a.reranked").read_text().splitlines(keepends=True)
    (tmp_path / "part").write_text("".join(row for row in rows if row.startswith("a0 ")))
    assert weigh(folder, tmp_path / "w", reranked=str(tmp_path / "part")) == 0
    assert "queries without evidence, ranked as in the first stage: 5 (first: a1)" in capsys.readouterr().err


def test_a_run_that_would_be_overwritten_is_no_first_stage(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weigh(folder, tmp_path / "w") == 0
    before, run = (tmp_path / "w" / "run.txt").read_bytes(), str(tmp_path / "w" / "run.txt")
    arguments = [str(folder / "a.qrels"), run, str(folder / "a.reranked.evidence"), "-o", str(tmp_path / "w")]
    assert main(["weigh", *arguments]) == 2
    assert "run.txt: is also an input and would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "w" / "run.txt").read_bytes() == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--grid", "beta=0:1:0.1"), "no weight (got 'beta'); one of alpha, w10, w2"),
        (("--grid", "w2=0:1:0.1", "--aggregator", "maxp"), "passages with weights take no other aggregator"),
        (("--grid", "alpha=0:2:0.5"), "the weight of the first stage must be between 0 and 1 (got 1.5)"),
        (("--make-folds", "7"), "6 queries can make between 2 and 6 folds (got 7)"),
        (("--make-folds", "2", "--folds", "f.json"), "--folds and --make-folds are two ways to the same"),
        (("--choose-by", "dev"), "protocol 'folds' needs --folds"),
        (("--learn-on", "a,b"), "--learn-on takes judgments, a first stage and its evidence (got 'a,b')"),
        (("--learn-on", "a,b,c", "--make-folds", "2"), "--learn-on and --folds are two ways to learn"),
        (("--learn-on", "a,b,c", "--choose-by", "dev"), "--learn-on and --choose-by are two ways to learn"),
        (("--learn-on", "nowhere,b,c"), "no such file"),
        (("-m", "APP"), "unknown measure (got 'APP')"),
        (("--aggregator", "birch"), "the weights of birch are learned; add --grid w2=..."),
        (("--depth", "0"), "the rerank depth must be at least 1 (got 0)"),
        (("--seed", "7"), "--seed is an option of folds that are made (got 7)"),
        (("--format", "tabel"), "did you mean 'table'"),
    ],
)
def test_a_wrong_command_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    assert weigh(folder, tmp_path / "w", *more) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("longrank: error")]
    assert len(lines) == 1
    assert said in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_first_stage_that_does_not_count_or_is_another_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uncounted, other = "alpha is not in the grid", "documents with another score in this first stage"
    for more, said in (((), set()), (("--grid", "w2=0:1:0.5"), {uncounted})):
        assert weigh(folder, tmp_path / "w", *more) == 0
        found = capsys.readouterr().err
        assert {one for one in (uncounted, other) if one in found} == said
    assert weigh(folder, tmp_path / "w", reranked="a.reranked") == 0  # of a run, no first score is known
    assert other not in capsys.readouterr().err
    inputs = [str(folder / name) for name in ("a.qrels", "a.reranked", "a.reranked.evidence")]
    assert main(["weigh", *inputs, "-o", str(tmp_path / "w")]) == 0
    assert other in capsys.readouterr().err


def test_only_a_folder_of_its_own_is_written_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert weigh(folder, tmp_path / "w") == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "run.txt").write_text("dear")
    assert weigh(folder, tmp_path / "mine") == 2
    assert "is not empty and holds no result of weigh" in capsys.readouterr().err
    assert (tmp_path / "mine" / "run.txt").read_text() == "dear"


def test_weights_of_another_program_are_no_result(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = {"weights.json": '{"layers": [1, 2]}', "run.txt": "dear", "manifest.json": "{}", "heatmap.png": "dear"}
    (tmp_path / "mine").mkdir()
    for name, text in mine.items():
        (tmp_path / "mine" / name).write_text(text)
    assert weigh(folder, tmp_path / "mine") == 2
    assert "is not empty and holds no result of weigh" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in (tmp_path / "mine").iterdir()} == mine


def test_an_older_result_without_a_manifest_is_written_again(folder: Path, tmp_path: Path) -> None:
    assert weigh(folder, tmp_path / "w") == 0
    (tmp_path / "w" / "manifest.json").unlink()
    assert weigh(folder, tmp_path / "w") == 0


@pytest.mark.parametrize("fails", ["atomic_write", "seal"])
def test_a_folder_that_a_full_disk_left_is_written_again_and_an_earlier_result_stands_until_then(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    out = tmp_path / "out"
    assert weigh(folder, tmp_path / "whole", "--make-folds", "3") == 0
    assert weigh(folder, out, "--make-folds", "2") == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with monkeypatch.context() as full:
        full.setattr(f"longrank.evaluation.tuning.folder.{fails}", disk_full)
        assert weigh(folder, out, "--make-folds", "3") == 1
    if fails == "atomic_write":
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    else:
        assert (out / ".unfinished").exists() and not (out / "manifest.json").exists()
    assert weigh(folder, out, "--make-folds", "3") == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole


def test_a_folder_that_another_command_left_unfinished_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".unfinished").write_text("tuning.json")
    assert weigh(folder, tmp_path / "out") == 2
    assert (
        "out: holds an unfinished result with tuning.json, and none of weigh; run the command"
        in capsys.readouterr().err
    )
    (tmp_path / "out" / ".unfinished").write_text("weights.json")
    assert weigh(folder, tmp_path / "out") == 0


def disk_full(*args: object) -> None:
    raise LongRankError("no space left on device")
