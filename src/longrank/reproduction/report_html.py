"""A result as one HTML page that needs no other file."""

from __future__ import annotations

from html import escape

from longrank.reproduction.report import as_markdown
from longrank.reproduction.results import Result


def as_html(result: Result, script: str) -> str:
    """Return a result as one HTML page."""
    return f"<!doctype html><meta charset=utf-8><pre>{escape(as_markdown(result, script))}\n{escape(script)}</pre>"
