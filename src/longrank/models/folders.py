"""Save and load document networks, one folder each.

    config.json             the encoder's configuration, as transformers writes it; a classifier's for passage scores;
                            `architectures` names the class of the weights, not of the model that they began as
    model.safetensors       all weights; in networks of passage scores the classifier's, with transformers' names
    aggregator.safetensors  weights outside the classifier: those of Birch-Passage
    tokenizer.json, ...     the tokenizer's files
    longrank.json           network, options and training record

sentence-transformers' CrossEncoder reads the folder of a network of passage scores, except ELECTRA with Capreolus' head
(`longrank.networks.cls_head`).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from safetensors.torch import load_file

from longrank.errors import InputError, LongRankError, first_line
from longrank.models import DOCUMENT_NETWORKS
from longrank.models.create import checked_options
from longrank.models.description import describe, description
from longrank.models.network import DocumentNetwork
from longrank.networks.checks import check_weights, read_json, tensor_shapes
from longrank.networks.cls_head import lacks_dense, leave_out_dense
from longrank.networks.folder_files import check_links
from longrank.networks.model_files import check_tokenizer
from longrank.networks.trainings import DESCRIPTION
from longrank.networks.weights_file import save_weights
from longrank.registries import lookup
from longrank.storage import seal
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
    """Write a network and its tokenizer; replaces a document network in the folder.

    Args:
        folder: a new or empty folder, or a document network to replace; its parent must exist.
        network: from `longrank.models.create.create_network` or `load_network`.
        tokenizer: a transformers tokenizer.
        record: record of its training, JSON-able; None: untrained.
        lineage: see `description`.

    Raises:
        InputError: `folder` holds something else, or cannot be written.
        LongRankError: writing failed.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DESCRIPTION).is_file():
        raise InputError("holds something other than a document network", path=folder, fix="choose a new folder")
    described = description(network.name, network.options, record, lineage)
    with atomic_folder(folder) as new:
        _config(network).save_pretrained(new)
        tokenizer.save_pretrained(new)
        for name, module in network.files().items():
            # Copies, since safetensors refuses tensors that two names share (tied embeddings).
            weights = {key: values.detach().cpu().contiguous().clone() for key, values in module.state_dict().items()}
            save_weights(weights, new / name, new / "config.json")
        (new / DESCRIPTION).write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        seal(new, "model")


def load_network(folder: Path) -> Loaded:
    """Read a network and its tokenizer: safetensors only, every parameter from the files.

    Raises:
        InputError: not a document network; damaged files; or weights that are missing, unknown, not finite or too few
            for the vocabulary.
    """
    described = describe(folder)
    check_links(folder, folder)
    with _explained(folder / DESCRIPTION, "does not name a network known here"):
        name = described.get("network", "")
        kind: type[DocumentNetwork] = lookup(DOCUMENT_NETWORKS, name, "document network")
        options = checked_options(name, described["options"])
    with torch.random.fork_rng(devices=[]):  # the random weights are overwritten
        skeleton = _skeleton(folder, kind)
        with _explained(folder / DESCRIPTION, "does not fit the encoder"):
            network = kind(skeleton, **options)
    network.name, network.options = name, {**options, **network.found_options}
    missing = [key for file, module in network.files().items() for key in _fill(folder / file, module)]
    check_tokenizer(folder)
    with _explained(folder, "its tokenizer cannot be read"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **_LOCAL)
    check_weights(folder, network, tokenizer, missing)
    return Loaded(network.eval(), tokenizer, described["record"])


def _config(network: DocumentNetwork) -> Any:
    """Return the configuration that names the class of the saved weights.

    Other libraries choose a class by it: an encoder may have come from a classifier, and a classifier from an encoder.
    """
    config = copy.deepcopy(network.pretrained.config)
    config.architectures = [type(network.pretrained).__name__]
    return config


def _skeleton(folder: Path, kind: type[DocumentNetwork]) -> Any:
    """Return the transformers model that `kind` is built on, with random weights."""
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
    """Set a module's weights from a file; return the names of weights that the file lacks.

    Raises:
        InputError: the file is missing or damaged, or has weights of other names or shapes.
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
def _explained(path: Path, fault: str) -> Iterator[None]:
    """Turn any error with a file into one line that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except LongRankError as error:
        raise InputError(f"{fault}: {error}", path=path) from None
    except Exception as error:  # transformers raises errors of many types
        raise InputError(f"{fault}: {first_line(error)}", path=path) from error
