"""The calls that a newcomer tries first, each as it would be typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import longrank

DOCUMENTS = '{"id": "a", "title": "Bees", "text": "Bees eat pollen."}\n{"id": "b", "text": "Bread is baked."}\n'


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with the files that the calls name, and values by the names that they use."""
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text(DOCUMENTS)
    Path("qrels.txt").write_text("1 0 a 1\n2 0 b 1\n")
    index = longrank.Index.build("docs.jsonl", "my.index")
    queries = {"1": "what do bees eat", "2": "how is bread baked"}
    run = longrank.retrieve(index, queries)
    longrank.rerank(index, queries, run, pipeline="lexical", evidence="run.evidence")
    values = {"index": index, "queries": queries, "run": run, "a": run, "b": run, "qrels": "qrels.txt"}
    return {**values, "evidence": "run.evidence", "longrank": longrank}


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('longrank.read_qrels("qrels.txt")', "Judgments(queries=2, judgments=2)"),
        ('longrank.Index("my.index")', "documents=2"),
        ('longrank.Index.build("docs.jsonl", "my.index")', "documents=2"),
        ('longrank.Index.build(["docs.jsonl"], "my.index")', "documents=2"),
        ('longrank.Index.build([longrank.Document("a", "title", "text")])', "documents=1"),
        ('longrank.Index.build([{"id": "a", "text": "text"}])', "documents=1"),
        ('longrank.Index.build([("a", "text")])', "documents=1"),
        ("longrank.retrieve(index, queries)", "queries=2"),
        ('longrank.retrieve(index, ["bees"])', "queries=1"),
        ('longrank.rerank(index, queries, run, pipeline="lexical")', "queries=2"),
        ('longrank.aggregate(evidence, "avgp")', "queries=2"),
        ("longrank.fuse([a, b])", "queries=2"),
        ("longrank.evaluate(qrels, run, baseline=run)", "nDCG@10"),
        ("longrank.evaluate(qrels, [run])", "1.0000"),
        ('longrank.search(index, "query bees", pipeline="lexical", k=3)', "documents=1"),
        ('longrank.Reranker("lexical").rank("bees", ["text", "bees eat"], k=3)', "documents=2"),
        pytest.param(
            'longrank.Reranker("minilm").rank("query", ["text", "query"], k=1)', "documents=1", marks=pytest.mark.neural
        ),
        pytest.param('longrank.rerank(index, queries, run, pipeline="maxp")', "queries=2", marks=pytest.mark.neural),
    ],
)
def test_a_natural_call_gives_a_value_with_a_short_repr(names: dict[str, Any], call: str, shown: str) -> None:
    value = repr(eval(call, names))
    assert shown in value
    assert len(value) < 300


def test_queries_of_ir_datasets_are_read_by_their_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra irds")
    path = tmp_path / "queries.tsv"
    path.write_text("1\twhat do bees eat\n")
    ir_datasets.registry.register("longrank-test/front-door", ir_datasets.create_dataset(queries_tsv=str(path)))
    (query,) = longrank.read_queries("irds:longrank-test/front-door")
    assert (query.query_id, query.text) == ("1", "what do bees eat")


VERBS = [
    name
    for name, module in longrank._PUBLIC.items()
    if module.startswith("longrank.verbs.") and name != "analyze"  # a namespace of functions
]


@pytest.mark.parametrize("name", VERBS)
def test_help_of_every_verb_has_arguments_errors_and_an_example(name: str) -> None:
    documentation = getattr(longrank, name).__doc__ or ""
    assert [part for part in ("Args:", "Raises:", "Example:") if part not in documentation] == []
