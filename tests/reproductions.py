"""Recipes that run in a blink, on the collection of tests/tunable.py, whose figures are known.

BM25 with b = .4 ranks the relevant document of a1 and a2 first, that of b1 and b2 second; with b = .6 all are first.
So their reciprocal ranks are .75 and 1, and by query they differ by 0, 0, .5 and .5.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import tunable
from longrank.cli.main import main
from longrank.reproduction.papers import PROGRAMS
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench

T_TEST = (
    0.1816901  # of 0, 0, .5, .5: t = sqrt(3), of which Student's distribution with 3 degrees has 1/2 - 1/pi outside
)

RECIPE = """
paper = "PARADE"
item = "Table 0"
about = "b, the default and a better one"
program = "tiny:table"
collection = "tiny"
measures = ["RR"]
quantities = ["queries"]

[significance]
compare_with = "b = .4"

[models]
encoder = "nobody/model"

[settings]
queries = 0
k = 1000
share = 0.5
name = "x"
train = { loop = { steps = 7 } }

[[expected]]
row = "b = .4"
values = { RR = 0.7501, queries = 4 }

[[expected]]
row = "b = .6"
values = { RR = 0.8 }
note = "a digit that is hard to read"

[[expected]]
row = "others' system"
source = "survey"
values = { RR = 0.9 }
reason = "quoted from elsewhere"

[[decision]]
about = "ties"
text = "Nothing is said of them."
choice = "by id"
"""


def table(bench: Workbench) -> Iterator[ObtainedRow]:
    """Two values of b."""
    first = bench.retrieve("first", "bm25-anserini", k=bench.settings["k"])
    yield bench.ranked("b = .4", first)
    yield bench.ranked("b = .6", bench.retrieve("better", "bm25-anserini", {"b": 0.6}, k=bench.settings["k"]))
    yield bench.measured("ours", lambda: {"queries": len(bench.queries.read_text().splitlines())})


def fails(bench: Workbench) -> Iterator[ObtainedRow]:
    """A command that fails after one that does not."""
    first = bench.retrieve("first", "bm25-anserini")
    yield bench.ranked("b = .4", first)
    bench.do("check", bench.folder / "nothing", output=bench.folder / "nothing")


def install(patch: pytest.MonkeyPatch) -> None:
    """Add these programs to those of the papers; draw nothing, which takes most of the time."""
    patch.setitem(PROGRAMS, "tiny:table", table)
    patch.setitem(PROGRAMS, "tiny:fails", fails)
    patch.setitem(sys.modules, "matplotlib", None)


def write_collection(folder: Path) -> Path:
    """Write the collection as a folder; return it."""
    folder.mkdir()
    docs = [{"doc_id": doc_id, "text": text} for doc_id, text in tunable.TEXTS.items()]
    queries = [{"query_id": query_id, "text": text} for query_id, text in tunable.QUERIES.items()]
    for name, rows in (("docs.jsonl", docs), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = [f"{q} 0 {doc_id} {grade}\n" for q, docs in tunable.QRELS.items() for doc_id, grade in docs.items()]
    (folder / "qrels.txt").write_text("".join(judged))
    return folder


def write_all(folder: Path) -> None:
    """Write the collection ``tiny`` and ``table.toml`` to a folder, and ``fails.toml``."""
    write_collection(folder / "tiny")
    (folder / "table.toml").write_text(RECIPE)
    (folder / "fails.toml").write_text(RECIPE.replace("tiny:table", "tiny:fails").replace("k = 1000", "other = 1"))


MATPLOTLIB = import_module("matplotlib") if find_spec("matplotlib") else None
"""Imported once, before it is hidden: a second copy would not know the parts that the first has imported."""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that holds what `write_all` writes; nothing is drawn, which takes most of the time."""
    install(monkeypatch)
    write_all(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``out`` of ``table.toml``, made once."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patched:
        install(patched)
        patched.chdir(folder)
        write_all(folder)
        assert main(["reproduce", "table.toml", "--collection", "tiny", "-o", "out"]) == 0
    return folder / "out"


@pytest.fixture
def done(workplace: Path, finished: Path) -> Path:
    """A working directory in which ``table.toml`` was obtained in ``out``."""
    shutil.copytree(finished, workplace / "out")
    return workplace
