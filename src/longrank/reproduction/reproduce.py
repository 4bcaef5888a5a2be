"""Reproduce: run one recipe in its folder, and write what came of it.

FOLDER/index, scores.cache          shared by all recipes that run there
FOLDER/PAPER/RECIPE/                its inputs, runs, results.json, per-query.json, report.md, report.html, commands.sh
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.errors import InputError
from longrank.reproduction.inputs import write_inputs
from longrank.reproduction.phases import Phases, RunCommand
from longrank.reproduction.recipe import load_recipe
from longrank.reproduction.results import Result, as_json, departures, lines
from longrank.reproduction.workbench import Row, Workbench
from longrank.storage import atomic_write, digest_of, sha256_of

if TYPE_CHECKING:
    from longrank.types import Notes, Qrels, Query


class Collection(NamedTuple):
    """What a reproduction runs on.

    ``key`` is its name in the catalogue, else the folder's; ``sources`` is what ``longrank index`` takes; ``folds`` a
    file, if it has one; ``queries`` are read with the recipe's field, ``field_missing`` says that they have none.
    """

    key: str
    sources: tuple[str, ...]
    queries: list[Query]
    qrels: Qrels
    folds: Path | None
    field_missing: bool = False


class Reproduction(NamedTuple):
    """What a recipe is run with.

    Attributes:
        name: of the recipe.
        folder: the folder of all recipes.
        open: reads the collection, with the name of a query field.
        models: role -> model.
        assignments: ``key=value`` of the recipe's settings.
    """

    name: str
    folder: Path
    open: Callable[[str | None], Collection]
    models: Mapping[str, str]
    assignments: tuple[str, ...]


def reproduce(asked: Reproduction, run: RunCommand, notes: Notes, *, dry: bool = False) -> tuple[Result, Phases]:
    """Run a recipe's program, going on where it was left.

    Args:
        asked: what to run.
        run: runs the arguments of a ``longrank`` command line, and raises if it fails.
        notes: as reading the collection.
        dry: only note the commands.

    Returns:
        The result, and its commands.

    Raises:
        InputError: an unknown recipe, setting, model's role or collection; the folder holds another reproduction.
        LongRankError: a command failed.
    """
    recipe, changes = load_recipe(asked.name, asked.assignments)
    if recipe.program is None:
        what = f"{recipe.paper}, {recipe.item}: nothing is to be obtained"
        raise InputError(what, got=asked.name, fix=recipe.expected[0].reason)
    collection = asked.open(recipe.query_field)
    folder = asked.folder / (Path(asked.name).stem if asked.name.endswith(".toml") else asked.name)
    if not dry:
        folder.mkdir(parents=True, exist_ok=True)
        n: int | None = recipe.settings.get("queries") or None  # 0: all
        write_inputs(folder, collection.queries, collection.qrels, folds=collection.folds, n_queries=n, notes=notes)
        _claim(folder, _identity(asked, recipe.settings, collection, folder), collection.key)
    shared = Phases(asked.folder, run, dry=dry)
    index = asked.folder / "index"
    shared.do(["index", *collection.sources, "-o", str(index)], index)
    phases = Phases(folder, run, dry=dry)
    bench = Workbench(recipe, folder, index, models=asked.models, phases=phases, scores=asked.folder / "scores.cache")
    rows = list(_program(recipe.program)(bench))
    phases.commands[:0] = shared.commands
    found = departures(recipe, collection.key, asked.models, changes)
    if collection.field_missing and collection.key == recipe.collection:
        found.append(f"queries have no field '{recipe.query_field}': their text")
    result = Result(asked.name, recipe, collection.key, found, lines(recipe, rows, not found))
    if not dry:
        _write(result, folder, phases)
    return result, phases


def _program(name: str) -> Callable[[Workbench], Iterator[Row]]:
    module, _, function = name.partition(":")
    found: Callable[[Workbench], Iterator[Row]] = getattr(
        import_module(f"longrank.reproduction.papers.{module}"), function
    )
    return found


def _identity(
    asked: Reproduction, settings: Mapping[str, Any], collection: Collection, folder: Path
) -> dict[str, object]:
    inputs = {name: sha256_of(folder / name) for name in ("queries.jsonl", "qrels.txt", "folds.json")}
    models = {role: _fingerprint(model) for role, model in asked.models.items()}
    return {"settings": dict(settings), "collection": list(collection.sources), "models": models, **inputs}


def _fingerprint(model: str) -> str:
    """Return a digest of a model's folder, so that another model of the same name is another reproduction."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    return digest_of({str(path.relative_to(folder)): sha256_of(path) for path in sorted(folder.rglob("*.*"))})


def _claim(folder: Path, identity: Mapping[str, object], collection: str) -> None:
    """Refuse a folder in which something else was reproduced.

    Raises:
        InputError: it was.
    """
    path = folder / "reproduction.json"
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        other = sorted(key for key in identity if known.get(key) != identity[key])
        if other:
            what = f"holds a reproduction with other {', '.join(other)}"
            raise InputError(what, path=folder, fix="choose another folder, or delete it")
        return
    with atomic_write(path, "w") as stream:
        json.dump({"on": collection, **identity}, stream, indent=1, ensure_ascii=False)


def _write(result: Result, folder: Path, phases: Phases) -> None:
    from longrank.reproduction.report import as_html, as_markdown

    per_query = {line.name: line.row.per_query for line in result.lines if line.row is not None and line.row.per_query}
    texts = {
        "results.json": json.dumps(as_json(result, phases.commands, {}), indent=1, ensure_ascii=False) + "\n",
        "per-query.json": json.dumps(per_query, indent=1, ensure_ascii=False) + "\n",
        "commands.sh": phases.script(),
        "report.md": as_markdown(result),
        "report.html": as_html(result, phases.script()),
    }
    for name, text in texts.items():
        with atomic_write(folder / name, "w") as stream:
            stream.write(text)
