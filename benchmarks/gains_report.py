"""Values of trained and untrained systems, with tests against the best untrained system: JSON, table and plot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_tasks import Prepared, run
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.trec import read_run, write_run
from longrank.scoring.speed import machine
from longrank.types import Notes, Run

UNTRAINED = ("first stage", "untrained")


class System(NamedTuple):
    """A system: its name, the run of all test queries, its kind, the folder of its training, its dev runs.

    ``dev`` is the file in a fold's folder of the training with the ranking of its dev queries; of a system that is not
    trained, the run holds these, too.
    """

    name: str
    run: Path
    kind: str
    training: Path | None = None
    dev: str | None = None


def interpolated(prepared: Prepared, training: Path, output: Path, *mix: object) -> None:
    """Mix each fold's document scores with the first stage, of dev and test; write all test queries as one run.

    `mix` are options of `longrank aggregate`.
    """
    for folder in (training / name for name in prepared.folds):
        for part in ("dev", "test"):
            mixed = folder / f"{part}-mixed.run"
            run("aggregate", folder / f"{part}.run.evidence", "-o", mixed, "-a", "document", *mix)
    joined(prepared, {name: training / name / "test-mixed.run" for name in prepared.folds}, output)


def joined(prepared: Prepared, runs: Mapping[str, Path], output: Path) -> Path:
    """Write the test queries of the folds, each from its fold's run, as one run."""
    rows = []
    for name, path in runs.items():
        ranked = read_run(path, Notes())
        rows += [row for query_id in prepared.folds[name].test for row in ranked.get(query_id)]
    write_run(Run("longrank", rows), output)
    return output


def chosen_by_dev(prepared: Prepared, systems: Sequence[System]) -> System:
    """In each fold, take the system that is best on the dev queries, without a look at the test queries.

    The weights of a trained system's network were chosen on the same queries.
    """
    candidates = chosen_among(systems)
    choice: dict[str, System] = {}
    for name in prepared.folds:
        means = {one.name: mean(dev_values(prepared, one, name)) for one in candidates}
        choice[name] = max(candidates, key=lambda one: means[one.name])
    output = joined(prepared, {name: one.run for name, one in choice.items()}, prepared["chosen.run"])
    named = ", ".join(f"{fold}: {one.name}" for fold, one in choice.items())
    return System(f"best on dev ({named})", output, "chosen")


def chosen_among(systems: Sequence[System]) -> list[System]:
    """Return the systems that dev may choose: trained systems with ranked dev queries."""
    unranked = [one for one in systems if one.kind == "end to end" and one.dev is None]
    return [one for one in systems if one.kind not in UNTRAINED and one not in unranked]


def dev_values(prepared: Prepared, system: System, fold: str) -> dict[str, float]:
    """Return a system's value for each dev query of a fold."""
    qrels = {query_id: prepared.qrels[query_id] for query_id in prepared.folds[fold].dev}
    ranked = system.run if system.training is None or system.dev is None else system.training / fold / system.dev
    return values_of(prepared, ranked, qrels)


def report(prepared: Prepared, systems: Sequence[System], results: Path) -> None:
    """Print a table; write a row for each system to RESULTS/gains-COLLECTION.json."""
    values = {one.name: values_of(prepared, one.run, prepared.qrels) for one in systems}
    baseline = max((one for one in systems if one.kind in UNTRAINED), key=lambda one: mean(values[one.name]))
    compared = [one for one in systems if one.kind not in UNTRAINED]
    p_values = [t_test(differences(values[one.name], values[baseline.name])) for one in compared]
    holm = dict(zip((one.name for one in compared), corrected(p_values, "holm", len(compared)), strict=True))
    rows = [_row(prepared, one, values[one.name], values[baseline.name], holm.get(one.name)) for one in systems]
    results.mkdir(parents=True, exist_ok=True)
    found = {
        "collection": prepared.task.collection,
        "about": prepared.task.about,
        "measure": prepared.task.measure,
        "depth": prepared.task.depth,
        "queries": len(prepared.qrels),
        "compared_with": baseline.name,
        "test": f"paired t-test, Holm over {len(compared)}",
        "command": f"python -m benchmarks.gains DATA --only {prepared.task.collection} --model work/pre/full/model",
        "machine": machine(),
        "rows": rows,
    }
    path = results / f"gains-{prepared.task.collection}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(found))
    plot_curves(systems, path)


