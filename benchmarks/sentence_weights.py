"""Birch's grid over stored evidence: `longrank weigh` by five folds, on 250 topics of 1,000 documents.

    python -m benchmarks.sentence_weights [--folder DIR] [--queries 250] [--documents 1000]

Two grids of alpha, w2 and w3: 11 x 11 x 11, and 10 x 10 x 10 chosen as the released code does (``--choose-by birch``).
The evidence is generated: 1 to 60 sentences of random scores for each document, on average 30, better ones for relevant
documents. Times are CPU seconds of the whole command, which reads the evidence, fills the table, chooses and
writes the run.

The peer is what the released code does for a setting: scores in Python, a sorted run, average precision by
trec_eval (pytrec_eval, in this process, without the files and processes of the original). It is timed for a few
settings, and multiplied by their number; its average precision must be the table's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longrank.cli.main import main as longrank
from longrank.formats.evidence import EvidenceWriter, evidence_header, read_evidence
from longrank.formats.trec import read_qrels
from longrank.types import Evidence, Notes

GRIDS = {"0:1:0.1": "rest", "0:0.9:0.1": "birch"}
PEER_SETTINGS = ((0.5, 0.0, 0.0), (0.3, 0.1, 0.0), (0.6, 0.3, 0.6))


def main() -> None:
    """Generate, weigh, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=None, help="keep what is generated here")
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--documents", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder, args.queries, args.documents)
        results = {grid: weighed(folder, grid, rule) for grid, rule in GRIDS.items()}
        peer = released(folder, results["0:1:0.1"]["values"])
    print(f"{args.queries} topics x {args.documents} documents, five folds, CPU seconds\n")
    print("| grid | chosen by | settings | longrank weigh | setting by setting | ratio |\n|---|---|---|---|---|---|")
    for grid, one in results.items():
        n, seconds = len(one["values"]), one["seconds"]
        cells = (grid, GRIDS[grid], n, f"{seconds:.1f}", f"{peer * n:.0f}", f"{peer * n / seconds:.0f}")
        print(f"| {' | '.join(map(str, cells))} |")


def generate(folder: Path, n_queries: int, n_documents: int) -> None:
    """Write evidence, the run that was reranked, and judgments: a twentieth of the documents is relevant."""
    header = evidence_header(
        unit="logit",
        scorer="generated",
        collection="c",
        queries="q",
        n_queries=n_queries,
        candidates="x",
        options={},
    )
    with (
        EvidenceWriter(folder / "evidence", header) as evidence,
        (folder / "run").open("w", encoding="utf-8") as run,
        (folder / "qrels").open("w", encoding="utf-8") as qrels,
    ):
        for query in range(n_queries):
            drawn = np.random.default_rng(query)
            relevant = drawn.random(n_documents) < 0.05
            first = np.sort(drawn.normal(12, 2, n_documents).round(4))[::-1] + relevant
            found = [document(f"{query}", f"d{n}", drawn, relevant[n], first[n]) for n in range(n_documents)]
            evidence.write_query(f"{query}", found)
            evidence.commit()
            order = np.argsort(-first, kind="stable")
            run.writelines(f"{query} Q0 d{n} {rank} {first[n]:.4f} x\n" for rank, n in enumerate(order, 1))
            qrels.writelines(f"{query} 0 d{n} {int(relevant[n])}\n" for n in range(n_documents))


def document(query_id: str, doc_id: str, drawn: np.random.Generator, relevant: bool, first: float) -> Evidence:
    """Return generated evidence of a document."""
    n = int(drawn.integers(1, 61))
    scores = drawn.normal(1.0 if relevant else 0.0, 2.0, n).astype(np.float32)
    index = np.arange(n, dtype=np.int32)
    return Evidence(
        query_id=query_id,
        doc_id=doc_id,
        first_stage=float(first),
        document_score=None,
        passage_index=index,
        passage_start=index * 10,
        passage_end=index * 10 + 9,
        passage_score=scores,
        passage_weight=np.ones(n, np.float32),
        n_passages=n,
        n_truncated=0,
    )


def weighed(folder: Path, grid: str, rule: str) -> Mapping[str, Any]:
    """Return the CPU seconds of ``longrank weigh`` and the figure of every setting."""
    output = folder / f"weighed-{rule}"
    inputs = [str(folder / name) for name in ("qrels", "run", "evidence")]
    axes = [part for axis in ("alpha", "w2", "w3") for part in ("--grid", f"{axis}={grid}")]
    start = time.process_time()
    if longrank(["weigh", *inputs, "-o", str(output), *axes, "--make-folds", "5", "--choose-by", rule]):
        raise SystemExit("weigh failed")
    seconds = time.process_time() - start
    values = json.loads((output / "weights.json").read_text(encoding="utf-8"))["values"]
    return {"seconds": seconds, "values": values}


def released(folder: Path, values: Sequence[Mapping[str, Any]]) -> float:
    """Return the CPU seconds of one setting, as the released code computes it; its figures must be ours."""
    import pytrec_eval

    qrels = {query_id: dict(judged) for query_id, judged in read_qrels(folder / "qrels", Notes()).items()}
    held = list(read_evidence(folder / "evidence")[1])
    best = [(one.query_id, one.doc_id, one.first_stage, sorted(one.passage_score, reverse=True)) for one in held]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map"})
    ours = {tuple(one["setting"].values()): one["value"] for one in values}
    start = time.process_time()
    for alpha, second, third in PEER_SETTINGS:
        run: dict[str, dict[str, float]] = {}
        for query_id, doc_id, first, scores in best:
            total = sum(float(s) * w for s, w in zip(scores[:3], (1.0, second, third), strict=False))
            run.setdefault(query_id, {})[doc_id] = alpha * first + (1.0 - alpha) * total
        ranked = {query_id: dict(sorted(rows.items(), key=lambda row: -row[1])) for query_id, rows in run.items()}
        figure = float(np.mean([value["map"] for value in evaluator.evaluate(ranked).values()]))
        if abs(figure - ours[alpha, second, third]) > 1e-6:
            raise SystemExit(f"{(alpha, second, third)}: {figure}, weigh has {ours[alpha, second, third]}")
    return (time.process_time() - start) / len(PEER_SETTINGS)


if __name__ == "__main__":
    main()
