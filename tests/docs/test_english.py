"""Wording of docstrings, help, messages and pages: the patterns that readers had to decode stay away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

QUESTION = re.compile(r"(What|Whether|Whose|Which|How|Where|Why|Of)\b")
"""First words that make a reader wait for the noun."""
RIDDLES = re.compile(r"\b(which|that|as) (is|are) said\b|\bis said so\b|\bas said\b|\b(is|are) meant\b", re.IGNORECASE)
"""Phrases that announce a message instead of showing it."""
MOST_WHATS = 1.0
"""Occurrences of "what" in 1,000 words of docstrings; admired projects have at most 0.6."""


Place = tuple[str, int, str]
"""Path below the root, line and text."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(paths: Iterable[Path]) -> Iterator[Place]:
    for path in paths:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield name(path), getattr(node, "lineno", 1), text


def texts(paths: Iterable[Path]) -> Iterator[Place]:
    """Yield every string of modules that is not part of an f-string."""
    for path in paths:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield name(path), node.lineno, node.value


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# One test for all files, and not a test for each: 1,500 reports cost more than the checks.
def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    lines = [(path, line, text.splitlines()[0]) for path, line, text in docstrings(SOURCES)]
    assert len(lines) > len(SOURCES) / 2
    assert [place for place in lines if QUESTION.match(place[-1])] == []


def test_help_texts_name_the_value() -> None:
    commands = sorted((ROOT / "src" / "longrank" / "cli").glob("*.py"))
    assert len(commands) > 20
    assert [place for place in texts(commands) if " " in place[-1] and QUESTION.match(place[-1])] == []


def test_no_text_announces_what_it_does_not_show() -> None:
    assert [place for place in texts(SOURCES) if RIDDLES.search(place[-1])] == []


def test_pages_show_what_they_speak_of() -> None:
    pages = {name(path): path.read_text(encoding="utf-8") for path in PAGES}
    prose = {path: re.sub(r"```.*?```", "", text, flags=re.DOTALL) for path, text in pages.items()}
    assert [(path, match[0]) for path, text in prose.items() for match in RIDDLES.finditer(text)] == []
    headings = [(path, line) for path, text in prose.items() for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
    assert [place for place in headings if QUESTION.match(place[-1]) and not place[-1].endswith("?")] == []


def test_docstrings_seldom_say_what() -> None:
    words = [word.lower() for *_, text in docstrings(SOURCES) for word in re.findall(r"[A-Za-z']+", text)]
    assert 1000 * words.count("what") / len(words) <= MOST_WHATS
