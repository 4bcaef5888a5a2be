"""The help page of ``longrank``: commands by task, each in a line, without an import of its module."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

TASKS = {
    "Start": ("demo", "doctor", "cache"),
    "Index": ("index", "sync", "check", "expand"),
    "Rank": ("search", "retrieve", "rerank", "compare", "aggregate", "calibrate", "fuse", "pipelines"),
    "Evaluate": ("evaluate", "tune", "weigh", "analyze", "reproduce"),
    "Train": ("create", "convert", "quantize", "train", "train-passages", "rows", "weak-labels", "publish"),
    "Serve": ("serve", "mcp", "bench"),
}
"""Heading of the help page -> commands; commands of no task come last, under `_OTHER`."""

_OTHER = "More"


class ByTask(TyperGroup):
    """A group of commands whose help page lists them by task."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        known = {name: command for name, command in self.commands.items() if not command.hidden}
        listed = {name for names in TASKS.values() for name in names}
        others = tuple(name for name in known if name not in listed)
        width = formatter.width - 6 - max(map(len, known), default=0)
        for heading, names in {**TASKS, _OTHER: others}.items():
            rows = [(name, known[name].get_short_help_str(width)) for name in names if name in known]
            if rows:
                longest = max(map(len, known))
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(longest), text) for name, text in rows])


def summaries(commands: Mapping[str, str]) -> dict[str, str]:
    """Return command -> first paragraph of its help, read from the sources.

    Args:
        commands: command -> ``"module:function"``; a group of commands names its help in ``typer.Typer(help=...)``.
    """
    trees: dict[str, ast.Module] = {}
    found = {}
    for name, place in commands.items():
        module, _, attribute = place.partition(":")
        if module not in trees:
            spec = find_spec(module)
            assert spec is not None
            assert spec.origin is not None
            trees[module] = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        found[name] = _help(trees[module], attribute).partition("\n\n")[0]
    return found


def _help(tree: ast.Module, name: str) -> str:
    """Return the docstring of a function of a module, or the help of its `typer.Typer`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            texts = {keyword.arg: keyword.value for keyword in node.value.keywords}
            if any(getattr(target, "id", "") == name for target in node.targets) and "help" in texts:
                return str(ast.literal_eval(texts["help"]))
    raise LookupError(name)
