"""Wheel and source distribution are whole, and the wheel works in an environment that never saw the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling", reason="needs hatchling (extra dev)")

if not (ROOT / "pyproject.toml").is_file():
    pytest.skip("the tests run without the repository", allow_module_level=True)


def built(source: Path, kind: str, output: Path) -> Path:
    """Build a distribution by the project's own backend, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(output)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = output.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name for name in packed.namelist() if ".dist-info/" not in name}


def in_tree() -> Iterator[str]:
    for path in (ROOT / "src").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT / "src").as_posix()


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    assert names(wheel) == {*in_tree()}
    assert {"longrank/py.typed", "longrank/service/page/index.html"} <= names(wheel)


def test_the_source_distribution_gives_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for name in ("tests/package/test_distributions.py", "docs/cli.md", "SECURITY.md", "CITATION.cff", "zensical.toml"):
        assert (folder / name).is_file()
    assert names(built(folder, "wheel", tmp_path / "dist")) == names(wheel)


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, from this one, its dependencies; nothing of the source tree."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    dependencies = Path(numpy.__file__).parents[1]  # a path alone: its own .pth files, such as ours, are not read
    (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    return folder / "bin"


def test_the_installed_command_indexes_searches_and_names_its_version(clean: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["NUMBA_DISABLE_JIT"] = "1"  # compiling anew for this environment takes 15 seconds; files are the point

    def run(*words: str) -> str:
        command = [str(clean / words[0]), *words[1:]]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = run("python", "-c", "import longrank; print(longrank.__file__)")
    assert place.startswith(str(clean.parent))
    version = next(
        line.split('"')[1] for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version")
    )
    assert run("longrank", "--version").strip().endswith(version)
    docs = ROOT / "examples" / "docs.jsonl"
    run("longrank", "index", str(docs), "-o", "my.index")
    found = run("longrank", "search", "my.index", "why did some keepers lose their mind", "--pipeline", "lexical")
    assert "The lights of the coast" in found
