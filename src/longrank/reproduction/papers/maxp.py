"""Comparing score aggregation approaches for document retrieval with pretrained transformers (Zhang, Yates, Lin 2021).

BERT scores the passages of BM25's first documents. The tables compare ways to pool passage scores, encoders, and
shares of the training judgments.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.folds import read_folds
from longrank.formats.trec import read_qrels
from longrank.registries import suggestion
from longrank.reproduction.assignments import Overrides
from longrank.reproduction.papers.trained import applied, evidence_of, pooled, train, use_of
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench
from longrank.training.judgments import sample_judgments
from longrank.types import Notes

ENCODERS = {
    "BERT-Base": "bert-base",
    "BERT-Large": "bert-large",
    "ELECTRA-Base": "electra",
    "RoBERTa-Base": "roberta",
    "ALBERT-Base": "albert",
    "BERT-Base (pFT)": "bert-base-pft",
    "ELECTRA-Base (pFT)": "electra-pft",
}
"""Row -> role of the model."""

_OWN: dict[str, dict[str, object]] = {"albert": {"network.dropout": 0.0}}  # its head has .1 in transformers


def table_1a(bench: Workbench) -> Iterator[ObtainedRow]:
    """Dai and Callan's BERT: one training over query likelihood, with three ways to pool passages."""
    first = bench.retrieve("ql", "ql", {"mu": 2500})
    model = {"network.model": bench.model("bert-base")}
    trained = train(bench, "dai-callan", "dai-callan", first, model, folds=bench.folds_without_dev)
    for name in bench.settings["systems"]:
        aggregator = name.removeprefix("BERT-").lower()
        yield bench.ranked(name, pooled(bench, aggregator, evidence_of(bench, trained), first, aggregator))


def table_1b(bench: Workbench) -> Iterator[ObtainedRow]:
    """FirstP, MaxP, SumP and AvgP, each with its own training."""
    for name in bench.settings["systems"]:
        yield bench.ranked(name, _trained(bench, name.lower(), "bert-base", {"network.name": name.lower()}))


def table_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """MaxP with other encoders; two are pre-fine-tuned on MS MARCO passages."""
    for name in bench.settings["systems"]:
        role = _role(name)
        yield bench.ranked(name, _trained(bench, role, role))


def table_3a(bench: Workbench) -> Iterator[ObtainedRow]:
    """The pre-fine-tuned BERT, without and with training on the collection's judgments."""
    for name in bench.settings["systems"]:
        if name == "MS MARCO alone":
            use, model = use_of(bench, "maxp", {}), bench.model("bert-base-pft")
            run = applied(bench, "ms-marco", use, model, _first_stage(bench)).run
        else:
            role = _role(name)
            run = _trained(bench, role, role)
        yield bench.ranked(name, run)


def figure_1(bench: Workbench) -> Iterator[ObtainedRow]:
    """Training on a share of the judgments: all of few queries (deep) or few of every query (shallow)."""
    for name in bench.settings["systems"]:
        for scheme in bench.settings["schemes"]:
            for rate in bench.settings["rates"]:
                sampled = {"judgments.scheme": scheme, "judgments.rate": rate, "judgments.seed": bench.settings["seed"]}
                yield _median(bench, name, f"{scheme}, {rate}", sampled, f"{name}, {scheme}", rate)
        yield _median(bench, name, "all", {}, f"{name}, all", 1.0)


def samples(bench: Workbench) -> Iterator[ObtainedRow]:
    """Judgments and queries in the samples of figure 1."""
    for scheme in bench.settings["schemes"]:
        for rate in bench.settings["rates"]:
            yield bench.measured(f"{scheme}, {rate}", partial(_sampled, bench, scheme, rate))


def _role(system: str) -> str:
    """Return the role of a row's encoder."""
    if system not in ENCODERS:
        raise InputError("unknown system", got=system, fix=suggestion(str(system), ENCODERS))
    return ENCODERS[system]


def _first_stage(bench: Workbench) -> Path:
    return bench.retrieve("bm25", "bm25-anserini")


def _trained(bench: Workbench, name: str, role: str, overrides: Overrides | None = None) -> Path:
    model = {"network.model": bench.model(role), **_OWN.get(role, {})}
    return train(bench, name, "maxp", _first_stage(bench), {**model, **(overrides or {})}) / "test.run"


def _median(bench: Workbench, name: str, sample: str, sampled: Overrides, series: str, rate: float) -> ObtainedRow:  # noqa: PLR0917
    """Train with every seed; return the median run by the recipe's first measure (the lower of two)."""
    rows = []
    for seed in bench.settings["seeds"]:
        folder = f"{_role(name)}-{sample.replace(', ', '-')}-{seed}"
        run = _trained(bench, folder, _role(name), {"loop.seed": seed, **sampled})
        rows.append(bench.ranked(f"{name}, {sample}", run, series=series, x=rate))
    measure = bench.recipe.measures[0]
    return sorted(rows, key=lambda row: row.values.get(measure, 0.0))[(len(rows) - 1) // 2]


def _sampled(bench: Workbench, scheme: str, rate: float) -> dict[str, float]:
    qrels, folds = read_qrels(bench.qrels, Notes()), read_folds(bench.folds, Notes())
    kept = sample_judgments(qrels, rate, scheme=scheme, seed=bench.settings["seed"], notes=Notes(), folds=folds).qrels
    return {"judgments": sum(map(len, kept.values())), "queries": len(kept)}
