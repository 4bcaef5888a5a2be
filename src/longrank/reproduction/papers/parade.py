"""PARADE: passage representation aggregation for document reranking (Li, Yates, MacAvaney, He, Sun 2020).

A document is scored by a network over what an encoder makes of its passages, trained with it as one; beside it are
networks that aggregate passages' scores, and those of CEDR (MacAvaney et al. 2019), its baselines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.trec import read_qrels, read_run
from longrank.reproduction.papers.trained import (
    evidence_of,
    train,
    train_by_fold,
    use_of,
    used,
    with_train_settings,
)
from longrank.reproduction.workbench import Row, Sets, Workbench
from longrank.types import Notes

FIRST_STAGES = {"BM25": "bm25-anserini", "BM25+RM3": "bm25-anserini+rm3"}

_AS_HERE = {"read.passages": "parade-paper", "validation.depth": 50, "test.depth": 1000}
_BATCHES_OF_16 = {"batch": 16, "steps": 9216, "validate_every": 256, "schedule.options.epoch_steps": 256}

SYSTEMS: Mapping[str, tuple[str, Sets]] = {
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
    **{
        f"PARADE-{kind}": ("parade", {"network.name": f"parade-{kind.lower()}"})
        for kind in ("Avg", "Sum", "Max", "Attn", "CNN", "Transformer")
    },
}
"""Row, without the encoder's name -> the training, and what is different of it."""

STANDALONE = "parade-standalone"
_TOKENS, _DOCUMENTS = "tokens per document (thousands)", "documents (millions)"


def table_1(bench: Workbench) -> Iterator[Row]:
    """How many queries and documents there are, and how long documents are."""
    path = bench.folder / "collection.json"
    inputs = (bench.index, bench.queries, bench.qrels)
    bench.do("analyze", "collection", *inputs, "--model", bench.model("tokenizer"), "-o", path, output=path)

    def counted() -> dict[str, float]:
        found = bench.read_json(path)
        documents, tokens = found["documents"]["n"], found["documents"]["lengths"]["wordpieces"]["mean"]
        return {"queries": found["queries"]["judged"], _DOCUMENTS: documents / 1e6, _TOKENS: tokens / 1e3}

    yield bench.measured(bench.recipe.expected[0].row, counted)


def table_2(bench: Workbench) -> Iterator[Row]:
    """Aggregators beside their baselines, also of tables 3 and 6."""
    candidates = _first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        yield bench.ranked(name, _ranking(bench, name, candidates))


def table_4(bench: Workbench) -> Iterator[Row]:
    """Campaigns (also table 5), by the standalone code's training; on other queries if the recipe names some."""
    candidates = _first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        if name in FIRST_STAGES:
            yield bench.ranked(name, _first_stage(bench, name))
        else:
            sets = _standalone(name, bench.model("electra"))
            yield bench.ranked(name, _learned(bench, name, sets, candidates))


def table_7(bench: Workbench) -> Iterator[Row]:
    """Encoders by size: what they cost, and what they are worth undistilled and, after the teacher, distilled."""
    first = _first_stage(bench, bench.settings["candidates"])
    costs = _costs(bench)
    taught: dict[str, Path] = {}
    for size in bench.settings["sizes"]:
        plain = _undistilled(bench, size, first)
        row = bench.ranked(SIZES[size], plain / "test.run")
        yield replace(row, values={**row.values, **costs.get(size, {})})
        if taught:
            yield bench.ranked(f"{SIZES[size]}, distilled", _distilled(bench, size, plain, taught, first))
        if size == bench.settings["teacher"]:
            taught = _taught(bench, plain, first)


def table_8(bench: Workbench) -> Iterator[Row]:
    """So many passages of a document in training, and so many in use."""
    first = _first_stage(bench, bench.settings["candidates"])
    for n in bench.settings["train_passages"]:
        sets = _standalone("PARADE-Transformer", bench.model("base"))
        trained = _with_passages(bench, f"trained-{n}", first, sets, n)
        for m in bench.settings["passages"]:
            run = trained / "test.run"
            if m != n:
                use = use_of(bench, STANDALONE, {**sets, "read.options.max_passages": m})
                run = used(bench, f"trained-{n}-used-{m}", use, trained, first)
            yield bench.ranked(f"trained with {n}, used with {m}", run, series=f"trained with {n}", x=m)


def figure_3(bench: Workbench) -> Iterator[Row]:
    """So many passages of a document, in training and use, by aggregator."""
    first = _first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        for n in bench.settings["passages"]:
            trained = _with_passages(bench, f"{name}-{n}", first, _standalone(name, bench.model("base")), n)
            yield bench.ranked(f"{name}, {n} passages", trained / "test.run", series=name, x=n)


