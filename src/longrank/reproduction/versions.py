"""What a reproduction was made by: versions and machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("longrank", "numpy", "scipy", "torch", "transformers")


def versions_and_machine() -> dict[str, str]:
    """Return versions of what computes, and the machine; nothing heavy is imported."""
    from longrank.scoring.speed import processor

    versions = {name: found for name in _PACKAGES if (found := _version(name))}
    machine = {"processor": processor(), "cores": str(os.cpu_count()), "system": platform.platform()}
    return {**versions, "python": platform.python_version(), **machine}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
