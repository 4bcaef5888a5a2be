"""A real Lucene index behind `LuceneRetriever`, against runs that Lucene made elsewhere of the same collection."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.errors import InputError
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_run
from longrank.retrieval import PRESETS, FirstStage
from longrank.retrieval.lucene import LuceneRetriever
from longrank.types import Notes, Query

pytestmark = pytest.mark.skipif(find_spec("pyserini") is None, reason="needs the extra lucene and Java")

RUNS = {
    "bm25-k0.9-b0.4": PRESETS["bm25-anserini"],
    "bm25-k1.2-b0.75": PRESETS["bm25-lucene"],
    "qld-mu1000": PRESETS["ql"],
    "bm25+rm3": PRESETS["bm25-anserini+rm3"],
    "bm25+rocchio": PRESETS["bm25-anserini+rocchio"],
}


def lucene_index(documents: list[dict[str, str]], folder: Path, *options: str) -> Path:
    (folder / "source").mkdir(parents=True)
    lines = [json.dumps(document) + "\n" for document in documents]
    (folder / "source" / "docs.jsonl").write_text("".join(lines), encoding="utf-8")
    arguments = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
    arguments += ["-input", str(folder / "source"), "-index", str(folder / "index"), *options]
    code = "import sys; from pyserini.pyclass import autoclass; autoclass(sys.argv[1]).main(sys.argv[2:])"
    command = [sys.executable, "-c", code, "io.anserini.index.IndexCollection", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "index"


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with gzip.open(shared_data / "cranfield" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        made = [json.loads(line) for line in lines]
    documents = [{"id": one["doc_id"], "contents": f"{one['title']}\n{one['text']}"} for one in made]
    return lucene_index(documents, tmp_path_factory.mktemp("cranfield"), "-storeDocvectors")


@pytest.mark.parametrize("name", RUNS)
def test_documents_and_scores_are_those_of_lucenes_own_runs(shared_data: Path, cranfield: Path, name: str) -> None:
    expected: dict[str, dict[str, float]] = {}
    with gzip.open(shared_data / "cranfield" / "lucene-runs" / f"{name}.run.gz", "rt") as lines:
        for query_id, _, doc_id, _, score, _ in map(str.split, lines):
            expected.setdefault(query_id, {})[doc_id] = float(score)
    retriever = LuceneRetriever(cranfield, RUNS[name])
    assert len(expected) == 225
    for query in read_queries(shared_data / "cranfield" / "queries.jsonl", Notes()):
        found = retriever.retrieve(query, 100)
        ascending = sorted(found, key=lambda row: (-row.score, row.doc_id))  # as Lucene orders ties
        assert [row.doc_id for row in ascending] == list(expected[query.query_id])
        # those runs hold scores of four decimals, ties lowered by a millionth each
        assert {row.doc_id: row.score for row in found} == pytest.approx(expected[query.query_id], abs=1e-4)


def test_the_command_takes_a_lucene_index(
    shared_data: Path, cranfield: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = str(shared_data / "cranfield" / "queries.jsonl")
    assert main(["retrieve", f"lucene:{cranfield}", queries, "-o", str(tmp_path / "run"), "--preset", "ql+rm3"]) == 0
    run = read_run(tmp_path / "run", Notes())
    retriever = LuceneRetriever(cranfield, PRESETS["ql+rm3"])
    query = read_queries(Path(queries), Notes())[7]
    assert run[query.query_id] == tuple(retriever.retrieve(query, 1000))
    assert (
        main(["retrieve", f"lucene:{cranfield}", queries, "-o", str(tmp_path / "no"), "--preset", "bm25base_prf"]) == 2
    )
    assert "pyserini has no such feedback (got 'bm25prf')" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_what_lucene_cannot_do_is_said_in_a_line(tmp_path: Path) -> None:
    bare = lucene_index([{"id": "d1", "contents": "one two three"}], tmp_path)
    assert [row.doc_id for row in LuceneRetriever(bare).retrieve(Query("q", "two"), 5)] == ["d1"]
    assert LuceneRetriever(bare).retrieve(Query("q", "of the"), 5) == []
    assert LuceneRetriever(bare).retrieve(Query("q", "half a pair \ud83d"), 5) == []
    with pytest.raises(InputError, match="has no term vectors, which rm3 needs"):
        LuceneRetriever(bare, PRESETS["ql+rm3"])
    with pytest.raises(InputError, match=r"no segments\* file found"):
        LuceneRetriever(tmp_path)
    with pytest.raises(InputError, match=r"query 'q': Lucene refuses .*1024"):
        LuceneRetriever(bare).retrieve(Query("q", " ".join(f"w{i}" for i in range(2000))), 5)
    with pytest.raises(InputError, match="illegal k1 value"):
        LuceneRetriever(bare, FirstStage(parameters={"k1": -1.0}))
