"""Compare trained systems with tuned first stages and untrained systems, query by query.

    python -m benchmarks.gains DATA --model FOLDER [--only time] [--folder work/gains] [--results docs/results]

FOLDER is a cross-encoder that `longrank train-passages` has made. On each collection of `benchmarks.gains_tasks`:

    first stages    BM25; BM25 and RM3, each tuned on the other folds
    untrained       MiniLM's vectors, MaxP, interpolated with BM25
    zero-shot       the cross-encoder's passage scores as FirstP, MaxP, SumP and AvgP
    aggregators     the PARADEs, trained over five folds on the frozen cross-encoder's vectors
    end to end      what `benchmarks.end_to_end` has trained on all folds, encoder and all
    chosen          in each fold, the system of these three that is best on its dev queries (of those trained end to
                    end, document networks alone)

Everything is kept in the folder and not done again. A row of results for each system goes to
RESULTS/gains-COLLECTION.json, with the commands; its table is printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import end_to_end
from benchmarks.gains_report import System, chosen_by_dev, interpolated, report
from benchmarks.gains_tasks import MIXED, PASSAGE_AGGREGATORS, READ, TASKS, Prepared, assigned, run, write_queries
from longrank.formats.evidence import EvidenceWriter, read_evidence
from longrank.index import Index
from longrank.models.folders import load_network
from longrank.models.network_reader import NetworkReader
from longrank.types import Evidence, Notes, Query

CONFIG = Path(__file__).with_name("aggregator.toml")
AGGREGATORS = ("parade-avg", "parade-sum", "parade-max", "parade-attn", "parade-cnn", "parade-transformer")
BM25_GRID = ("k1=0.3:3:0.3", "b=0.1:1:0.1")
RM3_GRID = (
    "k1=0.9,1.5,2.1",
    "b=0.3,0.5,0.7,0.9",
    "fb_docs=5,10",
    "fb_terms=10,30",
    "original_query_weight=0.5,0.7,0.9",
)


def main() -> None:
    """Prepare, train, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="the cross-encoder")
    parser.add_argument("--only", choices=list(TASKS), action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--index", type=Path, help="of the only collection, if it was built before")
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    parser.add_argument("--cache-only", action="store_true", help="only read the passages")
    args = parser.parse_args()
    for task in TASKS.values():
        if args.only is None or task.collection in args.only:
            prepared = Prepared(args.data, task, args.folder, args.index)
            fill_cache(prepared, args.model)
            if not args.cache_only:
                found = systems(prepared, args.model)
                report(prepared, [*found, chosen_by_dev(prepared, found)], args.results)


def fill_cache(prepared: Prepared, model: Path) -> None:
    """Let the cross-encoder's encoder read every passage once; all aggregators take its vectors from the file."""
    start = prepared["start"]
    if not start.exists():
        run("create", "parade-max", "--model", model, "-o", start)
    _rerank(prepared, prepared["queries.jsonl"], prepared["read.run"], "parade-max", start, "--allow-untrained")


def _rerank(
    prepared: Prepared,
    queries: Path,
    output: Path,
    pipeline: str,
    model: Path,
    *more: object,
    cached: bool = True,
) -> None:
    """Rerank with a document network, reading passages as its training does."""
    inputs = (prepared.index, queries, prepared["bm25.run"])
    options = ("--pipeline", pipeline, "--model", model, "--depth", prepared.task.depth, *more)
    cache = ("--score-cache", prepared["rows.cache"]) if cached else ()
    run("rerank", *inputs, "-o", output, *options, *cache, *assigned(READ))


def systems(prepared: Prepared, model: Path) -> list[System]:
    """Return all systems of a collection, their runs made."""
    found = [System("BM25 .9/.4", prepared["bm25.run"], "first stage")]
    found.append(System("BM25 tuned", prepared.tuned("bm25-tuned", "bm25-anserini", *BM25_GRID), "first stage"))
    found.append(System("BM25+RM3 tuned", prepared.tuned("rm3-tuned", "bm25-anserini+rm3", *RM3_GRID), "first stage"))
    found.append(System("MiniLM vectors, MaxP + BM25", prepared.bi_encoded(), "untrained"))
    found += zero_shot(prepared, model)
    found += [one for name in AGGREGATORS for one in trained(prepared, model, name)]
    return [*found, *trained_end_to_end(prepared)]


def zero_shot(prepared: Prepared, model: Path) -> list[System]:
    """Read the cross-encoder's passage scores as documents' scores, from one evidence file."""
    evidence = prepared["maxp.evidence"]
    if not evidence.exists():
        _score_passages(prepared, model, evidence)
    found = []
    for name in PASSAGE_AGGREGATORS:
        output, mixed = prepared[f"{name}.run"], prepared[f"{name}-bm25.run"]
        run("aggregate", evidence, "-o", output, "-a", name)
        found.append(System(f"cross-encoder, {name}", output, "zero-shot"))
        run("aggregate", evidence, "-o", mixed, "-a", name, *prepared.mix)
        found.append(System(f"cross-encoder, {name}{MIXED}", mixed, "zero-shot"))
    return found


def trained(prepared: Prepared, model: Path, name: str) -> Iterator[System]:
    """Train an aggregator over the folds; yield it alone and interpolated."""
    output = prepared[name]
    train_aggregator(prepared, model, name, output)
    for fold, parts in prepared.folds.items():
        _rerank_dev(prepared, output / fold, name, parts.dev)
    yield System(name, output / "test.run", "aggregator", output, "dev.run")
    mixed = prepared[f"{name}-bm25.run"]
    interpolated(prepared, output, mixed, *prepared.mix)
    yield System(f"{name}{MIXED}", mixed, "aggregator", output, "dev-mixed.run")


def trained_end_to_end(prepared: Prepared) -> Iterator[System]:
    """Yield the systems trained end to end on all folds, alone and interpolated.

    Of a document network, the dev queries are ranked, too. Scorers of passages are left out of the choice: the reading
    that dev should choose was not what their training was validated by.
    """
    folds = list(prepared.folds)
    for name in end_to_end.trained_on(prepared, folds):
        folder, network = end_to_end.folder_of(prepared, name), end_to_end.network_of(name)
        if network is not None:
            for fold, parts in prepared.folds.items():
                as_documents = ("--set", f"scorer.options.network={network}")  # the pipeline maxp is of passages
                _rerank_dev(prepared, folder / fold, "parade-max", parts.dev, *as_documents, cached=False)
                dev, mixed = (folder / fold / file for file in ("dev.run.evidence", "dev-mixed.run"))
                run("aggregate", dev, "-o", mixed, "-a", "document", *prepared.mix)
        for suffix, mix, ranked in (("", (), "dev.run"), (MIXED, prepared.mix, "dev-mixed.run")):
            for label, path in end_to_end.read(prepared, name, folds, *mix).items():
                yield System(f"{label}, end to end{suffix}", path, "end to end", folder, ranked if network else None)


def _rerank_dev(
    prepared: Prepared, trained: Path, pipeline: str, query_ids: Sequence[str], *more: str, cached: bool = True
) -> None:
    """Rerank a fold's dev queries with its network, for choosing among systems."""
    texts = _texts(prepared["queries.jsonl"])
    queries = trained / "dev.queries.jsonl"
    write_queries([Query(query_id, texts[query_id]) for query_id in query_ids], queries)
    _rerank(prepared, queries, trained / "dev.run", pipeline, trained / "model", *more, cached=cached)


def train_aggregator(
    prepared: Prepared, model: Path, name: str, output: Path, more: Mapping[str, object] | None = None
) -> None:
    """Train an aggregator over the folds on the vectors that are kept, with more settings if some are given."""
    task = prepared.task
    settings = {
        "network.name": name,
        "network.model": model,
        "samples.depth": task.depth,
        "validation.measure": task.measure,
        "validation.depth": task.depth,
    }
    inputs = (prepared.index, prepared["queries.jsonl"], prepared["qrels.txt"], prepared["bm25.run"])
    files = ("--folds", prepared["folds.json"], "--score-cache", prepared["rows.cache"])
    run("train", CONFIG, *inputs, "-o", output, *files, *assigned(settings | dict(more or {})))


def _score_passages(prepared: Prepared, model: Path, path: Path) -> None:
    """Write the evidence that `longrank rerank --pipeline maxp` would, from the vectors that are known.

    A passage's score is the classifier's output for the pooled vector of [CLS], which is what is known.
    """
    from transformers import AutoModelForSequenceClassification

    head = AutoModelForSequenceClassification.from_pretrained(str(model), local_files_only=True).eval()
    network, tokenizer, _ = load_network(prepared["start"])
    reader = NetworkReader(
        network, tokenizer, max_tokens=256, max_query_tokens=64, batch_tokens=2048, notes=Notes(), path=model
    )
    reader.use_cache(prepared["rows.cache"], "float32")
    header, evidence = read_evidence(prepared["read.run.evidence"])
    index, queries = Index.open(prepared.index), _texts(prepared["queries.jsonl"])
    by_query: dict[str, list[Evidence]] = {}
    for one in evidence:
        text = index.document(one.doc_id).text
        passages = [text[a:b] for a, b in zip(one.passage_start, one.passage_end, strict=True)]
        rows = reader.rows(list(reader.packer.pairs(queries[one.query_id], passages)))
        with torch.no_grad():
            scores = head.classifier(head.base_model.pooler(torch.from_numpy(rows)[:, None]))[:, 0].numpy()
        weights = np.ones(len(scores), np.float32)
        by_query.setdefault(one.query_id, []).append(_rescored(one, scores, weights))
    with EvidenceWriter(path, {**header, "unit": "logit"}) as writer:
        for query_id, own in by_query.items():
            writer.write_query(query_id, own)
        writer.commit()


def _rescored(one: Evidence, scores: Any, weights: Any) -> Evidence:
    return replace(one, passage_score=scores, passage_weight=weights, document_score=None)


def _texts(path: Path) -> Mapping[str, str]:
    return {one["query_id"]: one["text"] for one in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


if __name__ == "__main__":
    main()
