"""Name the file of an input in an error that was raised where only its content is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from longrank.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
_MOST = 3  # files that a message names


def naming_files(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a verb name the files of its arguments in errors about them (see `naming`), and take numbers of NumPy."""
    parameters = signature(verb)

    @wraps(verb)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = parameters.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{verb.__name__}() {error}") from None  # as Python says it
        with naming(given):
            return verb(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})

    return named


@contextmanager
def naming(sources: Mapping[str, Any]) -> Iterator[None]:
    """Add the files of the inputs that an error is about (`InputError.about`) to its message.

    Args:
        sources: name of an input -> its file, or a list of files; values in memory have no file.

    Raises:
        InputError: as the block, with a path.
    """
    try:
        yield
    except InputError as error:
        given = [place for name in error.about for place in _places(sources.get(name))] if error.path is None else []
        places = list(dict.fromkeys(given))
        if not places:
            raise
        more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
        path = ", ".join(places[:_MOST]) + more
        raise InputError(error.what, path=path, line=error.line, got=error.got, fix=error.fix) from error


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _places(source: Any) -> list[str]:
    sources = source if isinstance(source, list | tuple) else [source]
    return [str(place) for place in sources if isinstance(place, str | Path)]
