from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache
from numpy.typing import NDArray

from longrank.index import compiling

_CALLED = """# longrank.index.compiling
from folder.compiling import compiled
FACTOR = {0}
@compiled
def times(n):
    return {1} * n
"""
_CALLER = """# longrank.index.compiling
from folder.compiling import compiled
from folder.called import FACTOR, times

@compiled
def caller(n):
    return times(n) + FACTOR

print(caller(10), sum(caller.stats.cache_hits.values()))
"""


def test_compiled_code_is_kept_until_code_or_a_constant_of_another_file_changes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(compiling.__file__, folder)
    (folder / ".#compiling.py").symlink_to("user@host.1:2")  # as Emacs does
    (folder / "caller.py").write_text(_CALLER)
    run, printed = [sys.executable, "-m", "folder.caller"], []
    for numbers in [(2, 2), (2, 2), (71, 3)]:
        (folder / "called.py").write_text(_CALLED.format(*numbers))
        printed.append(subprocess.check_output(run, cwd=tmp_path, text=True).split())
    assert printed == [["22", "0"], ["22", "1"], ["101", "0"]]
    assert len(list((folder / "__pycache__").glob("caller.caller*.nbc"))) == 1


def test_where_compiled_code_cannot_be_kept_it_is_compiled_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_folder(function: Any) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiling, "_Cache", no_folder)
    assert compiling.compiled(lambda n: n + 1)(3) == 4


def test_a_function_that_a_lean_function_calls_first_may_still_make_arrays() -> None:
    making = compiling.compiled(_making)
    lean = compiling.compiled_lean(lambda n: making(n) + 1)
    assert lean(3) == 4


def test_lean_code_counts_no_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_Cache", lambda function: NullCache())
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
