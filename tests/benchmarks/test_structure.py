"""The structure that benchmarks/structure.py counts: imports hold no cycle, also inside functions and for types."""

from __future__ import annotations

from pathlib import Path

from benchmarks.structure import PACKAGE, imported, longest_chain, modules


def test_imports_hold_no_cycle() -> None:
    known = modules(PACKAGE)
    chain = longest_chain({name: imported(path, known) for name, path in known.items()})  # RecursionError: a cycle
    assert len(chain) == len(set(chain)) > 1


def test_the_longest_chain_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from p.b import x\n")
    (package / "b.py").write_text("import p.c\n")
    (package / "c.py").write_text("x = 1\n")
    known = modules(package)
    chain = longest_chain({name: imported(path, known) for name, path in known.items()})
    assert chain == ["p.a", "p.b", "p.c"]
