"""``longrank retrieve``: similarities, settings, and queries as they are searched for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main

DOCS = [
    {"doc_id": "d1", "text": "a transformer ranks passages of long documents"},
    {"doc_id": "d2", "text": "long documents hold many passages, and few are relevant"},
    {"doc_id": "d3", "text": "the weather was fine"},
]
QUERIES = [("q1", "long documents"), ("q2", "weather"), ("q3", "the of and")]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    Path("queries.tsv").write_text("".join(f"{query_id}\t{text}\n" for query_id, text in QUERIES))
    assert main(["index", "docs.jsonl", "-o", "index"]) == 0
    return tmp_path


def retrieve(*options: str) -> int:
    return main(["retrieve", "index", "queries.tsv", "-o", "run", *options])


def test_a_query_without_terms_is_listed_and_the_others_are_answered(
    at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retrieve() == 0
    assert [line.split()[:3:2] for line in Path("run").read_text().splitlines()] == [
        ["q1", "d1"], ["q1", "d2"], ["q2", "d3"],
    ]  # fmt: skip
    error = capsys.readouterr().err
    assert "queries without terms after analysis: 1 (first: q3)" in error
    assert "queries without results: 1 (first: q3)" in error


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (["--similarity", "ql"], ["--preset", "ql"]),
        (["--similarity", "ql", "--mu", "10"], ["--preset", "ql", "--set", "mu=10"]),
        (["--k1", "1.2", "--b", "0.75"], ["--preset", "bm25-lucene"]),
        (["--preset", "bm25tuned"], ["--set", "preset=bm25-msmarco-doc"]),
        (["--threads", "1"], ["--threads", "2"]),
    ],
)
def test_settings_may_be_given_in_several_ways(at: Path, options: list[str], same: list[str]) -> None:
    assert retrieve(*options) == 0
    first = Path("run").read_bytes()
    assert retrieve(*same) == 0
    assert Path("run").read_bytes() == first


def test_queries_are_shown_and_written_as_they_are_searched_for(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert retrieve("--explain-query", "--expanded-queries", "queries.out") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["q1\tas it is\tdocument^1 long^1", "q2\tas it is\tweather^1", "q3\tas it is\t"]
    written = [json.loads(line) for line in Path("queries.out").read_text().splitlines()]
    assert written[0] == {"query_id": "q1", "expanded": False, "terms": {"document": 1, "long": 1}}
    assert [one["query_id"] for one in written] == ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--b", "1.2"], "b must be between 0 and 1 (got 1.2)"),
        (["--k1", "-1"], "k1 must be between 0 and 1e6"),
        (["--k1", "1", "--set", "k1=0.9"], "k1 is given twice: as k1 and as a setting (got 1"),
        (["--preset", "ql", "--set", "preset=bm25-anserini"], "preset is given twice"),
        (["--k1", "1e39"], "k1 must be between 0 and 1e6"),
        (["--similarity", "bm26"], "unknown similarity (got 'bm26'); did you mean 'bm25'"),
        (["--similarity", "ql", "--mu", "0"], "mu must be between 1e-6 and 1e12"),
        (["--similarity", "ql", "--k1", "1"], "similarity 'ql' with feedback 'none' has no such setting (got 'k1')"),
        (["--mu", "10"], "similarity 'bm25' with feedback 'none' has no such setting (got 'mu')"),
        (["--preset", "bm25-anserin"], "did you mean 'bm25-anserini'"),
        (["--doc-lengths", "short"], "doc_lengths must be lucene or exact"),
        (["--set", "k3=1"], "no such setting (got 'k3')"),
        (["--set", "k1"], "--set takes key=value"),
        (["--set", "notes=1"], "no such setting (got 'notes')"),
        (["--set", "index=y"], "no such setting (got 'index')"),
        (["--set", "preset=5"], "unknown preset (got 5)"),
        (["--set", "preset=[1]"], "unknown preset (got [1])"),
        (["--set", "k1=high"], "k1 of similarity 'bm25' should be a valid number (got 'high')"),
        (["-k", "0"], "k must be 1 or more"),
        (["--expanded-queries", "queries.tsv"], "is also an input"),
        (["--expanded-queries", "run"], "is also an input"),
        (["--expanded-queries", "index/manifest.json"], "lies inside an input"),
        (["--expanded-queries", "nowhere/x"], "its folder does not exist"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    at: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retrieve(*options) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert message in error[0]
    assert not Path("run").exists()


def test_the_queries_of_a_collection_folder_are_not_overwritten(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("collection")
    folder.mkdir()
    for name, line in (("docs", '{"id": "a", "text": "a long document"}'), ("queries", '{"id": "q", "text": "long"}')):
        (folder / f"{name}.jsonl").write_text(f"{line}\n")
    assert main(["retrieve", "index", "collection", "-o", "collection/queries.jsonl"]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert main(["retrieve", "index", "collection", "-o", "collection/run"]) == 0


@pytest.mark.neural
def test_passages_are_found_by_meaning_and_fused_with_words(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("queries.tsv").write_text("q1\train and sunshine\n")
    assert main(["index", "index", "--vectors", "minilm"]) == 0
    for options in (["dense"], ["hybrid:minilm-tokens", "--feedback", "rm3"], ["hybrid", "--set", "method=minmax"]):
        assert retrieve("--preset", *options) == 0
        assert Path("run").read_text().split()[2] == "d3"
    capsys.readouterr()
    assert main(["search", "index", "rain and sunshine", "--pipeline", "mixed-hybrid", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["doc_id"], first["passages"][0]["text"]) == ("d3", "the weather was fine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "dense"], "index: the index has no passage vectors; store vectors: longrank index index"),
        (["--preset", "dense", "--k1", "1"], "preset 'dense' has no such setting (got 'k1')"),
        (["--preset", "hybrid", "--set", "weight=2"], "weight of preset 'hybrid' should be less than or equal to 1"),
    ],
)
def test_a_stage_with_vectors_is_refused_in_a_line(
    at: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert retrieve(*options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not Path("run").exists()


@pytest.mark.neural
@pytest.mark.parametrize("method", ["hnsw", "ivf-pq"])
def test_approximate_search_states_its_recall(at: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    pytest.importorskip("faiss", reason="needs the extra ann")
    assert main(["index", "index", "--vectors", "minilm", "--ann", method]) == 0
    assert f"{method}: recall@100 1.0000 of sampled passages" in capsys.readouterr().err
    assert retrieve("--preset", "dense") == 0
    assert "approximate search, recall@100 1.000" in capsys.readouterr().err
    approximate = Path("run").read_bytes()
    assert retrieve("--preset", "dense", "--set", "exact=true") == 0
    assert "approximate" not in capsys.readouterr().err
    assert Path("run").read_bytes() == approximate


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ann", "hnsw"], "--ann needs --vectors"),
        (["--vectors", "minilm", "--ann", "lsh"], "unknown approximate search (got 'lsh')"),
    ],
)
def test_a_wrong_method_is_refused_before_anything_is_built(
    at: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    pytest.importorskip("faiss", reason="needs the extra ann")
    assert main(["index", "docs.jsonl", "-o", "other", *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("other").exists()
