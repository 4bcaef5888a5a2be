"""Write and read model folders with an int8 graph beside the weights.

    FOLDER/                     the model's own files, copied
        openvino-int8/encoder.* the quantised graph
        quantization.json       the calibration data and versions
        manifest.json           a checksum of each file; written last

NNCF's post-training quantisation: 256 levels per layer for activations, fitted to the calibration texts, and 128 per
output channel for weights. SmoothQuant (Xiao et al. 2023) first moves uneven activations into the weights. With 256
levels of weights, CPUs without VNNI give other scores: they add pairs of products in 16 bits, which overflow.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.backends import Inputs
from longrank.networks.backends.openvino_runtime import NAME, openvino, save
from longrank.networks.model_files import INT8_GRAPH, WITH_TEMPLATES, Model, check_unchanged
from longrank.storage import MANIFEST, atomic_write, sha256_of, verify, write_manifest

RECORD = "quantization.json"


def quantized_folder(model: Model) -> Path:
    """Return the folder of a model's int8 graph, after checking every file of the model.

    Raises:
        InputError: the model has no int8 graph.
        IntegrityError: a file of the model is damaged or missing.
    """
    if not (model.path / RECORD).is_file() or not (model.path / MANIFEST).is_file():
        raise InputError(
            "dtype=int8 needs a model that was quantised",
            path=model.path,
            fix="make one: longrank quantize MODEL INDEX QUERIES -o FOLDER",
        )
    verify(model.path)
    return model.path / INT8_GRAPH


def write_quantized(
    model: Model, graph: Path, batches: Sequence[Inputs], record: Mapping[str, Any], folder: Path
) -> None:
    """Quantise a model's graph and write a folder with it and the model's files.

    Args:
        model: the model.
        graph: the folder of its float32 graph (`exported_folder` with OpenVINO).
        batches: the encoder's inputs for the calibration texts.
        record: description of the calibration, for quantization.json, which gets the graph's checksum, too: two CPUs
            can quantise one model to different graphs.
        folder: an empty folder.

    Raises:
        InputError: a file of the model has changed since it was read.
    """
    shutil.copytree(model.path, folder, ignore=_not_read, dirs_exist_ok=True)
    check_unchanged(model)  # the graph is of the files that were read before
    (folder / INT8_GRAPH).mkdir(exist_ok=True)  # exists if the model was quantised before
    ov = openvino()
    network = quantize(ov.Core().read_model(str(graph / NAME)), batches)
    network.set_friendly_name("encoder")  # OpenVINO's names count all networks and nodes of the process
    for n, node in enumerate(network.get_ordered_ops()):
        node.set_friendly_name(f"{node.get_type_name()}_{n}")
    save(network, folder / INT8_GRAPH / NAME)
    checksums = {path.name: sha256_of(path) for path in sorted((folder / INT8_GRAPH).iterdir())}
    with atomic_write(folder / RECORD, "w") as stream:
        stream.write(json.dumps({**record, "graph": checksums}, indent=1) + "\n")
    write_manifest(folder, {"format": "longrank quantized model"})


def _not_read(folder: str, names: list[str]) -> list[str]:
    """Return the names of files that no model depends on."""
    return [name for name in names if (Path(folder) / name).is_file() and Path(name).suffix not in WITH_TEMPLATES]


def quantize(network: Any, batches: Sequence[Inputs]) -> Any:
    """Return an OpenVINO network in int8, calibrated on batches of its inputs; the same for the same batches."""
    openvino()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import nncf

        logging.getLogger("nncf").setLevel(logging.ERROR)
        return nncf.quantize(
            network,
            nncf.Dataset([dict(batch) for batch in batches]),
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(batches),
            advanced_parameters=nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.ENABLE),
        )
