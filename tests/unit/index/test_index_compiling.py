from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

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
    options = {"nogil": True, "error_model": "numpy", "_nrt": True}
    assert asked == [options | {"cache": True}, options]


def test_a_function_that_a_lean_function_calls_first_may_still_make_arrays() -> None:
    making = compiling.compiled(_making)
    lean = compiling.compiled_lean(lambda n: making(n) + 1)
    assert lean(3) == 4


def test_lean_code_counts_no_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "njit", lambda **options: numba.njit(**options | {"cache": False}))
    for compiled, counted in ((compiling.compiled, True), (compiling.compiled_lean, False)):
        alternating = compiled(_alternating)
        assert alternating((np.array([1.0]), np.array([2.0])), 2) == 2
        (code,) = alternating.inspect_llvm().values()
        assert ("call void @NRT_incref" in code) is counted


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


def _making(n: int) -> float:
    return float(np.ones(n).sum())


def _alternating(arrays: tuple[NDArray[np.float64], NDArray[np.float64]], n: int) -> float:
    array = arrays[0]
    for i in range(n):
        array = arrays[i % 2]
    return float(array[0])
