"""Wording of docstrings, help, messages and pages: the patterns that readers had to decode stay away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

QUESTION = re.compile(r"(What|Whether|Whose|Which|How|Where|Why|Of)\b")
"""First words that make a reader wait for the noun."""
RIDDLES = re.compile(r"\b(which|that|as) (is|are) said\b|\bis said so\b|\bas said\b|\b(is|are) meant\b", re.IGNORECASE)
"""Phrases that announce a message instead of showing it."""
MOST_WHATS = 1.0
"""Occurrences of "what" in 1,000 words of docstrings; admired projects have at most 0.6."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every string of a module that is not part of an f-string."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_docstrings_begin_with_a_verb_or_a_noun(path: Path) -> None:
    lines = [(line, text.splitlines()[0]) for line, text in docstrings(path)]
    assert [(line, first) for line, first in lines if QUESTION.match(first)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "src" / "longrank" / "cli").glob("*.py")), ids=name)
def test_help_texts_name_the_value(path: Path) -> None:
    assert [(line, text) for line, text in texts(path) if " " in text and QUESTION.match(text)] == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_text_announces_what_it_does_not_show(path: Path) -> None:
    assert [(line, text) for line, text in texts(path) if RIDDLES.search(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_show_what_they_speak_of(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert RIDDLES.findall(text) == []
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    assert [heading for heading in headings if QUESTION.match(heading) and not heading.endswith("?")] == []


def test_docstrings_seldom_say_what() -> None:
    words = [
        word.lower() for path in SOURCES for _, text in docstrings(path) for word in re.findall(r"[A-Za-z']+", text)
    ]
    assert 1000 * words.count("what") / len(words) <= MOST_WHATS
