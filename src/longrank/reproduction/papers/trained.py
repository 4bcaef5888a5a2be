"""What programs of trained networks share: their settings, folds that are trained each in its own way, other uses.

``[settings.train]`` of a recipe holds settings of ``longrank train`` that replace those of the paper's training; any
may be given: ``--set train.loop.steps=100``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.reproduction.assignments import Overrides, assignments, flat
from longrank.reproduction.workbench import Reranked, Workbench
from longrank.training.settings import load_document_training

FIRST_STAGES = {"BM25": "bm25-anserini", "BM25+RM3": "bm25-anserini+rm3"}
STANDALONE = "parade-standalone"
_ALONE = {"alpha": "0"}  # of ``weigh``: without the first stage, so that it only puts the folds' queries together


def with_train_settings(bench: Workbench, overrides: Overrides) -> dict[str, object]:
    """Return settings of a training, the recipe's ``train`` before `overrides`; keys are ``section.key``."""
    return {**overrides, **dict(flat(bench.settings["train"]))}


def train(
    bench: Workbench, name: str, protocol: str, first: Path, overrides: Overrides, *, folds: Path | None = None
) -> Path:
    """Train over the folds; return the folder, in which ``test.run`` is."""
    return bench.train(file_name(name), protocol, first, with_train_settings(bench, overrides), folds=folds)


def train_by_fold(
    bench: Workbench,
    name: str,
    protocol: str,
    first: Path,
    overrides: Callable[[str], Overrides],
    *,
    folds: Path | None = None,
) -> Path:
    """Train fold by fold, each with what `overrides` says of it; return the folder."""
    for fold in bench.fold_names:
        bench.train(
            file_name(name), protocol, first, with_train_settings(bench, overrides(fold)), "--fold", fold, folds=folds
        )
    return bench.folder / file_name(name)


def evidence_of(bench: Workbench, trained: Path) -> list[Path]:
    """Return what the passages of the test queries contributed, fold by fold."""
    return [trained / fold / "test.run.evidence" for fold in bench.fold_names]


def interpolated(bench: Workbench, name: str, trained: Path, first: Path, alphas: str) -> Path:
    """Return the test queries with the networks' scores and the first stage min-max mixed, as weights on dev say."""
    how = ("--aggregator", "document", "--normalize", "minmax", "--choose-by", "dev", "-m", "nDCG@20")
    return bench.weighed(name, evidence_of(bench, trained), first, {"alpha": alphas}, *how)


def pooled(bench: Workbench, name: str, evidence: list[Path], first: Path, aggregator: str) -> Path:
    """Return all folds' test queries in one run, ranked by an aggregator alone."""
    return bench.weighed(name, evidence, first, _ALONE, "--aggregator", aggregator)


class Use(NamedTuple):
    """How a trained network is used, as its training tests it: a pipeline, its settings, and how deep it reranks.

    ``learned_depth`` is how deep in the first stage the documents lie that it learns from.
    """

    pipeline: str
    overrides: Overrides
    depth: int
    learned_depth: int


def use_of(bench: Workbench, protocol: str, overrides: Overrides) -> Use:
    """Return how what a training makes is used."""
    settings = load_document_training(protocol, assignments(with_train_settings(bench, overrides)))
    read = settings.read
    how: dict[str, object] = {"passages.preset": read.passages, "passages.options": read.options}
    how["scorer.options.max_tokens"] = read.max_tokens
    how |= {} if read.max_query_tokens is None else {"scorer.options.max_query_tokens": read.max_query_tokens}
    depth = settings.test.depth or settings.validation.depth
    return Use(settings.network.name, how, depth, settings.samples.depth)


def used(bench: Workbench, name: str, use: Use, trained: Path, first: Path) -> Path:
    """Return the test queries reranked by the folds' networks in another way than they were trained for."""
    evidence = []
    for fold in bench.fold_names:
        model, candidates = str(trained / fold / "model"), trained / fold / "test.run"
        evidence.append(applied(bench, f"{name}-{fold}", use, model, candidates).evidence)
    return pooled(bench, name, evidence, first, "document")


def applied(bench: Workbench, name: str, use: Use, model: str, candidates: Path) -> Reranked:
    """Return a run's documents reranked by a network."""
    return bench.rerank(name, candidates, use.pipeline, model=model, depth=use.depth, overrides=use.overrides)


def first_stage(bench: Workbench, name: str) -> Path:
    """Return the run of a first stage, or the run in a file that a user names instead."""
    if name not in FIRST_STAGES:
        if not Path(name).is_file():
            raise InputError("no such first stage, and no such file", got=name, fix=f"{', '.join(FIRST_STAGES)}")
        return Path(name)
    if name == "BM25+RM3" and bench.settings["rm3_grid"]:
        grid = bench.settings["rm3_grid"]
        return bench.tuned("bm25+rm3", FIRST_STAGES[name], grid, "AP", "--choose-by", "yang19")
    return bench.retrieve(name.lower(), FIRST_STAGES[name], bench.settings["first_stages"].get(name))


def standalone(name: str, model: str) -> dict[str, object]:
    """Return what the standalone training of a system is told; every encoder has a [CLS], a pooler not every one."""
    return {"network.name": name.lower(), "network.model": model, "network.options.vector": "cls"}


def file_name(row: str) -> str:
    """Return the name of a row as one of files: ``CEDR-KNRM (Max)`` -> ``cedr-knrm-max``."""
    return re.sub(r"[^a-z0-9.+]+", "-", row.lower()).strip("-")
