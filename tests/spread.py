"""Work that engines share out to workers, done by one process and by an engine: both must give the same bytes."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import longrank
import reproductions
from longrank.index import Index
from longrank.ranking.build import Encoder
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Notes
from longrank.verbs.index import add_sparse, add_vectors
from longrank.verbs.weigh import weigh
from training_collections import SMALL, write_collection

Both = tuple[tuple[dict[str, bytes], list[str]], tuple[dict[str, bytes], list[str]]]
"""The files and the remarks of one process, and those of an engine."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}


def both(folder: Path, engine: object, work: Callable[[Path, object, Notes], object]) -> Both:
    """Work without and with an engine, each in an own folder of the same name."""
    found = []
    for name, where in (("here", None), ("there", engine)):
        (folder / name).mkdir()
        notes = Notes()
        work(folder / name / "output", where, notes)
        found.append((contents(folder / name), notes.lines()))
    return found[0], found[1]


def sparse(folder: Path, engine: object) -> Both:
    """Store sparse vectors, of which some are cut."""
    from sparse_models import save_splade

    model = str(save_splade(folder / "splade"))

    def work(output: Path, where: object, notes: Notes) -> None:
        index = Index.build([(f"d{n:02d}", f"fish and the river {n}. " * n) for n in range(1, 40)], output)
        add_sparse(index, model, "windows", engine=where, notes=notes)

    return both(folder, engine, work)


def folds(folder: Path, engine: object, **more: Any) -> Both:
    """Train on three folds and test on each."""
    from tiny_models import save_encoder

    place = write_collection(folder)
    model = str(save_encoder(folder / "encoder"))
    sets = [
        *SMALL,
        "network.name=parade-max",
        f"network.model={model}",
        "loop.steps=2",
        "loop.validate_every=1",
        "validation.depth=5",
    ]
    inputs = [place / name for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]

    def work(output: Path, where: object, notes: Notes) -> None:
        done = longrank.train(
            "parade", *inputs, output=output, folds=3, assignments=sets, engine=where, notes=notes, **more
        )
        assert done.run is not None and len(done.models) == 3

    return both(folder, engine, work)


def weights(folder: Path, engine: object) -> Both:
    """Learn weights by folds."""
    place = write_collection(folder)
    inputs = [place / name for name in ("index", "queries.jsonl", "first.run")]
    longrank.rerank(*inputs, pipeline="lexical", depth=9, evidence=folder / "evidence")

    def work(output: Path, where: object, notes: Notes) -> None:
        files = place / "qrels.txt", place / "first.run", folder / "evidence"
        grid = {"alpha": "0:1:0.1", "w2": "0:1:0.5"}
        weigh(*files, grid, folds=3, folder=output, engine=where, notes=notes)

    return both(folder, engine, work)


class Commands:
    """Runs commands of recipes in this process; a worker that takes it knows the tiny recipes, too."""

    def __reduce__(self) -> tuple[Callable[[], Commands], tuple[()]]:
        return _knowing, ()

    def __call__(self, command: Sequence[str], number: str) -> None:
        from longrank.cli.main import main
        from longrank.reproduction.phases import CommandFailed

        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main(command)
        if code:
            raise CommandFailed(command, code)


def _knowing() -> Commands:
    import sys

    from longrank.reproduction.papers import PROGRAMS

    PROGRAMS.update({"tiny:table": reproductions.table, "tiny:fails": reproductions.fails})
    sys.modules["matplotlib"] = None  # type: ignore[assignment]
    return Commands()


def recipes(folder: Path, engine: object) -> list[dict[str, Any]]:
    """Run a recipe, one that fails and one more by an engine and by this process; return files, failures and notes."""
    found = []
    for name, where in (("here", None), ("there", engine)):
        place = folder / name
        place.mkdir()
        reproductions.write_all(place)
        (place / "again.toml").write_text((place / "table.toml").read_text().replace("Table 0", "Table 1"))
        with contextlib.chdir(place):
            names = ["table.toml", "fails.toml", "again.toml"]
            done = longrank.reproduce(names, "tiny", "out", run=Commands(), engine=where)
            files = contents(place / "out")
        del files["index/.sources.jsonl"]  # has the absolute paths of the documents
        phases = json.loads(files.pop("phases.json"))  # has seconds
        found.append(
            {
                "files": files,
                "phases": {name: phase["command"] for name, phase in phases.items()},
                "failures": {name: str(error) for name, error in done.failures.items()},
                "outcomes": list(done.outcomes),
            }
        )
    return found


class Starved(Encoder):
    """An encoder with memory for two texts at a time."""

    def load(self, notes: Notes) -> BiEncoder:
        """Return a bi-encoder whose larger batches fail as PyTorch's do."""
        import torch

        scorer = super().load(notes)
        feeder = scorer._feeder
        features = feeder.features

        def with_little_memory(packed: Sequence[Any]) -> Any:
            if len(packed) > 2:
                raise torch.OutOfMemoryError("out of memory")
            return features(packed)

        feeder.features = with_little_memory  # type: ignore[method-assign]
        return scorer


def starved(folder: Path, engine: object, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Store vectors by encoders that run out of memory."""
    from tiny_models import save_encoder

    monkeypatch.setattr("longrank.ranking.build.Encoder", Starved)
    model = str(save_encoder(folder / "m"))

    def work(output: Path, where: object, notes: Notes) -> None:
        index = Index.build([(f"d{n:02d}", f"fish and the river {n}. " * 3 * n) for n in range(1, 35)], output)
        add_vectors(index, model, "windows", engine=where, notes=notes)

    return both(folder, engine, work)


WAITING = """
import os, signal, sys, time
from pathlib import Path
from longrank.engines import open_engine

def wait(folder):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    with open_engine(sys.argv[1], workers=2) as engine:
        list(engine.each(wait, [sys.argv[2]] * 2))
"""


def started(engine: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a program whose two workers write their process ids as files of a folder and wait; return it then."""
    script = folder.with_name(f"{folder.name}.py")
    script.write_text(WAITING)
    process = subprocess.Popen([sys.executable, str(script), engine, str(folder)], stderr=subprocess.DEVNULL)
    while len(list(folder.iterdir())) < 2:
        assert process.poll() is None, "the program ended"
        time.sleep(0.1)
    return process
