"""The structure that benchmarks/structure.py counts: imports hold no cycle, also inside functions and for types."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def chain_of(package: Path) -> list[str]:
    structure = import_module("benchmarks.structure")
    known = structure.modules(package)
    chain: list[str] = structure.longest_chain({name: structure.imported(known[name], known) for name in known})
    return chain


def test_imports_hold_no_cycle() -> None:
    chain = chain_of(import_module("benchmarks.structure").PACKAGE)  # RecursionError: a cycle
    assert len(chain) == len(set(chain)) > 1


def test_the_longest_chain_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from p.b import x\n")
    (package / "b.py").write_text("import p.c\n")
    (package / "c.py").write_text("x = 1\n")
    assert chain_of(package) == ["p.a", "p.b", "p.c"]
