"""Tables and a plot of the figures of benchmarks.cascade."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET_SHARE, TARGET_LOSS = 0.25, 0.005
SHOWN_SHARE = 0.5  # larger budgets are not tabled


def table(result: dict[str, Any]) -> str:
    """Return Markdown tables: differences with intervals by budget and selector, bold where the target is met."""
    headline = (
        f"{result['collection']}: {result['queries']} queries, depth {result['depth']}, {result['passages']} passages; "
        f"{result['measure']}: BM25 {result['first_stage']:.4f}, every passage {result['every_passage']}, "
        f"cheap MaxP {result['cheap_alone']}"
    )
    selectors = _selectors(result)
    mixed = max(p["alpha"] for p in result["points"] if p["alpha"] is not None)
    columns = [*((selector, None) for selector in selectors), (selectors[-1], mixed)]
    names = [selector if alpha is None else f"{selector}, with {alpha} BM25" for selector, alpha in columns]
    lines = [headline, "", f"| budget | passages | {' | '.join(names)} |", "|" + "---|" * (len(names) + 2)]
    points = {(p["pooled"], p["n"], p["selector"], p["alpha"]): p for p in result["points"]}
    for pooled in (False, True):
        for n in dict.fromkeys(p["n"] for p in result["points"]):
            row = [points[pooled, n, selector, alpha] for selector, alpha in columns]
            if row[0]["share"] <= SHOWN_SHARE:
                budget = f"{n} {'pooled' if pooled else 'each'}"
                lines.append(f"| {budget} | {row[0]['share']:.1%} | {' | '.join(map(_cell, row))} |")
    return "\n".join([*lines, "", *_early_stopping_table(result), ""])


def _cell(point: dict[str, Any]) -> str:
    difference = f"{point['difference']:+.4f}"
    if point["share"] <= TARGET_SHARE and point["difference"] >= -TARGET_LOSS:
        difference = f"**{difference}**"
    return f"{difference} ({point['low']:+.4f} .. {point['high']:+.4f})"


def _early_stopping_table(result: dict[str, Any]) -> Iterator[str]:
    yield "| early stopping | allowed risk | missed | skipped | passages | difference | 95% |"
    yield "|---|---|---|---|---|---|---|"
    for point in result["early_stopping"]:
        of = "every passage" if point["selection"] is None else "{1} per document by {0}".format(*point["selection"])
        yield (
            f"| {of}, top {result['k']} | {point['risk']:.0%} | {point['missed']:.1%} | {point['left_alone']:.1%} "
            f"| {point['share']:.1%} | {point['difference']:+.4f} | {point['low']:+.4f} .. {point['high']:+.4f} |"
        )


def plot(results: dict[str, Any], path: Path) -> None:
    """Draw the difference to scoring every passage over the share of passages scored, one panel per collection.

    Lines: each selector, pooled (full) and per document (dotted); the band is the 95% interval of both
    scorers together, pooled; the grey box is the target.
    """
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "longrank", "svg.fonttype": "none"})  # the same bytes every time
    figure, panels = plt.subplots(1, len(results), figsize=(4 * len(results) + 1, 4), squeeze=False)
    for panel, result in zip(panels[0], results.values(), strict=True):
        _panel(panel, result)
    handles, labels = panels[0][0].get_legend_handles_labels()
    n_columns = len(results) + 1
    figure.legend(handles, labels, loc="lower center", ncols=n_columns, fontsize="small", frameon=False)
    figure.tight_layout(rect=(0, 0.02 + 0.055 * -(-len(labels) // n_columns), 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _panel(panel: Any, result: dict[str, Any]) -> None:
    panel.fill_between([0, TARGET_SHARE], -TARGET_LOSS, 1, color="0.93", label="target")
    panel.axhline(0, color="0.6", linewidth=0.8)
    selectors = _selectors(result)
    curves = {(name, pooled): _curve(result, name, pooled) for name in selectors for pooled in (True, False)}
    for (selector, pooled), points in curves.items():
        panel.plot(
            [p["share"] for p in points],
            [p["difference"] for p in points],
            color=f"C{selectors.index(selector)}",
            linestyle="-" if pooled else ":",
            marker="o",
            markersize=3,
            label=f"{selector}, {'pooled' if pooled else 'per document'}",
        )
    shaded = curves["bm25+vectors", True]
    shares, low, high = ([p[name] for p in shaded] for name in ("share", "low", "high"))
    panel.fill_between(shares, low, high, color="C2", alpha=0.2, linewidth=0, label="95%, bm25+vectors, pooled")
    panel.set_xscale("log")
    panel.set_xticks(ticks := [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1], [f"{tick:.0%}" for tick in ticks])
    panel.minorticks_off()
    panel.set_xlim(min(shares) / 1.1, 1)
    lowest = min(p["difference"] for points in curves.values() for p in points)
    panel.set_ylim(min(lowest, *low) - 0.005, max(*high, 0) + 0.01)
    panel.set(title=f"{result['collection']}, depth {result['depth']}", xlabel="passages scored")
    panel.set_ylabel(f"{result['measure']} - that of every passage")


def _selectors(result: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(p["selector"] for p in result["points"]))


def _curve(result: dict[str, Any], selector: str, pooled: bool) -> list[dict[str, Any]]:
    return [p for p in result["points"] if (p["selector"], p["pooled"], p["alpha"]) == (selector, pooled, None)]
