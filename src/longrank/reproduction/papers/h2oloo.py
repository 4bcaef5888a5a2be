"""h2oloo at TREC 2019 (Akkalyoncu Yilmaz et al.): passages and documents of the Deep Learning Track.

Eight first stages: BM25 with default or tuned parameters, alone or with a feedback model. BERT reranks the tuned first
stages by passages or sentences, with and without predicted queries in the index. Rows have the names of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from longrank.errors import InputError
from longrank.reproduction.assignments import grid_options, repeated
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench

_BASELINES = tuple(f"bm25{which}{feedback}" for which in ("base", "tuned") for feedback in ("", "_ax", "_prf", "_rm3"))
_ROLES = {"bm25_marcomb": "bert-msmarco-microblog", "bm25exp_marco": "bert-msmarco"}
_ROLES["bm25exp_marcomb"] = _ROLES["bm25_marcomb"]


# --- passages (Table 1) ---


def table_1(bench: Workbench) -> Iterator[ObtainedRow]:
    """Eight baselines, then BERT alone on three lists of candidates."""
    for name in _BASELINES:
        yield bench.ranked(f"{name}_p", bench.retrieve(f"{name}_p", f"{name}_p"))
    tuned = bench.retrieve("bm25tuned_p", "bm25tuned_p")
    yield bench.ranked("p_bert", _read(bench, "p_bert", tuned))
    expanded = _expanded(bench, "doc2query-msmarco", "doc2query-car")
    for name, preset in (("p_exp_bert", "bm25tuned_p"), ("p_exp_rm3_bert", "bm25tuned_rm3_p")):
        first = bench.retrieve(f"{preset}_exp", preset, index=expanded)
        yield bench.ranked(name, _read(bench, name, first))


def _read(bench: Workbench, name: str, first: Path) -> Path:
    """Rerank whole passages by the log-probability of relevance alone."""
    overrides = {"passages.preset": "whole", "scorer.options.score": "logprob"}
    return bench.rerank(
        name, first, "firstp", model=bench.model("bert"), depth=bench.settings["depth"], overrides=overrides
    ).run


def _expanded(bench: Workbench, *roles: str, copies: int = 1) -> Path:
    """Index the documents with the merged predicted queries of several models."""
    files = [bench.extra_files.file(name) for name in bench.settings["expansions"]] or [
        _predicted(bench, role) for role in roles
    ]
    name = f"expanded-{copies}.index"
    return bench.indexed(name, *repeated("--expansions", files), "--original-copies", copies)


def _predicted(bench: Workbench, role: str) -> Path:
    """Predict queries with a model, each word drawn from the ten likeliest."""
    output, settings = bench.folder / f"{role}.jsonl", bench.settings
    options = ("--method", "topk", "--k", 10, "-n", settings["predicted"], "--preset", settings["reading"])
    return bench.do("expand", bench.index, bench.model(role), "-o", output, *options, output=output)


# --- documents (Table 2) ---


def table_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """Eight baselines, then three mixtures of a first stage and BERT's three best sentences."""
    for name in _BASELINES:
        yield bench.ranked(name, bench.retrieve(name, name))
    yield from _mixtures(bench)


def table_2_full_depth(bench: Workbench) -> Iterator[ObtainedRow]:
    """The mixtures and the first baseline, to the full depth of the runs."""
    yield bench.ranked("bm25base", bench.retrieve("bm25base", "bm25base"))
    yield from _mixtures(bench)


def _mixtures(bench: Workbench) -> Iterator[ObtainedRow]:
    expanded = _expanded(bench, "doc2query-msmarco", "doc2query-car")
    for name in _ROLES:
        index = expanded if name.startswith("bm25exp") else bench.index
        yield bench.ranked(name, _mixed(bench, name, index))


