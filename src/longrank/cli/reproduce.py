"""``longrank reproduce``: the tables and figures of five papers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.collections import Collection
    from longrank.reproduction.results import Result
    from longrank.reproduction.selection import SelectedRecipe

_STOPPED = {130, 143}  # exit codes of a process that was told to stop


def reproduce(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to obtain: a recipe, a table (all of its conditions), a paper, or a TOML file.",
            metavar="RECIPE",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List tables and figures and what each needs.")] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            help="A collection folder, irds:ID, or a collection by its name; NAME=FOLDER says that a folder holds it.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for all; the same command again goes on in it.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="ROLE=MODEL: a folder or a name of Hugging Face, instead of the published one; repeatable."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, a setting of the recipe; repeatable.")
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only print the commands, as a shell script.")] = False,
) -> None:
    """Obtain the tables and figures of five papers.

    Each is a recipe, with what was published; its phases are longrank commands, which --dry-run prints. Writes runs,
    values by query and a report to FOLDER. Figures are judged only if collection, models and settings are the paper's.

    Example: longrank reproduce birch/results-robust04 --collection robust04=disks45 -o birch --dry-run
    """
    from longrank.cli.inputs import apart
    from longrank.collections.available import open_whole
    from longrank.reproduction.folders import reproducing
    from longrank.reproduction.recipe_files import named, recipe_names
    from longrank.reproduction.report import as_text
    from longrank.reproduction.selection import for_collection, select_recipes

    if listed:
        _list(named(recipes) if recipes else recipe_names())
        return
    if not recipes:
        raise InputError("nothing is asked for", fix="name a recipe; longrank reproduce --list shows them")
    if collection is None or output is None:
        raise InputError("--collection and -o are needed", fix="longrank reproduce --list says what a recipe needs")
    roles = dict(_pair("--model", one) for one in models or ())
    asked = select_recipes(named(recipes), assignments or (), roles)
    given = open_whole(collection)
    chosen = for_collection(asked, recipes, given.name)
    if len(chosen) < len(asked):
        console.note(f"{len(asked) - len(chosen)} of {len(asked)} recipes are left out: not of {given.name}")
    if dry:
        _print_scripts(chosen, output, given)
        return
    apart(output, *given.sources, *given.queries, *given.qrels, *roles.values())
    with reproducing(output, given):
        if len(chosen) == 1:
            typer.echo(as_text(_run_one(chosen[0], output, given)), nl=False)
            return
        code = _run_several(chosen, output, given)
    if code:
        raise typer.Exit(code)


def _run_one(one: SelectedRecipe, output: Path, given: Collection) -> Result:
    from longrank.reproduction.reproduce import reproduce as run_recipe
    from longrank.types import Notes

    notes = Notes()
    result = run_recipe(one, output, given, _run, notes)
    console.show_notes(notes)
    console.note(f"{output / one.place}: report.html, report.md, results.json")
    return result


def _run_several(asked: Sequence[SelectedRecipe], output: Path, given: Collection) -> int:
    """Run recipes one after the other, though one fails; return the exit code of the first that does, or 0."""
    from longrank.errors import LongRankError
    from longrank.reproduction.summary import finished_before, nothing_of, outcome_in, summary_text, write_summary

    outcomes, code = [], 0
    for number, one in enumerate(asked, 1):
        console.note(f"recipe {number} of {len(asked)}: {one.name}")
        if one.recipe.program is None:
            outcomes.append(nothing_of(one, f"nothing to run: {one.recipe.expected[0].reason}"))
            continue
        try:
            _run_one(one, output, given)
            outcomes.append(outcome_in(output, one.place))
        except LongRankError as error:
            console.note(f"{one.name}: {error}; the other recipes go on")
            outcomes.append(nothing_of(one, f"failed: {error}"))
            code = code or error.exit_code
    earlier = finished_before(output, {one.place for one in asked})
    write_summary([*outcomes, *earlier], given.name, output)
    typer.echo(summary_text(outcomes), nl=False)
    console.note(f"{output}: index.html, summary.md")
    return code


def _print_scripts(asked: Sequence[SelectedRecipe], output: Path, given: Collection) -> None:
    """Print the commands of recipes, what they share once; one that cannot be run is left out and said."""
    from longrank.errors import LongRankError
    from longrank.reproduction.reproduce import script
    from longrank.types import Notes

    typer.echo("# queries, judgments and folds are written by the same command without --dry-run")
    seen: set[str] = set()
    for one in asked:
        try:
            lines = script(one, output, given, notes := Notes()).splitlines()
        except LongRankError as error:
            if len(asked) == 1:
                raise
            console.note(f"{one.name}: {error}")
            continue
        typer.echo("\n".join([f"# {one.name}", *(line for line in lines if line not in seen)]))
        seen.update(lines)
        console.show_notes(notes)


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise InputError(f"{option} takes KEY=VALUE", got=text)
    return key, value


def _run(command: Sequence[str], number: str) -> None:
    """Run a command of a recipe; what it prints goes where progress goes, since only the result is the output."""
    import shlex

    from longrank.cli.main import main
    from longrank.reproduction.phases import CommandFailed

    console.note(f"phase {number}: longrank {shlex.join(command)}")
    with contextlib.redirect_stdout(sys.stderr):
        code = main(command)
    if code in _STOPPED:
        raise SystemExit(code)
    if code:
        raise CommandFailed(command, code)


def _list(names: Sequence[str]) -> None:
    from longrank.reproduction.listing import listing
    from longrank.reproduction.recipe_files import load_recipe

    typer.echo(listing([(name, load_recipe(name)[0]) for name in names]), nl=False)
