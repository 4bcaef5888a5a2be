"""Recipes, open collections, models and reduced settings of each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

CROSS, UNTRAINED = "cross-encoder", "minilm"
PREDICTORS = ("first", "second")

ROUND = "time-round2"
"""TIME as a second round: half of the documents were judged for each query in the round before."""


class Case(NamedTuple):
    """A recipe on an open collection, with its models (role -> which) and settings."""

    recipe: str
    collection: str
    models: Mapping[str, str] = {}
    settings: Sequence[str] = ()


SHALLOW = ("train.samples.depth=20", "train.test.depth=20")
FROZEN = (*SHALLOW, "train.network.frozen=true", "train.loop.optimizer.learning_rate=1e-3")
STANDALONE = (*FROZEN, "train.loop.steps=200")
"""The aggregator alone, 200 steps of 32 documents, by PARADE's own code."""
RUNS = (
    *(f"runs.mpiid5_run{n}.depth={depth}" for n, depth in ((3, 30), (2, 20), (1, 20))),
    *(one for one in STANDALONE if one != "train.test.depth=20"),
    "train.samples.unjudged=false",
)
"""The same for the runs of TREC-COVID, each of its own depth; no document to be found is taken for irrelevant."""
PAIRS = (
    *FROZEN,
    "train.validation.depth=20",
    "train.loop.steps=216",
    "train.loop.validate_every=24",
    "train.loop.schedule.options.epoch_steps=6",
)
"""The aggregator alone by PARADE's text: 36 epochs of 6 batches of 24 pairs."""
FEW = ("queries=24", "train.samples.depth=10", "train.test.depth=10")
BATCHES = ("train.loop.steps=24", "train.loop.batch=8", "train.loop.precision=bf16")
ONE_OUTPUT = "train.network.options.outputs=1"  # as the cross-encoder has
BY_EIGHT = ("train.loop.validate_every=8", "train.loop.schedule.options.epoch_steps=1")
PASSAGES = (*FEW, "train.validation.depth=10", ONE_OUTPUT, *BATCHES, *BY_EIGHT)
"""The whole network by MAXP's protocol, on 24 queries: 24 batches of 8 pairs of passages."""
DAI_CALLAN = (*FEW, 'train.network.options={outputs=1,score="logit"}', *BATCHES)
"""The whole network by Dai and Callan's, on single passages."""
EIGHT = ("train.loop.steps=8", *BATCHES[1:], "train.loop.validate_every=4")
CEDR = (*FEW, "train.validation.depth=10", *EIGHT)
"""The whole network by CEDR's protocol: eight batches of pairs of documents in each of many trainings."""
SURVEY = (*CEDR, BY_EIGHT[1])
"""The same by Capreolus', whose learning rate goes by epochs."""
CEDR_PAIRS = (*FEW, "train.validation.depth=10", *BATCHES, *BY_EIGHT)
"""The same, 24 batches."""
PFT = 'systems=["BERT-Base","BERT-Base (pFT)"]'
ENCODERS = {"electra": CROSS}
SIZES = ('sizes=["base","mini"]', "layers.mini=3")
RATES = ('systems=["BERT-Base (pFT)"]', "rates=[0.5]", "seeds=[0]")
ON_BERT = 'systems=["KNRM, BERT","CEDR-KNRM, BERT"]'
VANILLA = 'systems=["VanillaBERT, BERT-MSM"]'
NO_RM3_GRID, NO_BM25_GRID = "rm3_grid={}", "bm25_grid={}"
WORDS = "train.read.passages=parade-standalone"
"""Windows of words, as in PARADE's code, not of tokens."""
WINDOWS = "reading=doct5query"
"""Queries are predicted for windows of ten sentences, not for whole documents."""
OWN = 'tune_on=""'
"""Samples of the collection's own queries."""
PARADE_SYSTEMS = (
    'systems=["BM25","BM25+RM3","Birch-Passage","PARADE-Avg","PARADE-Sum","PARADE-Max","PARADE-Attn","PARADE-CNN",'
    '"PARADE-Transformer"]'
)
GENOMICS_SYSTEMS = PARADE_SYSTEMS.replace('"BM25+RM3",', "")
SMALL_GRID = tuple(
    f"tune.{axis}={values}"
    for axis, values in {
        "k1": "0.6,0.75",
        "b": "0.55,0.75",
        "fb_terms": "45,105",
        "fb_docs": "5,20",
        "original_query_weight": "0.2,0.3",
    }.items()
)
WEAK_LABELS = ("label_depth=30", "train.loop.steps=150", "train.loop.validate_every=50")
ONE_CROSS = ('trained_on=["MSM"]',)
MB = {"MB": CROSS}
ONE_MODEL = ('trained_on=["MB"]', "depth=20")
TWO_PREDICTORS = dict(zip(("doc2query-msmarco", "doc2query-car"), PREDICTORS, strict=True))
BERTS = dict.fromkeys(("bert-msmarco", "bert-msmarco-microblog"), CROSS)

