"""Plots are files that can be opened, the same ones for the same values."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from longrank.errors import MissingExtra
from longrank.evaluation.plots import plot_grid
from slow_values import slow

K1, B = tuple(i / 10 for i in range(6, 13)), (0.3, 0.5, 0.7, 0.9)


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[plots\]'"):
        plot_grid(tmp_path / "heatmap", "AP", {"k1": K1}, [0.0] * 7, {})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def image() -> object:
    return pytest.importorskip("matplotlib.image", reason="needs the extra plots")


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("axes", "names"),
    [
        ({"k1": K1}, ["heatmap"]),
        ({"k1": K1, "b": B}, ["heatmap"]),
        ({"k1": K1, "fb_docs": (10,), "b": B}, ["heatmap"]),
        ({"k1": K1, "b": B, "fb_docs": (5, 10)}, ["heatmap-b-fb_docs", "heatmap-k1-b", "heatmap-k1-fb_docs"]),
        ({"k1": (1.0,)}, []),
        ({"k1": tuple(map(float, range(13))), "b": tuple(map(float, range(12)))}, ["heatmap"]),
    ],
)
def test_every_pair_of_axes_has_a_map_that_can_be_opened(
    tmp_path: Path, axes: dict[str, tuple[float, ...]], names: list[str]
) -> None:
    import matplotlib.image

    figures = np.random.default_rng(0).random(int(np.prod([len(values) for values in axes.values()]))).tolist()
    marks = {"optima": [{name: values[0] for name, values in axes.items()}] * 3, "mean": [dict.fromkeys(axes, 0.61)]}
    written = plot_grid(tmp_path / "heatmap", "AP", axes, figures, marks)
    assert sorted(path.name for path in written) == sorted(f"{n}.{kind}" for n in names for kind in ("png", "svg"))
    for path in written:
        if path.suffix == ".png":
            pixels = matplotlib.image.imread(path)
            assert min(pixels.shape[:2]) > 200
            assert len(np.unique((pixels * 255).astype(np.uint8).view(np.uint32))) > 20  # colours
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.usefixtures("image")
def test_equal_values_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        plot_grid(
            tmp_path / name / "heatmap",
            "AP",
            {"k1": K1, "b": B},
            [i / 28 for i in range(28)],
            {"optima": [{"k1": 1, "b": 0.7}]},
        )
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    "shape",
    [(100_000,), (5000, 20), *slow(((60, 2),), ((2, 60),), ((40, 40),))],
    ids=lambda shape: "x".join(map(str, shape)),
)
def test_however_large_the_grid_a_picture_stays_small_and_its_labels_few(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    import matplotlib.image

    axes = {name: tuple(i / 10 for i in range(n)) for name, n in zip(("k1", "b"), shape, strict=False)}
    figures = (0.5 + np.arange(np.prod(shape)) / 1e7).tolist()
    with pytest.MonkeyPatch.context() as patch:
        import matplotlib as mpl

        patch.setitem(mpl.rcParams, "svg.fonttype", "none")  # text as text
        png, svg = plot_grid(tmp_path / "heatmap", "AP", axes, figures, {"optima": [{"k1": 0.3, "b": 0.1}]})
    height, width = matplotlib.image.imread(png).shape[:2]
    assert width <= 16 * 150 and height <= 12 * 150
    texts = [text.text for text in ElementTree.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) <= 24 + 24 + 20  # ticks, and a few for the colours, the title, the axes and the legend
    assert svg.stat().st_size < 300_000


@pytest.mark.usefixtures("image")
def test_ticks_tell_every_value_of_a_small_grid_apart(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        import matplotlib as mpl

        patch.setitem(mpl.rcParams, "svg.fonttype", "none")
        plot_grid(
            tmp_path / "heatmap",
            "AP",
            {"mu": (1000000.0, 1000004.0), "b": tuple(i / 50 for i in range(24))},
            [0.0] * 48,
            {},
        )
    drawn = (tmp_path / "heatmap.svg").read_text(encoding="utf-8")
    assert all(f">{label}<" in drawn for label in ("1000000", "1000004", "0.02", "0.46"))


@pytest.mark.usefixtures("image")
def test_a_cell_is_the_best_over_the_axes_that_are_not_shown(tmp_path: Path) -> None:
    axes = {"k1": (1.0, 2.0), "b": (0.3, 0.5), "fb_docs": (5, 10)}
    figures = [0.111, 0.222, 0.333, 0.444, 0.555, 0.666, 0.777, 0.888]
    with pytest.MonkeyPatch.context() as patch:
        import matplotlib as mpl

        patch.setitem(mpl.rcParams, "svg.fonttype", "none")  # text as text
        plot_grid(tmp_path / "heatmap", "AP", axes, figures, {})
    drawn = (tmp_path / "heatmap-k1-b.svg").read_text(encoding="utf-8")
    shown = {one for one in (".111", ".222", ".333", ".444", ".555", ".666", ".777", ".888") if f">{one}<" in drawn}
    assert shown == {".222", ".444", ".666", ".888"}
    assert "AP, best over fb_docs" in drawn
