"""The documents of the demo: docstrings of the standard library, read and never imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from longrank.demo.stdlib import MISSING, document, documents, module_names, source_file
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes

SOURCE = '''# -*- coding: latin-1 -*-
"""Keep things.

More about it. Not the title.
"""
import os

class Shelf(dict):
    """A place to keep things."""

    def __init__(self, width=3, *, colour: str = "red"):
        """Build it."""

    def put(self, thing):
        """Put one thing.

        For example:
            indented
        """

    def undocumented(self):
        def inner():
            """Nobody sees this."""

    def _secret(self):
        """Nor this."""

    def __len__(self):
        """Nor this."""

    @property
    def full(self):
        """Whether it is full."""

    @staticmethod
    def of(a, b):
        """Two on a shelf."""

    class Board:
        """A nested class."""

if os.name == "nt":
    async def carry(thing, /):
        """Carry on one system."""
else:
    try:
        pass
    except ImportError:
        def carry(thing):
            """Carry on another: caf\xe9."""
'''

TEXT = """Keep things.

More about it. Not the title.

class Shelf(dict)
A place to keep things.

Shelf.__init__(width=3, *, colour: str='red')
Build it.

Shelf.put(thing)
Put one thing.

For example:
    indented

Shelf.full
Whether it is full.

Shelf.of(a, b)
Two on a shelf.

class Shelf.Board
A nested class.

carry(thing, /)
Carry on one system.

carry(thing)
Carry on another: caf\xe9."""


@pytest.fixture(scope="module")
def shipped() -> list[Document]:
    notes = Notes()
    found = documents(notes)
    assert not notes.lines()  # the list names only what every full installation has
    return found


def write(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source.encode("latin-1"))
    return path


def test_a_document_is_all_public_docstrings_in_source_order_under_their_signatures(tmp_path: Path) -> None:
    found = document("shelves", write(tmp_path / "shelves.py", SOURCE))
    assert found == Document("shelves", "shelves: Keep things.", TEXT)


def test_a_module_without_docstring_is_titled_by_its_name(tmp_path: Path) -> None:
    found = document("bare", write(tmp_path / "bare.py", 'def f():\n    """Do."""\n'))
    assert (found.title, found.text) == ("bare", "f()\nDo.")


def test_modules_submodules_and_packages_are_found_and_folders_without_init_are_not(tmp_path: Path) -> None:
    write(tmp_path / "one.py", "")
    write(tmp_path / "pack" / "__init__.py", "")
    write(tmp_path / "pack" / "part.py", "")
    write(tmp_path / "folder" / "data.txt", "")
    assert source_file("one", tmp_path) == tmp_path / "one.py"
    assert source_file("pack", tmp_path) == tmp_path / "pack" / "__init__.py"
    assert source_file("pack.part", tmp_path) == tmp_path / "pack" / "part.py"
    assert source_file("folder", tmp_path) is None
    assert source_file("two", tmp_path) is None


def test_the_warnings_of_python_3_14_are_found_where_it_moved_them(tmp_path: Path) -> None:
    write(tmp_path / "warnings.py", "")
    assert source_file("warnings", tmp_path) == tmp_path / "warnings.py"
    write(tmp_path / "_py_warnings.py", "")
    assert source_file("warnings", tmp_path) == tmp_path / "_py_warnings.py"


def test_a_missing_module_is_dropped_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "one.py", '"""Text."""')
    notes = Notes()
    found = documents(notes, ["two", "one", "three"], tmp_path)
    assert [d.doc_id for d in found] == ["one"]
    assert notes.lines() == [f"{MISSING}: 2 (first: two)"]


def test_the_list_names_every_module_once_and_in_order() -> None:
    names = module_names()
    assert list(names) == sorted(set(names))
    assert len(names) > 100


def test_every_module_of_the_list_has_300_words_in_this_python(shipped: list[Document]) -> None:
    assert [d.doc_id for d in shipped] == list(module_names())
    assert {d.doc_id: len(d.text.split()) for d in shipped if len(d.text.split()) < 300} == {}


def test_all_windows_together_are_about_a_thousand(shipped: list[Document]) -> None:
    segmenter = make_segmenter("windows", {})
    total = sum(len(segmenter.segment(document).passages) for document in shipped)
    assert 900 <= total <= 1050


def test_reading_imports_none_of_the_modules() -> None:
    program = (
        "import sys\n"
        "from longrank.demo.stdlib import documents, module_names\n"
        "from longrank.types import Notes\n"
        "names = set(module_names())  # which imports some for itself\n"
        "before = set(sys.modules)\n"
        "assert len(documents(Notes())) > 100\n"
        "print(len(names - before) > 30, (set(sys.modules) - before) & names)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True set()\n"
