"""Checks of options and outputs that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longrank.errors import InputError
from longrank.registries import suggestion
from longrank.storage import check_folder, check_writable
from longrank.storage.workplace import check_apart, check_outside

if TYPE_CHECKING:
    from longrank.types import Notes


def output_file(output: Path, *inputs: Path | str | None, within: Path | None = None) -> None:
    """Fail before any work if `output` cannot be written, is also an input, or lies inside a finished folder.

    Args:
        output: the file to write.
        inputs: files and folders to read; None and ``""`` do not count.
        within: a folder that may hold the file although it is finished: the command's own.

    Raises:
        InputError: as `check_apart`, `check_outside` and `check_writable`.
    """
    check_writable(output)
    check_apart(output, *inputs, *_settings_files(inputs))
    check_outside(output, within)


def run_file(output: Path, *inputs: Path | str | None) -> None:
    """Fail before any work as `output_file`, or if a file that is no run would be replaced by a run.

    Raises:
        InputError: as `output_file`, or such a file.
    """
    from longrank.formats.trec import looks_like_run

    output_file(output, *inputs)
    if output.is_file() and not looks_like_run(output):
        raise InputError("exists and is no run", path=output, fix="choose another output, or remove it")


def _settings_files(inputs: Sequence[Path | str | None]) -> list[str]:
    """Return the settings files of the stores among inputs."""
    named = [str(place) for place in inputs if ":" in str(place)]
    if not named:
        return []
    from longrank.retrieval.stores import is_store

    return [place.partition(":")[2] for place in named if is_store(place)]


def plot_file(plot: Path | None, *inputs: Path | str | None, within: Path | None = None) -> None:
    """Fail before any work if a plot cannot be drawn or written, or as `output_file`.

    Raises:
        InputError: as `check_plot` and `output_file`.
        MissingExtra: matplotlib is not installed.
    """
    from longrank.evaluation.canvas import check_plot

    if plot is not None:
        check_plot(plot)
        output_file(plot, *inputs, within=within)


def output_folder(output: Path, *inputs: Path | str | None) -> None:
    """Fail before any work if the folder `output` cannot be written to, is also an input, or lies in a finished folder.

    Raises:
        InputError: as `check_apart`, `check_outside` and `check_folder`.
    """
    check_folder(output)
    check_apart(output, *inputs)
    check_outside(output)


def check_decoded(name: str, text: str | None) -> None:
    """Refuse an argument with bytes that the locale's encoding lacks: they would be searched as other characters.

    Raises:
        InputError: Python has put half a surrogate pair in the place of a byte.
    """
    if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
        what = f"{name} holds bytes that are not {sys.getfilesystemencoding()}"
        raise InputError(what, got=text, fix="write it in the locale's encoding; for UTF-8, LC_ALL=C.UTF-8")


def choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """Check an option that takes one of a few words.

    Raises:
        InputError: another word.
    """
    if value not in allowed:
        raise InputError(f"{option} takes {' or '.join(allowed)}", got=value, fix=suggestion(value, allowed))
    return value


def paths(values: Sequence[str] | None) -> list[str] | None:
    """Return the paths of an option: between commas if it is given once; one each, commas included, if repeated."""
    if not values:
        return None
    return values[0].split(",") if len(values) == 1 else list(values)


def numbers(option: str, value: str) -> list[float]:
    """Read an option that takes numbers between commas: ``1,0.1,0.1``.

    Raises:
        InputError: a part is not a number.
    """
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers between commas", got=value) from None


def named_numbers(option: str, values: Sequence[str]) -> dict[str, float]:
    """Read a repeated option that takes a name and a number: ``lexical=0.3``.

    Raises:
        InputError: another shape, or a name given twice.
    """
    found: dict[str, float] = {}
    for value in values:
        name, equals, number = value.partition("=")
        try:
            weight = float(number)
        except ValueError:
            equals = ""
        if not equals or name in found:
            raise InputError(f"{option} takes NAME=NUMBER, each name once", got=value)
        found[name] = weight
    return found


def given_options(ctx: typer.Context) -> set[str]:
    """Return the names of the parameters that stand on the command line, since an option may be given its default."""
    sources = {str(name): ctx.get_parameter_source(str(name)) for name in ctx.params}
    return {name for name, source in sources.items() if source and source.name != "DEFAULT"}


def folds_or_number(folds: Path | None, number: int | None) -> Path | int | None:
    """Return --folds or --make-folds.

    Raises:
        InputError: both are given.
    """
    if folds is not None and number is not None:
        raise InputError("--folds and --make-folds are two ways to the same: give one of them")
    return number if folds is None else folds


def model_to_read(model: str | None, convert: bool, notes: Notes) -> str | None:
    """Return the model of --model, with --convert its conversion in the cache folder.

    Raises:
        InputError: --convert without --model; or as `longrank.verbs.convert.converted`.
    """
    if not convert:
        return model
    if model is None:
        raise InputError("--convert is of --model", fix="give --model, or convert the model first: longrank convert")
    from longrank.verbs.convert import converted

    return converted(model, notes)
