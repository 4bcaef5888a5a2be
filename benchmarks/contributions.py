"""Compare the contributions that PARADE reports with leave-one-out, and both as orders of evidence.

    python -m benchmarks.contributions DATA [--model MODEL] [--folder work/contributions] [--results docs/results]

PARADE-Attn and PARADE-Max are trained on squad-dev-mixed, on the vectors of a frozen cross-encoder, `make model`, by
questions about SQuAD's training articles (`benchmarks.training_pools`), and read the relevant documents of questions
about the other articles:

    contribution     attention (Attn), share of the dimensions that a passage wins (Max)
    leave-one-out    the loss of the document's score without the passage
    alone            the score of a document of the passage alone

RESULTS/contributions-squad-dev-mixed.json has agreement and measures.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.evidence import Measured, Prepared, short, table
from benchmarks.gains_tasks import articles_of, run, write_qrels, write_queries
from benchmarks.training_examples import sample
from benchmarks.training_pools import is_training_article, unseen
from longrank.analysis.contributions import contribution_agreement, leave_one_out
from longrank.collections import read_qrels, read_queries, read_run
from longrank.formats.folds import Fold, write_folds
from longrank.index import Index
from longrank.protocols import Candidate
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import open_pipeline
from longrank.scoring.speed import machine, use_threads
from longrank.types import Evidence, Query
from longrank.verbs.analyze import analyze

MODEL = Path.home() / ".cache/longrank/models/minilm-cross-encoder"  # of `make model`
CONFIG = Path(__file__).with_name("aggregator.toml")
TASK = Measured("squad-dev-mixed", "answers", 200, 173)
NETWORKS = ("parade-attn", "parade-max")
N_TRAIN, N_DEV, DEPTH = 100, 20, 5
SETTINGS = (f"samples.depth={DEPTH}", "samples.n_negatives=3", f"validation.depth={DEPTH}")


def prepare(data: Path, prepared: Prepared) -> None:
    """Write the training questions, their fold, and the documents that BM25 finds for them."""
    every = read_queries(prepared.gold)
    articles = articles_of(data, every)
    queries = unseen([query for query in every if is_training_article(articles[query.query_id])], data)
    queries = sample(queries, N_TRAIN + N_DEV + 1, 0, lambda query: query.query_id)
    ids = [query.query_id for query in queries]
    judged = read_qrels(prepared.gold)
    write_queries(queries, prepared["train.jsonl"])
    write_qrels({query_id: judged[query_id] for query_id in ids}, prepared["train.txt"])
    fold = Fold(tuple(ids[:N_TRAIN]), tuple(ids[N_TRAIN:-1]), tuple(ids[-1:]))
    write_folds({"s1": fold}, prepared["folds.json"])
    if not prepared["index"].exists():
        run("index", data / TASK.collection, "-o", prepared["index"])
    run("retrieve", prepared["index"], prepared["train.jsonl"], "-o", prepared["bm25.run"], "-k", 20)


def trained(prepared: Prepared, network: str, model: Path) -> Path:
    """Train an aggregator on the vectors of a frozen model; return its folder."""
    output = prepared[network]
    inputs = (prepared["index"], prepared["train.jsonl"], prepared["train.txt"], prepared["bm25.run"])
    options = [
        part
        for setting in (f"network.name={network}", f"network.model={model}", *SETTINGS)
        for part in ("--set", setting)
    ]
    kept = ("--folds", prepared["folds.json"], "--score-cache", prepared["rows.cache"])
    run("train", CONFIG, *inputs, "-o", output, *kept, *options)
    return output / "s1" / "model"


def scorer_of(prepared: Prepared, network: str, model: Path) -> PassageDocumentScorer:
    """Return the network with its passages, reading as in training."""
    assignments = [
        "passages.preset=parade-paper",
        "scorer.options.max_tokens=256",
        "scorer.options.max_query_tokens=64",
    ]
    index, cache = prepared["index"], prepared["rows.cache"]
    scorer = open_pipeline(index, network, model=str(model), assignments=assignments, score_cache=cache).scorer
    assert isinstance(scorer, PassageDocumentScorer)
    return scorer


def candidates(prepared: Prepared) -> list[Candidate]:
    """Return the relevant documents of the questions to measure."""
    index, gold = Index.open(prepared["index"]), read_run(prepared["gold.run"])
    queries: Iterable[Query] = read_queries(prepared["queries.jsonl"])
    return [Candidate(q, index.document(row.doc_id), row.score) for q in queries for row in gold[q.query_id]]


def main() -> None:
    """Train, compare, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, default=MODEL, help="cross-encoder whose vectors are aggregated")
    parser.add_argument("--folder", type=Path, default=Path("work/contributions"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    use_threads(1)
    start = time.process_time()
    prepared = Prepared(args.data, TASK, args.folder)
    prepare(args.data, prepared)
    orders: dict[str, Any] = {}
    record: dict[str, Any] = {"command": "python -m benchmarks.contributions DATA", "machine": machine()}
    for network in NETWORKS:
        model, block = trained(prepared, network, args.model), candidates(prepared)
        scorer = scorer_of(prepared, network, model)
        contributed, left_out = scorer.evidence(block), leave_one_out(scorer, block)
        agreement = contribution_agreement(contributed, left_out)
        record[network] = {
            "training": json.loads((model.parent / "record.json").read_text()),
            "agreement": asdict(agreement),
        }
        print(network, agreement)
        orders |= {f"{network}, contribution": contributed, f"{network}, leave-one-out": left_out}
        orders[f"{network}, alone"] = list(map(_alone, contributed))
    analysis = analyze.evidence(orders, prepared.gold, by=TASK.gold)
    record |= {"cpu_seconds": time.process_time() - start, "result": asdict(analysis.values)}
    output = args.results / f"contributions-{TASK.collection}.json"
    output.write_text(json.dumps(short(record), ensure_ascii=False) + "\n", encoding="utf-8")
    print(analysis.text, table(analysis.values), *analysis.notes.lines(), sep="\n\n")


def _alone(evidence: Evidence) -> Evidence:
    """Return evidence whose passages are ordered by their scores."""
    return replace(evidence, document_score=None)


if __name__ == "__main__":
    main()
