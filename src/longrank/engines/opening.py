"""Errors of a worker that cannot open an index or a model, or not in the state that the command opened."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from longrank.errors import InputError, IntegrityError

_HARDWARE = re.compile(r"\b(?:device|precision)=\w+")
_MODEL = re.compile(r"(?:\S+@\S+ )?sha256:[0-9a-f]{16}")


class Changed(InputError):
    """A worker finds an index, vectors or a model in another state than the command opened."""


def changed(path: str | PathLike[str], what: str = "changed since this command opened it") -> Changed:
    """Return the error of a worker that finds a fault."""
    return Changed(f"{what} (noticed on the node {platform.node()})", path=path, fix="run the command again")


def is_same_model(fingerprint: str, expected: str) -> bool:
    """Tell whether a worker's scorer or encoder is the command's, by their fingerprints; "" is expected: any is.

    Between a CPU and a GPU, options that depend on the device may differ, so only the files of models are compared.
    """
    if not expected or fingerprint == expected:
        return True
    if _HARDWARE.findall(fingerprint) == _HARDWARE.findall(expected):
        return False
    return _MODEL.findall(fingerprint) == _MODEL.findall(expected)


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
