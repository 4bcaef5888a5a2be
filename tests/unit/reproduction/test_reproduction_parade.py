"""PARADE's recipes: their figures against checksums typed from the paper's, and each program on a tiny collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slow_values import slow
from tiny_reproductions import TinyLab, published_sums

MOST = "train.read.options.max_passages=16"  # PARADE-Transformer's positions
SHARES = ("exactly 1 (%)", "1 or 2 (%)", "3 or more (%)")
SUMS = {
    "table2-robust04-title": {"AP": 4.1545 + 0.3766, "P@20": 5.443 + 0.4757, "nDCG@20": 6.2613 + 0.5444},
    "table2-robust04-description": {"AP": 4.3945 + 0.4062, "P@20": 5.8114, "nDCG@20": 6.7635 + 0.6122},
    "table2-gov2-title": {"AP": 4.0238 + 0.3389, "P@20": 7.3837 + 0.6134, "nDCG@20": 6.7059},
    "table2-gov2-description": {"AP": 3.6711, "P@20": 7.3828, "nDCG@20": 6.7064},
    "table3-genomics": {"AP": 3.3756, "P@20": 4.5484, "nDCG@20": 0.4195},
    "table4-dl19": {"AP": 1.6246, "nDCG@10": 3.8529},
    "table4-dl20": {"AP": 3.3099, "nDCG@10": 4.6948},
    "table5-ntcir-www3": {"nDCG@10": 3.2498, "Q@10": 3.336, "nERR@10": 0.0},
    "table6-robust04-title": {"nDCG@20": 3.321},
    "table7-robust04-title": {
        "P@20": 6.759,
        "nDCG@20": 7.8792,
        "parameters (millions)": 816,
        "ms per document": 1.14,
    },
    "table8-gov2-title": {"nDCG@20": 2.2362 + 2.2733 + 2.2894},
    "table9-gov2": dict(zip(SHARES, (38, 60, 40), strict=True)),
    "table9-dl19-fira": dict(zip(SHARES, (66, 87, 13), strict=True)),
    "table9-dl19": dict(zip(SHARES, (66, 86, 14), strict=True)),
    "table9-dl20": dict(zip(SHARES, (67, 81, 19), strict=True)),
    "table9-msmarco-train": dict(zip(SHARES, (99, 100, 0), strict=True)),
    "table9-msmarco-dev": dict(zip(SHARES, (98, 100, 0), strict=True)),
    "table9-genomics": dict(zip(SHARES, (62, 80, 20), strict=True)),
    "table10-covid-round2": {"nDCG@10": 2.7206, "P@5": 3.1942, "Bpref": 2.0327, "AP": 1.2626},
    "table11-covid-round3": {"nDCG@10": 3.3333 + 0.7658, "P@5": 3.76 + 0.89, "Bpref": 2.9069, "AP": 1.5041},
    "table12-covid-round4": {"nDCG@20": 0.7391, "P@20": 0.7589, "Bpref": 0.6132, "AP": 0.3993},
    "journal-table12-robust04-title": {
        "R@100": 2.4055,
        "R@1000": 3.6625,
        "AP@100": 1.3604,
        "AP": 1.5756,
        "P@20": 2.1295,
        "nDCG@20": 2.4652,
        "relevant in both": 9863,
        "relevant in RM3 alone": 1538,
        "relevant in BM25 alone": 409,
    },
    "readme-standalone-robust04-title": {"P@20": 0.8969, "nDCG@20": 1.0497},
    "readme-capreolus-robust04-title": {"AP": 0.3626, "P@20": 0.4739, "nDCG@20": 0.5449},
    "readme-checkpoints-msmarco-passage": {"RR@10": 3.0471 + 0.365 + 0.347},
    "cedr-robust04-title": {"nDCG@20": 6.1265, "nDCG@20 Web": 3.8142},
    "survey-cedr-robust04-title": {"nDCG@20": 2.0918 + 2.1408},
    "survey-cedr-robust04-description": {"nDCG@20": 2.2929 + 2.3356},
    "readme-cedr-robust04-title": {"nDCG@20": 4.1618 + 4.1226 + 4.1061},
}
"""Recipe -> sum of each column's published figures."""


@pytest.mark.parametrize("name", SUMS)
def test_the_published_columns_of_parade_add_up(name: str) -> None:
    assert published_sums(f"parade/{name}") == pytest.approx(SUMS[name])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> TinyLab:
    """A tiny collection and tiny models."""
    return TinyLab(tmp_path_factory.mktemp("parade"))


@pytest.mark.neural
def test_a_collections_statistics_are_counted(lab: TinyLab) -> None:
    rows = lab.rows("parade/table1-genomics", {"tokenizer": lab.encoder}, trained=False)
    assert rows["Genomics"]["queries"] == 12
    assert rows["Genomics"]["documents (millions)"] == 30 / 1e6
    assert 10 <= 1000 * rows["Genomics"]["tokens per document (thousands)"] <= 40


