"""Compare BM25 with default and tuned k1 and b, alone and with each feedback model, by folds.

    python -m benchmarks.tuned_feedback DATA [--only time] [--folder work/gains] [--results docs/results]

After h2oloo's baselines at TREC 2019: BM25 with k1 .9 and b .4, and with what is best for BM25 alone on the other
folds, each alone and with axiomatic expansion, BM25PRF and RM3 at their defaults. Paired t-tests, Holm over the
comparisons of a collection.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gains_report import mean, values_of
from benchmarks.gains_tasks import TASKS, Prepared, Task, assigned, run
from longrank.evaluation.significance import corrected, differences, t_test

TASKS = TASKS | {
    "cranfield": Task("cranfield", "nDCG@10", 50, None, "abstracts"),
    "scifact": Task("scifact", "nDCG@10", 50, None, "claims, abstracts", every_split=True),
}
PRESETS = {"none": "", "axiomatic": "+axiomatic", "bm25prf": "+bm25prf", "rm3": "+rm3"}
GRID = ("k1=0.3:3:0.3", "b=0.1:1:0.1")


def main() -> None:
    """Retrieve, tune, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=list(TASKS), action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    for name in args.only or TASKS:
        found = measured(Prepared(args.data, TASKS[name], args.folder))
        path = args.results / f"tuned-feedback-{name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        for row in found["rows"]:
            print(row)


def measured(prepared: Prepared) -> dict[str, Any]:
    """Return the values of all systems, and p of tuned against default and of feedback against none."""
    values = {}
    prepared.tuned("tuned-none", "bm25-anserini", *GRID)
    choices = json.loads((prepared["tuned-none"] / "tuning.json").read_text(encoding="utf-8"))["choices"]
    for name, suffix in PRESETS.items():
        preset = f"bm25-anserini{suffix}"
        default = _retrieved(prepared, f"default-{name}", preset, {})
        values[name, "default"] = values_of(prepared, default, prepared.qrels)
        values[name, "tuned"] = _tuned(prepared, name, preset, choices)
    pairs = [((name, "tuned"), (name, "default")) for name in PRESETS]
    pairs += [((name, which), ("none", which)) for which in ("default", "tuned") for name in PRESETS if name != "none"]
    p_values = corrected([t_test(differences(values[a], values[b])) for a, b in pairs], "holm", len(pairs))
    rows = [
        {"feedback": name, "first stage": which, "value": round(mean(found), 4)}
        for (name, which), found in values.items()
    ]
    compared = [
        {
            "better": " ".join(a),
            "than": " ".join(b),
            "difference": round(mean(values[a]) - mean(values[b]), 4),
            "p_holm": p,
        }
        for (a, b), p in zip(pairs, p_values, strict=True)
    ]
    task = prepared.task
    about = {"collection": task.collection, "measure": task.measure, "queries": len(prepared.qrels), "grid": GRID}
    return {**about, "rows": rows, "compared": compared}


def _tuned(prepared: Prepared, name: str, preset: str, choices: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return each query's value with the k1 and b that its fold has chosen for BM25 alone."""
    values = {}
    for choice in choices:
        output = _retrieved(prepared, f"tuned-{name}-{choice['name']}", preset, choice["setting"])
        values |= values_of(prepared, output, {query_id: prepared.qrels[query_id] for query_id in choice["tested_on"]})
    return values


def _retrieved(prepared: Prepared, name: str, preset: str, settings: Mapping[str, object]) -> Path:
    output = prepared[f"{name}.run"]
    inputs = (prepared.index, prepared["queries.jsonl"])
    run("retrieve", *inputs, "-o", output, "--preset", preset, *assigned(settings))
    return output


if __name__ == "__main__":
    main()