CASES = (
    Case("santos/table1-2002", "time"),
    Case("santos/table2-2002", "time", {"encoder": UNTRAINED}, WEAK_LABELS),
    Case("santos/figure2", "time", {"encoder": UNTRAINED}),
    Case("santos/figure3", "time", {"encoder": UNTRAINED}, ("depth=[10,20,30,40,50]",)),
    Case("santos/table5", "time", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("santos/table6-2002", "time", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("santos/table6-2002", "squad-dev-mixed", {"base": UNTRAINED}, ('sizes=["base"]', "queries=200")),
    Case("santos/table6-2002", "scifact", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("birch/table1.1-microblog", "time"),
    Case("birch/table1.2-msmarco", "time", settings=('triples=""',)),
    Case("birch/table1.3-car", "time"),
    Case("birch/results-robust04", "time", {"MSM": CROSS}, (*ONE_CROSS, "depth=20")),
    Case("birch/results-robust04", "squad-dev-mixed", {"MSM": CROSS}, (*ONE_CROSS, "depth=10", "queries=200")),
    Case("birch/results-robust04", "scifact", {"MSM": CROSS}, (*ONE_CROSS, "depth=20")),
    Case("birch/sentences-robust04", "time", {"bert": CROSS}, ("depth=20", "sentences=6")),
    Case("birch/first-version-five-folds", "time", MB, (*ONE_MODEL, *SMALL_GRID)),
    Case("birch/first-version-two-folds", "time", MB, (*ONE_MODEL, *SMALL_GRID)),
    Case("birch/birch-passage-title", "time", {"ELECTRA pFT": CROSS}, ('encoders=["ELECTRA pFT"]', *PAIRS)),
    Case("parade/table1-robust04", "time", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "cranfield", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "squad-dev-mixed", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "squad-dev-sections", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "qmsum", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "scifact", {"tokenizer": UNTRAINED}),
    Case("parade/table2-gov2-title", "time", ENCODERS, (PARADE_SYSTEMS, NO_BM25_GRID, *PAIRS)),
    Case("parade/table3-genomics", "qmsum", ENCODERS, (GENOMICS_SYSTEMS, NO_BM25_GRID, *PAIRS)),
    Case("parade/table4-dl19", "time", ENCODERS, (NO_BM25_GRID, *STANDALONE)),
    Case("parade/table5-ntcir-www3", "time", ENCODERS, STANDALONE),
    Case("parade/table6-robust04-title", "time", ENCODERS, (NO_RM3_GRID, *PAIRS)),
    Case("parade/table7-robust04-title", "time", {"base": CROSS}, (*SIZES, "two_outputs=false", WORDS, *STANDALONE)),
    Case(
        "parade/table8-gov2-title",
        "time",
        {"base": CROSS},
        ("train_passages=[2,8]", "passages=[2,8]", NO_BM25_GRID, WORDS, *STANDALONE),
    ),
    Case("parade/table9-genomics", "qmsum"),
    Case("parade/table9-gov2", "qmsum", settings=('options=["--level","1"]',)),
    Case("parade/table10-covid-round2", ROUND, ENCODERS, RUNS),
    Case("parade/journal-table12-robust04-title", "time", ENCODERS, PAIRS),
    Case("parade/readme-standalone-robust04-title", "time", ENCODERS, STANDALONE),
    Case("parade/readme-capreolus-robust04-title", "time", ENCODERS, PAIRS),
    Case("parade/readme-checkpoints-msmarco-passage", "time", ENCODERS, ('systems=["ELECTRA-Base"]', "depth=20")),
    Case("parade/cedr-robust04-title", "time", {"base": CROSS}, CEDR),
    Case("parade/survey-cedr-robust04-title", "time", {"bert": CROSS}, (ON_BERT, *SURVEY)),
    Case("parade/readme-cedr-robust04-title", "time", {"bert-msm": CROSS}, (VANILLA, *CEDR_PAIRS)),
    Case(
        "parade/figure3-gov2-title",
        "qmsum",
        {"base": CROSS},
        ("passages=[4,16]", NO_BM25_GRID, WORDS, *STANDALONE),
    ),
    Case("maxp/figure1-samples-robust04", "cranfield", settings=("rates=[0.3,0.5,0.7,0.9]",)),
    Case("maxp/figure1-robust04-title", "cranfield", {"bert-base-pft": CROSS}, (*RATES, *PASSAGES)),
    Case("maxp/table1a-robust04-title", "time", {"bert-base": CROSS}, DAI_CALLAN),
    Case("maxp/table1b-robust04-title", "time", {"bert-base": CROSS}, PASSAGES),
    Case("maxp/table2-robust04-title", "time", {"bert-base": UNTRAINED, "bert-base-pft": CROSS}, (PFT, *PASSAGES)),
    Case("maxp/table3a-robust04-title", "time", {"bert-base-pft": CROSS}, ('systems=["MS MARCO alone"]', *SHALLOW)),
    Case("h2oloo/table1-passage", "cranfield", {"bert": CROSS, **TWO_PREDICTORS}, ("depth=20", "predicted=2", WINDOWS)),
    Case("h2oloo/table2-document", "time", {**BERTS, **TWO_PREDICTORS}, ("depth=20", "predicted=2")),
    Case("h2oloo/doc2query-document", "squad-dev-sections", {"doc2query": PREDICTORS[0]}, ("predicted=2",)),
    Case(
        "h2oloo/doc2query-passage",
        "squad-dev-sections",
        {"bert": CROSS, "doc2query-msmarco": PREDICTORS[0]},
        ("depth=10", "predicted=2", WINDOWS),
    ),
    Case("h2oloo/tuning-passage", "cranfield", settings=(OWN, "sample_size=100")),
    Case("h2oloo/tuning-passage", "squad-dev-mixed", settings=(OWN, "sample_size=100")),
    Case("h2oloo/tuning-passage", "scifact", settings=(OWN, "sample_size=100")),
    Case("h2oloo/tuning-document", "time", settings=(OWN, "sample_size=40")),
)
