"""Figures for plots, by the extra ``plots`` (matplotlib, imported only for drawing).

Equal values give equal files: no date is written, and matplotlib's random names have a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import InputError, MissingExtra
from longrank.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure


_DATES: dict[str, dict[str, None] | None] = {".png": None, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Kinds of plots, with the dates that they leave out."""


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in one style.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MissingExtra("drawing", "plots") from None
    with mpl.rc_context({"svg.hashsalt": "longrank", "font.size": 9, "axes.spines.top": False}):
        yield


def plain(name: str) -> str:
    """Return a name that is drawn as it is: dollars start no formula, and a leading _ hides it from no legend."""
    shown = name.replace("$", r"\$")
    return f"\u200a{shown}" if shown.startswith("_") else shown


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure; sizes in inches."""
    from matplotlib.figure import Figure  # without pyplot: no window, no state that outlives the call

    return Figure(figsize=(width, height), layout="constrained")


def blank_panel(width: float, height: float) -> tuple[Figure, Panel]:
    """Return a figure with one panel, and the panel; sizes in inches."""
    figure = blank_figure(width, height)
    return figure, figure.add_subplot()


def check_plot(path: Path) -> None:
    """Refuse a plot that cannot be drawn, before any work.

    Raises:
        InputError: the name of the file does not end in .png, .svg or .pdf.
        MissingExtra: matplotlib is not installed.
    """
    if path.suffix not in _DATES:
        raise InputError(f"a plot ends in {', '.join(_DATES)}", got=str(path))
    if find_spec("matplotlib") is None:
        raise MissingExtra("drawing", "plots")


def saved_as(figure: Figure, path: Path) -> None:
    """Write a figure; the end of the name is its kind: .png, .svg or .pdf.

    Raises:
        InputError: another kind, or the folder does not exist or cannot be written to.
        LongRankError: writing failed.
    """
    check_plot(path)
    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:], dpi=150, metadata=_DATES[path.suffix])


def saved(figure: Figure, stem: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure as ``STEM.png`` and ``STEM.svg``; return the paths.

    Raises:
        InputError, LongRankError: as `saved_as`.
    """
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in kinds]
    for path in paths:
        saved_as(figure, path)
    return paths
