"""Figures for plots, by the extra ``plots`` (matplotlib, imported only for drawing).

Equal values give equal files: no date is written, and matplotlib's random names have a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import MissingExtra
from longrank.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure


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


def saved(figure: Figure, stem: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure as ``STEM.png`` and ``STEM.svg``; return the paths.

    Raises:
        InputError: the folder does not exist or cannot be written to.
        LongRankError: writing failed.
    """
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in kinds]
    for path in paths:
        with atomic_write(path) as stream:
            figure.savefig(
                stream, format=path.suffix[1:], dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None
            )
    return paths
