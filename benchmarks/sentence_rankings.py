"""Rank by sentences: Birch and Santos with MiniLM, and compare two versions of the sentence splitter.

    python -m benchmarks.sentence_rankings DATA -o after.json [--before before.json]

The scorer is the bi-encoder MiniLM. Birch reads all sentences of the first 100 documents of BM25+RM3 (.4 of it,
min-max); Santos reads 20 sentences (FIRST+TERMF) of the first 30 documents of BM25, alone. Queries: all of TIME, the
300 claims of SciFact's split dev, and the first 500 questions of squad-dev-mixed by SHA-256 of their id.

Values of each query go to the file of ``-o``. With ``--before``, the file that another version of LongRank wrote, a
table compares both by a two-sided paired t-test, with Holm's correction over all rows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.passages import sampled
from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.collections import open_collection, read_qrels, read_queries
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.evidence import read_evidence
from longrank.index import Index, index_files
from longrank.ranking.build import add_vectors
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.text.sentences import make_splitter
from longrank.types import Notes, Qrels, Query, Run

MEASURES = {"time": "nDCG@10", "scifact": "nDCG@10", "squad-dev-mixed": "RR@10"}
BI_ENCODER = ("scorer.name=bi-encoder", "scorer.model=minilm", "scorer.options={}")


class System(NamedTuple):
    """An aggregation of a pipeline's evidence; `alpha` weighs the first stage after min-max."""

    pipeline: str
    aggregator: str
    options: Mapping[str, Any] = {}
    alpha: float | None = None


SYSTEMS = {
    "Birch, 1 sentence": System("birch", "birch", {"weights": [1.0]}, 0.4),
    "Birch, 3 sentences": System("birch", "birch", {"weights": [1.0, 0.1, 0.1]}, 0.4),
    "Santos, Max": System("santos", "max"),
    "Santos, Sum": System("santos", "sum"),
    "Santos, Weighted Mean": System("santos", "wmean"),
}


def main() -> None:
    """Rank, write the values, and compare them with those of another version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--collection", action="append", choices=MEASURES)
    args = parser.parse_args()
    after = json.loads(args.output.read_text(encoding="utf-8")) if args.output.exists() else {}
    for name in args.collection or MEASURES:
        if name not in after:
            with tempfile.TemporaryDirectory() as work:
                after[name] = ranked(args.data, name, Path(work))
            args.output.write_text(json.dumps(after) + "\n", encoding="utf-8")
    if args.before:
        print(table(compared(json.loads(args.before.read_text(encoding="utf-8")), after)))


def ranked(data: Path, name: str, work: Path) -> dict[str, Any]:
    """Return the values of each query by system, the splitter and the number of sentences."""
    notes, folder = Notes(), open_collection(data / name)
    index_files(folder, work / "index", notes=notes)
    n: list[int] = []
    add_vectors(work / "index", "minilm", "sentences", notes, n.append)
    index = Index.open(work / "index")
    queries = asked(name, read_queries(folder, notes))
    kept = {query.query_id for query in queries}
    qrels = {query_id: judged for query_id, judged in read_qrels(folder, notes).items() if query_id in kept}
    values = {}
    for pipeline in dict.fromkeys(system.pipeline for system in SYSTEMS.values()):
        values |= of_pipeline(pipeline, index, queries, qrels, MEASURES[name], work)
    splitter = make_splitter("sentencex")
    sentences = sum(len(splitter.sentences(document.text, 512)) for document in index)
    return {"splitter": splitter.fingerprint, "sentences": sentences, "values": values}


def asked(name: str, queries: Sequence[Query]) -> list[Query]:
    """Return the queries that are measured."""
    if name == "scifact":
        return [query for query in queries if query.fields.get("split") == "dev"]
    return sampled(queries, 500 if name == "squad-dev-mixed" else None)


def of_pipeline(
    name: str, index: Index, queries: Sequence[Query], qrels: Qrels, measure: str, work: Path
) -> dict[str, dict[str, float]]:
    """Return the values of a pipeline's first stage, and of its systems."""
    pipeline = open_pipeline(index, name, assignments=BI_ENCODER, notes=Notes())
    first = Run(name, (row for query in queries for row in pipeline.retriever.retrieve(query, 1000)))
    rerank(pipeline, queries, first, work / f"{name}.evidence", tag=name, notes=Notes())
    values = {f"first stage of {name}": dict(evaluate(qrels, first, [measure])[measure])}
    for label, system in SYSTEMS.items():
        if system.pipeline == name:
            run = aggregate_run(
                read_evidence(work / f"{name}.evidence")[1],
                make_aggregator(system.aggregator, **system.options),
                first_stage=first,
                alpha=system.alpha,
                normalize="none" if system.alpha is None else "minmax",
                tail="keep",
                tag=label,
            )
            values[label] = dict(evaluate(qrels, run, [measure])[measure])
    return values


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each collection and system."""
    rows: list[dict[str, Any]] = []
    for name in after:
        then, now = before[name]["values"], after[name]["values"]
        if any(then[label] != now[label] for label in now if label not in SYSTEMS):
            raise SystemExit(f"{name}: the first stages differ")
        for label in SYSTEMS:
            means = (sum(values[label].values()) / len(values[label]) for values in (then, now))
            rows.append({"collection": name, "system": label, **dict(zip(("before", "after"), means, strict=True))})
            rows[-1]["p"] = t_test(differences(now[label], then[label]))
    holm = corrected([row["p"] for row in rows], "holm", len(rows))
    return [row | {"p_holm": p} for row, p in zip(rows, holm, strict=True)]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| collection | system | before | after | difference | p | p, Holm |", f"|{'---|' * 7}"]
    for row in rows:
        figures = f"{row['before']:.4f} | {row['after']:.4f} | {row['after'] - row['before']:+.4f}"
        lines.append(f"| {row['collection']} | {row['system']} | {figures} | {row['p']:.2g} | {row['p_holm']:.2g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