@pytest.mark.neural
@pytest.mark.parametrize(
    "systems", [["BM25", "BM25+RM3", "PARADE-CNN"], *slow(["ELECTRA-MaxP", "CEDR-KNRM (Max)"], ["Birch-Passage"])]
)
def test_aggregators_and_baselines_are_rows_of_one_table(lab: TinyLab, systems: list[str]) -> None:
    name = {"BM25": "table2-gov2-title", "ELECTRA-MaxP": "table2-gov2-description"}.get(systems[0], "table3-genomics")
    asked = f"systems={systems}".replace("'", '"')
    rows = lab.rows(f"parade/{name}", {"electra": lab.encoder}, asked, "train.read.options.max_passages=4")
    assert list(rows) == systems


@pytest.mark.neural
def test_each_fold_learns_from_a_first_stage_by_its_own_setting(tmp_path: Path) -> None:
    """The pooled run has the training queries by settings that other folds chose on the fold's test queries."""
    import longrank
    from longrank.formats.trec import read_run
    from longrank.storage import digest_of
    from longrank.types import Notes

    lab = TinyLab(tmp_path)
    asked = ('systems=["BM25", "PARADE-Max"]', 'bm25_grid={k1 = "0.2,3", b = "0,1"}')
    rows = lab.rows("parade/table2-gov2-title", {"electra": lab.encoder}, *asked)
    assert list(rows) == ["BM25", "PARADE-Max"]
    folder = lab.output / "parade/table2-gov2-title"
    pooled = read_run(folder / "bm25/run.txt", Notes())
    for choice in json.loads((folder / "bm25/tuning.json").read_text())["choices"]:
        name, setting = choice["name"], choice["setting"]
        own = read_run(folder / f"bm25-{name}.run", Notes())
        expected = longrank.retrieve(lab.output / "index", folder / "queries.jsonl", preset="bm25-anserini", **setting)
        shape = [[(row.query_id, row.doc_id) for row in run.rows()] for run in (own, expected)]
        assert shape[0] == shape[1]
        for query_id in choice["tested_on"]:
            assert [row[1:4] for row in own.get(query_id)] == [row[1:4] for row in pooled.get(query_id)]
        record = json.loads((folder / "parade-max" / name / "run.json").read_text())
        assert record["run"]["first_stage"] == digest_of([list(row) for row in own.rows()])


@pytest.mark.neural
def test_a_long_encoder_reads_whole_documents_beside_parade(lab: TinyLab) -> None:
    from longrank.formats.evidence import read_evidence
    from tiny_models import save_encoder

    models = {"electra": lab.encoder, "long": save_encoder(lab.folder / "modernbert", "modernbert")}
    whole = ('systems=["LongP"]', "train.read.passages=whole", "train.read.options={}", "train.read.max_tokens=24")
    rows = lab.rows("parade/table6-robust04-title", models, *whole, "rm3_grid={}")
    assert list(rows) == ["LongP"]
    trained = lab.output / "parade/table6-robust04-title/longp"
    evidence = list(read_evidence(trained / "s1" / "test.run.evidence")[1])
    assert {(len(one.passage_index), one.n_passages) for one in evidence} == {(1, 1)}
    assert sum(one.n_truncated for one in evidence) > 0  # counted, where 24 tokens do not hold the document


@pytest.mark.neural
@pytest.mark.slow
def test_a_campaigns_network_learns_on_the_queries_of_another_year(lab: TinyLab) -> None:
    asked = ('systems=["PARADE-Max"]', f"learn_on={lab.collection}")
    rows = lab.rows("parade/table4-dl20", {"electra": lab.encoder}, *asked, validated=False)
    assert list(rows) == ["PARADE-Max"]
    assert (lab.output / "parade/table4-dl20/parade-max-trained/model").is_dir()


@pytest.mark.neural
def test_a_campaigns_network_learns_by_folds_where_there_is_no_other_year(lab: TinyLab) -> None:
    rows = lab.rows("parade/table5-ntcir-www3", {"electra": lab.encoder}, 'systems=["PARADE-Max"]', validated=False)
    assert set(rows["PARADE-Max"]) == {"nDCG@10", "Q@10", "nERR@10"}


@pytest.mark.neural
@pytest.mark.slow
def test_students_after_the_teacher_are_distilled_too(lab: TinyLab) -> None:
    asked = ('sizes=["tiny", "mini"]', "teacher=tiny", "layers={mini=1}")
    cheap = 'latency=["--passages", "1", "--tokens", "8", "--seconds", "0", "--threads", "1"]'
    rows = lab.rows("parade/table7-robust04-title", {"tiny": lab.encoder}, *asked, cheap, MOST, validated=False)
    assert list(rows) == ["BERT-Mini", "BERT-Mini, distilled", "BERT-Tiny"]
    assert all(rows[name].keys() == {"P@20", "nDCG@20"} for name in rows)  # nothing of sizes that others stand for


