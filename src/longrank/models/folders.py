"""Document networks on disk: one folder, whole or absent.

    config.json             the encoder's configuration, as transformers writes it; a classifier's for passage scores
    model.safetensors       all weights; of networks of passage scores the classifier's, under transformers' names
    aggregator.safetensors  what a classifier has no place for: the weights of Birch-Passage
    tokenizer.json, ...     the tokenizer's files
    longrank.json           which network with which options, and the record of its training

A folder of passage scores is a model of transformers like any other: sentence-transformers' CrossEncoder reads it, but
for an ELECTRA with Capreolus' head (`longrank.networks.cls_head`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from safetensors.torch import load_file, save_file

from longrank.config import lookup
from longrank.errors import InputError, LongRankError, first_line
from longrank.models import DOCUMENT_NETWORKS
from longrank.models.create import checked_options
from longrank.models.description import FILE, describe, description
from longrank.models.network import DocumentNetwork
from longrank.networks.checks import check_weights, read_json, tensor_shapes
from longrank.networks.cls_head import lacks_dense, leave_out_dense
from longrank.storage.folders import atomic_folder

_LOCAL = {"local_files_only": True, "trust_remote_code": False}


class Loaded(NamedTuple):
    """A document network from a folder.

    Attributes:
        network: float32, on the CPU, in evaluation mode.
        tokenizer: of transformers.
        record: of its training; None: it has not been trained.
    """

    network: DocumentNetwork
    tokenizer: Any
    record: dict[str, Any] | None


def save_network(
    folder: Path,
    network: DocumentNetwork,
    tokenizer: Any,
    record: Mapping[str, Any] | None = None,
    lineage: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write a network and its tokenizer; one of its kind that is there already is replaced.

    Args:
        folder: new, empty, or with nothing but a document network of the kind; the folder above must exist.
        network: made by `longrank.models.create.create_network` or `load_network`.
        tokenizer: of transformers.
        record: of its training, JSON-able; None: it has not been trained.
        lineage: as of `description`.

    Raises:
        InputError: `folder` holds something else, or cannot be written.
        LongRankError: writing failed.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / FILE).is_file():
        raise InputError("holds something other than a document network", path=folder, fix="choose a new folder")
    described = description(network.name, network.options, record, lineage)
    with atomic_folder(folder) as new:
        network.pretrained.config.save_pretrained(new)
        tokenizer.save_pretrained(new)
        for name, module in network.files().items():
            # Copies, since safetensors refuses what two names share, as tied embeddings do.
            weights = {key: values.detach().cpu().contiguous().clone() for key, values in module.state_dict().items()}
            save_file(weights, new / name, {"format": "pt"})
            (new / name).chmod((new / "config.json").stat().st_mode)  # else only its owner may read it
        (new / FILE).write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_network(folder: Path) -> Loaded:
    """Read a network and its tokenizer: safetensors only, every parameter from the files.

    Raises:
        InputError: no document network; or its files are damaged, or do not fit each other: weights missing or
            unknown, not finite, or too few for the vocabulary.
    """
    described = describe(folder)
    with _explained(folder / FILE, "does not name a network known here"):
        name = described.get("network", "")
        kind: type[DocumentNetwork] = lookup(DOCUMENT_NETWORKS, name, "document network")
        options = checked_options(name, described["options"])
    with torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten
        skeleton = _skeleton(folder, kind)
        with _explained(folder / FILE, "does not fit the encoder"):
            network = kind(skeleton, **options)
    network.name, network.options = name, options
    missing = [key for file, module in network.files().items() for key in _fill(folder / file, module)]
    with _explained(folder, "its tokenizer cannot be read"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **_LOCAL)
    check_weights(folder, network, tokenizer, missing)
    return Loaded(network.eval(), tokenizer, described["record"])


def _skeleton(folder: Path, kind: type[DocumentNetwork]) -> Any:
    """Return the model of transformers that `kind` is built on, its weights still random."""
    read_json(folder / "config.json")
    family = transformers.AutoModelForSequenceClassification if kind.from_classifier else transformers.AutoModel
    with _explained(folder / "config.json", "is no configuration of an encoder"):
        config = transformers.AutoConfig.from_pretrained(str(folder), **_LOCAL)
        model = family.from_config(config, dtype=torch.float32)
    weights = folder / "model.safetensors"
    electra = kind.from_classifier and config.model_type == "electra"
    if electra and weights.is_file() and lacks_dense(list(tensor_shapes(weights))):
        leave_out_dense(model)
    return model


def _fill(path: Path, module: torch.nn.Module) -> list[str]:
    """Set a module's weights from a file; return the names of those that the file lacks.

    Raises:
        InputError: no such file, a damaged one, or one with weights of other names or shapes.
    """
    if not path.is_file():
        raise InputError(f"holds no {path.name}", path=path.parent)
    tensor_shapes(path)
    weights, own = load_file(path), module.state_dict()
    for name, values in weights.items():
        if name not in own or own[name].shape != values.shape:
            raise InputError("the network has no place for a tensor", path=path, got=f"{name} {list(values.shape)}")
    module.load_state_dict(weights, strict=False)
    return sorted(own.keys() - weights.keys())


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong with a file into one line that names it."""
    try:
        yield
    except MemoryError:
        raise
    except LongRankError as error:
        raise InputError(f"{what}: {error}", path=path) from None
    except Exception as error:  # whatever transformers raises on what it cannot read
        raise InputError(f"{what}: {first_line(error)}", path=path) from error
