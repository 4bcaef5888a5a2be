"""What the documentation says is run, and what is made from the code is current."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from longrank.cli.main import COMMANDS, build_app, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds what the README's commands need."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="printed scores are those of one Python version")
def test_the_python_of_the_readme_prints_what_the_readme_says(clone: Path) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(blocks(ROOT / "README.md", "python")[0], "README.md", "exec"), {})
    assert printed.getvalue() == blocks(ROOT / "README.md", "text")[0]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="printed scores are those of one Python version")
def test_the_search_of_the_passages_page_prints_what_the_page_says(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "passages.md"
    command, *_ = [
        line for block in blocks(page, "sh") for line in block.splitlines() if "search examples.index" in line
    ]
    assert main(["index", "examples/docs.jsonl", "-o", "examples.index"]) == 0
    capsys.readouterr()
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.rstrip() == blocks(page, "text")[0].rstrip()


@pytest.mark.neural
def test_the_shell_lines_of_the_readme_run(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = next(block for block in blocks(ROOT / "README.md", "sh") if "longrank retrieve" in block).splitlines()
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line
    assert "mixed" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
    assert not re.search(r"^(<<<<<<<|>>>>>>>) ", page.read_text(encoding="utf-8"), re.MULTILINE)  # of a merge


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_parts_of_pages_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors(page.parent / target if target else page)
    ] == []


def command_lines(page: Path) -> list[str]:
    """Return the arguments of every `longrank` command line in the shell blocks and indented blocks of a page."""
    unfenced = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    indented = re.findall(r"^    longrank .*(?:(?<=\\)\n.*)*", unfenced, re.MULTILINE)
    lines = "\n".join([*blocks(page, "sh"), *indented]).replace("\\\n", " ").splitlines()
    prefix = re.compile(r"\s*(?:[A-Z_]+=\S+ )*(?:torchrun .*? -m )?longrank (\S.*)")
    found = [match[1] for match in map(prefix.match, lines) if match is not None]
    return [re.split(r" [|>&] ", line)[0] for line in found if not line.startswith("-")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_the_pages_have_the_options_and_arguments_that_exist(page: Path) -> None:
    for line in command_lines(page):
        words = shlex.split(line, comments=True)
        assert words[0] in COMMANDS, line
        command: Any = typer.main.get_command(build_app([words[0]]))
        context = command.make_context("longrank", words)  # raises for an unknown option or a missing argument
        while hasattr(command, "commands"):
            name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(name, rest, parent=context)


def test_generated_pages_are_current() -> None:
    pytest.importorskip("torch", reason="the options of networks are read off torch modules: needs the extra neural")
    # in a process of its own: the width of help pages is set through the environment
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_command_has_help_that_teaches() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    page = generate.cli_page()
    for name in COMMANDS:
        assert re.search(rf"^## longrank {name}( [a-z]+)?$", page, re.MULTILINE)


def test_every_decision_is_listed() -> None:
    decisions = ROOT / "docs" / "decisions"
    listed = re.findall(r"^\| \[[a-z0-9-]+\]\(([a-z0-9-]+\.md)\)", (decisions / "README.md").read_text(), re.MULTILINE)
    assert sorted([*listed, "README.md"]) == sorted(page.name for page in decisions.glob("*.md"))


def test_the_first_lines_say_how_much_of_the_papers_is_reproduced() -> None:
    from longrank.reproduction.recipe_files import load_recipe, recipe_names

    recipes = [load_recipe(name)[0] for name in recipe_names()]
    with_program = sum(recipe.program is not None for recipe in recipes)
    rows = [row for recipe in recipes for row in recipe.expected]
    lost = sum(row.expected == "not recovered" for row in rows)
    counted = f"{with_program} of {len(recipes)}"
    page = " ".join((ROOT / "docs" / "reproduction.md").read_text().split("```")[0].split())
    assert f"{counted} recipes have a program" in page
    assert f"the figures of {lost} of {len(rows)} rows are *not recovered*" in page
    assert "none of the papers' own collections could be read here" in page
    readme = (ROOT / "README.md").read_text()
    assert f"{counted} tables and figures" in readme
    assert "None of the papers' own collections could be read here" in readme.split("![")[0]


def test_each_paper_has_a_table_of_published_and_obtained_figures() -> None:
    sections = (ROOT / "docs" / "recipes.md").read_text().split("\n## ")[1:]
    tables = {section.split("\n")[0]: section.split("\n")[2] for section in sections}
    for paper in ("SANTOS", "BIRCH", "PARADE", "MAXP", "H2OLOO"):
        assert tables[paper] == "|  | row and measure | published | ours | ours on | command |"
