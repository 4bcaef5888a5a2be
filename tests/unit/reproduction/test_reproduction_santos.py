"""Santos' recipes: their figures against what was typed from the paper, and each program run on a tiny collection."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sentence_reproductions import obtained, published, reproduced, sums, to_obtain, write_with_sentences
from tiny_models import save_encoder

pytestmark = pytest.mark.neural
QUICK = ("candidates=12", "depth=4", "sentences=2", "both=3", "queries=8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, other topics of it, and a bi-encoder."""
    folder = tmp_path_factory.mktemp("santos")
    write_with_sentences(folder / "tiny")
    (folder / "others, too").mkdir()
    for name in ("queries.jsonl", "qrels.txt"):  # the same topics by other ids
        text = (folder / "tiny" / name).read_text()
        (folder / "others, too" / name).write_text(re.sub(r"\bq(\d\d)\b", r"o\1", text))
    save_encoder(folder / "encoder")
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("table1-2002", {"AP@1000": 0.5420, "P@10": 0.6860}),
        ("table1-2003", {"AP@1000": 0.1750, "P@10": 0.1400}),
        ("table1-2004", {"AP@1000": 0.4799, "P@10": 0.1400}),
        ("table5", {"layers": 42, "hidden size": 2560, "million parameters": 562, "s/doc": 0.18}),
    ],
)
def test_the_columns_of_santos_add_up(name: str, expected: dict[str, float]) -> None:
    assert sums(f"santos/{name}") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "row", "figures"),
    [
        ("table2-2002", "FullText + MAPFuse", (0.1911, 0.4646, 0.2480, 0.3074)),
        ("table2-2002", "TERMF Sum", (0.1592, 0.4337, 0.2120, 0.2504)),
        ("table2-2002", "FIRST+TERMF Max fine-tuned + MAPFuse", (0.1884, 0.4663, 0.2660, 0.3234)),
        ("table3-2003", "FIRST+TERMF Max", (0.1092, 0.3115, 0.0900, 0.1374)),
        ("table3-2003", "TERMF W.Mean + MAPFuse", (0.0846, 0.2935, 0.0860, 0.1201)),
        ("table4-2004", "FIRST Max + MAPFuse", (0.2736, 0.4286, 0.0800, 0.3257)),
        ("table4-2004", "FIRST+TERMF W.Mean", (0.1669, 0.3410, 0.0631, 0.2131)),
        ("table6-2002", "FIRST Sum Large + MAPFuse", (0.1844, 0.4718, 0.2620, 0.3308)),
        ("table6-2002", "FIRST+TERMF Max Distil", (0.1615, 0.4512, 0.2420, 0.2997)),
        ("table6-2002", "FIRST+TERMF Sum Distil + MAPFuse", (0.1924, 0.4670, 0.2680, 0.3276)),
    ],
)
def test_figures_of_santos_are_where_they_belong(name: str, row: str, figures: tuple[float, ...]) -> None:
    assert tuple(published(f"santos/{name}")[row].values()) == figures


def test_tables_2_and_6_agree_on_single_systems_and_not_on_fused_ones() -> None:
    second, sixth = published("santos/table2-2002"), published("santos/table6-2002")
    for name in ("FIRST Max", "FIRST Sum", "FIRST+TERMF Max", "FIRST+TERMF Sum"):
        assert second[name] == sixth[f"{name} Base"]
        assert second[f"{name} + MAPFuse"] != sixth[f"{name} Base + MAPFuse"]


def test_pools_and_aggregations_are_fused_by_folds_and_fine_tuned_by_folds(folder: Path, tmp_path: Path) -> None:
    tiny = ("label_depth=12", "train.loop.steps=1", "train.loop.batch=2", "train.loop.validate_every=1")
    models, sets = [f"encoder={folder / 'encoder'}"], [*QUICK, *tiny, "train.read.max_tokens=16"]
    rows = obtained(reproduced("santos/table2-2002", folder / "tiny", tmp_path / "out", models=models, sets=sets))
    assert rows.keys() == to_obtain("santos/table2-2002")
    place = tmp_path / "out" / "santos" / "table2-2002"
    assert (place / "encoder-first-max.run").read_text() != (place / "encoder-termf-sum.run").read_text()
    tested = {line.split()[0] for line in (place / "tuned.run").read_text().splitlines()}
    assert len(tested) == 8  # queries of three folds, each ranked by the model that has not seen them


def test_other_topics_weigh_the_fusion(folder: Path, tmp_path: Path) -> None:
    models, sets = [f"distil={folder / 'encoder'}"], [*QUICK, 'sizes=["distil"]', f"heldout={folder / 'others, too'}"]
    rows = obtained(reproduced("santos/table6-2002", folder / "tiny", tmp_path / "out", models=models, sets=sets))
    assert len(rows) == 8
    assert (tmp_path / "out" / "santos" / "table6-2002" / "distil-first-heldout-max.run").exists()


@pytest.mark.slow
def test_curves_have_a_point_for_each_number(folder: Path, tmp_path: Path) -> None:
    models = [f"encoder={folder / 'encoder'}"]

    def rows(name: str, *sets: str) -> list[tuple[str, float, str]]:
        found = reproduced(f"santos/{name}", folder / "tiny", tmp_path / "out", models=models, sets=sets)
        per_query = json.loads((tmp_path / "out" / "santos" / name / "per-query.json").read_text())
        assert per_query.keys() == {row["row"] for row in found["rows"] if row["obtained"]}
        return [(row["series"], row["x"], row["row"]) for row in found["rows"] if row["obtained"]]

    second = rows("figure2", "sentences=[1, 2]", "depth=4", "candidates=12")
    assert [(series, x) for series, x, _ in second] == [(s, n) for s in ("Max", "Sum", "W.Mean") for n in (1, 2)]
    third = rows("figure3", "depth=[2, 4]", "sentences=2", "candidates=12")
    assert [x for _, x, _ in third] == [2, 4]


def test_sizes_are_timed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.numpy import load_file

    monkeypatch.setattr("longrank.scoring.speed.matrix_peak", lambda dtype, device: 100.0)  # takes seconds
    models, sets = [f"base={folder / 'encoder'}"], ['sizes=["base"]', "tokens=16", "seconds=0"]
    rows = obtained(reproduced("santos/table5", folder / "tiny", tmp_path / "out", models=models, sets=sets))
    config = json.loads((folder / "encoder" / "config.json").read_text())
    assert rows["Base"]["s/doc"] > 0
    assert rows["Base"]["layers"] == config["num_hidden_layers"]
    assert rows["Base"]["hidden size"] == config["hidden_size"]
    weights = load_file(folder / "encoder" / "model.safetensors")
    assert rows["Base"]["million parameters"] == sum(one.size for one in weights.values()) / 1e6


def test_first_stages_have_indexes_of_their_own(folder: Path, tmp_path: Path) -> None:
    found = reproduced("santos/table1-2002", folder / "tiny", tmp_path / "out")
    assert list(obtained(found)) == ["BM25", "BM25+Porter"]
