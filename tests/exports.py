"""What tests of backends share: a cache folder of their own, and which of them need what is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from longrank.networks.backends import BACKENDS
from longrank.storage import cache


def needs(backend: str) -> pytest.MarkDecorator:
    """Skip a test where the backend's packages are not installed."""
    missing = [package for package in BACKENDS[backend].packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs the extra {backend}; missing: {', '.join(missing)}")


@contextmanager
def cache_in(folder: Path) -> Iterator[Path]:
    """Let graphs be exported to `folder` for a while; yields where they lie."""
    before = dict(cache._places)
    cache.use_cache_folder(folder)
    try:
        yield folder / "exports"
    finally:
        cache._places.clear()
        cache._places.update(before)
