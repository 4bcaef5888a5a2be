"""h2oloo's recipes: their figures against what was typed from the paper, and each program run on a tiny collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.reproduction.recipe_files import load_recipe
from sentence_reproductions import obtained, published, reproduced, sums, to_obtain, write_with_sentences
from tiny_language_models import save_seq2seq
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, other topics of it, predicted queries, a cross-encoder and a model that predicts queries."""
    folder = tmp_path_factory.mktemp("h2oloo")
    write_with_sentences(folder / "tiny")
    for number, queries in enumerate((["river bank"], ["long river", "money"])):
        rows = [json.dumps({"doc_id": f"d{n:02d}", "queries": queries}) + "\n" for n in range(30)]
        (folder / "tiny" / f"predicted-{number}.jsonl").write_text("".join(rows))
    (folder / "others, too").mkdir()
    for name in ("queries.jsonl", "qrels.txt"):
        (folder / "others, too" / name).write_text((folder / "tiny" / name).read_text())
    save_cross_encoder(folder / "cross-encoder")
    save_seq2seq(folder / "seq2seq")
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # baselines 2.7305 and 4.2322, four runs of BERT 1.9505 and 2.9783
        ("table1-passage", {"AP": 4.6810, "nDCG@10": 7.2105}),
        # baselines 2.0802 and 4.1346, four runs of BERT 1.2586 and 2.6515
        ("table2-document", {"AP": 3.3388, "nDCG@10": 6.7861}),
        ("track-document", {"AP": 1.9551}),
        ("tuning-passage", {"RR@10": 0.3714, "R@1000": 1.7099, "k1": 1.42, "b": 1.30}),
        ("tuning-document", {"AP": 0.5098, "R@1000": 1.8182, "k1": 7.90, "b": 1.69}),
        ("doc2query-passage", {"RR@10": 1.2872}),
        ("doc2query-document", {"AP": 0.5196, "R@1000": 1.8115}),
    ],
)
def test_the_columns_of_h2oloo_add_up(name: str, expected: dict[str, float]) -> None:
    assert sums(f"h2oloo/{name}") == pytest.approx(expected, abs=1e-9)


def test_figures_of_h2oloo_are_where_they_belong() -> None:
    first, second = published("h2oloo/table1-passage"), published("h2oloo/table2-document")
    assert first["bm25base_ax_p"] == {"AP": 0.3745, "nDCG@10": 0.5511}
    assert first["bm25tuned_prf_p"] == {"AP": 0.3684, "nDCG@10": 0.5536}
    assert first["p_exp_rm3_bert"] == {"AP": 0.5049, "nDCG@10": 0.7422}
    assert second["bm25base_rm3"] == {"AP": 0.2772, "nDCG@10": 0.5169}
    assert second["bm25exp_marco"] == {"AP": 0.3030, "nDCG@10": 0.6399}
    assert load_recipe("h2oloo/table1-passage")[0].evaluate.level == 2
    assert load_recipe("h2oloo/table2-document")[0].evaluate.depth == 100
    assert load_recipe("h2oloo/table2-document")[0].settings["weights"]["bm25exp_marco"] == [0.6, 0.3, 0.6]


def test_passages_have_baselines_and_runs_of_bert_on_two_indexes(folder: Path, tmp_path: Path) -> None:
    sets = ["depth=3", 'expansions=["predicted-0.jsonl", "predicted-1.jsonl"]', "queries=6"]
    name, models = "h2oloo/table1-passage", [f"bert={folder / 'cross-encoder'}"]
    found = reproduced(name, folder / "tiny", tmp_path / "out", models=models, sets=sets)
    assert obtained(found).keys() == to_obtain(name)
    united = [command for command in found["commands"] if command[0] == "index" and "--expansions" in command]
    assert [command.count("--expansions") for command in united] == [2]


def test_documents_are_weighed_as_the_paper_or_another_set_says(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.cli.main import main

    roles = ("bert-msmarco", "bert-msmarco-microblog")
    models = [f"{role}={folder / 'cross-encoder'}" for role in roles]
    sets = ["depth=3", 'expansions=["predicted-0.jsonl"]', "queries=6"]
    name = "h2oloo/track-document"
    rows = obtained(reproduced(name, folder / "tiny", tmp_path / "paper", models=models, sets=sets))
    assert rows.keys() == to_obtain(name)
    learn = [f"learn_on={folder / 'others, too'}", "grid=0:1:0.5"]
    found = reproduced(name, folder / "tiny", tmp_path / "learned", models=models, sets=[*sets, *learn])
    assert obtained(found).keys() == to_obtain(name)
    weights = json.loads((tmp_path / "learned" / name / "bm25_marcomb-learned" / "weights.json").read_text())
    assert weights["protocol"]["name"] == "frozen"
    judged = folder / "others, too" / "qrels.txt"
    kept = judged.read_text()
    judged.write_text(kept.replace(" 0\n", " 1\n", 1))  # what was learned is not what it would be now
    given = ["--collection", str(folder / "tiny"), *(part for model in models for part in ("--model", model))]
    again = [*given, *(part for one in (*sets, *learn) for part in ("--set", one))]
    assert main(["reproduce", name, *again, "-o", str(tmp_path / "learned")]) == 2
    assert "was begun with other files that settings name" in capsys.readouterr().err
    judged.write_text(kept)
    inputs = ["--collection", str(folder / "tiny"), "-o", str(tmp_path / "table")]
    assert main(["reproduce", "h2oloo/table2-document", *inputs, "--dry-run"]) == 0


def test_k1_and_b_are_the_means_of_the_optima_of_samples(folder: Path, tmp_path: Path) -> None:
    sets = ["k1=0.6,1.2", "b=0.4,0.8", "samples=3", 'tune_on=""', "sample_size=4", 'objectives=["RR@10"]']
    found = obtained(reproduced("h2oloo/tuning-passage", folder / "tiny", tmp_path / "out", sets=sets))
    assert list(found) == ["optimum by RR@10", "bm25base_p", "bm25tuned_p"]
    assert 0.6 <= found["optimum by RR@10"]["k1"] <= 1.2
    assert 0.4 <= found["optimum by RR@10"]["b"] <= 0.8


def test_queries_are_predicted_where_no_file_has_them(folder: Path, tmp_path: Path) -> None:
    models = [f"bert={folder / 'cross-encoder'}", f"doc2query-msmarco={folder / 'seq2seq'}"]
    sets, name = ["predicted=1", "depth=3", "queries=6"], "h2oloo/doc2query-passage"
    rows = obtained(reproduced(name, folder / "tiny", tmp_path / "out", models=models, sets=sets))
    assert rows.keys() == to_obtain(name)
    name, sets = "h2oloo/doc2query-document", ['expansions=["predicted-0.jsonl"]', "queries=6"]
    rows = obtained(reproduced(name, folder / "tiny", tmp_path / "documents", sets=sets))
    assert rows.keys() == to_obtain(name)
