"""CEDR (MacAvaney et al. 2019), the baselines of PARADE, by the training of its own code and of Capreolus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from longrank.reproduction.assignments import Overrides
from longrank.reproduction.papers.trained import (
    FIRST_STAGES,
    file_name,
    first_stage,
    interpolated,
    train,
    train_by_fold,
)
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench

ON_VANILLA_BERT = {"KNRM, BERT fine-tuned": "knrm", "CEDR-KNRM": "cedr-knrm"}
"""Row -> network that starts from a trained VanillaBERT."""


CAPREOLUS: Overrides = {
    "read.passages": "capreolus",
    "read.options.length": 225,
    "read.options.stride": 225,
    "validation.depth": 50,
    "test.depth": 150,
    "loop.batch": 6,
    "loop.steps": 24576,  # 36 x 4096 / 6
    "loop.validate_every": 683,
    "loop.optimizer.learning_rate": 2e-5,
    "loop.schedule.options.epoch_steps": 683,
    "loop.schedule.options.warmup": 8.0,
    "loop.schedule.options.head": False,
}


IN_CAPREOLUS: Mapping[str, Overrides] = {
    "KNRM": {"network.name": "knrm", "network.preset": "capreolus"},
    "CEDR-KNRM": {"network.name": "cedr-knrm", "network.preset": "capreolus"},
    "VanillaBERT": {"network.name": "vanilla-bert"},
}


def original(bench: Workbench) -> Iterator[ObtainedRow]:
    """VanillaBERT, then KNRM and CEDR-KNRM that start from it, as MacAvaney et al. trained them."""
    first = first_stage(bench, bench.settings["candidates"])
    model = {"network.model": bench.model("base")}
    for name in bench.settings["systems"]:
        if name in FIRST_STAGES:
            yield bench.ranked(name, first_stage(bench, name))
            continue
        if name == "KNRM, BERT":
            trained = train(bench, "knrm", "cedr", first, {**model, "network.name": "knrm", "network.frozen": True})
        else:
            trained = train(bench, "vanilla-bert", "cedr", first, {**model, "network.name": "vanilla-bert"})
        if name in ON_VANILLA_BERT:
            trained = _on_vanilla_bert(bench, ON_VANILLA_BERT[name], trained, first)
        yield bench.ranked(name, trained / "test.run")


def capreolus(bench: Workbench) -> Iterator[ObtainedRow]:
    """KNRM, CEDR-KNRM and VanillaBERT as Capreolus trains them, by encoder and number of passages."""
    first = first_stage(bench, bench.settings["candidates"])
    for n in bench.settings["passages"] or [8]:
        for system in bench.settings["systems"]:
            name = f"{system}, {n} passages" if bench.settings["passages"] else system
            kind, encoder = system.split(", ")
            model = {"network.model": bench.model(encoder.lower()), "read.options.max_passages": n}
            trained = train(bench, name, "parade", first, {**CAPREOLUS, **IN_CAPREOLUS[kind], **model})
            yield bench.ranked(name, trained / "test.run")
            if bench.settings["interpolated"]:
                mixed = f"{file_name(name)}-interpolated"
                run = interpolated(bench, mixed, trained, first, bench.settings["alphas"])
                yield bench.ranked(f"{name}, interpolated", run)


def _on_vanilla_bert(bench: Workbench, network: str, vanilla: Path, first: Path) -> Path:
    """Train a network that starts from each fold's VanillaBERT."""

    def overrides(fold: str) -> Overrides:
        start = bench.folder / f"start-{network}-{fold}"
        bench.do("create", network, "--model", vanilla / fold / "model", "-o", start, output=start)
        return {"network.name": network, "network.model": start}

    return train_by_fold(bench, f"{network}-on-vanilla-bert", "cedr", first, overrides)
