"""Tables as HTML, for notebooks; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return an HTML table.

    Args:
        head: the names of the columns.
        rows: the cells; a float is shown with 4 decimals, `Markup` as it is, anything else as escaped text.
        caption: a line below the table, such as the number of rows that are left out.
    """
    rows = list(rows)
    sides = [_side(cell) for cell in rows[0]] if rows else ["left"] * len(head)
    names = "".join(
        f'<th style="text-align:{side}">{escape(name)}</th>' for name, side in zip(head, sides, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    below = f"<p>{escape(caption)}</p>" if caption else ""
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: object) -> str:
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return f'<td style="text-align:{_side(value)}">{escape(text)}</td>'


def _side(value: object) -> str:
    return "right" if isinstance(value, int | float) else "left"
