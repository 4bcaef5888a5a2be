"""Reproduce: run a recipe in its folder, and write what came of it.

FOLDER/index, scores.cache          shared by all recipes that run there
FOLDER/phases.json                  the commands that were finished
FOLDER/PAPER/RECIPE/                its inputs, runs, results.json, per-query.json, report.md, report.html, commands.sh
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from longrank.collections.catalogue import CatalogueEntry
from longrank.collections.collection import Collection
from longrank.collections.judgments import read_judgments
from longrank.collections.queries import read_queries_or_text
from longrank.config import lookup
from longrank.errors import InputError, MissingExtra
from longrank.index import Index
from longrank.reproduction.departures import (
    check_heldout,
    data_departures,
    document_departures,
    fold_departures,
    folds_of,
    n_folds_of,
)
from longrank.reproduction.folders import check_models, claim, fingerprint, replace, state_of
from longrank.reproduction.inputs import INPUTS, QUERIES, fold_names, inputs_of, tested
from longrank.reproduction.papers import PROGRAMS
from longrank.reproduction.phases import Phases, RunCommand
from longrank.reproduction.recipe import NOT_PUBLISHED
from longrank.reproduction.results import Result, as_json, departures, inputs_given, lines
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.selection import SelectedRecipe
from longrank.reproduction.versions import versions_and_machine
from longrank.reproduction.workbench import Workbench
from longrank.storage import digest_of
from longrank.types import Notes


def run_recipe(asked: SelectedRecipe, folder: Path, given: Collection, run: RunCommand, notes: Notes) -> Result:
    """Run a recipe's program, going on where it was left; call it within `reproducing`.

    Args:
        asked: what to run.
        folder: the folder of all recipes.
        given: the collection.
        run: runs the arguments of a ``longrank`` command line, and raises if it fails.
        notes: counts what was accepted with a remark.

    Raises:
        InputError: the recipe has no program, a fault in queries, judgments or folds, or its folder holds another
            reproduction.
        IntegrityError: a file of the folder is damaged.
        LongRankError: a command failed.
    """
    program = program_of(asked)
    place = folder / asked.place
    inputs, lacking = _read_inputs(asked, given, notes)
    departed = _departures(asked, given, inputs, lacking)
    planned, tried = _dry(asked, folder, given, inputs)
    phases = Phases(folder, run, planned=len(planned.commands))
    if phases.left(planned.commands):
        check_models(tried.asked)
    place.mkdir(parents=True, exist_ok=True)
    claim(place, _identity(asked, inputs, tried.extra_files.files), INPUTS)
    for name, text in inputs.items():
        replace(place / name, text)
    bench = _bench(asked, folder, given, inputs, phases)
    rows = list(program(bench))
    if bench.reads_documents:
        departed += document_departures(_known(asked, given), len(Index.open(folder / "index")))
    n_queries = len(tested(inputs))
    models = {**asked.recipe.models, **asked.models}
    table = lines(asked.recipe, rows, not departed)
    opened = inputs_given(asked.recipe, asked.changes)
    if asked.recipe.folds == NOT_PUBLISHED and given.folds is not None:
        opened.append(f"folds {given.folds}")
    result = Result(asked.name, asked.recipe, given.name, n_queries, models, departed, table, opened)
    _write(result, place, phases.script(), phases.commands)
    return result


def recipe_script(asked: SelectedRecipe, folder: Path, given: Collection, notes: Notes) -> str:
    """Return a recipe's commands as a shell script; none is run and nothing is written.

    Raises:
        InputError: the recipe has no program, or a fault in queries, judgments or folds.
    """
    inputs, lacking = _read_inputs(asked, given, notes)
    _departures(asked, given, inputs, lacking)  # reads what settings name, so that what is not there is said
    return _dry(asked, folder, given, inputs)[0].script()


def _dry(asked: SelectedRecipe, folder: Path, given: Collection, inputs: Mapping[str, str]) -> tuple[Phases, Workbench]:
    """Return the commands that the program would run, and the workbench, which knows what models and files it asks for.

    Raises:
        InputError: settings that give two rows of one name, or no row; or as the program.
    """
    phases = Phases(folder, _refuse, dry=True)
    bench = _bench(asked, folder, given, inputs, phases)
    names = [row.name for row in program_of(asked)(bench)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("settings of the recipe give two rows of one name", got=twice, fix="name each value once")
    if not names:
        raise InputError("settings of the recipe give no row", got=asked.name)
    return phases, bench


def _refuse(command: object, number: str) -> None:
    raise AssertionError("a dry run runs nothing")


def program_of(asked: SelectedRecipe) -> Callable[[Workbench], Iterator[ObtainedRow]]:
    """Return what a recipe runs.

    Raises:
        InputError: it runs nothing, for a reason that is given.
    """
    recipe = asked.recipe
    if recipe.program is None:
        what = f"{recipe.paper}, {recipe.item}: nothing is to be obtained"
        raise InputError(what, got=asked.name, fix=recipe.expected[0].reason)
    return lookup(PROGRAMS, recipe.program, "program")


def _bench(
    asked: SelectedRecipe, folder: Path, given: Collection, inputs: Mapping[str, str], phases: Phases
) -> Workbench:
    return Workbench(
        asked.recipe,
        folder / asked.place,
        folder / "index",
        models=asked.models,
        phases=phases,
        scores=folder / "scores.cache",
        given=given,
        fold_names=fold_names(inputs),
        n_queries=inputs[QUERIES].count("\n"),
    )


def _read_inputs(asked: SelectedRecipe, given: Collection, notes: Notes) -> tuple[dict[str, str], bool]:
    """Return the recipe's files, and whether queries lack its field."""
    queries, lacking = read_queries_or_text(given, asked.recipe.query_field, notes)
    n: int | None = asked.recipe.settings.get("queries") or None  # 0: all
    qrels, before = read_judgments(given.qrels, notes), read_judgments(given.judged_before, notes)
    folds, n_folds = folds_of(asked.recipe, given), n_folds_of(asked.recipe)
    return inputs_of(queries, qrels, before, folds=folds, n_folds=n_folds, n_queries=n, notes=notes), lacking


