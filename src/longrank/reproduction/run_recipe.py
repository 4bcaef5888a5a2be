"""Run a recipe in its folder and write its report.

FOLDER/index, scores.cache          shared by all recipes in the folder
FOLDER/phases.json                  the finished commands
FOLDER/PAPER/RECIPE/                inputs, runs, results.json, per-query.json, report.md, report.html, commands.sh
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from longrank.collections.catalogue import CatalogueEntry
from longrank.collections.collection import Collection
from longrank.collections.judgments import read_judgments
from longrank.collections.queries import read_queries_or_text
from longrank.errors import InputError, LongRankError, MissingExtra
from longrank.index import Index
from longrank.reproduction.departures import (
    check_heldout,
    data_departures,
    document_departures,
    fold_departures,
    folds_of,
    n_folds_of,
)
from longrank.reproduction.folders import (
    check_models,
    claim,
    files_of,
    fingerprint,
    folder_of,
    is_description,
    replace,
    state_of,
)
from longrank.reproduction.inputs import INPUTS, QUERIES, inputs_of, tested
from longrank.reproduction.phases import CHOSEN, Phases, RunCommand
from longrank.reproduction.planning import bench_of, dry_run, program_of
from longrank.reproduction.recipe import NOT_PUBLISHED
from longrank.reproduction.results import Result, as_json, departures, inputs_given, lines
from longrank.reproduction.selection import SelectedRecipe
from longrank.storage import MANIFEST, Stamp, digest_of, seal, stamp_of
from longrank.types import Notes


def run_recipe(selected: SelectedRecipe, folder: Path, collection: Collection, run: RunCommand, notes: Notes) -> Result:
    """Run a recipe's program, or resume it; call this function within `reproducing`.

    Args:
        selected: the recipe.
        folder: the folder of all recipes.
        collection: the collection.
        run: runs the arguments of a ``longrank`` command line, and raises if the command fails.
        notes: collects remarks on accepted input.

    Raises:
        InputError: the recipe has no program, queries, judgments or folds have a fault, the folder belongs to
            another reproduction, or a model changes meanwhile.
        IntegrityError: a file of the folder is damaged.
        LongRankError: a command failed.
    """
    program = program_of(selected)
    place = folder / selected.place
    inputs, no_field = _read_inputs(selected, collection, notes)
    departed = _departures(selected, collection, inputs, no_field)
    planned, trial = dry_run(selected, folder, collection, inputs)
    named = trial.extra_files.files
    states, identity = _states(selected, named), _identity(selected, inputs, named)

    def check(output: Path) -> None:
        """Refuse an output of other models or files than those of the recipe's identity."""
        nonlocal states
        now = _states(selected, named)  # each command opens them for itself
        if now != states and _identity(selected, inputs, named) != identity:
            fix = f"put them back, delete {output.name} and what was written with it, and run the command again"
            raise InputError("a model, or a file that settings name, has changed meanwhile", path=output, fix=fix)
        states = now

    phases = Phases(folder, run, planned=len(planned.commands), check=check)
    if phases.left(planned.commands):
        check_models(trial.requested_models)
    place.mkdir(parents=True, exist_ok=True)
    claim(place, identity, INPUTS)
    for name, text in inputs.items():
        replace(place / name, text)
    bench = bench_of(selected, folder, collection, inputs, phases)
    rows = list(program(bench))
    if bench.reads_documents:
        departed += document_departures(_known(selected, collection), len(Index.open(folder / "index")))
    n_queries = len(tested(inputs))
    models = {**selected.recipe.models, **selected.models}
    table = lines(selected.recipe, rows, not departed)
    inputs_used = inputs_given(selected.recipe, selected.changes)
    if selected.recipe.folds == NOT_PUBLISHED and collection.folds is not None:
        inputs_used.append(f"folds {collection.folds}")
    result = Result(selected.name, selected.recipe, collection.name, n_queries, models, departed, table, inputs_used)
    _write(result, place, phases)
    return result


def recipe_script(selected: SelectedRecipe, folder: Path, collection: Collection, notes: Notes) -> str:
    """Return a recipe's commands as a shell script; nothing is run or written.

    Raises:
        InputError: the recipe has no program, or queries, judgments or folds have a fault.
    """
    inputs, no_field = _read_inputs(selected, collection, notes)
    _departures(selected, collection, inputs, no_field)  # finds files that settings name and that do not exist
    phases, trial = dry_run(selected, folder, collection, inputs)
    described = {role: model for role, model in trial.requested_models.items() if is_description(model)}
    roles = [f"# role:{role} stands for --model '{role}=FOLDER': {model}\n" for role, model in described.items()]
    script = phases.script()
    if f"={CHOSEN}" in script:
        roles.append(f"# {CHOSEN} stands for a value that the fold chose: see tuning.json of the tuned first stage\n")
    return "".join(roles) + script


