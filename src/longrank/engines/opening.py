"""Errors of a worker that cannot open an index or a model, or not in the state that the command opened."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from longrank.errors import Changed, InputError, IntegrityError

_CHANGED = "changed since this command opened it"
_HARDWARE = re.compile(r"\b(?:device|precision)=\w+")
_MODEL = re.compile(r"(?:\S+@\S+ )?sha256:[0-9a-f]{16}")


def changed(path: str | PathLike[str], what: str = _CHANGED) -> Changed:
    """Return the error of a worker that finds a fault."""
    return Changed(f"{what} (noticed on the node {platform.node()})", path=path, fix="run the command again")


def check_same_model(fingerprint: str, expected: str, path: str | PathLike[str], what: str = _CHANGED) -> None:
    """Check that a worker's scorer or encoder is the command's.

    Between a CPU and a GPU, options that depend on the device may differ, so only the files of models are compared.

    Args:
        fingerprint: of the worker's.
        expected: fingerprint of the command's; empty: any is right.
        path: the model, for the error.
        what: the fault, for the error.

    Raises:
        Changed: it is another.
    """
    if not expected or fingerprint == expected:
        return
    same_hardware = _HARDWARE.findall(fingerprint) == _HARDWARE.findall(expected)
    if same_hardware or _MODEL.findall(fingerprint) != _MODEL.findall(expected):
        raise changed(path, what)


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
    except Changed:
        raise
    except IntegrityError as error:
        raise IntegrityError(f"on the node {node}: {error}") from error
    except InputError as error:
        fix = "every node needs the same index, models and packages, under the same paths"
        raise InputError(f"the node {node} cannot do the work: {error}", fix=fix) from error