def table_9(bench: Workbench) -> Iterator[Row]:
    """How many passages of a relevant document are relevant."""
    path, options = bench.folder / "relevant-passages.json", bench.settings["options"]
    whole = ("--qrels", bench.qrels) if "--document-level" in options else ()
    passages = bench.beside(bench.settings["passages"])
    bench.do("analyze", "relevant-passages", passages, *options, *whole, "-o", path, output=path)
    shares = dict(zip(bench.recipe.quantities, ("exactly_1", "up_to_2", "from_3"), strict=True))
    yield bench.measured(
        bench.recipe.expected[0].row,
        lambda: {name: 100 * bench.read_json(path)["result"][share] for name, share in shares.items()},
    )


def covid(bench: Workbench) -> Iterator[Row]:
    """A round of TREC-COVID (tables 10 to 12): learned on the judgments of the rounds before."""
    for name, how in bench.settings["runs"].items():
        candidates = _covid_candidates(bench, how)
        runs = [_covid_run(bench, system, candidates, how["depth"]) for system in how["systems"]]
        yield bench.ranked(name, runs[0] if len(runs) == 1 else bench.fuse(name, "rrf", runs))


def journal_table_12(bench: Workbench) -> Iterator[Row]:
    """PARADE over two first stages, mixed with one, and what each of them finds (journal version)."""
    firsts = {name: _first_stage(bench, name) for name in FIRST_STAGES}
    for name, first in firsts.items():
        yield bench.ranked(name, first)
    for name, first in firsts.items():
        trained = _trained(bench, "PARADE-Transformer", first, f"parade-{name.lower()}")
        yield bench.ranked(f"PARADE over {name}", trained / "test.run")
    how = ("--aggregator", "document", "--normalize", "minmax")
    evidence = evidence_of(bench, trained)
    yield bench.ranked("ensemble", bench.weighed("ensemble", evidence, first, {"alpha": "0:1:0.05"}, *how))
    yield bench.measured("relevant documents", lambda: _found(bench, *firsts.values()))


def cedr(bench: Workbench) -> Iterator[Row]:
    """VanillaBERT, and on what it has learned KNRM and CEDR-KNRM, as MacAvaney et al. trained them."""
    first = _first_stage(bench, bench.settings["candidates"])
    model = {"network.model": bench.model("base")}
    for name in bench.settings["systems"]:
        if name in FIRST_STAGES:
            yield bench.ranked(name, _first_stage(bench, name))
            continue
        if name == "KNRM, BERT":
            trained = train(bench, "knrm", "cedr", first, {**model, "network.name": "knrm", "network.frozen": True})
        else:
            trained = train(bench, "vanilla-bert", "cedr", first, {**model, "network.name": "vanilla-bert"})
        if name in ON_VANILLA_BERT:
            trained = _on_vanilla_bert(bench, ON_VANILLA_BERT[name], trained, first)
        yield bench.ranked(name, trained / "test.run")


def cedr_capreolus(bench: Workbench) -> Iterator[Row]:
    """KNRM, CEDR-KNRM and VanillaBERT as Capreolus trains them, by encoder and number of passages."""
    first = _first_stage(bench, bench.settings["candidates"])
    for n in bench.settings["passages"] or [8]:
        for system in bench.settings["systems"]:
            name = f"{system}, {n} passages" if bench.settings["passages"] else system
            kind, encoder = system.split(", ")
            model = {"network.model": bench.model(encoder.lower()), "read.options.max_passages": n}
            trained = train(bench, name, "parade", first, {**CAPREOLUS, **IN_CAPREOLUS[kind], **model})
            yield bench.ranked(name, trained / "test.run")
            if bench.settings["interpolated"]:
                yield bench.ranked(f"{name}, interpolated", _interpolated(bench, name, trained, first))


SIZES = {
    "large": "BERT-Large",
    "base": "BERT-Base",
    "10/768": "10 layers of 768",
    "8/768": "8 layers of 768",
    "medium": "BERT-Medium",
    "small": "BERT-Small",
    "mini": "BERT-Mini",
    "2/512": "2 layers of 512",
    "tiny": "BERT-Tiny",
}
"""Role of the model and size of ``longrank analyze latency`` -> row."""

ON_VANILLA_BERT = {"KNRM, BERT fine-tuned": "knrm", "CEDR-KNRM": "cedr-knrm"}
"""Row -> the network that is put on a trained VanillaBERT."""

