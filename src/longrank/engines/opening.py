"""Errors of a worker that cannot open an index or a model, which the command's own process could."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

from longrank.errors import InputError, IntegrityError


@contextmanager
def opening_here() -> Iterator[None]:
    """Name the node in an error about an index, a model or a package that it cannot open.

    Raises:
        InputError: as the block, or where an extra is missing.
        IntegrityError: as the block.
    """
    node = platform.node()
    try:
        yield
    except IntegrityError as error:
        raise IntegrityError(f"on the node {node}: {error}") from error
    except InputError as error:
        fix = "every node needs the same index, models and packages, under the same paths"
        raise InputError(f"the node {node} cannot do the work: {error}", fix=fix) from error