@pytest.mark.neural
def test_students_of_one_output_learn_their_teachers_evidence(tmp_path: Path) -> None:
    lab = TinyLab(tmp_path)
    asked = ('sizes=["tiny", "mini"]', "teacher=tiny", "layers={mini=1}", "two_outputs=false")
    cheap = 'latency=["--passages", "1", "--tokens", "8", "--seconds", "0", "--threads", "1"]'
    rows = lab.rows("parade/table7-robust04-title", {"tiny": lab.encoder}, *asked, cheap, MOST, validated=False)
    assert list(rows) == ["BERT-Mini", "BERT-Mini, distilled", "BERT-Tiny"]


@pytest.mark.neural
@pytest.mark.slow
def test_what_is_trained_on_so_many_passages_is_used_with_others(lab: TinyLab) -> None:
    asked = ("train_passages=[2]", "passages=[1, 2]")
    rows = lab.rows("parade/table8-gov2-title", {"base": lab.encoder}, *asked, validated=False)
    assert list(rows) == ["trained with 2, used with 1", "trained with 2, used with 2"]
    of_one = (lab.output / "parade/table8-gov2-title/trained-2-used-1/run.txt").read_text()
    assert of_one != (lab.output / "parade/table8-gov2-title/trained-2/test.run").read_text()


@pytest.mark.neural
@pytest.mark.slow
def test_a_curve_has_a_training_for_each_number_of_passages(lab: TinyLab) -> None:
    asked = ('systems=["PARADE-Attn"]', "passages=[3]")
    assert list(lab.rows("parade/figure3-gov2-title", {"base": lab.encoder}, *asked, validated=False)) == [
        "PARADE-Attn, 3 passages"
    ]


def test_relevant_passages_are_shares_of_relevant_documents(lab: TinyLab) -> None:
    passages = lab.folder / "passages.txt"
    lines = ["q00 0 d00#0 1", "q00 0 d01#0 1", "q00 0 d01#1 1", "q01 0 d02#0 1", "q01 0 d02#1 1", "q01 0 d02#2 1"]
    passages.write_text("".join(f"{line}\n" for line in [*lines, "q02 0 d03#4 1"]))
    rows = lab.rows("parade/table9-genomics", {}, f"passages={passages}", trained=False)
    assert rows["Genomics"] == dict(zip(SHARES, (50.0, 75.0, 25.0), strict=True))


@pytest.mark.neural
def test_a_round_learns_on_judgments_before_and_fuses_systems(lab: TinyLab) -> None:
    runs = 'runs={mpiid5_run1={systems=["PARADE-Max", "PARADE-Attn"], depth=4}}'
    qrels = (lab.collection / "qrels.txt").read_text().splitlines()
    (lab.collection / "judged-before.txt").write_text("".join(f"{line}\n" for line in qrels[::3]))
    frozen = "train.network.frozen=true"
    rows = lab.rows("parade/table11-covid-round3", {"electra": lab.encoder}, runs, frozen, validated=False)
    assert list(rows) == ["mpiid5_run1"]
    commands = (lab.output / "parade/table11-covid-round3/commands.sh").read_text().splitlines()
    trainings = [line for line in commands if line.startswith("longrank train ")]
    assert len(trainings) == 2
    assert all(" --score-cache " in line for line in trainings)  # a frozen encoder reads each passage once
    (lab.collection / "judged-before.txt").unlink()


@pytest.mark.neural
def test_two_first_stages_are_reranked_and_mixed(lab: TinyLab) -> None:
    rows = lab.rows("parade/journal-table12-robust04-title", {"electra": lab.encoder}, MOST)
    assert list(rows) == [
        "BM25",
        "BM25+RM3",
        "PARADE over BM25",
        "PARADE over BM25+RM3",
        "ensemble",
        "relevant documents",
    ]


@pytest.mark.neural
def test_cedr_is_put_on_the_vanilla_bert_of_each_fold(lab: TinyLab) -> None:
    systems = 'systems=["VanillaBERT", "KNRM, BERT", "CEDR-KNRM"]'
    rows = lab.rows("parade/cedr-robust04-title", {"base": lab.encoder}, systems)
    assert list(rows) == ["VanillaBERT", "KNRM, BERT", "CEDR-KNRM"]


@pytest.mark.neural
def test_cedr_in_capreolus_is_mixed_with_its_first_stage(lab: TinyLab) -> None:
    asked = ('systems=["KNRM, BERT"]', "passages=[2]", "interpolated=true", "alphas=0,0.5")
    rows = lab.rows("parade/readme-cedr-robust04-title", {"bert": lab.encoder}, *asked)
    assert list(rows) == ["KNRM, BERT, 2 passages", "KNRM, BERT, 2 passages, interpolated"]


@pytest.mark.neural
def test_pre_fine_tuned_encoders_are_used_on_passages(lab: TinyLab) -> None:
    asked = ('systems=["BERT-Tiny"]', "depth=3", "passages=windows")
    name = "parade/readme-checkpoints-msmarco-passage"
    assert list(lab.rows(name, {"tiny": lab.cross_encoder}, *asked, trained=False)) == ["BERT-Tiny"]
