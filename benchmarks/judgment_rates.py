"""Train on deep and on shallow samples of the judgments: many for few queries, or few for many queries.

    python -m benchmarks.judgment_rates DATA --model FOLDER [--only cacm] [--folder work/gains] [--results docs/results]

After Zhang, Yates and Lin (2021), figure 1, as far as two cores go: FOLDER is a cross-encoder made by `longrank
train-passages`, whose encoder stays as it is; PARADE-Max on its vectors is trained over five folds, with train and dev
judgments sampled, three times with other seeds on the same sample. Reported is the median nDCG@20 of the pooled test
queries, whose judgments are all kept, beside that of the cross-encoder's MaxP without any training here. The qrels hold
only what is relevant, so a document whose judgment was dropped is no negative.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gains import fill_cache, train_aggregator, zero_shot
from benchmarks.gains_report import mean, record_of, values_of
from benchmarks.gains_tasks import Prepared, Task

TASKS = {
    "cacm": Task("cacm", "nDCG@20", 50, None, "abstracts, often titles alone"),
    "cranfield": Task("cranfield", "nDCG@20", 50, None, "abstracts"),
}
RATES = {"cacm": (0.1, 0.3, 0.5, 0.7, 0.9), "cranfield": (0.3, 0.5, 0.7, 0.9)}
SCHEMES = ("deep", "shallow")
SEEDS = (0, 1, 2)


def main() -> None:
    """Train at every rate, measure, plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--only", choices=list(TASKS), action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    for name, task in TASKS.items():
        if args.only is None or name in args.only:
            found = measured(Prepared(args.data, task, args.folder), args.model)
            path = args.results / f"judgment-rates-{name}.json"
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(table(found))


def measured(prepared: Prepared, model: Path) -> dict[str, Any]:
    """Return the figures of a collection; trainings that are done are not done again."""
    fill_cache(prepared, model)
    maxp = next(one for one in zero_shot(prepared, model) if one.name == "cross-encoder, maxp")
    rows = []
    for scheme in SCHEMES:
        for rate in RATES[prepared.task.collection]:
            rows.append(_row(prepared, model, scheme, rate))
    rows.append(_row(prepared, model, "all", None))
    return {
        "collection": prepared.task.collection,
        "measure": prepared.task.measure,
        "depth": prepared.task.depth,
        "queries": len(prepared.qrels),
        "bm25": round(_value(prepared, prepared["bm25.run"]), 4),
        "untrained_maxp": round(_value(prepared, maxp.run), 4),
        "seeds": list(SEEDS),
        "rows": rows,
    }


def _row(prepared: Prepared, model: Path, scheme: str, rate: float | None) -> dict[str, Any]:
    trained = []
    try:
        for seed in SEEDS:
            output = prepared[f"{scheme}-{rate}-{seed}"]
            _train(prepared, model, output, scheme, rate, seed)
            trained.append(output)
    except SystemExit as error:  # a rate that cannot keep every query is refused
        return {"scheme": scheme, "rate": rate, "refused": str(error)}
    values = [round(_value(prepared, output / "test.run"), 4) for output in trained]
    return {
        "scheme": scheme,
        "rate": rate,
        "median": median(values),
        "values": values,
        "best_steps": [record_of(trained[0] / fold)["best_step"] for fold in prepared.folds],
    }


def _train(prepared: Prepared, model: Path, output: Path, scheme: str, rate: float | None, seed: int) -> None:
    settings = {"samples.in_run": "false", "loop.seed": seed}
    if rate is not None:
        settings |= {"judgments.scheme": scheme, "judgments.rate": rate, "samples.dropped": "false"}
    train_aggregator(prepared, model, "parade-max", output, settings)


def _value(prepared: Prepared, path: Path) -> float:
    return mean(values_of(prepared, path, prepared.qrels))


def table(found: dict[str, Any]) -> str:
    """Return the figures as a Markdown table, a rate a row."""
    medians = {(row["scheme"], row["rate"]): row.get("median") for row in found["rows"]}
    rates = sorted({rate for _, rate in medians if rate is not None})
    lines = [
        f"{found['collection']}, {found['queries']} queries: BM25 {found['bm25']:.4f}, MaxP without training "
        f"{found['untrained_maxp']:.4f}, trained on all judgments {medians['all', None]:.4f}",
        "",
        "| rate | deep | shallow |",
        "|---|---|---|",
    ]
    for rate in rates:
        cells = [medians[scheme, rate] for scheme in SCHEMES]
        lines.append(f"| {rate} | {' | '.join('refused' if one is None else f'{one:.4f}' for one in cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
