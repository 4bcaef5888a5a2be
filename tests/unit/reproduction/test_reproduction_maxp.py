"""MAXP's recipes: their figures against checksums typed from the paper's, and each program on a tiny collection."""

from __future__ import annotations

import pytest

from longrank.formats.trec import read_run
from longrank.types import Notes
from tiny_reproductions import TinyLab, published_sums

SUMS = {
    "table1a-robust04-title": {"nDCG@20": 2.651, "nDCG@20 ClueWeb09-B": 2.043},
    "table1a-robust04-description": {"nDCG@20": 4.771, "nDCG@20 ClueWeb09-B": 1.815},
    "table1b-robust04-title": {"AP@100": 0.2384, "P@20": 0.4068, "nDCG@20": 0.4767},
    "table1b-robust04-description": {"AP@100": 0.2646, "P@20": 0.4504, "nDCG@20": 0.5303},
    "table1b-gov2-title": {"AP@100": 0.1855, "P@20": 0.6030, "nDCG@20": 0.5175},
    "table1b-gov2-description": {"AP@100": 0.1942, "P@20": 0.6292, "nDCG@20": 0.5480},
    "table2-robust04-title": {"AP@100": 1.6972, "P@20": 2.9395, "nDCG@20": 3.4253},
    "table2-robust04-description": {"AP@100": 1.8957, "P@20": 3.2359, "nDCG@20": 3.8337},
    "table2-gov2-title": {"AP@100": 1.3107, "P@20": 4.2231, "nDCG@20": 3.6307},
    "table2-gov2-description": {"AP@100": 1.3856, "P@20": 4.4521, "nDCG@20": 3.8731},
    "table3a-robust04-title": {"nDCG@20": 1.4478, "P@20": 0.8484},
    "figure1-samples-robust04": {"judgments": 2 * 778525, "queries": 634 + 5 * 249},
    "figure1-samples-gov2": {"judgments": 2 * 338378, "queries": 408 + 5 * 149},
}
"""Recipe -> sum of each column's published figures."""


@pytest.mark.parametrize("name", SUMS)
def test_the_published_columns_of_maxp_add_up(name: str) -> None:
    assert published_sums(f"maxp/{name}") == pytest.approx(SUMS[name])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> TinyLab:
    """A tiny collection and tiny models."""
    return TinyLab(tmp_path_factory.mktemp("maxp"))


@pytest.mark.neural
def test_dai_and_callans_passages_are_pooled_in_several_ways_from_one_training(lab: TinyLab) -> None:
    rows = lab.rows("maxp/table1a-robust04-title", {"bert-base": lab.encoder}, validated=False)
    assert list(rows) == ["BERT-FirstP", "BERT-MaxP", "BERT-SumP"]
    made = lab.output / "maxp/table1a-robust04-title"
    trained, pooled = (read_run(made / name, Notes()) for name in ("dai-callan/test.run", "maxp/run.txt"))
    assert set(trained) == set(pooled)
    for query_id in trained:
        assert [one.doc_id for one in pooled[query_id]] == [one.doc_id for one in trained[query_id]]


@pytest.mark.neural
def test_each_way_of_pooling_is_a_training_of_its_own(lab: TinyLab) -> None:
    systems = 'systems=["FirstP", "AvgP"]'
    rows = lab.rows("maxp/table1b-gov2-description", {"bert-base": lab.encoder}, systems)
    assert list(rows) == ["FirstP", "AvgP"]
    assert {"firstp", "avgp"} <= {path.name for path in (lab.output / "maxp/table1b-gov2-description").iterdir()}


@pytest.mark.neural
def test_maxp_is_trained_on_the_encoder_of_the_rows_role(lab: TinyLab) -> None:
    systems = 'systems=["ELECTRA-Base (pFT)"]'
    rows = lab.rows("maxp/table2-robust04-title", {"electra-pft": lab.encoder}, systems)
    assert set(rows["ELECTRA-Base (pFT)"]) == {"AP@100", "P@20", "nDCG@20"}


@pytest.mark.neural
def test_a_pre_fine_tuned_model_is_used_as_it_is_and_trained_on(lab: TinyLab) -> None:
    rows = lab.rows("maxp/table3a-robust04-title", {"bert-base-pft": lab.cross_encoder})
    assert list(rows) == ["MS MARCO alone", "BERT-Base (pFT)"]


@pytest.mark.neural
@pytest.mark.slow
def test_of_several_seeds_the_training_in_the_middle_stands_for_a_rate(lab: TinyLab) -> None:
    asked = ('systems=["BERT-Base"]', 'schemes=["shallow"]', "rates=[0.7]", "seeds=[0, 1]")
    rows = lab.rows("maxp/figure1-gov2-title", {"bert-base": lab.encoder}, *asked)
    assert list(rows) == ["BERT-Base, shallow, 0.7", "BERT-Base, all"]


def test_the_samples_counts_are_those_of_the_rule(lab: TinyLab) -> None:
    rows = lab.rows("maxp/figure1-samples-gov2", {}, "rates=[0.5]", trained=False)
    judged = len((lab.collection / "qrels.txt").read_text().splitlines())
    assert rows["deep, 0.5"]["judgments"] == rows["shallow, 0.5"]["judgments"] == judged // 2
    assert rows["shallow, 0.5"]["queries"] == 12
    assert rows["deep, 0.5"]["queries"] < 12
