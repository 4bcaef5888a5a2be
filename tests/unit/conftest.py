"""Disks that fail (calls of the C library that fail, and power cuts), and a program that rounds products."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import faulty_disk
from failing_disks import FailingDisk
from power_cuts import PowerCuts


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library to preload."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("shim") / "faulty_disk.so"
    source = Path(faulty_disk.__file__).with_suffix(".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


@pytest.fixture
def disk(tmp_path: Path, shim: Path) -> FailingDisk:
    """A disk for one command."""
    return FailingDisk(tmp_path, shim)


@pytest.fixture
def cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PowerCuts:
    """A folder whose power is cut."""
    return PowerCuts(tmp_path, monkeypatch)


@pytest.fixture
def rounded_products() -> Iterator[None]:
    """A program that lets PyTorch round float32 products."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)
