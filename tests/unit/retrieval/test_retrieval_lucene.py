"""The Lucene retriever over a stand-in for pyserini; tests/parity/test_lucene_engine.py has the real one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError, MissingExtra
from longrank.retrieval import anserini as engine
from longrank.retrieval import retrieve_all
from longrank.retrieval.lucene import LuceneRetriever
from longrank.retrieval.presets import PRESETS, FirstStage
from longrank.types import Notes, Query

PYCLASS = """
import threading

class Hit:
    def __init__(self, docid, score):
        self.docid, self.score = docid, score

class JavaList(list):
    def size(self): return len(self)
    def remove(self, place): del self[place]

class Searcher:
    def __init__(self, path):
        if path.endswith("broken"):
            from jnius import JavaException
            raise JavaException("no segments* file found")
        self.calls, self.cascade, self.reader = [], self, self
        self.threads = {threading.get_ident()}
        self.rerankers = JavaList(["rounding"])
        self.vectors = not path.endswith("bare")
    def getTermVectors(self, number): return self.vectors
    def set_bm25(self, *values): self.calls.append(("bm25", *values))
    def set_qld(self, *values): self.calls.append(("qld", *values))
    def set_rm3(self, *values):
        self.calls.append(("rm3", *values))
        self.rerankers = JavaList(["rm3", "rounding"])
    def set_rocchio(self, *values):
        self.calls.append(("rocchio", *values))
        self.rerankers = JavaList(["rocchio", "rounding"])
    def search(self, text, depth):
        self.calls.append((text, depth))
        self.threads.add(threading.get_ident())
        if text == "long":
            from jnius import JavaException
            raise JavaException("maxClauseCount is set to 1024")
        return [Hit(*hit) for hit in [("b", 2.0), ("a", 1.0), ("c", 1.0), ("d", 1.0), ("e", 0.5)]][:depth]

def autoclass(name):
    return {"io.anserini.search.SimpleSearcher": Searcher}[name]
"""
JNIUS = """
class JavaException(Exception):
    def __init__(self, said):
        super().__init__(f"JVM exception occurred: {said}\\n  at somewhere")
        self.innermessage = said
"""


class Pyserini:
    """Writes a package that can be imported here and in a child process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyserini").mkdir()
        (folder / "pyserini" / "__init__.py").touch()
        (folder / "jnius.py").write_text(JNIUS)
        self.start_by(PYCLASS)

    def start_by(self, code: str) -> None:
        (self.folder / "pyserini" / "pyclass.py").write_text(code)


@pytest.fixture
def pyserini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pyserini]:
    package = tmp_path / "site"
    package.mkdir()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pyserini", "jnius")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.setenv("PYTHONPATH", str(package), prepend=os.pathsep)
    monkeypatch.setattr(engine, "version", lambda name: "0.22.1")
    engine.anserini.cache_clear()
    yield Pyserini(package)
    engine.anserini.cache_clear()
    for name in ("pyserini", "pyserini.pyclass", "jnius"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def calls(retriever: LuceneRetriever) -> list[Any]:
    return retriever._searcher.calls  # type: ignore[no-any-return]


def test_without_pyserini_the_line_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(engine, "version", nothing)
    engine.anserini.cache_clear()
    with pytest.raises(MissingExtra, match=r"a Lucene index needs the extra 'lucene'; pip install '\.\[lucene\]'"):
        LuceneRetriever(folder)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("raise Exception('Unable to find javac')", "no Java was found; set JAVA_HOME: pyserini 0.22.1 takes Java 11"),
        ("raise RuntimeError('Unable to find libjvm.so')", "no Java was found"),
        (
            "raise Exception('java.lang.UnsupportedClassVersionError: compiled by a more recent version')",
            "this Java is too old for pyserini 0.22.1",
        ),
        (
            "import os; os.write(2, b'FindException: Module jdk.incubator.vector not found'); os._exit(1)",
            "this Java lacks jdk.incubator.vector, which pyserini 0.22.1 needs",
        ),
        ("raise Exception('No matching jar file found')", r"0\.22\.1 does not start \(got 'Exception: No matching jar"),
        ("import os; os._exit(7)", r"does not start \(got 'exit code 7'\)"),
        ("def autoclass(name): raise LookupError(name)", "LookupError: io.anserini.search.SimpleSearcher"),
    ],
)
def test_a_java_that_does_not_fit_is_told_in_a_line(pyserini: Pyserini, folder: Path, start: str, said: str) -> None:
    pyserini.start_by(start)
    with pytest.raises(InputError, match=said):
        LuceneRetriever(folder)


def test_java_is_started_once(pyserini: Pyserini, folder: Path) -> None:
    LuceneRetriever(folder)
    pyserini.start_by("raise Exception")
    LuceneRetriever(folder)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (None, [("bm25", 0.9, 0.4)]),
        (PRESETS["bm25-msmarco-doc"], [("bm25", 3.44, 0.87)]),
        (FirstStage("ql", {"mu": 200}), [("qld", 200.0)]),
        (PRESETS["bm25-lucene+rm3"], [("bm25", 1.2, 0.75), ("rm3", 10, 10, 0.5)]),
        (FirstStage(feedback="rm3", options={"fb_docs": 3}), [("bm25", 0.9, 0.4), ("rm3", 10, 3, 0.5)]),
        (
            FirstStage(feedback="rocchio", options={"fb_docs": 4, "beta": 0.5}),
            [("bm25", 0.9, 0.4), ("rocchio", None, 10, 4, 10, 4, 1.0, 0.5, 0.0, False, False)],
        ),
    ],
)
def test_settings_reach_anserini(
    pyserini: Pyserini, folder: Path, stage: FirstStage | None, expected: list[Any]
) -> None:
    assert calls(LuceneRetriever(folder, stage)) == expected


