"""``longrank expand`` from the outside: predictions that an index takes, interruptions, mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.cli.main import main
from longrank.formats.expansions import read_expansions
from longrank.index import Index
from longrank.types import Notes
from tiny_language_models import save_seq2seq

pytestmark = pytest.mark.neural

DOCUMENTS = [
    {"doc_id": "d1", "title": "Fruit", "text": "The king of the river. " * 12},
    {"doc_id": "d2", "title": "Nothing", "text": ""},
    {"doc_id": "d3", "title": "Sweets", "text": "Money and the long war."},
]
OPTIONS = ["-n", "3", "--max-query-tokens", "8", "--device", "cpu"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = tmp_path_factory.mktemp("models")
    for name, family in (("t5", "T5"), ("bart", "Bart")):
        save_seq2seq(folder / name, family)
    save_encoder(folder / "bert")
    shutil.copytree(folder / "t5", folder / "bare", ignore=shutil.ignore_patterns("tokenizer*"))
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    Path("m").symlink_to(models)
    return tmp_path


def test_predictions_of_two_models_are_united_in_the_index(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("t5", "bart"):
        assert main(["expand", "docs.jsonl", f"m/{name}", "-o", f"{name}.jsonl", *OPTIONS]) == 0
        out, err = capsys.readouterr()
        assert out == "" and f"{name}.jsonl: " in err and "queries for 3 documents" in err
        assert "documents without text, for which nothing is predicted: 1 (first: document d2)" in err
        assert "passages cut at 48 tokens: 2 (first: document d1)" in err
    files = [Path("t5.jsonl"), Path("bart.jsonl")]
    lines = [list(read_expansions([file], Notes())) for file in files]
    for own in lines:
        assert [one.doc_id for one in own] == ["d1", "d2", "d3"]
        assert [len(one.queries) for one in own] == [6, 0, 3]  # d1 has two windows of ten sentences
    assert main(["index", "docs.jsonl", "-o", "index", "--expansions", "t5.jsonl", "--expansions", "bart.jsonl"]) == 0
    index = Index.open("index")
    analyzer = index.analyzer
    added = sum(len(analyzer(" ".join(one.queries))) for own in lines for one in own)
    assert added > 0
    assert index.total_terms == added + sum(len(analyzer(f"{one['title']} {one['text']}")) for one in DOCUMENTS)


def test_an_index_gives_the_file_of_its_documents_and_methods_differ(folder: Path) -> None:
    assert main(["index", "docs.jsonl", "-o", "index"]) == 0
    written = {}
    for name, source, more in (
        ("a", "docs.jsonl", []),
        ("b", "index", ["--k", "10", "--seed", "0", "--preset", "doct5query", "--method", "topk"]),
        ("c", "index", ["--seed", "1"]),
        ("d", "index", ["--method", "beam"]),
        ("e", "index", ["--preset", "whole"]),
        ("f", "index", ["--set", "title=false", "--set", "passages.options.length=5"]),
        ("g", "docs.jsonl", ["--fields", "text", "--set", "passages.options.length=5"]),
    ):
        assert main(["expand", source, "m/t5", "-o", name, *OPTIONS, *more]) == 0
        written[name] = Path(name).read_bytes()
    assert written["a"] == written["b"]
    assert written["f"] == written["g"]
    assert len(set(written.values())) == 5


def test_documents_in_memory_give_the_file_of_the_same_documents_in_a_file(folder: Path) -> None:
    documents = (longrank.Document(one["doc_id"], one.get("title", ""), one["text"]) for one in DOCUMENTS)
    options = {"n": 3, "max_query_tokens": 8, "device": "cpu"}
    expansion = longrank.expand(documents, "m/t5", "memory.jsonl", **options)
    assert longrank.expand("docs.jsonl", "m/t5", "file.jsonl", **options).n_queries == expansion.n_queries > 0
    assert Path("memory.jsonl").read_bytes() == Path("file.jsonl").read_bytes()


def test_interrupted_work_goes_on_to_the_same_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.expansion.predictor import QueryPredictor

    monkeypatch.setattr("longrank.expansion.expand._BLOCK", 1)
    once = ["expand", "docs.jsonl", "m/t5", *OPTIONS, "--batch", "1"]
    assert main([*once, "-o", "whole.jsonl"]) == 0
    said = capsys.readouterr().err.replace("whole.jsonl", "cut.jsonl")
    predict, calls = QueryPredictor.predict, []

    def interrupted(self: QueryPredictor, *args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return predict(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(QueryPredictor, "predict", interrupted)
        assert main([*once, "-o", "cut.jsonl"]) == 130
    assert "run the same command to go on" in capsys.readouterr().err
    assert Path("cut.jsonl.unfinished").exists() and not Path("cut.jsonl").exists()
    assert main([*once, "-o", "cut.jsonl", "--seed", "7"]) == 2
    assert "cut.jsonl.unfinished: was begun with other model: " in capsys.readouterr().err
    assert main([*once, "-o", "cut.jsonl"]) == 0
    assert Path("cut.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert capsys.readouterr().err == said
    assert not Path("cut.jsonl.unfinished").exists()


@pytest.mark.parametrize(
    ("source", "model", "options", "says"),
    [
        ("docs.jsonl", "m/bert", [], "is not a sequence-to-sequence model (got 'bert')"),
        ("docs.jsonl", "m/bare", [], "the model's tokenizer knows no words: its files are missing"),
        ("docs.jsonl", "./gone", [], "gone: no such model folder"),
        ("gone.jsonl", "m/t5", [], "gone.jsonl"),
        ("empty.jsonl", "m/t5", [], "empty.jsonl: holds no document"),
        ("docs.jsonl", "m/t5", ["--method", "nucleus"], "method must be one of topk, beam (got 'nucleus')"),
        ("docs.jsonl", "m/t5", ["--method", "beam", "--k", "5"], "--k is for method topk (got 5)"),
        ("docs.jsonl", "m/t5", ["--method", "beam", "--seed", "5"], "--seed is for method topk (got 5)"),
        ("docs.jsonl", "m/t5", ["--k", "0"], "k must be 1 or more (got 0)"),
        ("docs.jsonl", "m/t5", ["--max-query-tokens", "7"], "max_query_tokens must be 8 or more (got 7)"),
        ("index", "m/t5", ["--fields", "title"], "index: format and fields are for documents, not for an index"),
        ("docs.jsonl", "m/t5", ["-n", "0"], "n must be 1 or more (got 0)"),
        ("docs.jsonl", "m/t5", ["--batch", "0"], "batch must be 1 or more (got 0)"),
        ("docs.jsonl", "m/t5", ["--preset", "doc2query"], "unknown reading preset (got 'doc2query')"),
        ("docs.jsonl", "m/t5", ["--set", "titel=true"], "unknown key (got 'titel'); did you mean 'title'?"),
        ("docs.jsonl", "m/t5", ["--format", "tsv"], "docs.jsonl:1"),
        ("docs.jsonl", "m/t5", ["-o", "docs.jsonl"], "docs.jsonl: is also an input and would be overwritten"),
        ("docs.jsonl", "m/t5", ["-o", "no/out.jsonl"], "its folder does not exist"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, model: str, options: list[str], says: str
) -> None:
    Path("empty.jsonl").write_text("\n")
    assert main(["index", "docs.jsonl", "-o", "index"]) == 0
    capsys.readouterr()
    before = sorted(path.name for path in folder.iterdir())
    assert main(["expand", source, model, *OPTIONS, "-o", "out.jsonl", *options]) == 2
    out, err = capsys.readouterr()
    errors = [line for line in err.splitlines() if "is given 2 times" not in line]
    assert (out, len(errors)) == ("", 1)
    assert says in err
    assert sorted(path.name for path in folder.iterdir()) == before