CAPREOLUS: Sets = {
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
}
IN_CAPREOLUS: Mapping[str, Sets] = {
    "KNRM": {"network.name": "knrm", "network.preset": "capreolus"},
    "CEDR-KNRM": {"network.name": "cedr-knrm", "network.preset": "capreolus"},
    "VanillaBERT": {"network.name": "vanilla-bert"},
}


def _first_stage(bench: Workbench, name: str) -> Path:
    """Return the run of a first stage, or the run in a file that a user names instead."""
    if name not in FIRST_STAGES:
        if not Path(name).is_file():
            raise InputError("no such first stage, and no such file", got=name, fix=f"{', '.join(FIRST_STAGES)}")
        return Path(name)
    if name == "BM25+RM3" and bench.settings["rm3_grid"]:
        grid = bench.settings["rm3_grid"]
        return bench.tuned("bm25+rm3", FIRST_STAGES[name], grid, "AP", "--choose-by", "yang19")
    return bench.retrieve(name.lower(), FIRST_STAGES[name], bench.settings["first_stages"].get(name))


def _ranking(bench: Workbench, name: str, candidates: Path) -> Path:
    """Return a row's run: a first stage, or the candidates reranked by a trained system."""
    if name in FIRST_STAGES:
        return _first_stage(bench, name)
    return _trained(bench, name.removeprefix("ELECTRA-").removeprefix("BioBERT-"), candidates, name) / "test.run"


def _trained(bench: Workbench, system: str, first: Path, name: str) -> Path:
    protocol, sets = SYSTEMS[system]
    return train(bench, name, protocol, first, {**sets, "network.model": bench.model("electra")})


def _standalone(name: str, model: str) -> dict[str, object]:
    """Return what the standalone training of a system is told; every encoder has a [CLS], a pooler not every one."""
    return {"network.name": name.lower(), "network.model": model, "network.options.vector": "cls"}


def _learned(bench: Workbench, name: str, sets: Sets, candidates: Path) -> Path:
    """Return the candidates reranked by a network that learned on other queries, or by folds on these."""
    other = bench.settings["learn_on"]
    if not other:
        return train(bench, name, STANDALONE, candidates, sets, folds=bench.folds_without_dev) / "test.run"
    first = bench.retrieve("learned-on", FIRST_STAGES["BM25"], queries=other)
    return _applied(bench, name, sets, _trained_once(bench, name, sets, (other, other, first)), candidates)


def _trained_once(bench: Workbench, name: str, sets: Sets, learned: tuple[object, ...]) -> str:
    """Train on all judged queries of `learned`: queries, judgments, first stage; return the network's folder."""
    model = bench.folder / f"{name}-trained" / "model"
    settings = bench.assigned(with_train_settings(bench, sets))
    bench.do("train", STANDALONE, bench.index, *learned, "-o", model.parent, *settings, output=model)
    return str(model)


def _applied(bench: Workbench, name: str, sets: Sets, model: str, candidates: Path) -> Path:
    """Return the candidates reranked by what was trained elsewhere, as deep as the training's tests are."""
    use = use_of(bench, STANDALONE, sets)
    return bench.rerank(name, candidates, use.pipeline, model=model, depth=use.depth, sets=use.sets).run


def _costs(bench: Workbench) -> dict[str, dict[str, float]]:
    path = bench.folder / "latency.json"
    asked = [part for size in bench.settings["sizes"] for part in ("--size", size)]
    bench.do("analyze", "latency", *bench.settings["latency"], *asked, "-o", path, output=path)
    parameters, milliseconds = bench.recipe.quantities
    rows = [] if bench.dry else bench.read_json(path)["rows"]
    return {row["size"]: {parameters: row["parameters"] / 1e6, milliseconds: row["milliseconds"]} for row in rows}


def _undistilled(bench: Workbench, size: str, first: Path) -> Path:
    """Train PARADE-Transformer on an encoder: the size's own, or some layers of the teacher's."""
    model, layers = bench.model(size), bench.settings["layers"].get(size)
    if layers is not None:
        start = bench.folder / f"start-{_plain(size)}"
        whole = ("--model", bench.model(bench.settings["teacher"]), "--layers", layers)
        options = ("--preset", "standalone", "--set", "outputs=1")
        model = str(bench.do("create", "parade-transformer", *whole, *options, "-o", start, output=start))
    sets = {"network.model": model, "network.options.outputs": 1}
    return train(bench, f"undistilled-{_plain(size)}", STANDALONE, first, sets, folds=bench.folds_without_dev)