def _mixed(bench: Workbench, name: str, index: Path) -> Path:
    """Weight the first stage and three sentences, with the paper's weights or with weights learned on another set."""
    first, evidence = _sentences(bench, name, f"{name}-read", index, bench.queries)
    other = bench.extra_files.topics("learn_on")
    if other is None:
        if len(bench.settings["weights"][name]) != 3:
            got = f"weights.{name} = {bench.settings['weights'][name]}"
            raise InputError("a mixture has three weights: alpha, second sentence, third sentence", got=got)
        alpha, second, third = bench.settings["weights"][name]
        weights = ("--weights", f"1,{second},{third}")
        return bench.aggregate(name, evidence, "birch", *weights, first=first, alpha=alpha)
    learned = _sentences(bench, name, f"{name}-elsewhere", index, other[0])
    grid = dict.fromkeys(("alpha", "w2", "w3"), bench.settings["grid"])
    learn_on = repeated("--learn-on", (other[1], *learned))
    return bench.weighed(f"{name}-learned", [evidence], first, grid, *learn_on)


def _sentences(bench: Workbench, run: str, name: str, index: Path, queries: Path) -> tuple[Path, Path]:
    """Return the candidates of queries, and the evidence of a run's BERT for their sentences."""
    depth, model = bench.settings["depth"], bench.model(_ROLES[run])
    first = bench.retrieve(f"{name}-first", bench.settings["first_stage"], index=index, queries=queries)
    read = bench.rerank(name, first, "birch", model=model, depth=depth, queries=queries)
    return first, read.evidence


# --- tuning, and gains from predicted queries ---


def tuning(bench: Workbench) -> Iterator[ObtainedRow]:
    """The mean optimum of five samples of queries, for each objective; then the named settings."""
    for objective in bench.settings["objectives"]:
        yield bench.measured(f"optimum by {objective}", partial(_optimum, bench, _tuned(bench, objective)))
    for name in bench.settings["baselines"]:
        yield bench.ranked(name, bench.retrieve(name, name))


def _tuned(bench: Workbench, objective: str) -> Path:
    settings, output = bench.settings, bench.folder / f"tuned-{objective.replace('@', '-')}"
    samples = ("--protocol", "samples", "--samples", settings["samples"], "--sample-size", settings["sample_size"])
    grid = grid_options({axis: settings[axis] for axis in ("k1", "b")})
    inputs = (bench.index, *_to_tune_on(bench), "-o", output)
    return bench.do("tune", *inputs, "-m", objective, *samples, *grid, output=output / "tuning.json")


def _to_tune_on(bench: Workbench) -> tuple[Path, Path]:
    """Return queries and judgments to sample from: a setting's, or the collection's."""
    other, size = bench.extra_files.topics("tune_on", irds=True), bench.settings["sample_size"]
    if other is not None:
        return other
    if size > bench.n_queries:
        what = f"samples of {size} queries cannot be drawn from the collection's {bench.n_queries}"
        raise InputError(what, fix="name a larger set by --set tune_on=FOLDER or irds:ID, or a smaller sample_size")
    return bench.queries, bench.qrels


def _optimum(bench: Workbench, tuned: Path) -> dict[str, float]:
    return dict(bench.read_json(tuned)["result"]["setting"])


def expansion_passages(bench: Workbench) -> Iterator[ObtainedRow]:
    """BM25 on passages, with predicted queries, with the passage counted twice, and BERT on expanded passages."""
    yield bench.ranked("bm25base_p", bench.retrieve("bm25base_p", "bm25base_p"))
    once = bench.retrieve("doc2query", "bm25base_p", index=_expanded(bench, "doc2query-msmarco"))
    yield bench.ranked("doc2query", once)
    twice = _expanded(bench, "doc2query-msmarco", copies=2)
    yield bench.ranked("doc2query, text twice", bench.retrieve("doc2query-twice", "bm25base_p", index=twice))
    yield bench.ranked("doc2query, BERT", _read(bench, "doc2query-bert", once))


def expansion_documents(bench: Workbench) -> Iterator[ObtainedRow]:
    """BM25 on documents, without and with the queries predicted for all windows."""
    yield bench.ranked("bm25base", bench.retrieve("bm25base", "bm25base"))
    expanded = _expanded(bench, "doc2query")
    yield bench.ranked("docTTTTTquery", bench.retrieve("doct5query", "bm25base", index=expanded))
