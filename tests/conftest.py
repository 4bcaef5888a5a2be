"""What all tests share: where the real collections lie, if they do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def _data_folder() -> Path:
    """``LONGRANK_DATA``, or ``shared/data`` beside the checkout."""
    given = os.environ.get("LONGRANK_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; a test that asks for it is skipped where there is none."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip(f"the real collections are not at {folder} (set LONGRANK_DATA)")
    return folder
