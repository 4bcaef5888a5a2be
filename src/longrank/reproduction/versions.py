"""Versions of the software and the machine of a reproduction."""

from __future__ import annotations

import os
import platform

from longrank.engines.versions import version_of

_PACKAGES = ("longrank", "numpy", "scipy", "torch", "transformers")


def versions_and_machine() -> dict[str, str]:
    """Return versions of the packages that compute, and the machine, without importing them."""
    from longrank.scoring.speed import processor

    versions = {name: installed for name in _PACKAGES if (installed := version_of(name))}
    machine = {"processor": processor(), "cores": str(os.cpu_count()), "system": platform.platform()}
    return {**versions, "python": platform.python_version(), **machine}