def _taught(bench: Workbench, teacher: Path, first: Path) -> dict[str, Path]:
    """Let each fold's teacher score all queries; return fold -> evidence."""
    use = use_of(bench, "distillation", {})
    found = {}
    for fold in bench.fold_names:
        how = {"model": str(teacher / fold / "model"), "depth": use.learned_depth, "sets": use.sets}
        found[fold] = bench.rerank(f"teacher-{fold}", first, use.pipeline, **how).evidence
    return found


def _distilled(bench: Workbench, size: str, plain: Path, taught: Mapping[str, Path], first: Path) -> Path:
    """Train a student further, from what it has learned itself, on its teacher's scores, too."""

    def sets(fold: str) -> Sets:
        return {"network.model": plain / fold / "model", "teacher.evidence": taught[fold]}

    name, folds = f"distilled-{_plain(size)}", bench.folds_without_dev
    return train_by_fold(bench, name, "distillation", first, sets, folds=folds) / "test.run"


def _plain(size: str) -> str:
    return size.replace("/", "x")


def _with_passages(bench: Workbench, name: str, first: Path, sets: Sets, n: int) -> Path:
    most = {**sets, "read.options.max_passages": n}
    return train(bench, name, STANDALONE, first, most, folds=bench.folds_without_dev)


def _covid_candidates(bench: Workbench, how: Mapping[str, Any]) -> Path:
    given = bench.settings["first_stage_queries"]
    if not given or how.get("first_stage") == "question":
        return bench.retrieve(f"bm25-{how['depth']}", FIRST_STAGES["BM25"], k=how["depth"])
    return bench.retrieve(f"bm25-given-{how['depth']}", FIRST_STAGES["BM25"], queries=given, k=how["depth"])


def _covid_run(bench: Workbench, system: str, candidates: Path, depth: int) -> Path:
    name = f"{system}-{candidates.stem}"
    sets = {**_standalone(system, bench.model("electra")), "test.depth": depth}
    if not bench.settings["learn_on_judged_before"]:
        return train(bench, name, STANDALONE, candidates, sets, folds=bench.folds_without_dev) / "test.run"
    first = bench.retrieve("bm25", FIRST_STAGES["BM25"])
    model = _trained_once(bench, system, sets, (bench.queries, bench.judged_before, first))
    return _applied(bench, name, sets, model, candidates)


def _found(bench: Workbench, bm25: Path, rm3: Path) -> dict[str, float]:
    """Count the relevant documents that both first stages have found, and those that one has."""
    qrels = read_qrels(bench.qrels, Notes())
    relevant = {(query, doc) for query, judged in qrels.items() for doc, grade in judged.items() if grade > 0}
    plain, expanded = (
        relevant & {(row.query_id, row.doc_id) for row in read_run(run, Notes()).rows()} for run in (bm25, rm3)
    )
    counts = len(plain & expanded), len(expanded - plain), len(plain - expanded)
    return dict(zip(bench.recipe.quantities, map(float, counts), strict=True))


def _on_vanilla_bert(bench: Workbench, network: str, vanilla: Path, first: Path) -> Path:
    """Put a network on each fold's VanillaBERT, and train it on."""

    def sets(fold: str) -> Sets:
        start = bench.folder / f"start-{network}-{fold}"
        bench.do("create", network, "--model", vanilla / fold / "model", "-o", start, output=start)
        return {"network.name": network, "network.model": start}

    return train_by_fold(bench, f"{network}-on-vanilla-bert", "cedr", first, sets)


def _interpolated(bench: Workbench, name: str, trained: Path, first: Path) -> Path:
    how = ("--aggregator", "document", "--normalize", "minmax", "--choose-by", "dev", "-m", "nDCG@20")
    return bench.weighed(
        f"{name}-interpolated", evidence_of(bench, trained), first, {"alpha": bench.settings["alphas"]}, *how
    )


def checkpoints(bench: Workbench) -> Iterator[Row]:
    """Encoders that were fine-tuned on passages before, on passages (README of the code)."""
    roles = {"ELECTRA-Base": "electra", **{row: role for role, row in SIZES.items()}}
    depth = bench.settings["depth"]
    first = bench.retrieve("bm25", FIRST_STAGES["BM25"], k=depth)
    how = {"passages.preset": bench.settings["passages"]}
    for name in bench.settings["systems"]:
        model = bench.model(roles[name])
        yield bench.ranked(name, bench.rerank(name, first, "maxp", model=model, depth=depth, sets=how).run)
