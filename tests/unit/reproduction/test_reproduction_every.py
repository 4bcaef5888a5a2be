"""Every recipe that has a program, run from end to end on a tiny collection by its command line.

Systems are few, documents and steps too; what the programs make is looked at where each paper's are tested.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.reproduction.recipe_files import load_recipe, recipe_names
from sentence_reproductions import obtained, reproduced, write_with_sentences
from tiny_language_models import save_seq2seq
from tiny_models import save_cross_encoder, save_encoder
from tiny_reproductions import TRAIN, VALIDATED

pytestmark = [pytest.mark.neural, pytest.mark.slow]

LEARNS = tuple(f"train.{one}" for one in TRAIN)
VALIDATES = (*LEARNS, *(f"train.{one}" for one in VALIDATED))
TUNED = 'tune={k1="0.9", b="0.4", fb_terms="5", fb_docs="3,5", original_query_weight="0.5"}'
GRID = "grid=0:1:0.5"
ONE = 'trained_on=["MB"]'
SENTENCES = ("candidates=12", "depth=4", "sentences=2", "both=3")
PASSAGES = ('options=["--level", "1"]', "passages=passage_qrels.txt")
EXPANDED = ('expansions=["predicted.jsonl"]',)

SMALL: dict[str, tuple[str, tuple[str, ...]]] = {
    "birch:passages": ("encoder", ('encoders=["ELECTRA"]', "alpha=0:1:0.5", *VALIDATES)),
    "birch:first_version": ("cross-encoder", (ONE, TUNED, GRID, "depth=6")),
    "birch:results": ("cross-encoder", (ONE, GRID, "depth=6")),
    "birch:sentences": ("cross-encoder", (GRID, "depth=6", "sentences=2")),
    "birch:table_1_1": ("", ("validation=3",)),
    "birch:table_1_2": ("", ("n_triples=2",)),
    "birch:table_1_3": ("", ("depth=2",)),
    "h2oloo:expansion_documents": ("seq2seq", ("queries=6", *EXPANDED)),
    "h2oloo:expansion_passages": ("cross-encoder", ("depth=3", "queries=6", *EXPANDED)),
    "h2oloo:table_1": ("cross-encoder", ("depth=3", "queries=6", *EXPANDED)),
    "h2oloo:table_2": ("cross-encoder", ("depth=3", "queries=6", *EXPANDED)),
    "h2oloo:table_2_full_depth": ("cross-encoder", ("depth=3", "queries=6", *EXPANDED)),
    "h2oloo:tuning": ("", ("k1=0.6,1.2", "b=0.4,0.8", "samples=2", 'tune_on=""', "sample_size=4")),
    "maxp:figure_1": ("encoder", ('systems=["BERT-Base"]', 'schemes=["deep"]', "rates=[0.7]", "seeds=[0]", *VALIDATES)),
    "maxp:samples": ("", ("rates=[0.5]",)),
    "maxp:table_1a": ("encoder", LEARNS),
    "maxp:table_1b": ("encoder", ('systems=["MaxP"]', *VALIDATES)),
    "maxp:table_2": ("encoder", ('systems=["BERT-Base"]', *VALIDATES)),
    "maxp:table_3a": ("cross-encoder", VALIDATES),
    "cedr:original": ("encoder", ('systems=["VanillaBERT"]', *VALIDATES)),
    "cedr:capreolus": ("encoder", ("passages=[2]", "alphas=0,0.5", *VALIDATES)),
    "parade_efficiency:figure_3": ("encoder", ('systems=["PARADE-Attn"]', "passages=[3]", *LEARNS)),
    "parade_efficiency:table_7": (
        "encoder",
        ('sizes=["tiny"]', "teacher=tiny", *LEARNS, "train.read.options.max_passages=4"),
    ),
    "parade_efficiency:table_8": ("encoder", ("train_passages=[2]", "passages=[1]", *LEARNS)),
    "parade_efficiency:checkpoints": ("cross-encoder", ('systems=["BERT-Tiny"]', "depth=3", "passages=windows")),
    "parade:journal_table_12": ("encoder", (*VALIDATES, "train.read.options.max_passages=4")),
    "parade:table_1": ("encoder", ()),
    "parade:table_2": (
        "encoder",
        ('systems=["PARADE-Transformer"]', *VALIDATES, "train.read.options.max_passages=4"),
    ),
    "parade:table_4": (
        "encoder",
        ('systems=["PARADE-Transformer"]', *LEARNS, "train.read.options.max_passages=4"),
    ),
    "parade:table_9": ("", PASSAGES),
    "parade:covid": ("encoder", LEARNS),
    "santos:figure_2": ("encoder", ("sentences=[1, 2]", "depth=4", "candidates=12")),
    "santos:figure_3": ("encoder", ("depth=[2, 4]", "sentences=2", "candidates=12")),
    "santos:table_1": ("", ("candidates=12",)),
    "santos:table_2": (
        "encoder",
        (
            *SENTENCES,
            "label_depth=12",
            "train.read.max_tokens=16",
            *(f"train.loop.{one}=1" for one in ("steps", "validate_every")),
        ),
    ),
    "santos:pools_and_aggregations": ("encoder", SENTENCES),
    "santos:table_5": ("encoder", ('sizes=["base"]', "tokens=16", "seconds=0")),
    "santos:table_6": ("encoder", (*SENTENCES, 'sizes=["distil"]')),
}
"""Program -> the model of all its roles, and settings with which it runs in seconds."""
OWN: dict[str, tuple[str, ...]] = {
    "parade/table4-dl20": ('learn_on=""',),
    "parade/table10-covid-round2": ('runs={mpiid5_run1={systems=["PARADE-Max"], depth=4}}',),
    "parade/table11-covid-round3": ('runs={mpiid5_run1={systems=["PARADE-Max"], depth=4}}',),
    "parade/table12-covid-round4": ('runs={mpiid5_run1={systems=["PARADE-Max"], depth=4}}',),
}
"""Recipe -> settings of its own."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections, of which one was judged before, and a model of each kind."""
    folder = tmp_path_factory.mktemp("every")
    for name in ("tiny", "round"):
        (folder / name).mkdir()
        tiny = write_with_sentences(folder / name / "tiny")
        qrels = (tiny / "qrels.txt").read_text().splitlines(keepends=True)
        (tiny / "passage_qrels.txt").write_text("q00 0 d00#0 1\nq00 0 d01#0 1\nq00 0 d01#1 1\n")
        (tiny / "triples.train.small.tsv").write_text("which river\tblue water\tred stone\n" * 3)
        rows = [json.dumps({"doc_id": f"d{n:02d}", "queries": ["river bank"]}) + "\n" for n in range(30)]
        (tiny / "predicted.jsonl").write_text("".join(rows))
        if name == "round":
            (tiny / "judged-before.txt").write_text("".join(qrels[::3]))
    save_cross_encoder(folder / "cross-encoder")
    save_encoder(folder / "encoder")
    save_seq2seq(folder / "seq2seq")
    return folder


@pytest.mark.parametrize("name", [name for name in recipe_names() if load_recipe(name)[0].program])
def test_a_recipe_runs_from_end_to_end(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.scoring.speed.matrix_peak", lambda dtype, device: 100.0)  # takes seconds
    recipe, _ = load_recipe(name)
    kind, sets = SMALL.get(str(recipe.program), ("", ()))
    models = [f"{role}={folder / kind}" for role in recipe.models] if kind else []
    collection = folder / ("round" if recipe.program == "parade:covid" else "tiny") / "tiny"
    found = reproduced(name, collection, tmp_path / "out", models=models, sets=[*sets, *OWN.get(name, ())])
    assert obtained(found)
    assert (tmp_path / "out" / name / "report.html").exists()
