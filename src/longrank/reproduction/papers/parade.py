"""PARADE: passage representation aggregation for document reranking (Li, Yates, MacAvaney, He, Sun 2020).

A network scores a document from the encoder's passage vectors, and is trained together with the encoder. Baselines
aggregate passage scores. Tables 7 and 8 and figure 3 are in `parade_efficiency`, CEDR in `cedr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.trec import read_qrels, read_run
from longrank.registries import lookup
from longrank.reproduction.assignments import Overrides
from longrank.reproduction.papers.trained import (
    FIRST_STAGES,
    STANDALONE,
    applied,
    evidence_of,
    file_name,
    first_stage,
    standalone,
    train,
    use_of,
    with_train_settings,
)
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench
from longrank.types import Notes

_AS_HERE = {"read.passages": "parade-paper", "read.max_query_tokens": 64, "validation.depth": 50, "test.depth": 1000}
_WHOLE = {"network.name": "maxp", "read.passages": "whole", "read.max_tokens": 4096}
_BATCHES_OF_16 = {"batch": 16, "steps": 9216, "validate_every": 256, "schedule.options.epoch_steps": 256}

SYSTEMS: Mapping[str, tuple[str, Overrides]] = {
    "Birch-Passage": ("parade", {"network.name": "birch-passage"}),
    "MaxP": ("maxp", {"network.options.outputs": 0, **_AS_HERE}),
    "MaxP end-to-end": ("parade", {"network.name": "maxp"}),
    "KNRM": ("parade", {"network.name": "knrm"}),
    "CEDR-KNRM (Max)": (
        "parade",
        {
            "network.name": "cedr-knrm",
            "network.options.cls": "max",
            **{f"loop.{key}": value for key, value in _BATCHES_OF_16.items()},
        },
    ),
    "LongP": ("parade", _WHOLE),
    **{
        f"PARADE-{kind}": ("parade", {"network.name": f"parade-{kind.lower()}"})
        for kind in ("Avg", "Sum", "Max", "Attn", "CNN", "Transformer")
    },
}
"""Row, without the encoder's name -> training protocol and its overrides.

``LongP`` (Boytsov et al. 2022, arXiv 2207.01262) reads a document whole, up to the limit of a long-context encoder.
"""

_MODELS = {"LongP": "long"}
"""Row -> role of its model, if that is not ``electra``."""


_TOKENS, _DOCUMENTS = "tokens per document (thousands)", "documents (millions)"


def table_1(bench: Workbench) -> Iterator[ObtainedRow]:
    """Queries, documents and tokens per document."""
    path = bench.folder / "collection.json"
    inputs = (bench.index, bench.queries, bench.qrels)
    bench.do("analyze", "collection", *inputs, "--model", bench.model("tokenizer"), "-o", path, output=path)

    def counted() -> dict[str, float]:
        statistics = bench.read_json(path)
        documents = statistics["documents"]["n"]
        tokens = statistics["documents"]["lengths"]["wordpieces"]["mean"]
        return {"queries": statistics["queries"]["judged"], _DOCUMENTS: documents / 1e6, _TOKENS: tokens / 1e3}

    yield bench.measured(bench.recipe.expected[0].row, counted)


def table_2(bench: Workbench) -> Iterator[ObtainedRow]:
    """Aggregators beside their baselines, for tables 2, 3 and 6."""
    candidates = first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        yield bench.ranked(name, _ranking(bench, name, candidates))


def table_4(bench: Workbench) -> Iterator[ObtainedRow]:
    """Evaluation campaigns (tables 4 and 5), by the standalone training; on other queries if a setting names them."""
    candidates = first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        if name in FIRST_STAGES:
            yield bench.ranked(name, first_stage(bench, name))
        else:
            overrides = standalone(name, bench.model("electra"))
            yield bench.ranked(name, _learned(bench, name, overrides, candidates))


def table_9(bench: Workbench) -> Iterator[ObtainedRow]:
    """Relevant passages per relevant document."""
    path, options = bench.folder / "relevant-passages.json", bench.settings["options"]
    whole = ("--qrels", bench.qrels) if "--document-level" in options else ()
    if not whole:
        bench.refuse_queries("judged passages")
    passages = bench.extra_files.passage_judgments(bench.settings["passages"])
    bench.extra_files.record(*(value for option, value in pairwise(options) if option == "--mapping"))
    bench.do("analyze", "relevant-passages", passages, *options, *whole, "-o", path, output=path)
    shares = dict(zip(bench.recipe.quantities, ("exactly_1", "up_to_2", "from_3"), strict=True))
    yield bench.measured(
        bench.recipe.expected[0].row,
        lambda: {name: 100 * bench.read_json(path)["result"][share] for name, share in shares.items()},
    )


def covid(bench: Workbench) -> Iterator[ObtainedRow]:
    """A round of TREC-COVID (tables 10 to 12), trained on the judgments of earlier rounds."""
    for name, options in bench.settings["runs"].items():
        candidates = _covid_candidates(bench, options)
        runs = [_covid_run(bench, system, candidates, options["depth"]) for system in options["systems"]]
        yield bench.ranked(name, runs[0] if len(runs) == 1 else bench.fuse(name, "rrf", runs))


def journal_table_12(bench: Workbench) -> Iterator[ObtainedRow]:
    """PARADE over two first stages, an ensemble, and the documents that each first stage finds (journal version)."""
    firsts = {name: first_stage(bench, name) for name in FIRST_STAGES}
    for name, first in firsts.items():
        yield bench.ranked(name, first)
    for name, first in firsts.items():
        trained = _trained(bench, "PARADE-Transformer", first, f"parade-{name.lower()}")
        yield bench.ranked(f"PARADE over {name}", trained / "test.run")
    options = ("--aggregator", "document", "--normalize", "minmax")
    evidence = evidence_of(bench, trained)
    yield bench.ranked("ensemble", bench.weighed("ensemble", evidence, first, {"alpha": "0:1:0.05"}, *options))
    yield bench.measured("relevant documents", lambda: _relevant_found(bench, *firsts.values()))


def _ranking(bench: Workbench, name: str, candidates: Path) -> Path:
    """Return a row's run: a first stage, or the candidates reranked by a trained system."""
    if name in FIRST_STAGES:
        return first_stage(bench, name)
    return _trained(bench, name.removeprefix("ELECTRA-").removeprefix("BioBERT-"), candidates, name) / "test.run"


