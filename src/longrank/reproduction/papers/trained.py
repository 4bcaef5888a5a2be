"""What programs of trained networks share: their settings, folds that are trained each in its own way, other uses.

``[settings.train]`` of a recipe holds settings of ``longrank train`` that replace those of the paper's training; any
may be given: ``--set train.loop.steps=100``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from longrank.reproduction.workbench import Sets, Workbench, assignments, flat
from longrank.training.settings import load_training

_ALONE = {"alpha": "0"}  # of ``weigh``: without the first stage, so that it only puts the folds' queries together


def with_train_settings(bench: Workbench, sets: Sets) -> dict[str, object]:
    """Return settings of a training, the recipe's ``train`` before `sets`; keys are ``section.key``."""
    return {**sets, **dict(flat(bench.settings["train"]))}


def train(bench: Workbench, name: str, protocol: str, first: Path, sets: Sets, *, folds: Path | None = None) -> Path:
    """Train over the folds; return the folder, in which ``test.run`` is."""
    return bench.train(name, protocol, first, with_train_settings(bench, sets), folds=folds)


def train_by_fold(
    bench: Workbench, name: str, protocol: str, first: Path, sets: Callable[[str], Sets], *, folds: Path | None = None
) -> Path:
    """Train fold by fold, each with what `sets` says of it; return the folder."""
    for fold in bench.fold_names:
        bench.train(name, protocol, first, with_train_settings(bench, sets(fold)), "--fold", fold, folds=folds)
    return bench.folder / name


def evidence_of(bench: Workbench, trained: Path) -> list[Path]:
    """Return what the passages of the test queries contributed, fold by fold."""
    return [trained / fold / "test.run.evidence" for fold in bench.fold_names]


def pooled(bench: Workbench, name: str, evidence: list[Path], first: Path, aggregator: str) -> Path:
    """Return all folds' test queries in one run, ranked by an aggregator alone."""
    return bench.weighed(name, evidence, first, _ALONE, "--aggregator", aggregator)


class Use(NamedTuple):
    """How a trained network is used, as its training tests it: a pipeline, its settings, and how deep it reranks.

    ``learned_depth`` is how deep in the first stage the documents lie that it learns from.
    """

    pipeline: str
    sets: Sets
    depth: int
    learned_depth: int


def use_of(bench: Workbench, protocol: str, sets: Sets) -> Use:
    """Return how what a training makes is used."""
    settings = load_training(protocol, assignments(with_train_settings(bench, sets)))
    read = settings.read
    how = {"passages.preset": read.passages, "passages.options": read.options}
    how["scorer.options.max_tokens"] = read.max_tokens
    how |= {} if read.max_query_tokens is None else {"scorer.options.max_query_tokens": read.max_query_tokens}
    depth = settings.test.depth or settings.validation.depth
    return Use(settings.network.name, how, depth, settings.samples.depth)


def used(bench: Workbench, name: str, use: Use, trained: Path, first: Path) -> Path:
    """Return the test queries reranked by the folds' networks in another way than they were trained for."""
    evidence = []
    for fold in bench.fold_names:
        candidates, model = trained / fold / "test.run", str(trained / fold / "model")
        how = {"model": model, "depth": use.depth, "sets": use.sets}
        evidence.append(bench.rerank(f"{name}-{fold}", candidates, use.pipeline, **how).evidence)
    return pooled(bench, name, evidence, first, "document")
