"""The programs in benchmarks/ are imported from the repository's root; they are in no package."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import_module("benchmarks.NAME")` find a program, where its extras are."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
