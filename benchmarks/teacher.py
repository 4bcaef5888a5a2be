"""Measure the cross-encoder's teacher on its training queries, by the weight of BM25.

    python -m benchmarks.teacher DATA

nDCG@10 of the cascade's training queries among their pools (`benchmarks.training_pools`). It chose
`lexical` in pretraining.toml; no reported collection is read. Three minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.pretraining_examples import CONFIG
from benchmarks.training_examples import Pool, Settings, Teacher, lexical_scores
from benchmarks.training_pools import cascade_scifact_pools, cascade_squad_pools, cranfield_pools
from longrank.config import read_toml
from longrank.evaluation.measures import evaluate
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Run, ScoredDoc

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0)
DEPTH = 10


def main() -> None:
    """Print a table, a pool a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    args = parser.parse_args()
    settings = Settings(**read_toml(CONFIG))
    teacher = Teacher(BiEncoder(find_model(settings.teacher)), settings.lexical, lambda n: None)
    print(f"| pool | {' | '.join(f'+ {weight} BM25' for weight in WEIGHTS)} | BM25 |")
    print("|---" * (len(WEIGHTS) + 2) + "|")
    for read in (cascade_squad_pools, cascade_scifact_pools, cranfield_pools):
        (pool,) = read(args.data, settings)
        cosines, bm25 = teacher.cosines(pool), lexical_scores(pool)
        values = [ndcg(pool, scores) for scores in (*(cosines + weight * bm25 for weight in WEIGHTS), bm25)]
        print(f"| {read.__name__} | {' | '.join(f'{value:.4f}' for value in values)} |", flush=True)


def ndcg(pool: Pool, scores: np.ndarray) -> float:
    """Return the mean nDCG@10 of all queries of a pool by float[Q, N] scores."""
    qrels = {one.query_id: dict.fromkeys(map(str, pool.relevant[one.query_id]), 1) for one in pool.queries}
    rows = (
        ScoredDoc(query.query_id, str(n), float(of_query[n]))
        for query, of_query in zip(pool.queries, scores, strict=True)
        for n in np.argsort(-of_query, kind="stable")[:DEPTH].tolist()
    )
    values = evaluate(qrels, Run("teacher", rows), [f"nDCG@{DEPTH}"])[f"nDCG@{DEPTH}"]
    return sum(values.values()) / len(values)


if __name__ == "__main__":
    main()
