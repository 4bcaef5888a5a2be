"""The page of the Python reference, made from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import longrank

_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example", "Examples", "Note")
_WIDTH = 100


def page() -> str:
    """Return a section for each public name of the package, functions before classes."""
    named = [(name, getattr(longrank, name)) for name in longrank.__all__]
    functions = [(name, entry) for name, entry in named if not inspect.isclass(entry)]
    classes = [(name, entry) for name, entry in named if inspect.isclass(entry)]
    parts = [
        "# Python reference\n\nMade from the code by `python docs/generate.py`. "
        "[Python functions](python.md) shows their use.\n"
    ]
    parts += ["\n## Functions\n", *(_entry(f"longrank.{name}", entry) for name, entry in functions)]
    parts += ["\n## Classes\n", *(_class(name, entry) for name, entry in classes)]
    return "".join(parts)


def _class(name: str, entry: type) -> str:
    methods = [
        (method, getattr(entry, method))
        for method in vars(entry)
        if not method.startswith("_") and callable(getattr(entry, method)) and inspect.getdoc(getattr(entry, method))
    ]
    return _entry(f"longrank.{name}", entry) + "".join(_entry(f"{name}.{method}", one, 4) for method, one in methods)


def _entry(name: str, entry: Any, level: int = 3) -> str:
    text = _markdown(inspect.getdoc(entry) or "")
    return f"\n{'#' * level} {name}\n\n{_signature(name, entry)}{text}\n"


def _signature(name: str, entry: Any) -> str:
    """Return the signature in a code block: a parameter a line if it is long."""
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return ""
    parameters = [_parameter(one) for one in signature.parameters.values() if one.name not in ("self", "cls")]
    if any(one.kind is one.KEYWORD_ONLY for one in signature.parameters.values()) and not any(
        one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()
    ):
        first = next(n for n, one in enumerate(_own(signature)) if one.kind is one.KEYWORD_ONLY)
        parameters.insert(first, "*")
    returned = signature.return_annotation
    after = f" -> {_annotation(returned)}" if returned is not inspect.Signature.empty else ""
    line = f"{name}({', '.join(parameters)}){after}"
    if len(line) > _WIDTH:
        line = f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + f"){after}"
    return f"```python\n{line}\n```\n\n"


def _own(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [one for one in signature.parameters.values() if one.name not in ("self", "cls")]


def _parameter(one: inspect.Parameter) -> str:
    star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    text = f"{star}{one.name}"
    if one.annotation is not one.empty:
        text += f": {_annotation(one.annotation)}"
    if one.default is not one.empty:
        default = repr(one.default)
        text += f" = {default if '<' not in default else '...'}"
    return text


def _annotation(annotation: Any) -> str:
    annotation = getattr(annotation, "__forward_arg__", annotation)  # of a named tuple, before Python 3.14
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+([A-Z])", r"\1", text)


def _markdown(docstring: str) -> str:
    """Return a docstring as Markdown: its sections as lists, its examples as code."""
    parts = []
    for title, lines in _sections(docstring.replace("``", "`").splitlines()):
        if title in ("Example", "Examples"):
            parts.append(f"**{title}**\n\n```python\n" + _code(lines) + "\n```\n")
        elif title in ("Args", "Attributes", "Raises"):
            parts.append(f"**{'Parameters' if title == 'Args' else title}**\n\n" + "".join(_items(_dedented(lines))))
        elif title:
            parts.append(f"**{title}** " + " ".join(line.strip() for line in lines if line.strip()) + "\n")
        else:
            parts.append("\n".join(lines).strip() + "\n")
    return "\n".join(part for part in parts if part.strip())


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    title, held = "", []
    for line in lines:
        found = re.fullmatch(r"(\w+):", line)
        if found and found[1] in _SECTIONS:
            yield title, held
            title, held = found[1], []
        elif title and line and not line.startswith(" "):  # prose after a section
            yield title, held
            title, held = "", [line]
        else:
            held.append(line)
    yield title, held


def _code(lines: list[str]) -> str:
    return re.sub(r" *# doctest: .*", "", "\n".join(_dedented(lines)).strip())


def _dedented(lines: list[str]) -> list[str]:
    return inspect.cleandoc("\n" + "\n".join(lines)).splitlines()


def _items(lines: list[str]) -> Iterator[str]:
    """Yield a list item for each `name: text`; deeper lines continue it."""
    item = ""
    for line in lines:
        if line.startswith(" ") or not line:
            item += f" {line.strip()}" if line else ""
            continue
        if item:
            yield f"- {item}\n"
        name, colon, text = line.partition(": ")
        item = f"`{name}`: {text}" if colon and re.fullmatch(r"[\w*, .]+", name) else line
    if item:
        yield f"- {item}\n"
