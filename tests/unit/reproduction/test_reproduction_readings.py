"""Settings of recipes that follow the papers' words, where these were once read differently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.collections.catalogue import find_entry
from longrank.reproduction.recipe_files import load_recipe
from sentence_reproductions import commands_of, reproduced, write_with_sentences
from slow_values import slow

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 30 documents and 12 queries."""
    return write_with_sentences(tmp_path_factory.mktemp("readings") / "tiny")


def test_figure_3_of_santos_sums_the_first_sentences(tiny: Path) -> None:
    read, analysed = (one for one in commands_of("santos/figure3", tiny) if one[0] in ("rerank", "analyze"))
    assert "select.name=first" in read
    assert "select.n=10" in read
    assert analysed[analysed.index("-a") + 1] == "sum"


@pytest.mark.parametrize(
    ("name", "place", "collection"),
    [
        ("h2oloo/tuning-passage", "irds:msmarco-passage/dev", "msmarco-passage"),
        *slow(("h2oloo/tuning-document", "irds:msmarco-document/train", "msmarco-document")),
    ],
)
def test_samples_are_drawn_from_more_queries_than_the_collection_has(
    name: str, place: str, collection: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published sizes: samples of 10,000, from a set that also has queries without judgments."""
    settings = load_recipe(name)[0].settings
    assert settings["tune_on"] == place
    assert settings["sample_size"] == 10_000 > find_entry(collection).judged
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra irds")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    texts = [json.loads(line)["text"] for line in (tiny / "queries.jsonl").read_text().splitlines()]
    (tmp_path / "queries.tsv").write_text("".join(f"{n}\t{texts[n % len(texts)]}\n" for n in range(10_200)))
    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 d{n % 30:02d} 1\n" for n in range(10_100)))
    parts = {"queries_tsv": "queries.tsv", "qrels_trec": "qrels.txt"}
    standin = ir_datasets.create_dataset(**{part: str(tmp_path / file) for part, file in parts.items()})
    found = ir_datasets.registry._registered
    monkeypatch.setitem(found, place.removeprefix("irds:"), standin)
    sets = ['k1="0.9"', 'b="0.4"', "samples=2", f"objectives={json.dumps(settings['objectives'][:1])}"]
    rows = reproduced(name, tiny, tmp_path / "out", sets=sets)["rows"]
    assert next(row["obtained"] for row in rows if row["row"].startswith("optimum")) == {"k1": 0.9, "b": 0.4}


@pytest.mark.parametrize(
    "name", ["table2-gov2-title", "table2-gov2-description", "table3-genomics", "table4-dl19", "table4-dl20"]
)
def test_bm25_of_parade_is_tuned_on_development_queries(name: str, tiny: Path) -> None:
    sets = [] if name != "table4-dl20" else ['learn_on=""']
    tuned = [one for one in commands_of(f"parade/{name}", tiny, sets) if one[0] == "tune"]
    assert len(tuned) == 1
    assert tuned[0][tuned[0].index("--choose-by") + 1] == "dev"
    assert {"k1=0.1:1:0.1", "b=0.1:1:0.1"} <= set(tuned[0])
    trained = [one for one in commands_of(f"parade/{name}", tiny, sets) if one[0] == "train"]
    assert all(Path(one[5]).name == f"bm25-{one[one.index('--fold') + 1]}.run" for one in trained)
    assert trained
    assert not [one for one in commands_of(f"parade/{name}", tiny, [*sets, "bm25_grid={}"]) if one[0] == "tune"]
    assert any("development" in one.text for one in load_recipe(f"parade/{name}")[0].decision)


@pytest.mark.parametrize("name", ["table7-robust04-title", "table8-gov2-title", "figure3-gov2-title"])
def test_the_study_of_efficiency_counts_tokens(name: str, tiny: Path) -> None:
    from longrank.text.segment import PRESETS

    preset = PRESETS["parade-efficiency"]
    assert (preset["unit"], preset["length"], preset["stride"]) == ("wordpiece", 150, 100)
    trained = [one for one in commands_of(f"parade/{name}", tiny) if one[0] == "train"]
    assert trained
    assert all("read.passages=parade-efficiency" in one for one in trained)


@pytest.mark.parametrize("name", ["table10-covid-round2", "table11-covid-round3", "table12-covid-round4"])
def test_all_rounds_of_covid_name_the_transformer(name: str) -> None:
    recipe, _ = load_recipe(f"parade/{name}")
    assert any("PARADE-Transformer in all rounds" in one.text for one in recipe.decision)
    assert any("PARADE-Transformer" in run["systems"] for run in recipe.settings["runs"].values())


@pytest.mark.parametrize(
    ("name", "preset"), [("table1-passage", "whole"), ("doc2query-passage", "whole"), ("table2-document", "doct5query")]
)
def test_passages_are_expanded_whole(name: str, preset: str, tiny: Path) -> None:
    expanded = [one for one in commands_of(f"h2oloo/{name}", tiny) if one[0] == "expand"]
    assert expanded
    assert {one[one.index("--preset") + 1] for one in expanded} == {preset}


def test_the_queries_of_santos_add_up() -> None:
    sets = ("gov-2002", "gov-2002-named-page", "gov-2003", "gov-2003-named-page", "gov-2004")
    assert [find_entry(key).judged for key in sets] == [50, 150, 50, 300, 225]
    assert sum(find_entry(key).judged for key in sets) == 775


def test_the_decay_of_the_thesis_is_explained() -> None:
    from longrank.training.settings import load_training

    assert load_training("monobert", []).loop.optimizer.weight_decay == 0.01
    for name in ("robust04", "core17", "core18"):
        decisions = {one.about: one for one in load_recipe(f"birch/results-{name}")[0].decision}
        assert "decay of 0.1" in decisions["decay of the weights"].text
