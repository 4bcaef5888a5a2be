"""Values of a parametrised test that are for ``make test-slow``."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Mark values as slow; a tuple holds one value for each parameter."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]
