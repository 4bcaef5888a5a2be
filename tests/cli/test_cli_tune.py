"""tune by its documented command line, on a collection whose best b is known (tests/tunable.py)."""

from __future__ import annotations

import csv
import json
import sys
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import tunable
from longrank.cli.main import main
from longrank.formats.trec import read_qrels, read_run
from longrank.storage import lock
from longrank.types import Notes

GRID = ("--grid", "b=0:1:0.2")
PLOTS = find_spec("matplotlib") is not None


DRAWN = (
    "test_workers_change_no_byte",
    "test_a_heat_map_per_pair_of_axes_and_a_line_for_one",
    "test_files_of_the_user_in_the_folder_of_a_result_stay",
    "test_without_the_extra_the_missing_heat_map_is_said",
    "test_a_crash_while_drawing_costs_the_drawing_alone",
)
"""Tests that are about heat maps, too: to draw them takes most of the time of all."""


@pytest.fixture(autouse=True)
def quick_maps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no map in the other tests."""
    if request.function.__name__ not in DRAWN:
        monkeypatch.setattr("longrank.evaluation.plots.plot_grid", lambda *_: [])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    tunable.write_inputs(folder)
    return folder


@pytest.fixture
def folder(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune(*options: str, measure: str = "RR", grid: tuple[str, ...] = GRID) -> int:
    return main(
        ["tune", "index", "queries.jsonl", "qrels.txt", "-o", "out", "-m", measure, "--workers", "1", *grid, *options]
    )


def tuning() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out/tuning.json").read_text())
    return found


def contents(folder: str = "out") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# --- the protocols ------------------------------------------------------------------------------


def test_the_optimum_over_all_queries_is_said_to_be_no_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(grid=("--grid", "k1=0.5,1", *GRID)) == 0
    assert capsys.readouterr().out == (
        "chosen on   k1    b  queries      RR  test queries  test RR\n"
        "all        0.5  0.6        4  1.0000             -        -\n"
        "\n"
        "k1=0.5 b=0.6\n"
        "chosen and reported on the same queries: a description of them, not a test\n"
    )
    found = tuning()
    assert found["result"]["setting"] == {"k1": 0.5, "b": 0.6}
    assert (found["result"]["value"], found["result"]["held_out"], found["n_queries"]) == (1.0, False, 4)
    assert len(found["values"]) == 12
    assert [one["value"] for one in found["values"][:6]] == [0.75, 0.75, 0.75, 1.0, 0.75, 0.75]


def test_queries_with_an_empty_text_are_kept_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Path("queries.jsonl").read_text() + json.dumps({"query_id": "e", "text": " "}) + "\n"
    Path("queries.jsonl").unlink()
    Path("queries.jsonl").write_text(rows)
    qrels = Path("qrels.txt").read_text() + "e 0 long-a 1\n"
    Path("qrels.txt").unlink()
    Path("qrels.txt").write_text(qrels)
    assert tune() == 2
    assert "query e has an empty text" in capsys.readouterr().err
    assert tune("--allow-empty-query") == 0
    assert "queries with an empty text: 1 " in capsys.readouterr().err
    assert tuning()["n_queries"] == 5


def test_folds_are_tested_with_what_the_other_queries_chose(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "chosen on    b  queries      RR  test queries  test RR",
        "s1         0.0        2  1.0000             2   0.5000",
        "s2         0.6        2  1.0000             2   1.0000",
        "pooled       -        -       -             4   0.7500",
    ]
    run = read_run(Path("out/run.txt"), Notes())
    assert {query_id: run[query_id][0].doc_id for query_id in run} == {
        "a1": "long-a",
        "a2": "long-a",
        "b1": "long-b",
        "b2": "long-b",
    }
    assert tuning()["choices"][1] == {
        "name": "s2",
        "setting": {"b": 0.6},
        "chosen_on": ["b1", "b2"],
        "value": 1.0,
        "tested_on": ["a1", "a2"],
        "test_value": 1.0,
    }
    assert tuning()["result"] | {"remark": ""} == {
        "setting": None,
        "n_queries": 4,
        "value": 0.75,
        "held_out": True,
        "remark": "",
    }
    assert not Path("out/folds.json").exists()


def test_the_pooled_value_is_what_evaluate_says_of_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--protocol", "folds", "--folds", "folds.json", "--choose-by", "yang19") == 0
    capsys.readouterr()
    assert main(["evaluate", "qrels.txt", "out/run.txt", "-m", "RR"]) == 0
    assert capsys.readouterr().out.split()[-1] == f"{tuning()['result']['value']:.4f}" == "0.7500"


def test_folds_can_be_made_and_are_written_for_others_to_use(folder: Path) -> None:
    assert tune("--protocol", "folds", "--make-folds", "2", "--seed", "7") == 0
    made, choices = Path("out/folds.json").read_bytes(), tuning()["choices"]
    Path("folds-7.json").write_bytes(made)
    assert tune("--protocol", "folds", "--folds", "folds-7.json") == 0
    assert tuning()["choices"] == choices
    seeds = set()
    for seed in "123456":
        assert tune("--protocol", "folds", "--make-folds", "2", "--seed", seed) == 0
        seeds.add(Path("out/folds.json").read_bytes())
    assert len(seeds) > 1


def test_the_mean_of_the_samples_optima_is_tested_on_the_other_queries(folder: Path) -> None:
    assert tune("--protocol", "samples", "--samples", "2", "--sample-size", "1", "--seed", "1") == 0
    found = tuning()
    optima = [0.0 if choice["chosen_on"][0][0] == "a" else 0.6 for choice in found["choices"]]
    assert [choice["setting"]["b"] for choice in found["choices"]] == optima
    mean = sum(optima) / 2
    assert found["result"]["setting"] == {"b": mean}
    outside = tunable.QUERIES.keys() - {choice["chosen_on"][0] for choice in found["choices"]}
    right = [mean < 0.692 if query_id[0] == "a" else mean > 0.529 for query_id in outside]
    assert found["result"]["value"] == sum(1 if one else 0.5 for one in right) / len(outside)
    assert (found["result"]["n_queries"], found["result"]["held_out"]) == (len(outside), True)
    assert set(read_run(Path("out/run.txt"), Notes())) == outside
    assert found["protocol"] == {"name": "samples", "samples": 2, "sample_size": 1, "seed": 1}


def test_samples_that_leave_no_query_out_are_said_to_be_no_test(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("--protocol", "samples", "--sample-size", "4") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[6] == "mean       0.6        4  1.0000             -        -"
    assert "every query is in a sample: the mean of the optima is reported on queries that it was chosen on" in out
    assert (tuning()["result"]["held_out"], len(tuning()["choices"])) == (False, 5)


def test_every_best_value_of_a_feedback_model_is_found_through_the_command(folder: Path) -> None:
    assert tune("--preset", "bm25-lucene+rm3", "--set", "fb_terms=3", grid=("--grid", "fb_docs=1:2:1", *GRID)) == 0
    assert tuning()["fixed settings"] == {"fb_terms": 3}
    assert [one["setting"] for one in tuning()["values"]][:2] == [{"fb_docs": 1, "b": 0.0}, {"fb_docs": 1, "b": 0.2}]


# --- the folder ---------------------------------------------------------------------------------


def test_workers_change_no_byte(folder: Path) -> None:
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    one = contents()
    Path("out").rename("first")
    assert tune("--protocol", "folds", "--folds", "folds.json", "--workers", "2") == 0
    assert contents() == one


def test_another_protocol_reads_what_was_searched_and_leaves_only_its_own_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.evaluation.tuning.search import Search

    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    folds = contents()
    monkeypatch.setattr(Search, "__call__", lambda *_: pytest.fail("searched again"))
    assert tune() == 0
    assert tuning()["protocol"] == {"name": "all"}
    assert contents()["run.txt"] != folds["run.txt"]
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    assert contents() == folds
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    assert contents().keys() == folds.keys() | {"folds.json"}
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    assert contents() == folds


@pytest.mark.parametrize("name", ["out/folds.json", "out/../out/folds.json", "link.json"])
def test_folds_that_were_made_stay_where_they_are_used(folder: Path, name: str) -> None:
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    before = contents()
    Path("link.json").symlink_to("out/folds.json")
    assert tune("--protocol", "folds", "--folds", name) == 0
    assert contents() == before
    assert tune() == 0
    assert "folds.json" not in contents()


@pytest.mark.parametrize("given", [False, True])
def test_folds_that_a_user_puts_beside_a_result_stay(
    folder: Path, capsys: pytest.CaptureFixture[str], given: bool
) -> None:
    assert tune() == 0
    folds = Path("folds.json").read_bytes()
    Path("out/folds.json").write_bytes(folds)
    if given:
        assert tune("--protocol", "folds", "--folds", "out/folds.json") == 0
    assert tune() == 0
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    before = contents()
    assert before["folds.json"] == folds
    assert tune("--protocol", "folds", "--make-folds", "2") == 2
    error = capsys.readouterr().err
    assert "out/folds.json: is no part of the earlier result, and would be replaced; move it" in error
    assert contents() == before


@pytest.mark.parametrize("is_killed", [False, True])
def test_folds_that_a_user_puts_in_place_of_made_folds_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_killed: bool
) -> None:
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    made, folds = contents(), Path("folds.json").read_bytes()
    Path("out/folds.json").write_bytes(folds)
    if is_killed:
        with monkeypatch.context() as patched:
            patched.setattr("longrank.evaluation.tuning.folder.seal", lambda *_: sys.exit(9))
            assert tune() == 9
        assert Path("out/.unfinished").exists()
    assert tune("--protocol", "folds", "--make-folds", "2") == 2
    assert "out/folds.json: is no part of the earlier result, and would be replaced" in capsys.readouterr().err
    for _ in range(2):
        assert tune("--protocol", "folds", "--folds", "out/folds.json") == 0
        assert tune() == 0
        assert Path("out/folds.json").read_bytes() == folds
    Path("out/folds.json").unlink()
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    assert contents() == made


def test_made_folds_of_an_interrupted_search_are_made_again_unless_the_user_changed_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    for name in ("manifest.json", "tuning.json", "run.txt"):
        Path("out", name).unlink()
    assert tune("--protocol", "folds", "--make-folds", "2") == 0
    made = json.loads(Path("out/folds.json").read_text())
    Path("out/manifest.json").unlink()
    Path("out/folds.json").write_text(json.dumps({**made, "s1": {**made["s1"], "valid": ["mine"]}}))
    assert tune("--protocol", "folds", "--make-folds", "2") == 2
    assert "out/folds.json: is no part of the earlier result" in capsys.readouterr().err


def test_folds_that_a_user_puts_beside_an_interrupted_search_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune() == 0
    for path in Path("out").iterdir():
        if path.name != "values.journal":
            path.unlink()
    folds = Path("folds.json").read_bytes()
    Path("out/folds.json").write_bytes(folds)
    assert tune("--protocol", "folds", "--make-folds", "2") == 2
    assert "out/folds.json: is no part of the earlier result, and would be replaced" in capsys.readouterr().err
    assert tune("--protocol", "folds", "--folds", "out/folds.json") == 0
    assert tune() == 0
    assert Path("out/folds.json").read_bytes() == folds


def test_interrupted_while_searching_the_same_command_goes_on_to_the_same_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.evaluation.tuning.search import Search

    assert tune() == 0
    undisturbed = contents()
    Path("out").rename("first")
    search, left = Search.__call__, iter(range(3))

    def interrupted(self: Search, setting: dict[str, float]) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return search(self, setting)

    with monkeypatch.context() as patch:
        patch.setattr(Search, "__call__", interrupted)
        assert tune() == 130
    assert "run the same command to go on" in capsys.readouterr().err
    assert [path.name for path in Path("out").iterdir()] == ["values.journal"]
    assert tune() == 0
    assert contents() == undisturbed


def test_other_inputs_in_the_same_folder_are_refused_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune() == 0
    before = contents()
    assert tune(measure="AP") == 2
    assert 'was begun with other measure: "RR" then, "AP" now' in capsys.readouterr().err
    assert contents() == before


def test_a_folder_of_something_else_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("years of work")
    assert tune() == 2
    assert "is not empty and holds no result of tune" in capsys.readouterr().err
    assert contents() == {"thesis.tex": b"years of work"}


def test_a_result_may_lie_in_the_folder_of_the_queries(folder: Path) -> None:
    Path("all").mkdir()
    for name in ("queries.jsonl", "qrels.txt"):
        Path("all", name).write_bytes(Path(name).read_bytes())
    inputs = ["index", "all/queries.jsonl", "all/qrels.txt"]
    assert main(["tune", *inputs, "-o", "all/out", "--workers", "1", *GRID]) == 0


def test_an_input_in_the_folder_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune() == 0
    Path("out/folds.json").write_bytes(Path("qrels.txt").read_bytes())
    before = contents()
    arguments = ["tune", "index", "queries.jsonl", "out/folds.json", "-o", "out", *GRID]
    assert main(arguments) == 2
    assert "out/folds.json: is also an input and would be overwritten" in capsys.readouterr().err
    assert contents() == before


def test_a_folder_in_which_nothing_was_begun_can_be_used(folder: Path) -> None:
    Path("out").mkdir()
    Path("out/.lock").write_text("pid 1 on here\n")  # as a kill leaves it
    assert tune() == 0
    assert ".lock" not in contents()


def test_only_one_process_writes_to_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune() == 0
    with lock(Path("out/.lock")):
        assert tune() == 2
    assert "is being written by pid" in capsys.readouterr().err


# --- what is printed and drawn ------------------------------------------------------------------


@pytest.mark.skipif(not PLOTS, reason="needs the extra plots")
def test_a_heat_map_per_pair_of_axes_and_a_line_for_one(folder: Path) -> None:
    assert tune() == 0
    assert {"heatmap.png", "heatmap.svg"} <= contents().keys()
    Path("out").rename("one")
    assert tune(grid=("--grid", "k1=0.5,1", "--grid", "b=0,1")) == 0
    assert {"heatmap.png", "heatmap.svg"} <= contents().keys()
    Path("out").rename("two")
    assert (
        tune("--preset", "bm25-anserini+rm3", grid=("--grid", "k1=0.5,1", "--grid", "b=0,1", "--grid", "fb_docs=1,2"))
        == 0
    )
    assert sum(name.startswith("heatmap-") for name in contents()) == 6


def test_files_of_the_user_in_the_folder_of_a_result_stay(folder: Path) -> None:
    assert tune() == 0
    (Path("out") / "heatmap.svg").write_text("a plot of ours")
    (Path("out") / "heatmap-all-queries.png").write_text("a plot that was kept")
    (Path("out") / "heatmaps-old").mkdir()
    (Path("out") / "tuning.json").write_text("{")
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    assert (Path("out") / "heatmap-all-queries.png").read_text() == "a plot that was kept"
    assert (Path("out") / "heatmaps-old").is_dir()
    assert (Path("out") / "tuning.json").exists()


def test_without_the_extra_the_missing_heat_map_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert tune() == 0
    assert "no heat map: drawing needs the extra 'plots'; pip install '.[plots]'" in capsys.readouterr().err
    assert sorted(contents()) == ["manifest.json", "run.txt", "tuning.json", "values.journal"]


@pytest.mark.skipif(not PLOTS, reason="needs the extra plots")
def test_a_crash_while_drawing_costs_the_drawing_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import longrank.evaluation.plots

    assert tune() == 0
    whole, printed = contents(), capsys.readouterr().out
    assert tune("--protocol", "folds", "--folds", "folds.json") == 0
    capsys.readouterr()

    def killed(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(longrank.evaluation.plots, "plot_grid", killed)
    assert tune() == 1
    assert contents() == {name: body for name, body in whole.items() if not name.startswith("heatmap")}
    assert capsys.readouterr().out == printed


def test_formats_hold_the_same_choices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--protocol", "folds", "--folds", "folds.json", "--format", "json") == 0
    assert capsys.readouterr().out == Path("out/tuning.json").read_text()
    assert tune("--protocol", "folds", "--folds", "folds.json", "--format", "csv") == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert [row["test RR"] for row in rows] == ["0.5", "1.0", "0.75"]
    assert [row["b"] for row in rows] == ["0.0", "0.6", ""]
    assert tune("--protocol", "folds", "--folds", "folds.json", "--format", "markdown") == 0
    assert "| s1 | 0.0 | 2 | 1.0000 | 2 | 0.5000 |\n" in capsys.readouterr().out


def test_what_was_left_out_and_what_found_nothing_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = [{"query_id": "n", "text": "nowhere"}, {"query_id": "u", "text": "alpha"}]
    Path("more.jsonl").write_text(Path("queries.jsonl").read_text() + "".join(f"{json.dumps(one)}\n" for one in more))
    Path("more.txt").write_text(Path("qrels.txt").read_text() + "n 0 long-a 1\nx 0 long-a 1\n")
    assert main(["tune", "index", "more.jsonl", "more.txt", "-o", "out", "-m", "RR", "--workers", "1", *GRID]) == 0
    err = capsys.readouterr().err
    assert "queries without judgments, left out of the choice: 1 (first: u)" in err
    assert "judged topics that are not among the queries, left out: 1 (first: x)" in err
    assert "queries without results, which count 0: 1 (first: n)" in err
    assert (tuning()["n_queries"], tuning()["result"]["value"]) == (5, 0.8)


def test_an_optimum_at_the_end_of_an_axis_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(grid=("--grid", "b=0.2:0.6:0.2")) == 0
    assert "the best b over the table's 4 queries, 0.6, is at an end of its axis" in capsys.readouterr().err
    Path("out").rename("first")
    assert tune() == 0
    assert "end of its axis" not in capsys.readouterr().err


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grid", "b"], "not an axis of a grid (got 'b')"),
        (["--grid", "b=1:0:0.1"], "the range of a grid is empty"),
        (["--grid", "b=0.2:1.2:0.2"], "b must be between 0 and 1 (got 1.2)"),
        (["--grid", "k1=-1,1"], "k1 must be"),
        (["--grid", "kl=1"], "no setting to tune in this first stage (got 'kl'); one of b, k1"),
        (["--grid", "fb_docs=5"], "no setting to tune in this first stage (got 'fb_docs')"),
        (["--grid", "fb_dcs=5", "--preset", "bm25-lucene+rm3"], "(got 'fb_dcs'); did you mean 'fb_docs'?"),
        (["--grid", "fb_docs=1e5000", "--preset", "bm25-lucene+rm3"], "a value of a grid is at most 1e+12"),
        (["--grid", "mu=100"], "no setting to tune in this first stage (got 'mu')"),
        (
            ["--grid", "seed=1,2", "--preset", "bm25-lucene+axiomatic"],
            "no setting to tune in this first stage (got 'seed')",
        ),
        (["--grid", "negative_docs=5,10", "--preset", "bm25-lucene+rocchio"], "no effect while gamma is 0"),
        (["--grid", "b=0,1", "--grid", "b=0.5"], "an axis is given twice (got 'b')"),
        ([*GRID, "--set", "b=0.3"], "both fixed and an axis of the grid (got 'b')"),
        ([*GRID, "--set", "k9=0.3"], "k9"),
        ([*GRID, "--preset", "bm26"], "unknown preset (got 'bm26')"),
        ([*GRID, "--measure", "APP"], "unknown measure (got 'APP')"),
        ([*GRID, "--measure", "official"], "a single measure is needed"),
        ([*GRID, "-k", "0"], "k must be 1 or more"),
        ([*GRID, "--format", "xml"], "--format takes"),
        ([*GRID, "--protocol", "fold"], "unknown protocol (got 'fold'); did you mean 'folds'?"),
        ([*GRID, "--protocol", "samples"], "protocol 'samples' needs --sample-size"),
        ([*GRID, "--protocol", "samples", "--sample-size", "5"], "a sample can have between 1 and 4 queries (got 5)"),
        (
            [*GRID, "--protocol", "samples", "--sample-size", "2", "--samples", "0"],
            "number of samples must be at least 1",
        ),
        (
            [*GRID, "--protocol", "all", "--sample-size", "2"],
            "--sample-size is an option of protocol 'samples' (got 'all')",
        ),
        (
            [*GRID, "--protocol", "samples", "--choose-by", "dev"],
            "--choose-by is an option of protocol 'folds' (got 'samples')",
        ),
        (
            [*GRID, "--protocol", "folds"],
            "protocol 'folds' needs --folds; give a file of folds, or a number of folds to make",
        ),
        ([*GRID, "--protocol", "folds", "--folds", "folds.json", "--make-folds", "2"], "two ways to the same"),
        ([*GRID, "--protocol", "folds", "--make-folds", "5"], "between 2 and 4 folds (got 5)"),
        (
            [*GRID, "--protocol", "folds", "--make-folds", "2", "--choose-by", "best"],
            "unknown rule to choose by (got 'best')",
        ),
        ([*GRID, "--protocol", "folds", "--folds", "none.json"], "none.json: no such file"),
        (
            [*GRID, "--protocol", "folds", "--folds", "partial.json"],
            "no fold tests query 'b1', which has judgments",
        ),
        ([*GRID, "--protocol", "folds", "--folds", "twice.json"], "both test query 'a1'"),
        ([*GRID, "--seed", "3"], "--seed is of samples, and of folds that are made (got 3)"),
        ([*GRID, "--protocol", "folds", "--folds", "folds.json", "--seed", "3"], "--seed is of samples, and of folds"),
        ([*GRID, "-o", "queries.jsonl"], "queries.jsonl: is a file; a folder is needed"),
        ([*GRID, "-o", "no/where"], "its folder does not exist"),
    ],
)
def test_a_mistake_is_one_line_exit_2_and_nothing_written(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = {"s1": {"train": ["b1"], "dev": [], "test": ["a1"]}, "s2": {"train": ["a1"], "dev": [], "test": ["a2"]}}
    Path("partial.json").write_text(json.dumps(partial))
    partial["s2"] = {"train": ["b2"], "dev": [], "test": ["a2", "b1", "b2", "a1"]} | {"train": ["q"]}
    Path("twice.json").write_text(json.dumps(partial))
    before = sorted(Path().iterdir())
    assert main(["tune", "index", "queries.jsonl", "qrels.txt", "-o", "out", "--workers", "1", *options]) == 2
    lines = capsys.readouterr().err.splitlines()
    (error,) = (line for line in lines if "is given 2 times" not in line)
    assert message in error
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (["none", "queries.jsonl", "qrels.txt"], "none: no such index"),
        (["index", "none", "qrels.txt"], "none: no such file"),
        (["index", "queries.jsonl", "none"], "none: no such file"),
        (["index", "queries.jsonl", "others.txt"], "the queries and the judgments have no query in common"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    folder: Path, places: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("others.txt").write_text("z 0 long-a 1\n")
    assert main(["tune", *places, "-o", "out", *GRID]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not Path("out").exists()


def test_a_collection_folder_gives_queries_and_judgments(folder: Path) -> None:
    Path("collection").mkdir()
    for name in ("queries.jsonl", "qrels.txt"):
        (Path("collection") / name).write_bytes(Path(name).read_bytes())
    rows = [{"doc_id": doc_id, "text": text} for doc_id, text in tunable.TEXTS.items()]
    Path("collection/docs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main(["tune", "index", "collection", "collection", "-o", "out", "-m", "RR", "--workers", "1", *GRID]) == 0
    assert tuning()["result"]["setting"] == {"b": 0.6}


def test_the_optimum_on_cranfield_is_what_a_loop_over_retrieve_and_evaluate_finds(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = str(shared_data / "cranfield")
    monkeypatch.chdir(tmp_path)
    assert main(["index", collection, "-o", "index"]) == 0
    grid = ("--grid", "k1=1,3", "--grid", "b=0.4,0.8")
    assert main(["tune", "index", collection, collection, "-o", "out", "-k", "100", "--workers", "1", *grid]) == 0
    qrels = read_qrels(shared_data / "cranfield" / "qrels.txt", Notes())
    found = []
    for k1, b in (("1", "0.4"), ("1", "0.8"), ("3", "0.4"), ("3", "0.8")):
        assert main(["retrieve", "index", collection, "-o", "one.run", "-k", "100", "--k1", k1, "--b", b]) == 0
        found.append(_mean_ap(qrels, read_run(Path("one.run"), Notes())))
    assert [one["value"] for one in tuning()["values"]] == pytest.approx(found, abs=1e-12)
    assert tuning()["result"]["setting"] == {"k1": 3.0, "b": 0.8}


def _mean_ap(qrels: dict[str, dict[str, int]], run: Any) -> float:
    """Average precision by its definition."""
    total = 0.0
    for query_id, judged in qrels.items():
        relevant = {doc_id for doc_id, grade in judged.items() if grade > 0}
        hits = [row.doc_id in relevant for row in run.get(query_id)]
        precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits) if hit]
        total += sum(precisions) / len(relevant) if relevant else 0.0
    return total / len(qrels)