def plot_curves(systems: Sequence[System], path: Path) -> None:
    """Plot each fold's measure on dev by steps, a panel for each training, beside the JSON file."""
    trained = {
        one.training: f"{one.training.name}, end to end" if one.kind == "end to end" else one.name
        for one in reversed(systems)
        if one.training is not None
    }
    records = {
        name: [record_of(file.parent) for file in sorted(training.glob("s*/record.json"))]
        for training, name in reversed(trained.items())
    }
    draw_curves(
        {name: [Curve(one["validations"], one["best_step"]) for one in own] for name, own in records.items()}, path
    )


class Curve(NamedTuple):
    """The measure on dev of one fold: (steps, value) of each validation, and after which step it was best."""

    validations: Sequence[tuple[int, float]]
    best: int


def draw_curves(curves: Mapping[str, Sequence[Curve]], path: Path) -> None:
    """Draw a panel for each training, a line for each fold, beside the JSON file."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "gains"
    figure, panels = plt.subplots(1, len(curves), figsize=(2.2 * len(curves), 2.4), sharey=True, squeeze=False)
    for panel, (name, folds) in zip(panels[0], curves.items(), strict=True):
        for one in folds:
            steps, values = zip(*one.validations, strict=True)
            panel.plot(steps, values, linewidth=1)
            panel.plot(one.best, dict(one.validations)[one.best], "k.", markersize=4)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("steps", fontsize=8)
        panel.tick_params(labelsize=7)
    panels[0][0].set_ylabel("dev, a fold a line", fontsize=8)
    figure.tight_layout()
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)


def table(found: Mapping[str, Any]) -> str:
    """Return the rows of a collection as a Markdown table."""
    lines = [
        f"{found['collection']} ({found['about']}), {found['queries']} queries, depth {found['depth']}, "
        f"against {found['compared_with']}; {found['test']}",
        "",
        f"| system | {found['measure']} | difference | p | dev | not converged |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        cells = [row["system"], f"{row['value']:.4f}", f"{row['difference']:+.4f}", _shown(row["p_holm"])]
        cells += [_shown(row.get("dev")), row.get("not_converged", "")]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _row(
    prepared: Prepared, system: System, values: Mapping[str, float], baseline: Mapping[str, float], p: float | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"system": system.name, "kind": system.kind, "value": round(mean(values), 4)}
    row |= {"difference": round(mean(values) - mean(baseline), 4), "p_holm": p}
    if system.training is not None:
        records = [record_of(system.training / name) for name in prepared.folds]
        late = sum(map(still_rising, records))
        if system.kind != "end to end":  # whose validations are of fewer documents
            row["dev"] = round(sum(one["best_measure"] for one in records) / len(records), 4)
        row |= {
            "steps": [one["steps"] for one in records],
            "best_steps": [one["best_step"] for one in records],
            "not_converged": f"{late} of {len(records)} folds" if late else "",
            "seed": records[0]["settings"]["seed"],
        }
    return row


def values_of(prepared: Prepared, path: Path, qrels: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Return the value of the collection's measure for each query of `qrels`."""
    (values,) = evaluate(dict(qrels), read_run(path, Notes()), [prepared.task.measure]).values()
    return dict(values)


def record_of(training: Path) -> dict[str, Any]:
    """Return the record of a finished training."""
    found: dict[str, Any] = json.loads((training / "record.json").read_text(encoding="utf-8"))
    return found


def still_rising(record: Mapping[str, Any]) -> bool:
    """Say whether a training was best at its last validation, so that it may not have converged."""
    return bool(record["best_step"] == record["validations"][-1][0])


def mean(values: Mapping[str, float]) -> float:
    """Return the mean over queries."""
    return sum(values.values()) / len(values)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
