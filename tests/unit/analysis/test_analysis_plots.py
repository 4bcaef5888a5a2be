"""Plots are files that can be opened, the same for the same values, and hold what they should show."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from longrank.analysis import plots
from longrank.analysis.distribution import distribution
from longrank.errors import MissingExtra

LENGTHS = {"words": distribution([*range(100), 90_000]), "judgments": distribution([3])}
DRAWN: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "distributions": (
        lambda path: plots.plot_distributions(path, LENGTHS, dict.fromkeys(LENGTHS, "documents")),
        ["words", "judgments", "up to 90,000", "median 3.0"],
    ),
    "counts": (
        lambda path: plots.plot_counts(path, {1: 50, 3: 40, 25: 10}, title="100 documents", across="passages"),
        ["100 documents", "50%", "40%", "10%", "20+"],
    ),
    "few counts": (
        lambda path: plots.plot_counts(path, {1: 2}, title="2 documents", across="passages"),
        ["2 documents", "100%", "1"],
    ),
    "tenths": (
        lambda path: plots.plot_tenths(path, {"all": [0.1] * 10, "relevant": [0.2] * 5 + [0.0] * 5}),
        ["all", "relevant", "10"],
    ),
    "lines": (
        lambda path: plots.plot_lines(path, {"AP": {"maxp": {10: 0.3, 50: 0.4}}, "RR": {"maxp": {10: 1.0}}}, "depth"),
        ["AP", "RR", "maxp", "depth", "50"],
    ),
    "costs": (
        lambda path: plots.plot_costs(path, {"base": (43.5, 350.0), "tiny": (0.2, 4.0)}, "parade-max"),
        ["parade-max", "base", "tiny", "milliseconds"],
    ),
    "deltas": (lambda path: plots.plot_deltas(path, [0.5, 0.0, -0.2], "AP: a less b"), ["AP: a less b"]),
    "matrices": (
        lambda path: plots.plot_matrices(path, ["a", "b"], {"tau": np.array([[1, 0.25], [0.25, np.nan]])}),
        ["tau", "a", "b", "0.25", "1.00", "nan"],
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_shows_what_it_is_given_and_is_the_same_each_time(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl = pytest.importorskip("matplotlib", reason="needs the extra plots")
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "none")  # text as text
    draw, texts = DRAWN[name]
    written = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in written:
        draw(path)
    assert written[0].read_bytes() == written[1].read_bytes()
    shown = {"".join(one.itertext()) for one in ElementTree.parse(written[0]).iter() if one.tag.endswith("}text")}
    assert set(texts) <= shown


def test_names_are_drawn_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl = pytest.importorskip("matplotlib", reason="needs the extra plots")
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "none")
    names = [r"$\bad$", "_maxp"]
    lines = {"AP": {name: {1: 0.3} for name in names}}
    plots.plot_lines(tmp_path / "lines.svg", lines, "depth")
    plots.plot_matrices(tmp_path / "matrices.svg", names, {"tau": np.eye(2)})
    plots.plot_tenths(tmp_path / "tenths.svg", {name: [0.1] * 10 for name in names})
    for path in tmp_path.iterdir():
        texts = {"".join(one.itertext()).strip() for one in ElementTree.parse(path).iter() if one.tag.endswith("}text")}
        assert set(names) <= texts


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[plots\]'"):
        plots.plot_deltas(tmp_path / "d.svg", [1.0], "")
    assert list(tmp_path.iterdir()) == []
