"""Santos et al.: a bi-encoder reads a few candidate sentences of a document, and is fused with BM25 by MAPFuse.

BM25 on stemmed words finds 1,000 candidates and the model reranks the first 30. Sentences come from one of three pools,
and one of three aggregations turns their similarities into a score. MAPFuse adds BM25's run; weights are average
precision on other topics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from longrank.formats.folds import read_folds
from longrank.networks.checks import n_parameters
from longrank.networks.model_files import find_model
from longrank.reproduction.assignments import repeated
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench
from longrank.storage import atomic_write
from longrank.types import Notes

_POOLS = {"FIRST": "sentences", "TERMF": "sentences", "FIRST+TERMF": "both"}
"""Pool -> the setting with its number of sentences."""
_AGGREGATIONS = {"Max": "max", "Sum": "sum", "W.Mean": "wmean"}


class Topics(NamedTuple):
    """Queries with judgments, and a suffix for names of their files."""

    queries: Path
    qrels: Path
    mark: str = ""


System = Callable[[Topics], Path]
"""Ranks topics; returns the run."""


def _here(bench: Workbench) -> Topics:
    return Topics(bench.queries, bench.qrels)


def _there(bench: Workbench, setting: str, mark: str) -> Topics | None:
    """Return the topics of the folder that a setting names; None if the setting is empty."""
    files = bench.extra_files.topics(setting)
    return None if files is None else Topics(*files, mark)


# --- first stages (Table 1) ---


def table_1(bench: Workbench) -> Iterator[ObtainedRow]:
    """BM25 on plain words, and with stop words and stemming."""
    plain = bench.indexed("plain.index", "--analyzer", "none")
    yield bench.ranked("BM25", bench.retrieve("bm25", "santos-bm25", index=plain, k=bench.settings["candidates"]))
    yield bench.ranked("BM25+Porter", _porter(bench, _here(bench)))


def _porter(bench: Workbench, topics: Topics) -> Path:
    name, k = f"porter{topics.mark}", bench.settings["candidates"]
    return bench.retrieve(name, "santos-bm25-porter", queries=topics.queries, k=k)


# --- pools and aggregations, alone and fused (Tables 2 to 4) ---


def table_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """The topics of 2002, and a model fine-tuned on other topics."""
    yield from pools_and_aggregations(bench)
    tuned = _fine_tuned(bench)
    yield bench.ranked("FIRST+TERMF Max fine-tuned", tuned)
    # Other topics may be training topics, so weights come from the folds.
    fused = bench.fuse("tuned-fused", "mapfuse", [_porter(bench, _here(bench)), tuned], *_by_folds(bench))
    yield bench.ranked("FIRST+TERMF Max fine-tuned + MAPFuse", fused)


def pools_and_aggregations(bench: Workbench) -> Iterator[ObtainedRow]:
    """First stages, the whole text, and every pool with every aggregation."""
    yield from table_1(bench)
    yield from _alone_and_fused(bench, "FullText", partial(_full_text, bench))
    for pool in _POOLS:
        for aggregation in _AGGREGATIONS:
            system = partial(_by_sentences, bench, "encoder", pool, aggregation)
            yield from _alone_and_fused(bench, f"{pool} {aggregation}", system)


def _alone_and_fused(bench: Workbench, name: str, system: System) -> Iterator[ObtainedRow]:
    here = _here(bench)
    run = system(here)
    yield bench.ranked(name, run)
    weighed = _by_folds(bench)
    if there := _there(bench, "heldout", "-heldout"):
        weighed = repeated("--heldout", (there.qrels, _porter(bench, there), system(there)))
    fused = bench.fuse(f"{run.stem}-fused", "mapfuse", [_porter(bench, here), run], *weighed)
    yield bench.ranked(f"{name} + MAPFuse", fused)


def _by_folds(bench: Workbench) -> tuple[object, ...]:
    return "--folds", bench.folds, "--qrels", bench.qrels


def _full_text(bench: Workbench, topics: Topics) -> Path:
    """Rerank by the similarity of the whole text that the model reads."""
    first, model, depth = _porter(bench, topics), bench.model("encoder"), bench.settings["depth"]
    name, queries = f"full-text{topics.mark}", topics.queries
    return bench.rerank(name, first, "full-text", model=model, depth=depth, queries=queries, cached=False).run


def _by_sentences(bench: Workbench, role: str, pool: str, aggregation: str, topics: Topics) -> Path:
    evidence = _read(bench, f"{role}-{pool.lower()}{topics.mark}", bench.model(role), pool, topics)
    aggregator = _AGGREGATIONS[aggregation]
    return bench.aggregate(
        f"{evidence.name.partition('.')[0]}-{aggregator}", evidence, aggregator, first=_porter(bench, topics)
    )


def _read(
    bench: Workbench,
    name: str,
    model: str,
    pool: str,
    topics: Topics,
    *,
    n: int | None = None,
    depth: int | None = None,
) -> Path:
    """Return the evidence of a pool's sentences: `n` for each of the first `depth` documents."""
    overrides = {"select.name": pool.lower(), "select.n": n or bench.settings[_POOLS[pool]]}
    return bench.rerank(
        name,
        _porter(bench, topics),
        "santos",
        model=model,
        depth=depth or bench.settings["depth"],
        overrides=overrides,
        queries=topics.queries,
        cached=False,
    ).evidence


