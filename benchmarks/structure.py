"""Count the structure of the package: lines, rooms, the longest chain of imports, and the files of a training step.

    PYTHONPATH=tests python -m benchmarks.structure

For another checkout: PYTHONPATH=CHECKOUT/src:CHECKOUT/tests. The training step needs the extra ``neural``.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType

import longrank

PACKAGE = Path(longrank.__file__).parent
TRAINING = """
[network]
name = "parade-max"
[[loss]]
name = "pair-softmax"
[loop]
steps = 1
validate_every = 1
optimizer.learning_rate = 0.01
"""


def lines(folder: Path, ending: str) -> int:
    """Return the number of lines of all files below a folder with this ending."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob(f"*{ending}"))


def modules(package: Path) -> dict[str, Path]:
    """Return the file of each module of a package."""
    names = {path: path.relative_to(package.parent).with_suffix("").parts for path in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for path, parts in names.items()}


def imported(path: Path, known: Mapping[str, Path]) -> set[str]:
    """Return the modules of the package that a file imports: at its top, inside functions, and for its types."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & set(known)
            names.update(submodules or {node.module})
    return {name for name in names & set(known) if known[name] != path}


def longest_chain(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the longest chain of modules that import each other, outermost first; the imports hold no cycle."""

    @cache
    def below(name: str) -> tuple[str, ...]:
        return (name, *max((below(other) for other in graph[name]), key=len, default=()))

    return list(max(map(below, graph), key=len))


def training_step() -> tuple[set[str], set[tuple[str, str]]]:
    """Run ``longrank train`` for one step; return its files, and its (caller, called) pairs of files."""
    from longrank.cli.main import main
    from tiny_models import save_encoder
    from training_collections import SMALL, command, write_collection

    files: set[str] = set()
    edges: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_name == "<module>" or not (name := _file(frame)):
            return
        files.add(name)
        caller = next((other for other in map(_file, _callers(frame)) if other), name)
        if caller != name:
            edges.add((caller, name))

    with tempfile.TemporaryDirectory() as temporary:
        folder = write_collection(Path(temporary))
        save_encoder(folder / "encoder")
        (folder / "t.toml").write_text(TRAINING)
        sets = (*SMALL, f"network.model={folder / 'encoder'}")
        arguments = command(
            folder, str(folder / "t.toml"), folder / "o", "--make-folds", "3", "--fold", "s1", sets=sets
        )
        sys.setprofile(note)
        try:
            status = main(arguments)
        finally:
            sys.setprofile(None)
    if status:
        raise SystemExit(status)
    return files, edges


def _file(frame: FrameType) -> str:
    """Return the file of a function of the package, else an empty text."""
    path = frame.f_code.co_filename
    return path.removeprefix(f"{PACKAGE}/") if path.startswith(f"{PACKAGE}/") else ""


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def main() -> None:
    """Print the counts as JSON."""
    known = modules(PACKAGE)
    graph = {name: imported(path, known) for name, path in known.items()}
    files, edges = training_step()
    counts = {
        "python lines": lines(PACKAGE, ".py"),
        "python files": len(known),
        "toml lines": lines(PACKAGE, ".toml"),
        "lines of cli": lines(PACKAGE / "cli", ".py"),
        "rooms": sum(1 for path in PACKAGE.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"),
        "folders": len({path.parent for path in known.values()}),
        "edges between files": sum(map(len, graph.values())),
        "longest chain of imports": len(longest_chain(graph)),
        "files of a training of one step": len(files),
        "edges between the files of a training of one step": len(edges),
    }
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
