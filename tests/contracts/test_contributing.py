"""The steps of CONTRIBUTING.md, followed in a copy of the source tree, pass the contract tests there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_WRITE = re.compile(r"Write `(src/[^`]+)`[^\n]*:\n\n +```\w+\n(.*?)\n +```", re.DOTALL)
_ADD = re.compile(r"In `(src/[^`]+)`,[^\n]* add a line to `(\w+)`:\n\n +```python\n(.*?)\n +```", re.DOTALL)
_FUTURE = "from __future__ import annotations\n"
_RECIPE, _PLANS = (f"tests/unit/reproduction/test_reproduction_{name}.py" for name in ("recipe", "plans"))


class Entry(NamedTuple):
    """A section of the page: its heading, the name of its entry, and the tests that must take the name up."""

    heading: str
    name: str
    tests: tuple[str, ...]


ENTRIES = (
    Entry("An aggregator", "medianp", ("tests/contracts/test_aggregators.py",)),
    Entry("A passage scorer", "overlap", ("tests/contracts/test_scorers.py",)),
    Entry("A first stage", "coordination", ("tests/contracts/test_retrievers.py",)),
    Entry("A segmenter", "paragraphs", ("tests/contracts/test_segmenters.py",)),
    Entry(
        "The recipes of a paper",
        "sixth",
        (_RECIPE,) if find_spec("torch") is None else (_RECIPE, _PLANS),
    ),
)


def follow(section: str, root: Path) -> None:
    """Write the files of a section, and add its line and its import."""
    for path, code in _WRITE.findall(section):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(dedent(f"{code}\n"), encoding="utf-8")
    ((path, registry, code),) = _ADD.findall(section)
    imports, line = re.fullmatch(r"((?:from [^\n]+\n\n)?)([^\n]+)", dedent(code)).groups()  # type: ignore[union-attr]
    text = (root / path).read_text(encoding="utf-8")
    text, n = re.subn(rf"^({registry}\b.* = \{{\n)", rf"\1    {line}\n", text, flags=re.MULTILINE)
    assert (n, text.count(_FUTURE)) == (1, 1)
    (root / path).write_text(text.replace(_FUTURE, f"{_FUTURE}\n{imports}"), encoding="utf-8")


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The tests that pass in a copy after all steps."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", root / "src")  # with numba's compiled functions
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "cli", "docs", "page"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for entry in ENTRIES:
        follow(PAGE.partition(f"### {entry.heading}\n")[2].partition("\n##")[0], root)
    tests, names = [path for entry in ENTRIES for path in entry.tests], [entry.name for entry in ENTRIES]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-k", " or ".join(names), *tests],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTEST_XDIST_WORKER": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    return set(re.findall(r"^PASSED (.+)$", ran.stdout, re.MULTILINE))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_one_entry_and_one_line_pass_the_contract_tests(entry: Entry, passed: set[str]) -> None:
    for path in entry.tests:
        own = [name for name in passed if name.startswith(path) and entry.name in name]
        assert len(own) >= (1 if "reproduction" in path else 3), path
