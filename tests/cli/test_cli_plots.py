"""--plot FILE of evaluate, tune, analyze and train: one flag, the kind by the end of the name."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tunable
from longrank.cli.main import main
from longrank.evaluation import canvas
from longrank.training.curves import plot_training

QRELS = "1 0 a 1\n2 0 c 2\n2 0 d 1\n3 0 e 1\n"
BM25 = "1 Q0 b 1 2.0 bm25\n1 Q0 a 2 1.0 bm25\n2 Q0 x 1 3.0 bm25\n2 Q0 c 2 2.0 bm25\n"
MAXP = "1 Q0 a 1 2.0 maxp\n2 Q0 d 1 3.0 maxp\n2 Q0 c 2 2.0 maxp\n3 Q0 e 1 1.0 maxp\n"
EVALUATE = ["evaluate", "qrels.txt", "bm25.run", "maxp.run", "-m", "RR", "-m", "nDCG@10"]
DELTAS = ["analyze", "deltas", "qrels.txt", "maxp.run", "--baseline", "bm25.run"]
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels.txt", QRELS), ("bm25.run", BM25), ("maxp.run", MAXP)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    mpl = pytest.importorskip("matplotlib", reason="needs the extra plots")
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "none")  # text as text


def texts(path: Path) -> str:
    return " ".join(ElementTree.parse(path).getroot().itertext())


@pytest.mark.usefixtures("folder", "matplotlib")
@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("command", [[*EVALUATE, "--baseline", "bm25.run"], DELTAS], ids=["evaluate", "deltas"])
def test_the_end_of_the_name_is_the_kind_and_equal_figures_give_equal_files(command: list[str], kind: str) -> None:
    written = [Path(f"one{kind}"), Path(f"two{kind}")]
    for path in written:
        assert main([*command, "--plot", str(path)]) == 0
    one, two = (path.read_bytes() for path in written)
    assert one.startswith(STARTS[kind])
    assert one == two


@pytest.mark.usefixtures("folder", "matplotlib")
def test_evaluate_draws_a_panel_for_each_run_and_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EVALUATE, "--baseline", "bm25.run", "--plot", "d.svg"]) == 0
    shown = texts(Path("d.svg"))
    assert "RR: maxp less bm25" in shown
    assert "nDCG@10: maxp less bm25" in shown
    assert "maxp" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([*EVALUATE, "--plot", "d.svg"], "--plot shows differences from a baseline; name it with --baseline RUN"),
        ([*EVALUATE, "--baseline", "bm25.run", "--plot", "d.jpg"], "a plot ends in .png, .svg, .pdf (got 'd.jpg')"),
        ([*DELTAS, "--plot", "d"], "a plot ends in .png, .svg, .pdf (got 'd')"),
    ],
)
@pytest.mark.usefixtures("matplotlib")
def test_plots_that_cannot_be_drawn_are_refused_before_any_work(
    command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert (out, message in err) == ("", True)


@pytest.mark.usefixtures("folder")
def test_without_matplotlib_the_extra_is_named_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(canvas, "find_spec", lambda name: None)
    for command in ([*EVALUATE, "--baseline", "bm25.run"], DELTAS):
        assert main([*command, "--plot", "d.png"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "needs the extra 'plots'" in err
    assert not Path("d.png").exists()


@pytest.mark.usefixtures("matplotlib")
def test_tune_draws_its_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tunable.write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["tune", "index", "queries.jsonl", "qrels.txt", "-o", "tuned", "-m", "RR", "--workers", "1"]
    assert main([*command, "--grid", "b=0,0.5,1", "--plot", "grid.svg"]) == 0
    assert "optimum over the table's queries" in texts(tmp_path / "grid.svg")
    assert main([*command, "--grid", "b=0,0.5,1", "--grid", "k1=0.5,1", "--plot", "b-k1.pdf", "-o", "tuned2"]) == 0
    assert (tmp_path / "b-k1.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("validated", [True, False])
def test_a_training_is_drawn_from_its_logs(tmp_path: Path, validated: bool) -> None:
    for fold in ("s1", "s2"):
        lines = [{"step": n, "loss": 1 / (n + 1)} for n in range(250)]
        lines += [{"step": 100, "measure": 0.5}, {"step": 200, "measure": 0.6}] if validated else []
        (tmp_path / fold).write_text("".join(json.dumps(line) + "\n" for line in lines))
    plot_training(tmp_path / "curve.svg", {fold: tmp_path / fold for fold in ("s1", "s2")})
    shown = texts(tmp_path / "curve.svg")
    assert "loss" in shown
    assert ("validation" in shown) is validated
    assert "s1" in shown and "s2" in shown
