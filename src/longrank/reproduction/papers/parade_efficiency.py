"""PARADE's study of efficiency: smaller encoders, distilled and not (table 7), and fewer passages (table 8, figure 3).

All of it by the training of PARADE's own code, over the first 100 documents of BM25.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from longrank.errors import InputError
from longrank.registries import suggestion
from longrank.reproduction.assignments import Overrides
from longrank.reproduction.papers.trained import (
    FIRST_STAGES,
    STANDALONE,
    TRANSFORMER,
    applied,
    file_name,
    first_of,
    first_stage,
    standalone,
    train,
    train_by_fold,
    use_of,
    used,
)
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.workbench import Workbench

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

_POSITIONS = 16  # passages of a document at most in table 7


def table_7(bench: Workbench) -> Iterator[ObtainedRow]:
    """Encoders by size: time and effectiveness, undistilled and, below the teacher, distilled."""
    sizes, teacher = bench.settings["sizes"], bench.settings["teacher"]
    _check_sizes(sizes, teacher)
    first = first_stage(bench, bench.settings["candidates"])
    costs = _costs(bench)
    taught: dict[str, Path] = {}
    for size in sizes:
        plain = _undistilled(bench, size, first)
        row = bench.ranked(SIZES[size], plain / "test.run")
        yield replace(row, values={**row.values, **costs.get(size, {})})
        if taught:
            yield bench.ranked(f"{SIZES[size]}, distilled", _distilled(bench, size, plain, taught, first))
        if size == teacher:
            taught = _taught(bench, plain, first)


def _check_sizes(sizes: Sequence[str], teacher: str) -> None:
    unknown = next((size for size in (teacher, *sizes) if size not in SIZES), None)
    if unknown is not None:
        raise InputError("unknown encoder size", got=unknown, fix=suggestion(unknown, SIZES))
    students = list(SIZES)[list(SIZES).index(teacher) + 1 :]
    if teacher in sizes and not set(students).isdisjoint(sizes[: sizes.index(teacher)]):
        raise InputError(f"sizes that learn from the teacher {teacher} must follow it", got=", ".join(sizes))


def table_8(bench: Workbench) -> Iterator[ObtainedRow]:
    """Numbers of passages in training and in use."""
    first = first_stage(bench, bench.settings["candidates"])
    most = max(*bench.settings["train_passages"], *bench.settings["passages"])
    for n in bench.settings["train_passages"]:
        overrides = standalone(TRANSFORMER, bench.model("base"), most_passages=most)
        trained = _with_passages(bench, f"trained-{n}", first, overrides, n)
        for m in bench.settings["passages"]:
            run = trained / "test.run"
            if m != n:
                use = use_of(bench, STANDALONE, {**overrides, "read.options.max_passages": m})
                run = used(bench, f"trained-{n}-used-{m}", use, trained, first)
            yield bench.ranked(f"trained with {n}, used with {m}", run, series=f"trained with {n}", x=m)


def figure_3(bench: Workbench) -> Iterator[ObtainedRow]:
    """Numbers of passages, the same in training and use, by aggregator."""
    first = first_stage(bench, bench.settings["candidates"])
    for name in bench.settings["systems"]:
        for n in bench.settings["passages"]:
            overrides = standalone(name, bench.model("base"), most_passages=n)
            trained = _with_passages(bench, f"{name}-{n}", first, overrides, n)
            yield bench.ranked(f"{name}, {n} passages", trained / "test.run", series=name, x=n)


def checkpoints(bench: Workbench) -> Iterator[ObtainedRow]:
    """Pre-fine-tuned encoders, on passages (README of the code)."""
    roles = {row: size for size, row in SIZES.items()} | {"ELECTRA-Base": "electra"}
    depth = bench.settings["depth"]
    first = bench.retrieve("bm25", FIRST_STAGES["BM25"], k=depth)
    overrides = {"passages.preset": bench.settings["passages"]}
    for name in bench.settings["systems"]:
        model = bench.model(roles[name])
        reranked = bench.rerank(file_name(name), first, "maxp", model=model, depth=depth, overrides=overrides)
        yield bench.ranked(name, reranked.run)


def _costs(bench: Workbench) -> dict[str, dict[str, float]]:
    """Return parameters and milliseconds of each size, with random weights; skip sizes with another model."""
    path, published = bench.folder / "latency.json", bench.recipe.models
    sizes = [size for size in bench.settings["sizes"] if size not in bench.settings["layers"]]
    sizes = [size for size in sizes if bench.model(size) == published[size]]
    if not sizes:
        return {}
    options = [part for size in sizes for part in ("--size", size)]
    bench.do("analyze", "latency", *bench.settings["latency"], *options, "-o", path, output=path)
    parameters, milliseconds = bench.recipe.quantities
    rows = [] if bench.dry else bench.read_json(path)["rows"]
    return {row["size"]: {parameters: row["parameters"] / 1e6, milliseconds: row["milliseconds"]} for row in rows}


def _undistilled(bench: Workbench, size: str, first: Path) -> Path:
    """Train PARADE-Transformer on the size's encoder, or on the first layers of the teacher's."""
    layers = bench.settings["layers"].get(size)
    if layers is None:
        model = bench.model(size)
    else:
        start = bench.folder / f"start-{_plain(size)}"
        whole = ("--model", bench.model(bench.settings["teacher"]), "--layers", layers)
        outputs = f"outputs={_outputs(bench)}"
        options = ("--preset", "standalone", "--set", outputs, "--set", f"positions={_POSITIONS}")
        model = str(bench.do("create", "parade-transformer", *whole, *options, "-o", start, output=start))
    overrides = {"network.model": model, **_network(bench)}
    return train(bench, f"undistilled-{_plain(size)}", STANDALONE, first, overrides, folds=bench.folds_without_dev)


def _outputs(bench: Workbench) -> int:
    return 2 if bench.settings["two_outputs"] else 1


def _network(bench: Workbench) -> dict[str, object]:
    return {"network.options.outputs": _outputs(bench), "network.options.positions": _POSITIONS}


def _taught(bench: Workbench, teacher: Path, first: Path) -> dict[str, Path]:
    """Return fold -> its teacher; of one output, the evidence of all queries by each fold's teacher."""
    if bench.settings["two_outputs"]:
        return {fold: teacher / fold / "model" for fold in bench.fold_names}
    use = use_of(bench, "distillation", {})
    use = use._replace(depth=use.learned_depth)

    def taught(fold: str) -> Path:
        model, run = str(teacher / fold / "model"), first_of(bench, first, fold)
        return applied(bench, f"teacher-{fold}", use, model, run).evidence

    return {fold: taught(fold) for fold in bench.fold_names}


def _distilled(bench: Workbench, size: str, plain: Path, taught: Mapping[str, Path], first: Path) -> Path:
    """Train an undistilled student further, with its teacher's scores."""

    def overrides(fold: str) -> Overrides:
        key = "teacher.model" if bench.settings["two_outputs"] else "teacher.evidence"
        return {**_network(bench), "network.model": plain / fold / "model", key: taught[fold]}

    name, folds = f"distilled-{_plain(size)}", bench.folds_without_dev
    protocol = "distillation-paper" if bench.settings["two_outputs"] else "distillation"
    return train_by_fold(bench, name, protocol, first, overrides, folds=folds) / "test.run"


def _plain(size: str) -> str:
    return size.replace("/", "x")


def _with_passages(bench: Workbench, name: str, first: Path, overrides: Overrides, n: int) -> Path:
    most = {**overrides, "read.options.max_passages": n}
    return train(bench, name, STANDALONE, first, most, folds=bench.folds_without_dev)
