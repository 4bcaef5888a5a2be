"""Killed, or without power, at any moment, a quantisation leaves a whole model or none, and the next has its bytes."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import preloaded
from exports import cache_in, needs
from fakes import documents, index_of, queries
from longrank.index import Index
from longrank.networks.backends.exported import exported_folder
from longrank.networks.model_files import find_model
from longrank.ranking.quantization import quantize_model
from longrank.storage import verify
from longrank.types import Notes
from power_cuts import PowerCuts

pytestmark = [pytest.mark.neural, pytest.mark.slow, pytest.mark.timeout(3600), needs("openvino")]
KILLS = int(os.environ.get("KILLS", "30"))


class Inputs(NamedTuple):
    """A model and an index with the passages to calibrate on."""

    model: str
    index: Path


def quantize(inputs: Inputs, disk: Path) -> None:
    """Write the model ``new`` and, in ``cache``, the graph that it is made of."""
    with cache_in(disk / "cache"):
        index = Index(inputs.index)
        quantize_model(inputs.model, "cross-encoder", index, queries(3), disk / "new", pairs=3, notes=Notes())


def export(inputs: Inputs, disk: Path) -> None:
    """Export the model for ONNX Runtime, to ``cache``."""
    from transformers import AutoModel

    with cache_in(disk / "cache"):
        exported_folder(AutoModel.from_pretrained(inputs.model), find_model(inputs.model), "onnx", Notes())


Work = Callable[[Inputs, Path], None]
WORKS = [quantize, pytest.param(export, marks=needs("onnx"))]
"""Quantising exports a graph for OpenVINO, too."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    from tiny_models import save_cross_encoder

    folder = tmp_path_factory.mktemp("inputs")
    index = index_of(documents(30), folder / "index")
    return Inputs(str(save_cross_encoder(folder / "m", num_hidden_layers=1)), index.path)


def contents(disk: Path) -> dict[str, bytes]:
    """Return all files."""
    files = [path.relative_to(disk) for path in sorted(disk.rglob("*")) if path.is_file()]
    return {str(path): (disk / path).read_bytes() for path in files}


def is_there(disk: Path) -> bool:
    """Tell whether the model is there, and check it."""
    if (disk / "new").exists():
        verify(disk / "new")
    return (disk / "new").exists()


def started(work: Work, inputs: Inputs, disk: Path) -> Any:
    """Begin the work in a process."""
    process: Any = preloaded.context().Process(target=work, args=(inputs, disk))
    process.start()
    return process


def finished(do: Callable[[Path], object], disk: Path) -> dict[str, bytes]:
    """Do the work again unless its model is there; return the model, after a check of the graphs."""
    if not is_there(disk):
        do(disk)
        for graph in (disk / "cache" / "exports").glob("[!.]*"):
            verify(graph)
    return contents(disk / "new")


@pytest.mark.parametrize("work", WORKS)
def test_a_killed_quantisation_leaves_a_whole_model_or_none(tmp_path: Path, inputs: Inputs, work: Work) -> None:
    def do(disk: Path) -> None:
        process = started(work, inputs, disk)
        process.join()
        assert process.exitcode == 0

    rng, begun = random.Random(KILLS), time.monotonic()
    expected = finished(do, tmp_path)
    seconds, states = time.monotonic() - begun, Counter[str]()
    for number in range(KILLS):
        disk = tmp_path / str(number)
        disk.mkdir()
        process = started(work, inputs, disk)
        process.join(rng.uniform(0, seconds))
        process.kill()
        process.join()
        graphs = sorted(path.name.partition("-")[0] for path in disk.glob("cache/exports/*"))
        states[f"{graphs}, model: {is_there(disk)}"] += 1
        assert finished(do, disk) == expected
        assert not [path for path in disk.glob("cache/exports/.*/**/*") if path.is_file()]  # remains of the killed
    print(work.__name__, dict(states))


@pytest.mark.parametrize("work", WORKS)
def test_a_quantisation_after_a_power_cut_has_the_same_bytes(cuts: PowerCuts, inputs: Inputs, work: Work) -> None:
    with cuts.during():
        work(inputs, cuts.folder)
    expected = contents(cuts.folder / "new")
    worlds = [world for _, world in cuts.disk.worlds()]
    whole = [world for world in worlds if cuts.tell(world, is_there)]
    assert all(cuts.tell(world, lambda disk: contents(disk / "new")) == expected for world in whole)
    assert cuts.surviving(lambda disk: contents(disk / "new")) == expected
    begun = [world for world in worlds if world not in whole]
    assert len(begun) > 10
    for world in begun:
        assert cuts.tell(world, lambda disk: finished(partial(work, inputs), disk)) == expected
    print(work.__name__, "worlds:", len(worlds), "done again:", len(begun))