def build_index(recipes: Iterable[SelectedRecipe], folder: Path, collection: Collection, run: RunCommand) -> None:
    """Build the index that recipes share, if one of them needs it: before workers run them side by side.

    Raises:
        IntegrityError, LongRankError: as `run_recipe`.
    """
    for selected in recipes:
        try:
            inputs, _ = _read_inputs(selected, collection, Notes())
            _, trial = dry_run(selected, folder, collection, inputs)
            check_models(trial.requested_models)
        except LongRankError:  # the recipe itself will say so
            continue
        if trial.reads_documents:
            bench_of(selected, folder, collection, inputs, Phases(folder, run)).index  # noqa: B018 - builds
            return


def _read_inputs(selected: SelectedRecipe, collection: Collection, notes: Notes) -> tuple[dict[str, str], bool]:
    """Return the recipe's input files, and whether queries lack its field."""
    queries, no_field = read_queries_or_text(collection, selected.recipe.query_field, notes)
    n: int | None = selected.recipe.settings.get("queries") or None  # 0: all
    if n is not None and (not isinstance(n, int) or isinstance(n, bool)):
        raise InputError("setting queries is a whole number", got=n, fix="0 takes all queries")
    qrels, before = read_judgments(collection.qrels, notes), read_judgments(collection.judged_before, notes)
    folds, n_folds = folds_of(selected.recipe, collection), n_folds_of(selected.recipe)
    return inputs_of(queries, qrels, before, folds=folds, n_folds=n_folds, n_queries=n, notes=notes), no_field


def _departures(
    selected: SelectedRecipe, collection: Collection, inputs: Mapping[str, str], no_field: bool
) -> list[str]:
    """Return the differences from the paper: models, settings, collection and data."""
    recipe = selected.recipe
    differences = departures(recipe, collection.name, selected.models, selected.changes)
    queries = [json.loads(line) for line in inputs[QUERIES].split("\n") if line]
    texts = [query["text"] for query in queries]
    entry = _known(selected, collection)
    check_heldout([query["query_id"] for query in queries], recipe.settings)
    differences += fold_departures(recipe, collection, [query["query_id"] for query in queries])
    if untested := len(queries) - len(tested(inputs)):
        differences.append(f"{untested} judged queries are tested by no fold, and count in no measure of a ranking")
    differences += data_departures(entry, texts, recipe.settings, all_queries=not recipe.settings.get("queries"))
    return differences + ([f"queries have no field '{recipe.query_field}': their text is taken"] if no_field else [])


def _known(selected: SelectedRecipe, collection: Collection) -> CatalogueEntry | None:
    """Return the catalogue's entry of the collection if it is the recipe's own."""
    return collection.entry if collection.name == selected.recipe.collection else None


def _identity(selected: SelectedRecipe, inputs: Mapping[str, str], named: Sequence[Path]) -> dict[str, object]:
    """Return the identity of a recipe's results, without the documents; `named`: files that settings name."""
    models = {role: fingerprint(model) for role, model in _models(selected).items()}
    digests = {name: digest_of(text) for name, text in inputs.items()}
    basis = {"program": selected.recipe.program, "settings": dict(selected.recipe.settings), "models": models}
    return {**basis, "files that settings name": state_of(named), **digests}


def _models(selected: SelectedRecipe) -> dict[str, str]:
    """Return role -> model, of the models that replace the published ones and of the recipe's own folders."""
    folders = {role: model for role, model in selected.recipe.models.items() if folder_of(model) is not None}
    return {**folders, **selected.models}


def _states(selected: SelectedRecipe, named: Sequence[Path]) -> dict[Path, Stamp | None]:
    """Return the states of the files of models in folders, and of the files that settings name."""
    models = (path for model in _models(selected).values() for path in files_of(model))
    return {path: stamp_of(path) for path in (*named, *models)}


def _write(result: Result, folder: Path, phases: Phases) -> None:
    """Write the report; results.json comes last and completes it."""
    from longrank.reproduction.report import as_markdown
    from longrank.reproduction.report_html import as_html

    script, versions, plots = phases.script(), phases.versions(), _plots(result)
    pictures = {f"{name}.svg": svg for name, svg in plots.items()} if isinstance(plots, Mapping) else {}
    per_query = {line.name: line.row.per_query for line in result.lines if line.row is not None and line.row.per_query}
    texts = {
        **pictures,
        "per-query.json": _json(per_query),
        "commands.sh": script,
        "report.md": as_markdown(result, script, versions, list(pictures)),
        "report.html": as_html(result, script, versions, plots),
        "results.json": _json(as_json(result, phases.commands)),
    }
    (folder / MANIFEST).unlink(missing_ok=True)
    for name, text in texts.items():
        replace(folder / name, text)
    seal(folder, "reproduction", texts)


def _plots(result: Result) -> Mapping[str, str] | str:
    """Return name -> SVG, or the reason why there are no plots."""
    from longrank.reproduction.report_plots import plots_of

    try:
        return plots_of(result)
    except MissingExtra as missing:
        return f"No plots: {missing}"


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
