"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Qrels = Annotated[
    str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
]
QueriesSource = Annotated[
    str, typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES")
]
Runs = Annotated[list[Path], typer.Argument(help="TREC runs, from any engine.", metavar="RUN")]
EvidenceFile = Annotated[Path, typer.Argument(help="Evidence file written by longrank rerank.", metavar="EVIDENCE")]
RunOutput = Annotated[Path, typer.Option("-o", "--output", help="Output file, a TREC run.")]
Tag = Annotated[str, typer.Option("--tag", help="Tag of the run.")]
FirstStage = Annotated[
    Path | None,
    typer.Option("--first-stage", help="Run that was reranked; its other documents follow below.", metavar="RUN"),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", help="birch: weights of the best, second best, ... sentence.", metavar="1,W2,W3"),
]
Interpolate = Annotated[
    float | None,
    typer.Option("--interpolate", help="ALPHA * first stage + (1 - ALPHA) * passages; 0 to 1.", metavar="ALPHA"),
]
Normalize = Annotated[str, typer.Option("--normalize", help="Scaling before interpolation: none, or minmax per query.")]
MixMethod = Annotated[
    str | None,
    typer.Option("--mix-method", help="Method of the mix: minmax or rrf. [default: as in the evidence]"),
]
Complete = Annotated[
    bool,
    typer.Option(
        "--complete/--intersection",
        help="Average over all topics of the qrels, missing topics as 0 (trec_eval -c); or over the topics of the run.",
    ),
]
Measure = Annotated[
    str, typer.Option("-m", "--measure", help="Measure to maximise, a name of ir_measures or trec_eval.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="Repeatable; a name of ir_measures or trec_eval. [default: nDCG@10]"),
]
Field = Annotated[str | None, typer.Option("--field", help="Topic field that is the query: title, description, ...")]
QueryFormat = Annotated[str | None, typer.Option("--query-format", help="Query format, if it cannot be detected.")]
ModelName = Annotated[str, typer.Argument(help="Model: a Hugging Face name, a folder, or an alias.", metavar="MODEL")]
Model = Annotated[str | None, typer.Option("--model", help="Model: a Hugging Face name, a folder, or an alias.")]
Convert = Annotated[
    bool, typer.Option("--convert", help="Convert a model that is a PyTorch checkpoint, once, into the cache folder.")
]
ScoreCache = Annotated[
    Path | None, typer.Option("--score-cache", help="File of passage scores shared between runs; created if absent.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Condition on a metadata field, e.g. 'year>=2020'; repeatable, all must hold."),
]
Filter = Annotated[
    str | None,
    typer.Option("--filter", help="""Filter as JSON, e.g. '{"year": {"$gte": 2020}}'.""", metavar="JSON"),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Engine: local, ray (a cluster of this machine), or ray=ADDRESS; the bytes are the same.",
        metavar="local|ray[=ADDRESS]",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes, or workers of the cluster. [default: 1; of a cluster, all]", min=1),
]
Resources = Annotated[
    str | None,
    typer.Option("--resources", help="Resources of each worker of a cluster, e.g. GPU=1,CPU=4.", metavar="NAME=AMOUNT"),
]
Lang = Annotated[
    str | None,
    typer.Option(
        "--lang",
        help="Language of the queries (en, de, pt-BR, ...), for an index built with --analyzer-field. [default: the "
        "query's own field, else all languages of the documents]",
    ),
]
AllowUntrained = Annotated[bool, typer.Option("--allow-untrained", help="Score with an untrained document network.")]
PipelineSettings = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value: any setting of the pipeline.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Plot file: .png, .svg or .pdf. Needs the extra plots.", metavar="FILE"),
]
Folds = Annotated[Path | None, typer.Option("--folds", help="Fold file, of LongRank, Anserini or Capreolus.")]
MakeFolds = Annotated[
    int | None, typer.Option("--make-folds", help="Number of random folds to make; written to FOLDER/folds.json.")
]
ChooseBy = Annotated[
    str | None,
    typer.Option(
        "--choose-by",
        help="Rule for each fold: rest (mean over train and dev), dev (mean over dev), yang19 (sum of the means of "
        "the other folds; ties to the largest setting as text), or birch. [default: rest]",
    ),
]
TuningFormat = Annotated[str, typer.Option("--format", help="Output format: table, json, csv or markdown.")]
