"""Obtain the tables and figures of papers: the work of ``longrank reproduce``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeAlias

from longrank.collections.available import open_whole
from longrank.collections.collection import Collection
from longrank.config import Assignments, listed
from longrank.engines import Engine, EngineOptions
from longrank.errors import LongRankError
from longrank.reproduction.phases import RunCommand, run_in_new_process
from longrank.reproduction.recipe_files import named
from longrank.reproduction.run_recipe import recipe_script
from longrank.reproduction.run_recipes import Reproduction, Tell, run_recipes, tell_notes
from longrank.reproduction.selection import SelectedRecipe, for_collection, select_recipes
from longrank.storage.workplace import check_apart, check_outside
from longrank.types import Notes
from longrank.verbs.naming import naming_files

Recipes: TypeAlias = str | Path | Sequence[str | Path]
"""A recipe, a table (all of its conditions), a paper, a TOML file, or several of these."""


@naming_files
def reproduce(
    recipes: Recipes,
    collection: str | Path,
    output: str | Path,
    *,
    models: Mapping[str, str | Path] | None = None,
    settings: Assignments = (),
    run: RunCommand | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    tell: Tell | None = None,
    notes: Notes | None = None,
) -> Reproduction:
    """Obtain tables and figures of papers, and write a report beside the published figures.

    Args:
        recipes: see `Recipes`. Of several recipes, those of other collections are left out.
        collection: a collection folder, ``irds:ID``, a name of the catalogue, or ``NAME=FOLDER``.
        output: folder for everything; the same call again resumes.
        models: role -> a folder or Hugging Face name to use instead of the published model.
        settings: settings of the recipes, as ``key=value`` or ``{key: value}``; each recipe takes those it has.
        run: runs the arguments of one ``longrank`` command; None: each starts a new Python process.
            For an engine, picklable.
        engine: where recipes run, each by a worker: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. Every node must see `output`.
        workers: processes, or workers of the cluster, each of which runs one recipe at a time.
        resources: resources that each worker of a cluster holds, e.g. ``{"GPU": 1}``.
        tell: called with each line of progress.
        notes: collects remarks on accepted input.

    Returns:
        The results. If one of several recipes fails, the others still run, and ``failures`` has the error.

    Raises:
        InputError: an unknown recipe, setting or role, a collection without a part, or a folder of something else.
        IntegrityError: a file of the folder is damaged.
        LongRankError: the only recipe failed.

    Example:
        >>> longrank.reproduce("birch/results-robust04", "robust04=disks45", "out", models={"MB": "birch-mb"})
    """
    folder, notes, tell = Path(output), Notes() if notes is None else notes, tell or _silent
    selected, place = _selected(recipes, collection, models, settings, tell)
    check_apart(folder, *place.sources, *place.queries, *place.qrels, *map(str, (models or {}).values()))
    check_outside(folder)
    spread = EngineOptions(engine, workers, resources)
    with spread.open() if spread.given else nullcontext() as opened:
        return run_recipes(selected, folder, place, run or run_in_new_process, tell=tell, notes=notes, engine=opened)


def reproduction_script(
    recipes: Recipes,
    collection: str | Path,
    output: str | Path,
    *,
    models: Mapping[str, str | Path] | None = None,
    settings: Assignments = (),
    tell: Tell | None = None,
) -> str:
    """Return the commands that `reproduce` would run, as a shell script; nothing is run or written.

    A command that recipes share stands once. A recipe that cannot be run is left out and told, unless it is the only
    one.

    Args:
        recipes, collection, output, models, settings, tell: as of `reproduce`.

    Raises:
        InputError: as `reproduce`.
    """
    tell = tell or _silent
    selected, place = _selected(recipes, collection, models, settings, tell)
    lines = dict.fromkeys(["# queries, judgments and folds are written by the same command without --dry-run"])
    for recipe in selected:
        notes = Notes()
        try:
            commands = recipe_script(recipe, Path(output), place, notes).splitlines()
        except LongRankError as error:
            if len(selected) == 1:
                raise
            tell(f"{recipe.name}: {error}")
            continue
        lines.update(dict.fromkeys([f"# {recipe.name}", *commands]))
        tell_notes(notes, tell)
    return "".join(f"{line}\n" for line in lines)


def _silent(line: str) -> None:
    pass


def _selected(
    recipes: Recipes, collection: str | Path, models: Mapping[str, str | Path] | None, settings: Assignments, tell: Tell
) -> tuple[list[SelectedRecipe], Collection]:
    names = [str(name) for name in ([recipes] if isinstance(recipes, str | Path) else recipes)]
    known = select_recipes(named(names), listed(settings), {role: str(model) for role, model in (models or {}).items()})
    place = open_whole(str(collection))
    selected = for_collection(known, names, place.name)
    if left_out := len(known) - len(selected):
        tell(f"{left_out} of {len(known)} recipes are left out: not of {place.name}")
    return selected, place