def _trained(bench: Workbench, system: str, first: Path, name: str) -> Path:
    protocol, overrides = lookup(SYSTEMS, system, "system")
    model = bench.model(_MODELS.get(system, "electra"))
    return train(bench, name, protocol, first, {**overrides, "network.model": model})


def _learned(bench: Workbench, name: str, overrides: Overrides, candidates: Path) -> Path:
    """Return the candidates reranked by a network trained on other queries, or trained by folds."""
    other = bench.extra_files.topics("learn_on", irds=True)
    if other is None:
        return train(bench, name, STANDALONE, candidates, overrides, folds=bench.folds_without_dev) / "test.run"
    first = bench.retrieve("learned-on", FIRST_STAGES["BM25"], queries=other[0])
    model = _trained_once(bench, name, overrides, (*other, first))
    return _applied(bench, name, overrides, model, candidates)


def _trained_once(bench: Workbench, name: str, overrides: Overrides, learned: tuple[object, ...]) -> str:
    """Train on all judged queries of `learned`: queries, judgments, first stage; return the network's folder."""
    model = bench.folder / f"{file_name(name)}-trained" / "model"
    settings = with_train_settings(bench, overrides)
    settings.pop("test.depth", None)  # no query is tested
    options = bench.trained_with(settings)
    bench.do("train", STANDALONE, bench.index, *learned, "-o", model.parent, *options, output=model)
    return str(model)


def _applied(bench: Workbench, name: str, overrides: Overrides, model: str, candidates: Path) -> Path:
    """Return the candidates reranked by a trained network, to the depth of the training's tests."""
    return applied(bench, file_name(name), use_of(bench, STANDALONE, overrides), model, candidates).run


def _covid_candidates(bench: Workbench, options: Mapping[str, Any]) -> Path:
    name, depth = bench.settings["first_stage_queries"], options["depth"]
    if not name or options.get("first_stage") == "question":
        return bench.retrieve(f"bm25-{depth}", FIRST_STAGES["BM25"], k=depth)
    queries = bench.extra_files.file(name)
    return bench.retrieve(f"bm25-given-{depth}", FIRST_STAGES["BM25"], queries=queries, k=depth)


def _covid_run(bench: Workbench, system: str, candidates: Path, depth: int) -> Path:
    name = f"{system}-{candidates.stem}"
    overrides = {**standalone(system, bench.model("electra")), "test.depth": depth}
    if not bench.settings["learn_on_judged_before"]:
        return train(bench, name, STANDALONE, candidates, overrides, folds=bench.folds_without_dev) / "test.run"
    if bench.judged_before is None:
        fix = "--set learn_on_judged_before=false learns by folds"
        raise InputError(
            "the collection has no judgments of earlier rounds to train on", about=("collection",), got=system, fix=fix
        )
    first = bench.retrieve("bm25", FIRST_STAGES["BM25"])
    model = _trained_once(bench, system, overrides, (bench.queries, bench.judged_before, first))
    return _applied(bench, name, overrides, model, candidates)


def _relevant_found(bench: Workbench, bm25: Path, rm3: Path) -> dict[str, float]:
    """Count the relevant documents found by both first stages, and by one only."""
    qrels = read_qrels(bench.tested, Notes())
    relevant = {(query, doc) for query, judged in qrels.items() for doc, grade in judged.items() if grade > 0}
    plain, expanded = (
        relevant & {(row.query_id, row.doc_id) for row in read_run(run, Notes()).rows()} for run in (bm25, rm3)
    )
    counts = len(plain & expanded), len(expanded - plain), len(plain - expanded)
    return dict(zip(bench.recipe.quantities, map(float, counts), strict=True))
