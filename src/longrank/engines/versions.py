"""Versions of the packages on which the bytes of results depend, so that two machines can be compared."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "torch", "transformers", "tokenizers", "sentence-transformers")


@cache
def installed() -> dict[str, str]:
    """Return the version of Python, of LongRank's source files and of each installed package of `PACKAGES`."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "longrank": _source_version()}
    versions = {name: version_of(name) for name in PACKAGES}
    return found | {name: known for name, known in versions.items() if known is not None}


def version_of(package: str) -> str | None:
    """Return the version of an installed package, without importing it; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Return the first package whose version differs, as ``numpy 2.1 instead of 2.2``; "" if there is none."""
    for name, own in ours.items():
        if theirs.get(name) != own:
            return f"{name} {theirs[name]} instead of {own}" if name in theirs else f"no package {name}"
    return ""


def _source_version() -> str:
    """Return a digest of LongRank's source files, since a working copy changes under the same version number."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"source {digest.hexdigest()[:8]}"
