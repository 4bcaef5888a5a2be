"""Int8 models on both kinds of 8-bit arithmetic: agreement with float32, and quality of the ranking.

    python -m benchmarks.int8_arithmetic DATA MODEL INT8... [--scorer cross-encoder] [--queries 83]
    ONEDNN_MAX_CPU_ISA=AVX2 python -m benchmarks.int8_arithmetic DATA MODEL INT8...

The second command masks VNNI and AVX-512: pairs of products are then added in 16 bits, which may saturate. Documents
are the first ten by BM25 for queries of TIME, in 150/75-word windows; a document's score is its best passage's. MODEL
is scored in float32 by PyTorch, INT8 (`longrank quantize`) in int8 by OpenVINO. Printed: largest difference of a
passage's score in standard deviations, Kendall's tau of all passages, nDCG@10.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from longrank.collections.documents import locate_documents
from longrank.collections.judgments import read_qrels
from longrank.collections.queries import read_queries
from longrank.evaluation.measures import evaluate
from longrank.index import Index, build_index
from longrank.networks.model_files import find_model
from longrank.protocols import PassageScorer, ScoringTask
from longrank.ranking.quantization import SCORERS
from longrank.retrieval import make_retriever
from longrank.scoring.speed import processor, use_threads
from longrank.text.segment import make_segmenter
from longrank.types import Notes, Qrels, Run, ScoredDoc


def tasks_of(data: Path, n_queries: int, folder: Path) -> list[ScoringTask]:
    """Return the passages of the first ten documents for each query."""
    index, segmenter = folder / "index", make_segmenter("windows")
    build_index(locate_documents([str(data / "docs.jsonl.gz")], Notes()), index)
    opened = Index.open(index)
    retriever, tasks = make_retriever(opened, notes=Notes()), []
    for query in list(read_queries(data / "queries.jsonl"))[:n_queries]:
        for hit in retriever.retrieve(query, 10):
            passages = segmenter.segment(opened.document(hit.doc_id)).passages
            tasks.append(ScoringTask(query, hit.doc_id, passages, tuple(passage.text for passage in passages)))
    return tasks


def main() -> None:
    """Print a line for each int8 model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("int8", nargs="+")
    parser.add_argument("--scorer", choices=list(SCORERS), default="cross-encoder")
    parser.add_argument("--queries", type=int, default=83)
    options = parser.parse_args()
    use_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        tasks = tasks_of(options.data / "time", options.queries, Path(folder))
    qrels, scorer = read_qrels(options.data / "time" / "qrels.txt"), SCORERS[options.scorer]
    exact, quality = scored(scorer(find_model(options.model), device="cpu"), tasks, qrels)
    print(f"{processor()}, {os.environ.get('ONEDNN_MAX_CPU_ISA', 'all instructions')}: {len(exact)} passages")
    print(f"{options.model} float32: nDCG@10 {quality:.4f}")
    for int8 in options.int8:
        rounded, quality = scored(scorer(find_model(int8), backend="openvino", dtype="int8"), tasks, qrels)
        largest, tau = np.abs(rounded - exact).max() / exact.std(), kendalltau(rounded, exact).statistic
        print(f"{int8}: largest difference {largest:.3f} sd, tau {tau:.4f}, nDCG@10 {quality:.4f}", flush=True)


def scored(scorer: PassageScorer, tasks: list[ScoringTask], qrels: Qrels) -> tuple[np.ndarray, float]:
    """Return the scores of all passages, and nDCG@10 of the documents by their best ones."""
    results = scorer.score(tasks)
    best = [
        ScoredDoc(task.query.query_id, task.doc_id, float(result.scores.max()))
        for task, result in zip(tasks, results, strict=True)
    ]
    values = evaluate(qrels, Run("maxp", best), ["nDCG@10"], queries="intersection")["nDCG@10"]
    return np.concatenate([result.scores for result in results]), statistics.fmean(values.values())


if __name__ == "__main__":
    main()
