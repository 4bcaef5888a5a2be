from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from evidences import run, scores
from longrank.cli.main import main
from longrank.formats.trec import read_run, write_run
from longrank.types import Notes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs a.run and b.run of queries 1 to 4; old-a.run and old-b.run of queries 7 and 8; judgments of all."""
    a = {q: {"r": 2.0, "x": 1.0} for q in "1234"}
    b = {q: {"x": 2.0, "r": 1.0} for q in "1234"}
    write_run(run(a, "a"), tmp_path / "a.run")
    write_run(run(b, "b"), tmp_path / "b.run")
    write_run(run({q: {"r": 2.0, "x": 1.0} for q in "78"}, "a"), tmp_path / "old-a.run")
    write_run(run({q: {"x": 2.0, "r": 1.0} for q in "78"}, "b"), tmp_path / "old-b.run")
    (tmp_path / "old.qrels").write_text("".join(f"{q} 0 r 1\n" for q in "78"))
    (tmp_path / "qrels").write_text("".join(f"{q} 0 r 1\n" for q in "1234"))
    (tmp_path / "folds.json").write_text(
        json.dumps(
            {
                "s1": {"train": ["1"], "dev": ["2"], "test": ["3", "4"]},
                "s2": {"train": ["3"], "dev": ["4"], "test": ["1", "2"]},
            }
        )
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fused(*options: str) -> dict[str, float]:
    assert main(["fuse", "a.run", "b.run", "-o", "out.run", *options]) == 0
    return scores(read_run(Path("out.run"), Notes()), "1")


def test_reciprocal_ranks(folder: Path) -> None:
    assert fused("--method", "rrf") == {d: pytest.approx(1 / 61 + 1 / 62) for d in "rx"}
    assert fused("--method", "rrf", "--rrf-k", "1") == {d: pytest.approx(1 / 2 + 1 / 3) for d in "rx"}


def test_a_fused_run_is_not_overwritten(folder: Path) -> None:
    before = Path("a.run").read_bytes()
    assert main(["fuse", "a.run", "b.run", "-o", "./a.run", "--method", "rrf"]) == 2
    assert Path("a.run").read_bytes() == before


def test_weighted_sum(folder: Path) -> None:
    assert fused("--method", "linear", "--weights", "2,1") == {"r": 5.0, "x": 4.0}
    assert fused("--method", "linear", "--weights", "0.75,0.25", "--normalize", "minmax") == {"r": 0.75, "x": 0.25}


def test_mapfuse_with_given_maps(folder: Path) -> None:
    assert fused("--method", "mapfuse", "--map", "0.4,0.1") == {
        "r": pytest.approx(0.45, rel=1e-6),
        "x": pytest.approx(0.3, rel=1e-6),
    }


def test_mapfuse_measures_maps_on_heldout_queries_and_prints_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fused("--method", "mapfuse", "--heldout", "old.qrels,old-a.run,old-b.run") == {"r": 1.25, "x": 1.0}
    assert "held-out MAP: 1.0000, 0.5000" in capsys.readouterr().err


def test_a_repeated_option_takes_file_names_with_commas(folder: Path) -> None:
    given = fused("--method", "mapfuse", "--heldout", "old.qrels,old-a.run,old-b.run")
    Path("old-a.run").rename("old, a.run")
    files = [part for name in ("old.qrels", "old, a.run", "old-b.run") for part in ("--heldout", name)]
    assert fused("--method", "mapfuse", *files) == given


def test_a_weight_beyond_float32_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = ["a.run", "b.run", "-o", "out.run", "--method", "linear"]
    assert main(["fuse", *runs, "--weights", "1e308,1e308"]) == 2
    assert main(["fuse", *runs, "--weights", "3e38,3e38"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "a weight must be a finite float32 number" in first
    assert "is beyond float32" in second


def test_mapfuse_over_folds(folder: Path) -> None:
    assert fused("--method", "mapfuse", "--folds", "folds.json", "--qrels", "qrels") == {"r": 1.25, "x": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "rff"], "did you mean 'rrf'"),
        (["--method", "rrf", "--weights", "1,1"], "fusion method 'rrf' has no option 'weights'"),
        (["--method", "linear", "--map", "1,1"], "--map is an option of fusion method 'mapfuse' (got 'linear')"),
        (["--method", "linear", "--weights", "0,0"], "all weights are 0"),
        (["--method", "linear", "--weights", "1"], "1 weights for 2 runs"),
        (["--method", "linear", "--weights", "1,b"], "takes numbers"),
        (["--method", "linear", "--normalize", "max"], "unknown normalisation"),
        (["--method", "mapfuse"], "from one source"),
        (
            ["--method", "mapfuse", "--folds", "folds.json", "--qrels", "qrels", "--weights", "1,1"],
            "no option 'weights'",
        ),
        (["--method", "mapfuse", "--map", "1,1", "--folds", "folds.json", "--qrels", "qrels"], "from one source"),
        (["--method", "mapfuse", "--folds", "folds.json"], "go together"),
        (["--method", "mapfuse", "--map", "1,1", "--qrels", "qrels"], "go together"),
        (["--method", "mapfuse", "--heldout", "qrels,a.run,b.run"], "among the held-out queries"),
        (["--method", "mapfuse", "--heldout", "old.qrels,old-a.run"], "1 held-out runs for 2"),
        (["--method", "mapfuse", "--heldout", "none,old-a.run,old-b.run"], "none: no such file"),
    ],
)
def test_a_mistake_is_one_line_exit_2_and_no_run(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuse", "a.run", "b.run", "-o", "out.run", *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not Path("out.run").exists()


def test_a_single_run_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "a.run", "-o", "out.run", "--method", "rrf"]) == 2
    assert "two runs or more" in capsys.readouterr().err


def test_a_run_replaces_runs_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.run").write_text("q Q0 d 1 2 t\n")
    command = ["fuse", str(tmp_path / "a.run"), str(tmp_path / "a.run"), "--method", "rrf", "-o"]
    run = b"q\tQ0\td\t1\t2\tt\r\n"
    runs = [b"", b"\n\n", run, b"\n" + run, b"\xef\xbb\xbf" + run, b"# by hand\n" + run, b"q\xe9 Q0 d 1 inf t\n"]
    runs += [b"#1 Q0 d 1 2 t\n", "a\u3000b Q0 d\xa0e 1 2 t\n".encode(), b"# six words of\n# a comment here\n" + run]
    for content in (*runs, *map(gzip.compress, runs)):
        (tmp_path / "o.run").write_bytes(content)
        assert main([*command, str(tmp_path / "o.run")]) == 0
    for content in (b"q 0 d 1\n", b'{"id": "d", "text": "x"}\n', b"these are six words of text\n", b"\x1f\x8b\x00"):
        (tmp_path / "o.run").write_bytes(content)
        assert main([*command, str(tmp_path / "o.run")]) == 2
        assert "o.run: exists and is no run; choose another output, or remove it" in capsys.readouterr().err
        assert (tmp_path / "o.run").read_bytes() == content
