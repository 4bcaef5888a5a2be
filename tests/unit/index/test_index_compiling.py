from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest

from longrank.index import compiling


def test_where_compiled_code_cannot_be_kept_it_is_compiled_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def njit(**options: Any) -> Callable[[Any], Any]:
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(compiling, "njit", njit)
    assert compiling.compiled(print) is print
    assert asked == [{"nogil": True, "error_model": "numpy", "cache": True}, {"nogil": True, "error_model": "numpy"}]


def test_compilation_is_told_once_and_only_where_there_is_one() -> None:
    told: list[str] = []
    function = numba.njit(lambda x: x + 1)
    with compiling.telling(lambda: told.append("compiling")):
        assert (function(1), function(1.5)) == (2, 2.5)
    assert told == ["compiling"]
    with compiling.telling(lambda: told.append("again")):
        function(2)
    function(1j)
    assert told == ["compiling"]
