"""Birch's recipes: their figures against what was typed from the sources, and each program run on a tiny collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sentence_reproductions import obtained, published, reproduced, sums, write_with_sentences
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural


TRAINING = [
    f"train.{one}"
    for one in (
        "read.passages=windows",
        "read.options={length=12, stride=8}",
        "read.max_tokens=32",
        "read.max_query_tokens=8",
        "loop.batch=2",
        "loop.steps=1",
        "loop.validate_every=1",
        "samples.depth=12",
        "test.depth=4",
        "validation.depth=4",
    )
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, a cross-encoder and an encoder."""
    folder = tmp_path_factory.mktemp("birch")
    write_with_sentences(folder / "tiny")
    save_cross_encoder(folder / "cross-encoder")
    save_encoder(folder / "encoder")
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # .2903 + .3408 + .3435 + .3434 + 3 x .3028 + .3676 + .3697 + .3691, and the two ablations .3300 + .3101
        ("results-robust04", {"AP": 3.9729, "nDCG@20": 4.8693}),
        ("results-core17", {"AP": 3.0585, "nDCG@20": 4.7355}),
        ("results-core18", {"AP": 3.3235, "nDCG@20": 4.7720}),
        ("first-version-five-folds", {"AP": 2.4857, "P@20": 3.2829}),
        ("first-version-two-folds", {"AP": 2.4703, "P@20": 3.2288}),
        ("sentences-robust04", {"AP": 1.1064, "nDCG@20": 1.5888}),
        ("birch-passage-title", {"nDCG@20": 2.6411}),
        ("birch-passage-description", {"nDCG@20": 2.8639}),
    ],
)
def test_the_columns_of_birch_add_up(name: str, expected: dict[str, float]) -> None:
    assert sums(f"birch/{name}") == pytest.approx(expected, abs=1e-9)


def test_figures_of_birch_are_where_they_belong() -> None:
    robust04, core18 = published("birch/results-robust04"), published("birch/results-core18")
    assert robust04["MSM->MB 2S"] == {"AP": 0.3697, "nDCG@20": 0.5324}
    assert robust04["MSM 1S"] == robust04["MSM 3S"] == {"AP": 0.3028, "nDCG@20": 0.4512}
    assert core18["MB 3S"] == {"AP": 0.3419, "nDCG@20": 0.4878}
    assert not robust04["CAR 1S"] and not core18["CAR->MB 3S"]
    assert published("birch/first-version-two-folds")["QA 3S"] == {"AP": 0.3003, "P@20": 0.3948}
    assert published("birch/table1.1-microblog")["validation"] == {"queries": 59}


def test_one_to_three_sentences_of_each_model_are_weighed_by_folds_or_as_elsewhere(
    folder: Path, tmp_path: Path
) -> None:
    models = [f"{role}={folder / 'cross-encoder'}" for role in ("MB", "MSM->MB")]
    sets = ['trained_on=["MB", "MSM->MB"]', "grid=0:1:0.5", "depth=6", "queries=9"]
    found = reproduced("birch/results-core17", folder / "tiny", tmp_path / "out, new", models=models, sets=sets)
    rows = obtained(found)
    assert list(rows) == ["BM25+RM3", *(f"{role} {n}S" for role in ("MB", "MSM->MB") for n in (1, 2, 3))]
    assert rows["MB 2S"] == rows["MSM->MB 2S"]  # one model in two roles
    assert "depth 6, paper 1000" in found["departures"]
    assert found["rows"][1]["p"].keys() == {"AP", "nDCG@20"}
    elsewhere = tmp_path / "out, new" / "birch" / "results-core17"
    sets = ['trained_on=["MB"]', "grid=0:1:0.5", "depth=6", f"learn_on={elsewhere}"]
    name = "birch/results-core18"
    frozen = obtained(reproduced(name, folder / "tiny", tmp_path / "out", models=models[:1], sets=sets))
    assert list(frozen) == ["BM25+RM3", "MB 1S", "MB 2S", "MB 3S"]
    weights = json.loads((tmp_path / "out" / name / "mb-3s" / "weights.json").read_text())
    assert weights["protocol"]["name"] == "frozen"


def test_the_first_version_tunes_and_weighs_by_two_folds_as_the_released_code_does(
    folder: Path, tmp_path: Path
) -> None:
    tune = '{k1="0.9", b="0.4", fb_terms="5", fb_docs="3,5", original_query_weight="0.5"}'
    code = ["grid=0:0.9:0.3", "choose_by=birch", "score=prob"]
    sets = ['trained_on=["MB"]', f"tune={tune}", "depth=6", *code]
    name, models = "birch/first-version-two-folds", [f"MB={folder / 'cross-encoder'}"]
    found = reproduced(name, folder / "tiny", tmp_path / "out", models=models, sets=sets)
    assert list(obtained(found)) == ["BM25+RM3", "MB 1S", "MB 2S", "MB 3S"]


def test_more_sentences_are_weighed_by_coarser_grids(folder: Path, tmp_path: Path) -> None:
    sets, models = ["grid=0:1:0.5", "depth=6", "sentences=5"], [f"bert={folder / 'cross-encoder'}"]
    found = reproduced("birch/sentences-robust04", folder / "tiny", tmp_path / "out", models=models, sets=sets)
    assert list(obtained(found)) == [f"{n}S" for n in range(1, 6)]
    assert [row["x"] for row in found["rows"][:5]] == [1, 2, 3, 4, 5]
    weights = json.loads((tmp_path / "out" / "birch" / "sentences-robust04" / "4s" / "weights.json").read_text())
    assert {one["setting"]["w2"] for one in weights["values"]} == {0.0, 0.1}
    assert len(weights["values"]) == 3 * 2**3


def test_birch_passage_is_trained_and_mixed(folder: Path, tmp_path: Path) -> None:
    sets = ['encoders=["ELECTRA"]', "alpha=0:1:0.5", *TRAINING]
    name, models = "birch/birch-passage-title", [f"ELECTRA={folder / 'encoder'}"]
    found = reproduced(name, folder / "tiny", tmp_path / "out", models=models, sets=sets)
    assert list(obtained(found)) == ["ELECTRA", "ELECTRA + BM25"]


def test_the_data_of_the_chapter_is_counted(folder: Path, tmp_path: Path) -> None:
    def rows(name: str, *sets: str) -> dict[str, dict[str, float]]:
        return obtained(reproduced(f"birch/{name}", folder / "tiny", tmp_path / "out", sets=sets))

    judged = (folder / "tiny" / "qrels.txt").read_text().splitlines()
    microblog = rows("table1.1-microblog", "validation=3")
    assert (microblog["training"]["queries"], microblog["validation"]["queries"]) == (9, 3)
    assert microblog["training"]["examples"] + microblog["validation"]["examples"] == len(judged)
    (folder / "tiny" / "triples.train.small.tsv").write_text("which river\tblue water\tred stone\n" * 3)
    assert rows("table1.2-msmarco", "n_triples=2") == {"MS MARCO": {"examples": 4, "share relevant": 0.5}}
    car = rows("table1.3-car", "depth=2")
    assert car == {"training": {"queries": 8, "pairs": 16}, "validation": {"queries": 4, "pairs": 8}}
