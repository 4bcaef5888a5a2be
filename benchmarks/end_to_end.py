"""Train encoder and aggregator together, on one fixed split or on all folds.

    python -m benchmarks.end_to_end DATA --model FOLDER [--only COLLECTION] [--system NAME ...] [--all-folds]

FOLDER is a cross-encoder that `longrank train-passages` has made (pre-fine-tuning); without it a system begins with
MiniLM, which never saw a query and a passage together. Collections, queries and folds are those of `benchmarks.gains`.
Each training sees 2,000 pairs. MAXP's protocol trains a scorer of passages on aligned pairs of passages; its one
evidence file is read as FirstP, MaxP, SumP and AvgP. Figures of the first fold go to
RESULTS/end-to-end-COLLECTION-WEIGHTS.json, beside those of the untrained systems on the same test queries: a file for
each cross-encoder, since what has begun with other weights is not to be compared; an .svg of that name has the dev
curves. Rows that were there stay, so neither weights nor runs need be kept. With --all-folds the test queries of all
count, in a file of their own, and what reads passages is interpolated with BM25, too; what is trained so is then among
the systems of `benchmarks.gains`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_report import Curve, draw_curves, joined, mean, record_of, still_rising, values_of
from benchmarks.gains_tasks import (
    MIXED,
    PASSAGE_AGGREGATORS,
    READ,
    TASKS,
    Prepared,
    assigned,
    run,
    weights_of,
    write_queries,
)
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.queries import read_queries
from longrank.scoring.speed import machine
from longrank.training.settings import load_training
from longrank.types import Notes

UNTRAINED = ("BM25", "MiniLM vectors, MaxP + BM25", "cross-encoder, MaxP")


class Trained(NamedTuple):
    """A training: its protocol, its first weights (cross-encoder or not), and its changed settings."""

    protocol: str
    pretrained: bool
    settings: Mapping[str, object]


_CEDR = {"network.name": "cedr-knrm", "read.passages": "parade-paper"}
SYSTEMS = {
    "MAXP": Trained("maxp", True, {"network.options": "{outputs=1}"}),
    "MAXP, no pre-fine-tuning": Trained("maxp", False, {"network.options": "{outputs=1}"}),
    "PARADE-Max": Trained("parade", True, {"network.name": "parade-max"}),
    "PARADE-Transformer": Trained("parade", True, {}),
    "PARADE-Max, no pre-fine-tuning": Trained("parade", False, {"network.name": "parade-max"}),
    "MaxP of whole documents": Trained("parade", True, {"network.name": "maxp"}),
    "Birch-Passage": Trained("parade", True, {"network.name": "birch-passage"}),
    "CEDR-KNRM (Max)": Trained("cedr", True, {**_CEDR, "network.options": '{cls="max"}'}),
    "CEDR-KNRM (average)": Trained("cedr", True, _CEDR),
    "KNRM": Trained("cedr", True, {**_CEDR, "network.name": "knrm"}),
}
_VALIDATE_EVERY = 50
COMMON = {
    "network.dropout": 0.0,
    "read.passages": "parade-paper",
    "read.max_tokens": 256,
    "read.max_query_tokens": 64,
    "loop.seed": 0,
    "loop.steps": 250,
    "loop.batch": 8,
    "loop.precision": "bf16",
    "loop.clip": 1.0,
    "loop.validate_every": _VALIDATE_EVERY,
    "loop.checkpoint_every": 25,
    "loop.optimizer": "{learning_rate=2e-5, head_learning_rate=1e-3, weight_decay=0.01}",
    "loop.schedule": '{name="linear", options={warmup=0.1}}',
    "validation.depth": 5,
}


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--only", choices=list(TASKS), default="squad-dev-sections")
    parser.add_argument("--system", choices=list(SYSTEMS), action="append")
    parser.add_argument("--all-folds", action="store_true", help="train on all, not on the first alone")
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    prepared = Prepared(args.data, TASKS[args.only], args.folder)
    folds = list(prepared.folds) if args.all_folds else list(prepared.folds)[:1]
    for name in args.system or SYSTEMS:
        train(prepared, name, args.model, folds)
    scope = "-all-folds" if args.all_folds else ""
    path = args.results / f"end-to-end-{args.only}-{weights_of(args.model)}{scope}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    found = measured(prepared, args.model, folds, known, mixed=args.all_folds)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if drawn := curves(found["rows"]):
        draw_curves(drawn, path)
    for row in found["rows"]:
        print(row["system"], row["value"], row["p_holm"], row.get("validations", ""))


def curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Curve]]:
    """Return the measures on dev of each training, once, however many ways it is read."""
    by_name = {row["system"]: row for row in rows}
    found: dict[str, list[Curve]] = {}
    for name in SYSTEMS:
        row = by_name.get(next(iter(labels(name).values())))
        if row is not None:
            steps = [[(_VALIDATE_EVERY * n, value) for n, value in enumerate(fold, 1)] for fold in row["validations"]]
            found[name] = [Curve(*one) for one in zip(steps, row["best_steps"], strict=True)]
    return found


def train(prepared: Prepared, name: str, model: Path, folds: Sequence[str]) -> None:
    """Train a system on the folds."""
    system, depth = SYSTEMS[name], prepared.task.depth
    prepared["end-to-end"].mkdir(exist_ok=True)
    settings = COMMON | {
        "network.model": model if system.pretrained else "minilm",
        "samples.depth": depth,
        "validation.measure": prepared.task.measure,
        "test.depth": depth,
    }
    inputs = (prepared.index, prepared["queries.jsonl"], prepared["qrels.txt"], prepared["bm25.run"])
    only = [part for fold in folds for part in ("--fold", fold)]
    options = ("--folds", prepared["folds.json"], *only, *assigned(settings | dict(system.settings)))
    run("train", system.protocol, *inputs, "-o", folder_of(prepared, name), *options)


def folder_of(prepared: Prepared, name: str) -> Path:
    """Return the folder of a training."""
    return prepared["end-to-end"] / name.lower().replace(", ", "-").replace(" ", "-").replace("(", "").replace(")", "")


def network_of(name: str) -> str | None:
    """Return the document network of a system; None: it is a scorer of passages."""
    system = SYSTEMS[name]
    if system.protocol == "maxp":
        return None
    return str(system.settings.get("network.name", load_training(system.protocol).network.name))


def measured(
    prepared: Prepared,
    model: Path,
    folds: Sequence[str],
    known: Sequence[Mapping[str, Any]] = (),
    *,
    mixed: bool = False,
) -> dict[str, Any]:
    """Return a row for each trained system, each untrained system, and each system of an earlier call.

    Args:
        prepared: the collection.
        model: the cross-encoder.
        folds: whose test queries count.
        known: rows of an earlier call with the same arguments; they stand for trainings that were not kept.
        mixed: whether what reads passages is also interpolated with the first stage.
    """
    test = {query_id: prepared.qrels[query_id] for fold in folds for query_id in prepared.folds[fold].test}
    rows: dict[str, Mapping[str, Any]] = {row["system"]: row for row in known}
    not_trained = untrained(prepared, model, test, mixed=mixed)
    for name, path in not_trained.items():
        rows[name] = {"values": values_of(prepared, path, test)}
    ways = {"": (), MIXED: prepared.mix} if mixed else {"": ()}
    for name in trained_on(prepared, folds):
        learned = _learned([record_of(folder_of(prepared, name) / fold) for fold in folds])
        for suffix, mix in ways.items():
            for label, path in read(prepared, name, folds, *mix).items():
                rows[label + suffix] = {"values": values_of(prepared, path, test), **learned}
    read_as = [label for name in SYSTEMS for label in labels(name).values()]
    order = [*not_trained, *(label + suffix for label in read_as for suffix in ("", MIXED))]
    rows = {name: rows[name] for name in order if name in rows}
    baseline = max(not_trained, key=lambda name: mean(rows[name]["values"]))
    trained = [name for name in rows if name not in not_trained]
    p_values = [t_test(differences(rows[name]["values"], rows[baseline]["values"])) for name in trained]
    holm = dict(zip(trained, corrected(p_values, "holm", len(p_values)), strict=True))
    return {
        "collection": prepared.task.collection,
        "measure": prepared.task.measure,
        "depth": prepared.task.depth,
        "queries": len(test),
        "folds": list(folds),
        "pairs": 2000,
        "settings": {key: str(value) for key, value in COMMON.items()},
        "compared_with": baseline,
        "test": f"paired t-test, Holm over {len(p_values)}",
        "machine": machine(),
        "rows": [
            {"system": name, **row, "value": round(mean(row["values"]), 4), "p_holm": holm.get(name)}
            for name, row in rows.items()
        ],
    }


def untrained(prepared: Prepared, model: Path, query_ids: Collection[str], *, mixed: bool = False) -> dict[str, Path]:
    """Return the runs of the untrained systems; the cross-encoder scores only these queries."""
    folder = prepared["end-to-end"] / ("all-folds" if set(query_ids) == set(prepared.qrels) else "")
    folder.mkdir(exist_ok=True)
    asked, output = folder / "queries.jsonl", folder / "maxp.run"
    texts = read_queries(prepared["queries.jsonl"], Notes())
    write_queries([query for query in texts if query.query_id in query_ids], asked)
    how = ("--pipeline", "maxp", "--model", model, "--depth", prepared.task.depth, *assigned(READ))
    run("rerank", prepared.index, asked, prepared["bm25.run"], "-o", output, *how)
    found = dict(zip(UNTRAINED, (prepared["bm25.run"], prepared.bi_encoded(), output), strict=True))
    if mixed:
        found[UNTRAINED[-1] + MIXED] = folder / "maxp-bm25.run"
        evidence = output.with_name("maxp.run.evidence")
        run("aggregate", evidence, "-o", found[UNTRAINED[-1] + MIXED], "-a", "maxp", *prepared.mix)
    return found


def trained_on(prepared: Prepared, folds: Sequence[str]) -> list[str]:
    """Return the systems that have been trained, and tested, on all of these folds."""
    files = ([folder_of(prepared, name) / fold / "test.run" for fold in folds] for name in SYSTEMS)
    return [name for name, own in zip(SYSTEMS, files, strict=True) if all(file.exists() for file in own)]


def read(prepared: Prepared, name: str, folds: Sequence[str], *mix: object) -> dict[str, Path]:
    """Return the test runs of a training; a scorer of passages is read in four ways from its evidence.

    `mix` are options of `longrank aggregate` that interpolate the scores with the first stage.
    """
    folder = folder_of(prepared, name)
    found = {}
    for aggregator, label in labels(name).items():
        file = f"{aggregator}-mixed.run" if mix else f"{aggregator}.run"
        parts = {fold: folder / fold / file for fold in folds}
        for part in parts.values():
            run("aggregate", part.with_name("test.run.evidence"), "-o", part, "-a", aggregator, *mix)
        found[label] = joined(prepared, parts, folder / file)
    return found


def labels(name: str) -> dict[str, str]:
    """Return how a system is read: aggregator -> the name of its row."""
    if network_of(name) is None:
        return {aggregator: f"{name}, {aggregator}" for aggregator in PASSAGE_AGGREGATORS}
    return {"document": name}


def _learned(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "validations": [[round(value, 4) for _, value in record["validations"]] for record in records],
        "best_steps": [record["best_step"] for record in records],
        "not_converged": sum(map(still_rising, records)),
    }


if __name__ == "__main__":
    main()
