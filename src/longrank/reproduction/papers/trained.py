"""Steps that programs of trained networks share: train, apply, pool and interpolate.

``[settings.train]`` of a recipe replaces settings of the training protocol; any may be set:
``--set train.loop.steps=100``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.evaluation.tuning.folder import RUN, TUNING
from longrank.reproduction.assignments import Overrides, assignments, flat
from longrank.reproduction.changes import GRIDS
from longrank.reproduction.phases import CHOSEN
from longrank.reproduction.workbench import Reranked, Workbench
from longrank.training.settings import PLACES, load_document_training

FIRST_STAGES = {"BM25": "bm25-anserini", "BM25+RM3": "bm25-anserini+rm3"}
_TUNING = {"BM25": "dev", "BM25+RM3": "yang19"}
"""First stage -> the rule of ``longrank tune`` that chooses in its grid."""
STANDALONE = "parade-standalone"
TRANSFORMER = "PARADE-Transformer"
_ALONE = {"alpha": "0"}  # of ``weigh``: no first stage, so that it only joins the folds' queries


def with_train_settings(bench: Workbench, overrides: Overrides) -> dict[str, object]:
    """Return ``section.key`` -> value of a training; the recipe's ``train`` wins over `overrides`."""
    own = dict(flat(bench.settings["train"]))
    bench.extra_files.record(*(own[key] for key in PLACES if key in own))
    return {**overrides, **own}


def train(
    bench: Workbench, name: str, protocol: str, first: Path, overrides: Overrides, *, folds: Path | None = None
) -> Path:
    """Train over the folds; return the folder, with ``test.run``."""
    if _tuned_stage(bench, first) is not None:
        return train_by_fold(bench, name, protocol, first, lambda fold: overrides, folds=folds)
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
    """Train fold by fold, each with its own overrides and by `first_of`; return the folder."""
    for fold in bench.fold_names:
        settings, run = with_train_settings(bench, overrides(fold)), first_of(bench, first, fold)
        bench.train(file_name(name), protocol, run, settings, "--fold", fold, folds=folds)
    return bench.folder / file_name(name)


def evidence_of(bench: Workbench, trained: Path) -> list[Path]:
    """Return the evidence of the test queries, fold by fold."""
    return [trained / fold / "test.run.evidence" for fold in bench.fold_names]


def interpolated(bench: Workbench, name: str, trained: Path, first: Path, alphas: str) -> Path:
    """Return the test queries by network and first stage, min-max mixed with weights chosen on dev."""
    options = ("--aggregator", "document", "--normalize", "minmax", "--choose-by", "dev", "-m", "nDCG@20")
    return bench.weighed(name, evidence_of(bench, trained), first, {"alpha": alphas}, *options)


def pooled(bench: Workbench, name: str, evidence: list[Path], first: Path, aggregator: str) -> Path:
    """Return the test queries of all folds in one run, ranked by an aggregator alone."""
    return bench.weighed(name, evidence, first, _ALONE, "--aggregator", aggregator)


class Use(NamedTuple):
    """Pipeline, overrides and rerank depth that apply a trained network as its training tests it.

    ``learned_depth`` is the depth of the first stage in training.
    """

    pipeline: str
    overrides: Overrides
    depth: int
    learned_depth: int


def use_of(bench: Workbench, protocol: str, overrides: Overrides) -> Use:
    """Return the use of a network that a training makes."""
    settings = load_document_training(protocol, assignments(with_train_settings(bench, overrides)))
    read = settings.read
    overrides = {"passages.preset": read.passages, "passages.options": read.options}
    overrides["scorer.options.max_tokens"] = read.max_tokens
    overrides |= {} if read.max_query_tokens is None else {"scorer.options.max_query_tokens": read.max_query_tokens}
    overrides |= {"title": True} if read.title else {}
    depth = settings.test.depth or settings.validation.depth
    return Use(settings.network.name, overrides, depth, settings.samples.depth)


def used(bench: Workbench, name: str, use: Use, trained: Path, first: Path) -> Path:
    """Return the test queries reranked by the folds' networks with another `Use` than in training."""
    evidence = []
    for fold in bench.fold_names:
        model, candidates = str(trained / fold / "model"), trained / fold / "test.run"
        evidence.append(applied(bench, f"{name}-{fold}", use, model, candidates).evidence)
    return pooled(bench, name, evidence, first, "document")


def applied(bench: Workbench, name: str, use: Use, model: str, candidates: Path) -> Reranked:
    """Rerank a run by a trained network."""
    return bench.rerank(name, candidates, use.pipeline, model=model, depth=use.depth, overrides=use.overrides)


def first_stage(bench: Workbench, name: str) -> Path:
    """Return the run of a first stage, or a run file that the user names instead."""
    if name not in FIRST_STAGES:
        if not Path(name).is_file():
            raise InputError(
                "no such first stage or file", got=name, fix=f"name a run file or {' or '.join(FIRST_STAGES)}"
            )
        bench.extra_files.record(name)
        return Path(name)
    grid, fixed = _grid(bench, name)
    if grid:
        return bench.tuned(name.lower(), FIRST_STAGES[name], grid, "AP", "--choose-by", _TUNING[name], overrides=fixed)
    return bench.retrieve(name.lower(), FIRST_STAGES[name], fixed)


def first_of(bench: Workbench, first: Path, fold: str) -> Path:
    """Return the run that a fold's network learns from: of a tuned first stage, all queries by the fold's own setting.

    A tuned first stage has each query by the setting of the fold that tests the query. Other folds chose these settings
    on the test queries of this fold.
    """
    name = _tuned_stage(bench, first)
    if name is None:
        return first
    grid, fixed = _grid(bench, name)
    tuning, chosen = first.with_name(TUNING), dict.fromkeys(grid, CHOSEN)
    if tuning.is_file():  # else commands are only listed
        chosen = next(choice["setting"] for choice in bench.read_json(tuning)["choices"] if choice["name"] == fold)
    return bench.retrieve(f"{name.lower()}-{fold}", FIRST_STAGES[name], {**fixed, **chosen})


def _tuned_stage(bench: Workbench, first: Path) -> str | None:
    """Return the name of a first stage whose run `first` was tuned over the folds; None: another run."""
    return next((name for name in FIRST_STAGES if first == bench.folder / name.lower() / RUN), None)


def _grid(bench: Workbench, name: str) -> tuple[Mapping[str, str], Overrides]:
    """Return the grid of a first stage, empty if it is not tuned, and its other settings."""
    grid, given = bench.settings.get(GRIDS[name]) or {}, bench.settings["first_stages"].get(name) or {}
    return grid, {key: value for key, value in given.items() if key not in grid}


def standalone(name: str, model: str, *, most_passages: int = 16) -> dict[str, object]:
    """Return overrides of the standalone training, whose code reads no order of passages; the paper's network does.

    The vectors are those of [CLS], since some encoders have no pooler.
    """
    overrides: dict[str, object] = {"network.options.positions": most_passages} if name == TRANSFORMER else {}
    return {**overrides, "network.name": name.lower(), "network.model": model, "network.options.vector": "cls"}


def file_name(row: str) -> str:
    """Return a row's name as a file name: ``CEDR-KNRM (Max)`` -> ``cedr-knrm-max``."""
    return re.sub(r"[^a-z0-9.+]+", "-", row.lower()).strip("-")