# --- fine-tuning on weak labels ---


def _fine_tuned(bench: Workbench) -> Path:
    """Rank by a model trained on topics of other years, or each fold by a model trained on the other folds."""
    if there := _there(bench, "train_on", "-train"):
        model = _trained(bench, "tuned", there)
        return _read_and_rank(bench, "tuned", model, _here(bench))
    runs = []
    for fold in bench.fold_names:
        model = _trained(bench, f"tuned-{fold}", _here(bench), "--folds", bench.folds_without_dev, "--fold", fold)
        runs.append(_read_and_rank(bench, f"tuned-{fold}", model, _test_topics(bench, fold)))
    # The runs have different queries, so their sum joins them.
    return bench.fuse("tuned", "linear", runs)


def _trained(bench: Workbench, name: str, topics: Topics, *fold: object) -> Path:
    """Train on the best sentences of judged documents, chosen by the untrained model."""
    settings, model, first = bench.settings, bench.model("encoder"), _porter(bench, topics)
    labels = f"labels{topics.mark}"
    before = _read(bench, labels, model, "FIRST+TERMF", topics, depth=settings["label_depth"])
    rows, held = bench.folder / f"{name}-train.jsonl", bench.folder / f"{name}-dev.jsonl"
    inputs = (bench.index, topics.queries, topics.qrels, first, before)
    bench.do("weak-labels", *inputs, "-o", rows, "--dev", held, *fold, output=rows)
    overrides = {"network.model": model, **settings["train"]}
    return bench.train_passages(f"{name}-model", "santos", rows, overrides, "--dev", held)


def _read_and_rank(bench: Workbench, name: str, model: Path, topics: Topics) -> Path:
    evidence = _read(bench, f"{name}-read", str(model), "FIRST+TERMF", topics)
    return bench.aggregate(name, evidence, "max", first=_porter(bench, topics))


def _test_topics(bench: Workbench, fold: str) -> Topics:
    """Write the test queries of a fold."""
    path = bench.folder / f"queries-{fold}.jsonl"
    if not bench.dry:
        test = set(read_folds(bench.folds, Notes())[fold].test)
        with bench.queries.open(encoding="utf-8", newline="\n") as lines, atomic_write(path, "w") as stream:
            stream.writelines(line for line in lines if json.loads(line)["query_id"] in test)
    return Topics(path, bench.qrels, f"-{fold}")


