from __future__ import annotations

from pathlib import Path

import pytest

from longrank.collections.catalogue import FOLDS, catalogue, find_entry
from longrank.errors import InputError
from longrank.formats.folds import read_folds
from longrank.formats.queries import QUERY_FORMATS
from longrank.formats.trec import read_qrels
from longrank.types import Notes

OPEN = (
    "time",
    "cranfield",
    "cacm",
    "adi",
    "qmsum",
    "scifact",
    "squad-dev-mixed",
    "squad-dev-sections",
    "squad-dev-v1.1",
)


def test_the_papers_collections_are_listed() -> None:
    papers = {
        "robust04",
        "gov2",
        "core17",
        "core18",
        "car",
        "car-train",
        "microblog",
        "genomics",
        "ntcir-www3",
        "clueweb12-b13",
        "covid",
        "msmarco-document-train",
    }
    papers |= {f"gov-{year}" for year in (2002, 2003, 2004)} | {f"gov-{year}-named-page" for year in (2002, 2003)}
    papers |= {f"covid-round{n}" for n in range(1, 6)}
    papers |= {f"{what}-{part}" for what in ("msmarco", "dl19", "dl20") for part in ("passage", "document")}
    assert set(catalogue()) == papers | set(OPEN)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown collection \(got 'robust4'\); did you mean 'robust04'\?"):
        find_entry("robust4")


@pytest.mark.parametrize("key", catalogue())
def test_an_entry_is_consistent(key: str) -> None:
    entry = find_entry(key)
    assert entry.licence in {"open", "on request", "licensed"}
    assert "http" in entry.obtain
    assert entry.judged <= entry.queries
    assert entry.query_format is None or entry.query_format in QUERY_FORMATS
    assert (entry.folds is None) == (entry.folds_about == "")
    assert "\n" not in entry.how_to_get()
    assert entry.irds or entry.layout or key in {"cacm", "adi"}


@pytest.mark.parametrize("key", [key for key, entry in catalogue().items() if entry.irds])
def test_ids_are_those_of_ir_datasets(key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra irds")
    entry = find_entry(key)
    documents = ir_datasets.load(entry.irds)
    topics = [ir_datasets.load(one) for one in entry.irds_queries or (entry.irds,)]
    assert documents.has_docs() and all(one.has_queries() for one in topics)
    assert all(one.has_qrels() for one in topics) == (key != "ntcir-www3")
    for one in topics:
        assert set(entry.query_fields) - {"text"} <= set(one.queries_cls()._fields)
    assert set(filter(None, (entry.index_fields or "").split(","))) <= set(documents.docs_cls()._fields)
    for before in entry.judged_before:
        assert ir_datasets.load(before).has_qrels()


@pytest.mark.parametrize("path", sorted(FOLDS.glob("*.json")), ids=lambda path: path.stem)
def test_folds_test_every_query_once(path: Path) -> None:
    entry = find_entry(path.stem.split("-")[0])
    notes = Notes()
    folds = read_folds(path, notes).values()
    tested = [query_id for fold in folds for query_id in fold.test]
    assert len(tested) == len(set(tested)) == (entry.judged if path.stem == "robust04-cedr" else entry.queries)
    assert notes.lines() == []


PUBLISHED = {
    "robust04": "capreolus.rob04_yang19_folds",
    "gov2": "capreolus.gov2_maxp_folds",
    "core17": "capreolus.core17_birch_folds",
    "core18": "capreolus.core18_birch_folds",
    "genomics": "capreolus.genomics_5folds",
    "covid": "capreolus.covid_random_folds",
    "robust04-paper1": "anserini.robust04-paper1-folds",
    "robust04-cedr": "capreolus.rob04_cedr_folds",
    "robust04-huston14-title": "capreolus.rob04_huston14_title_folds",
    "robust04-huston14-description": "capreolus.rob04_huston14_desc_folds",
}


def test_folds_are_the_published_ones(shared_data: Path) -> None:
    for key, name in PUBLISHED.items():
        ours = read_folds(FOLDS / f"{key}.json", Notes())
        theirs = read_folds(shared_data / "trec-topics-qrels" / "folds" / f"{name}.json", Notes())
        assert ours.keys() == theirs.keys()
        for split, fold in theirs.items():
            assert [set(part) for part in ours[split]] == [set(part) for part in fold], (key, split)


QRELS = {
    "gov2": ["terabyte04.701-750", "terabyte05.751-800", "terabyte06.801-850"],
    "core17": ["core17"],
    "core18": ["core18"],
    "msmarco-passage": ["msmarco-passage.dev-subset"],
    "msmarco-document": ["msmarco-doc.dev"],
    "dl19-passage": ["dl19-passage"],
    "dl19-document": ["dl19-doc"],
    "dl20-passage": ["dl20-passage"],
    "dl20-document": ["dl20-doc"],
    **{f"covid-round{n}": [f"covid-round{n}"] for n in range(1, 6)},
    "covid": ["covid-complete"],
    "car": ["car17v1.5.benchmarkY1test"],
    "microblog": ["microblog2011", "microblog2012", "microblog2013", "microblog2014"],
    "clueweb12-b13": ["web.201-250", "web.251-300"],
}


@pytest.mark.parametrize("key", QRELS)
def test_judgments_are_as_many_as_listed(key: str, shared_data: Path) -> None:
    folder = shared_data / "trec-topics-qrels" / "qrels"
    judged = [one for name in QRELS[key] for one in read_qrels(folder / f"qrels.{name}.txt", Notes()).values()]
    entry = find_entry(key)
    assert (len(judged), sum(map(len, judged))) == (entry.judged, entry.judgments)


@pytest.mark.parametrize("key", OPEN)
def test_open_collections_are_as_large_as_listed(key: str, shared_data: Path) -> None:
    import json

    found = json.loads((shared_data / key / "stats.json").read_text())
    listed = find_entry(key)
    counts = [found[name] for name in ("docs", "queries", "queries_with_relevant", "judgments")]
    assert counts == [listed.documents, listed.queries, listed.judged, listed.judgments]