def _departures(asked: SelectedRecipe, given: Collection, inputs: Mapping[str, str], lacking: bool) -> list[str]:
    """Say in what the reproduction differs from the paper: by what was asked for, and by its data."""
    recipe = asked.recipe
    found = departures(recipe, given.name, asked.models, asked.changes)
    queries = [json.loads(line) for line in inputs[QUERIES].split("\n") if line]
    texts = [query["text"] for query in queries]
    known = _known(asked, given)
    check_heldout([query["query_id"] for query in queries], recipe.settings)
    found += fold_departures(recipe, given, [query["query_id"] for query in queries])
    if untested := len(queries) - len(tested(inputs)):
        found.append(f"{untested} judged queries are tested by no fold, and count in no measure of a ranking")
    found += data_departures(known, texts, recipe.settings, all_queries=not recipe.settings.get("queries"))
    return found + ([f"queries have no field '{recipe.query_field}': their text is taken"] if lacking else [])


def _known(asked: SelectedRecipe, given: Collection) -> CatalogueEntry | None:
    """Return the catalogue's entry of the recipe's own collection, if that was given."""
    return given.entry if given.name == asked.recipe.collection else None


def _identity(asked: SelectedRecipe, inputs: Mapping[str, str], named: Sequence[Path]) -> dict[str, object]:
    """Return what a recipe's results depend on, the collection's documents aside; `named`: files that settings name."""
    models = {role: fingerprint(model) for role, model in asked.models.items()}
    digests = {name: digest_of(text) for name, text in inputs.items()}
    of_recipe = {"program": asked.recipe.program, "settings": dict(asked.recipe.settings), "models": models}
    return {**of_recipe, "files that settings name": state_of(named), **digests}


def _write(result: Result, folder: Path, script: str, commands: Sequence[Sequence[str]]) -> None:
    """Write what came out; results.json comes last: what is beside it is its own."""
    from longrank.reproduction.report import as_markdown
    from longrank.reproduction.report_html import as_html

    by, plots = versions_and_machine(), _plots(result)
    pictures = {f"{name}.svg": svg for name, svg in plots.items()} if isinstance(plots, Mapping) else {}
    per_query = {line.name: line.row.per_query for line in result.lines if line.row is not None and line.row.per_query}
    texts = {
        **pictures,
        "per-query.json": _json(per_query),
        "commands.sh": script,
        "report.md": as_markdown(result, script, by, list(pictures)),
        "report.html": as_html(result, script, by, plots),
        "results.json": _json(as_json(result, commands)),
    }
    for name, text in texts.items():
        replace(folder / name, text)


def _plots(result: Result) -> Mapping[str, str] | str:
    """Return name -> SVG, or why there are none."""
    from longrank.reproduction.report_plots import plots_of

    try:
        return plots_of(result)
    except MissingExtra as missing:
        return f"No plots: {missing}"


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
