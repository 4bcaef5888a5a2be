"""The site has every page once, and the tutorials print what they say."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_docs import PAGES, ROOT, blocks
from test_docs import clone as clone

from document_files import docx, paragraph, pdf_bytes
from longrank.cli.main import main

TUTORIALS = ROOT / "docs" / "tutorials"
exact = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="printed scores are those of one Python version")


def in_nav(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for place in entry.values():
            if isinstance(place, str):
                yield place
            else:
                yield from in_nav(place)


def test_every_page_stands_once_in_the_navigation() -> None:
    nav = list(in_nav(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    pages = [str(page.relative_to(ROOT)) for page in PAGES if page.parent.name != "decisions"]
    decisions = "docs/decisions/README.md"  # lists the others
    assert sorted(nav) == sorted([*pages, decisions, "deploy/README.md"])


@exact
def test_the_first_experiment_prints_what_it_says(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = TUTORIALS / "first-experiment.md"
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    printed = {}
    for line in lines:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0, line
        printed[line.split()[1]] = capsys.readouterr().out
    assert list(printed) == ["index", "retrieve", "rerank", "aggregate", "evaluate", "weigh"]
    assert printed["evaluate"].strip() == blocks(page, "text")[0].strip()


def papers(folder: Path) -> None:
    """Write the folder of the tutorial of PDF files."""
    folder.mkdir()
    names = ("doors", "cabin", "brake", "cables")
    lines = [[f"Part {n} of the {name}: look at bolt {n} and tighten it." for n in range(40)] for name in names]
    brake = ["The emergency brake of the elevator holds the cabin if", "all cables break. Test the brake twice a year."]
    (folder / "elevator.pdf").write_bytes(pdf_bytes([*lines[:2], brake + lines[2], lines[3]], title="Elevator manual"))
    (folder / "crane.pdf").write_bytes(pdf_bytes([lines[3], lines[0]], title="Crane manual"))
    (folder / "cut.pdf").write_bytes(b"%PDF-1.4 and no more")
    docx(folder / "minutes.docx", paragraph("The board met on Monday."))


@exact
def test_the_tutorial_of_a_folder_of_pdfs_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra in ("pypdfium2", "defusedxml"):
        pytest.importorskip(extra, reason="needs the extra files")
    monkeypatch.chdir(tmp_path)
    papers(tmp_path / "papers")
    page = TUTORIALS / "folder-of-pdfs.md"
    for block in blocks(page, "sh"):
        capsys.readouterr()
        assert main(shlex.split(block)[1:]) == 0, block
    report, found = blocks(page, "text")
    assert (tmp_path / "skipped.tsv").read_text() == report
    assert capsys.readouterr().out.strip() == found.strip()


@exact
def test_the_tutorial_of_rag_prints_what_it_says(clone: Path) -> None:
    page, names = TUTORIALS / "rag.md", dict[str, Any]()
    for block, expected in zip(blocks(page, "python"), blocks(page, "text"), strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "rag.md", "exec"), names)
        assert printed.getvalue() == expected
