"""Documents from the docstrings of Python's standard library: one long document per module.

A document has the docstrings of the module, its classes and its functions, in source order, each below the line that
names it.

    A multi-producer, multi-consumer queue.                  <- the module's docstring

    class PriorityQueue(Queue)                               <- qualified name and signature
    Variant of Queue that retrieves open entries in ...      <- its docstring

    Queue.put(item, block=True, timeout=None)
    ...

Sources are parsed with `ast`, never imported, so no code of theirs runs. Names that begin with an underscore are left
out, except ``__init__``.
"""

from __future__ import annotations

import ast
import re
import sysconfig
import tokenize
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from longrank.types import Document, Notes

MISSING = "demo modules that this Python does not have, dropped"

_MOVED = {"warnings": "_py_warnings.py"}  # since Python 3.14, whose warnings.py only imports what is there

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SELF = re.compile(r"^(self|cls)(, |$)")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n\s*\n")


def module_names() -> tuple[str, ...]:
    """Return the module names in ``modules.txt``."""
    text = (files("longrank.demo") / "modules.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def documents(notes: Notes, names: Sequence[str] | None = None, root: Path | None = None) -> list[Document]:
    """Return one document per module, in the order of `names`; ``doc_id`` is the module's name.

    Args:
        notes: counts missing modules (a distribution may leave some out).
        names: module names; default: those of the collection.
        root: folder of the standard library; default: this Python's.
    """
    root = Path(sysconfig.get_path("stdlib")) if root is None else root
    found = []
    for name in module_names() if names is None else names:
        path = source_file(name, root)
        if path is None:
            notes.add(MISSING, name)
        else:
            found.append(document(name, path))
    return found


def source_file(name: str, root: Path) -> Path | None:
    """Return the source file of a module, ``name.py`` or ``name/__init__.py``; None if there is none."""
    place = root.joinpath(*name.split("."))
    choices = (root / _MOVED.get(name, ""), place.with_name(f"{place.name}.py"), place / "__init__.py")
    return next((path for path in choices if path.is_file()), None)


def document(name: str, path: Path) -> Document:
    """Return the document of a source file; its title is the name and the first sentence."""
    with tokenize.open(path) as stream:  # decodes as Python does
        tree = ast.parse(stream.read())
    about = (ast.get_docstring(tree) or "").strip()
    sections = [about, *_sections(tree.body, "")]
    first = " ".join(_SENTENCE_END.split(about, maxsplit=1)[0].split())
    return Document(name, f"{name}: {first}" if first else name, "\n\n".join(filter(None, sections)))


def _sections(body: Sequence[ast.stmt], prefix: str) -> Iterator[str]:
    """Yield the heading and docstring of every public class and function in `body`, in source order."""
    for node in body:
        if isinstance(node, ast.ClassDef | _Function):
            if _public(node.name):
                yield from _definition(node, prefix)
        elif isinstance(node, ast.If | ast.Try):  # definitions for one platform, or with a fallback
            yield from _sections(_branches(node), prefix)


def _public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def _branches(node: ast.If | ast.Try) -> list[ast.stmt]:
    if isinstance(node, ast.If):
        return node.body + node.orelse
    return node.body + [part for handler in node.handlers for part in handler.body] + node.orelse + node.finalbody


def _definition(node: ast.ClassDef | _Function, prefix: str) -> Iterator[str]:
    docstring = (ast.get_docstring(node) or "").strip()
    if docstring:
        yield f"{_heading(node, prefix)}\n{docstring}"
    if isinstance(node, ast.ClassDef):
        yield from _sections(node.body, f"{prefix}{node.name}.")


def _heading(node: ast.ClassDef | _Function, prefix: str) -> str:
    """Return ``class Name(Base)`` or ``Class.method(arguments)``."""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"class {prefix}{node.name}({bases})" if bases else f"class {prefix}{node.name}"
    if any(ast.unparse(decorator).endswith("property") for decorator in node.decorator_list):
        return f"{prefix}{node.name}"
    return f"{prefix}{node.name}({_SELF.sub('', ast.unparse(node.args))})"
