"""Birch (Akkalyoncu Yilmaz et al. 2019): a document's best sentences, weighted with its first stage.

A model reads every sentence once. The weights of the first stage and of the best one, two or three sentences are
learned from that evidence, by folds. The model is never trained on the collection that it ranks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from longrank.formats.folds import read_folds
from longrank.formats.trec import read_run
from longrank.reproduction.assignments import repeated
from longrank.reproduction.papers.trained import file_name, first_stage, interpolated, train
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench
from longrank.types import Notes

# --- results: best sentences, by training data of the model ---


def results(bench: Workbench) -> Iterator[ObtainedRow]:
    """BM25+RM3, then one, two and three sentences of each model."""
    first = bench.retrieve("bm25-rm3", "bm25-anserini+rm3")
    yield bench.ranked("BM25+RM3", first)
    yield from _one_to_three(bench, first)


def first_version(bench: Workbench) -> Iterator[ObtainedRow]:
    """BM25+RM3 tuned by the folds, then the sentences of two models (arXiv 1903.10972)."""
    first = bench.tuned("tuned", "bm25-anserini+rm3", bench.settings["tune"], "AP", "--choose-by", "yang19")
    yield bench.ranked("BM25+RM3", first)
    yield from _one_to_three(bench, first)


def _one_to_three(bench: Workbench, first: Path) -> Iterator[ObtainedRow]:
    for trained_on in bench.settings["trained_on"]:
        evidence = _read(bench, trained_on, first)
        for n in (1, 2, 3):
            name, grid = f"{file_name(trained_on)}-{n}s", _grid(n, bench.settings["grid"], bench.settings["grid"])
            options = _frozen(bench, trained_on, first, evidence) or ("--choose-by", bench.settings["choose_by"])
            yield bench.ranked(f"{trained_on} {n}S", bench.weighed(name, [evidence], first, grid, *options))


def _frozen(bench: Workbench, trained_on: str, first: Path, evidence: Path) -> tuple[object, ...]:
    """Return options that take the weights from this recipe's folder on another collection, if a setting names it.

    Raises:
        InputError: the folder lacks the evidence, or has evidence of another model or setting.
    """
    if not bench.settings["learn_on"]:
        return ()
    names = [file.relative_to(bench.folder) for file in (bench.qrels, first, evidence)]
    files = bench.extra_files.results_of("learn_on", names, trained_on, "score")
    return repeated("--learn-on", files)


def _read(bench: Workbench, role: str, first: Path) -> Path:
    """Return the evidence of a model for every sentence of the candidates."""
    settings, overrides = bench.settings, {"scorer.options.score": bench.settings["score"]}
    name, model = file_name(role), bench.model(role)
    return bench.rerank(name, first, "birch", model=model, depth=settings["depth"], overrides=overrides).evidence


def _grid(n: int, alpha: str, weights: str) -> dict[str, str]:
    """Return the grid for the best `n` sentences: values of alpha, and of all weights but the best sentence's."""
    return {"alpha": alpha} | {f"w{i}": weights for i in range(2, n + 1)}


# --- number of sentences ---


def sentences(bench: Workbench) -> Iterator[ObtainedRow]:
    """From the best sentence to the best ten: the full grid for three, two values of each weight from four on."""
    first = bench.retrieve("bm25-rm3", "bm25-anserini+rm3")
    evidence, settings = _read(bench, "bert", first), bench.settings
    for n in range(1, settings["sentences"] + 1):
        grid = _grid(n, settings["grid"], settings["grid"] if n <= 3 else settings["further"])
        run = bench.weighed(f"{n}s", [evidence], first, grid)
        yield bench.ranked(f"{n}S", run, series="best sentences", x=n)


# --- Birch-Passage: trained end to end ---


def passages(bench: Workbench) -> Iterator[ObtainedRow]:
    """Birch-Passage of several encoders, alone and mixed with the first stage (survey, Table 11)."""
    first = first_stage(bench, "BM25+RM3")
    for role in bench.settings["encoders"]:
        name = file_name(role)
        overrides = {"network.name": "birch-passage", "network.model": bench.model(role)}
        trained = train(bench, name, "parade", first, overrides)
        yield bench.ranked(role, trained / "test.run")
        mixed = interpolated(bench, f"{name}-mixed", trained, first, bench.settings["alpha"])
        yield bench.ranked(f"{role} + BM25", mixed)


# --- training data of the models (Tables 1.1 to 1.3) ---


def table_1_1(bench: Workbench) -> Iterator[ObtainedRow]:
    """Microblog: queries and judged tweets for training and for validation."""
    rows, dev = bench.folder / "rows.jsonl", bench.folder / "dev.jsonl"
    parts = ("--queries", bench.queries, "--qrels", bench.qrels, "-o", rows, "--dev", dev)
    bench.read("rows", "microblog", *bench.sources, *parts, "--dev-queries", bench.settings["validation"], output=rows)
    yield bench.measured("training", lambda: _counted(bench, rows))
    yield bench.measured("validation", lambda: _counted(bench, dev))


def table_1_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """MS MARCO: examples, two of each triple."""
    rows, triples = bench.folder / "rows.jsonl", bench.settings["triples"]
    if triples:
        bench.refuse_queries("triples")
        limit = ("--triples", bench.settings["n_triples"])
        bench.do("rows", "msmarco", bench.extra_files.file(triples), "-o", rows, *limit, output=rows)
    else:
        inputs = (*bench.sources, "--queries", bench.queries, "--qrels", bench.qrels)
        bench.read("rows", "microblog", *inputs, "-o", rows, output=rows)
    yield bench.measured("MS MARCO", lambda: _counted(bench, rows))


def table_1_3(bench: Workbench) -> Iterator[ObtainedRow]:
    """TREC CAR: queries of the folds, and pairs with BM25's first paragraphs."""
    run = bench.retrieve("bm25", "bm25-anserini", k=bench.settings["depth"])
    yield bench.measured("training", lambda: _pairs(bench, run, dev=False))
    yield bench.measured("validation", lambda: _pairs(bench, run, dev=True))


def _counted(bench: Workbench, rows: Path) -> dict[str, float]:
    queries, labels = set(), Counter[int]()
    with rows.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            queries.add(row["query"])
            labels[row["label"]] += 1
    n = labels.total()
    counts = {"queries": len(queries), "examples": n, "share relevant": labels[1] / n}
    return {name: counts[name] for name in bench.recipe.quantities}


def _pairs(bench: Workbench, run: Path, *, dev: bool) -> dict[str, float]:
    """Count the queries and documents of a run in the last fold, or in the other folds."""
    pairs, folds = read_run(run, Notes()), list(read_folds(bench.folds, Notes()).values())
    query_ids = [query_id for fold in (folds[-1:] if dev else folds[:-1]) for query_id in fold.test]
    return {"queries": len(query_ids), "pairs": sum(len(pairs.get(query_id)) for query_id in query_ids)}