@pytest.mark.parametrize(("feedback", "left"), [("none", []), ("rm3", ["rm3"]), ("rocchio", ["rocchio"])])
def test_only_the_rounding_of_scores_is_left_out(
    pyserini: Pyserini, folder: Path, feedback: str, left: list[str]
) -> None:
    assert LuceneRetriever(folder, FirstStage(feedback=feedback))._searcher.rerankers == left


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (PRESETS["bm25-anserini+axiomatic"], "no such feedback .*'axiomatic'.*longrank index builds"),
        (PRESETS["bm25base_prf"], "no such feedback .*'bm25prf'"),
        (FirstStage(similarity="tfidf"), "no such similarity"),
        (FirstStage(doc_lengths="exact"), "has rounded lengths only"),
        (FirstStage(feedback="rm3", options={"gamma": 1}), "no such option of rm3 .*'gamma'"),
        (FirstStage(feedback="rm3", options={"fb_docs": 0}), "fb_docs"),
    ],
)
def test_what_pyserini_does_not_offer_is_refused_before_java_starts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stage: FirstStage, said: str
) -> None:
    monkeypatch.setattr("longrank.retrieval.lucene.anserini", lambda: pytest.fail("started"))
    with pytest.raises(InputError, match=said):
        LuceneRetriever(folder, stage)


def test_ties_are_ordered_by_doc_id_descending(pyserini: Pyserini, folder: Path) -> None:
    found = LuceneRetriever(folder).retrieve(Query("q", "x"), 10)
    assert [(row.query_id, row.doc_id, row.score) for row in found] == [
        *(("q", "b", 2.0), ("q", "d", 1.0), ("q", "c", 1.0), ("q", "a", 1.0), ("q", "e", 0.5))
    ]


@pytest.mark.parametrize(
    ("k", "kept", "ties"), [(1, "b", 0), (2, "ba", 1), (3, "bca", 1), (4, "bdca", 0), (5, "bdcae", 0)]
)
def test_a_tie_at_the_cutoff_is_lucenes_choice_and_counted(
    pyserini: Pyserini, folder: Path, k: int, kept: str, ties: int
) -> None:
    notes = Notes()
    found = LuceneRetriever(folder, notes=notes).retrieve(Query("q", "x"), k)
    assert "".join(row.doc_id for row in found) == kept
    assert notes["rankings that end in a tie, of which Lucene chose the lowest doc_ids"] == ties


def test_remarks_go_where_they_are_wanted(pyserini: Pyserini, folder: Path) -> None:
    notes, other = Notes(), Notes()
    LuceneRetriever(folder, notes=notes).noting(other).retrieve(Query("q", "x"), 2)
    assert (notes.lines(), len(other.lines())) == ([], 1)


def test_one_thread_makes_all_calls_since_several_would_crash_the_bridge_to_java(
    pyserini: Pyserini, folder: Path
) -> None:
    retriever = LuceneRetriever(folder)
    found = list(retrieve_all(retriever, [Query(f"q{i}", "x") for i in range(40)], 2, threads=4))
    assert [[row.query_id for row in ranking.rows()] for ranking in found] == [[f"q{i}"] * 2 for i in range(40)]
    assert len(retriever._searcher.threads) == 1
    assert retriever.notes["rankings that end in a tie, of which Lucene chose the lowest doc_ids"] == 40


def test_how_many_are_wanted_does_not_change_what_rocchio_learns_from(pyserini: Pyserini, folder: Path) -> None:
    retriever = LuceneRetriever(folder, FirstStage(feedback="rocchio", options={"fb_docs": 4}))
    assert len(retriever.retrieve(Query("q", "x"), 1)) == 1
    assert calls(retriever)[-1] == ("x", 4)


def test_half_a_surrogate_pair_is_replaced_since_java_takes_none(pyserini: Pyserini, folder: Path) -> None:
    retriever = LuceneRetriever(folder)
    retriever.retrieve(Query("q", "a\ud83d \U0001f600"), 1)
    assert calls(retriever)[-1] == ("a\ufffd \U0001f600", 2)


def test_what_lucene_refuses_is_one_line(pyserini: Pyserini, tmp_path: Path) -> None:
    for name in ("index", "broken", "bare"):
        (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"broken: Lucene refuses \(got 'no segments\* file found'\)"):
        LuceneRetriever(tmp_path / "broken")
    with pytest.raises(InputError, match="bare: has no term vectors, which rm3 needs; build it with --storeDocvectors"):
        LuceneRetriever(tmp_path / "bare", FirstStage(feedback="rm3"))
    assert LuceneRetriever(tmp_path / "bare").retrieve(Query("q", "x"), 1)
    with pytest.raises(InputError, match=r"index: query 'q7': Lucene refuses \(got 'maxClauseCount is set to 1024'\)"):
        LuceneRetriever(tmp_path / "index").retrieve(Query("q7", "long"), 1)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        LuceneRetriever(tmp_path / "nowhere")


def test_k_must_be_positive(pyserini: Pyserini, folder: Path) -> None:
    with pytest.raises(InputError, match="k must be 1 or more"):
        LuceneRetriever(folder).retrieve(Query("q", "x"), 0)