# --- numbers of sentences and documents (Figures 2 and 3) ---


def figure_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """From the first 8 sentences to the first 64, in each aggregation."""
    counts, here = bench.settings["sentences"], _here(bench)
    evidence = _read(bench, "sentences", bench.model("encoder"), "FIRST", here, n=max(counts))
    options = ("--first-stage", _porter(bench, here), "--counts", ",".join(map(str, counts)))
    path = _analysed(bench, "sentences", (evidence, bench.tested), list(_AGGREGATIONS.values()), *options)
    for name, aggregator in _AGGREGATIONS.items():
        for n in counts:
            yield _point(bench, path, f"{name}, {n} sentences", aggregator, n, series=name)


def figure_3(bench: Workbench) -> Iterator[ObtainedRow]:
    """From 10 documents reranked to 100, by the sum over their first sentences."""
    depths, here = bench.settings["depth"], _here(bench)
    model, n = bench.model("encoder"), bench.settings["sentences"]
    evidence = _read(bench, "depth", model, "FIRST", here, n=n, depth=max(depths))
    inputs = (evidence, _porter(bench, here), bench.tested)
    path = _analysed(bench, "depth", inputs, ["sum"], "--depths", ",".join(map(str, depths)))
    for n in depths:
        yield _point(bench, path, f"depth {n}", "sum", n, series="FIRST Sum")


def _analysed(bench: Workbench, kind: str, inputs: tuple[Path, ...], aggregators: list[str], *more: object) -> Path:
    output = bench.folder / f"by-{kind}.json"
    named = [part for name in aggregators for part in ("-a", name)]
    measures = [part for name in bench.recipe.measures for part in ("-m", name)]
    return bench.do("analyze", kind, *inputs, *more, *named, *measures, "-o", output, output=output)


def _point(bench: Workbench, analysis: Path, name: str, aggregator: str, n: int, *, series: str) -> ObtainedRow:
    """Return the row of a point of an analysis, with its values by query."""
    if bench.dry:
        return ObtainedRow(name, {}, series=series, x=n)
    points = bench.read_json(analysis)["points"]
    point = next(point for point in points if (point["n"], point["aggregator"]) == (n, aggregator))
    return ObtainedRow(name, point["values"], per_query=point.get("per_query", {}), series=series, x=n)


# --- sizes (Tables 5 and 6) ---


def table_5(bench: Workbench) -> Iterator[ObtainedRow]:
    """Size of each encoder, and seconds for a document's first sentences and the query."""
    for role in bench.settings["sizes"]:
        yield bench.measured(role.capitalize(), partial(_size, bench, bench.model(role), _timed(bench, role)))


def _timed(bench: Workbench, role: str) -> Path:
    output, settings = bench.folder / f"{role}.json", bench.settings
    options = ("--length", settings["tokens"], "--seconds", settings["seconds"])
    return bench.do("bench", bench.model(role), *options, "-o", output, output=output)


def _size(bench: Workbench, model: str, timed: Path) -> dict[str, float]:
    place = find_model(model).network
    config, (measured,) = bench.read_json(place / "config.json"), bench.read_json(timed)["measurements"]
    return {
        "layers": config.get("num_hidden_layers", config.get("n_layers")),  # DistilBERT's name
        "hidden size": config.get("hidden_size", config.get("dim")),
        "million parameters": n_parameters(place) / 1e6,
        "s/doc": (bench.settings["sentences"] + 1) / measured["passages"],
    }


def table_6(bench: Workbench) -> Iterator[ObtainedRow]:
    """Three sizes of encoder, for two pools and two aggregations."""
    for pool in ("FIRST", "FIRST+TERMF"):
        for aggregation in ("Max", "Sum"):
            for role in bench.settings["sizes"]:
                system = partial(_by_sentences, bench, role, pool, aggregation)
                yield from _alone_and_fused(bench, f"{pool} {aggregation} {role.capitalize()}", system)
