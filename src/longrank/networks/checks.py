"""Checks of a model's files and of the weights read from them, without importing torch.

They refuse networks of any class whose scores would be wrong without a warning.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.small_files import CONFIG, read_small

_FLOATS = ("F64", "F32", "F16", "BF16")
_CONSTANT = re.compile(r"(^|\.)(position_ids|token_type_ids|num_batches_tracked|(attn|attention)\.(masked_)?bias)$")
"""Names of tensors that may be integers: no network reads them from the file."""

_MAX_HEADER = 100 << 20  # bytes; the limit of the safetensors format


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model's folder.

    Raises:
        InputError: the file is missing, larger than 8 MiB, or not a JSON object.
    """
    try:
        value = json.loads(read_small(path, CONFIG, "a model's settings"))
    except FileNotFoundError:
        raise InputError(f"holds no {path.name}: not a model folder", path=path.parent) from None
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object", path=path)
    return value


def modules_of(folder: Path) -> list[tuple[str, Path]]:
    """Return the class and the folder of each module of modules.json, if there is the file.

    Raises:
        InputError: it is no list of modules.
    """
    path = folder / "modules.json"
    try:
        entries = json.loads(read_small(path, CONFIG, "a model's settings")) if path.is_file() else []
        return [(str(entry["type"]).rpartition(".")[2], folder / str(entry["path"])) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("is not a list of modules", path=path) from None


def n_parameters(folder: Path) -> int:
    """Count the parameters in the safetensors files of a folder.

    Raises:
        InputError: as `tensor_shapes`.
    """
    return sum(math.prod(shape) for path in folder.glob("*.safetensors") for shape in tensor_shapes(path).values())


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors in a safetensors file by name, after checking that the file is complete.

    Raises:
        InputError: the file is damaged or incomplete, or holds weights that are no numbers of 16, 32 or 64 bits with a
            fraction: others lack the scale that makes them weights, and would be read as if they were.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 0 < length <= min(_MAX_HEADER, size):
            raise InputError("is not a safetensors file, or cut off", path=path)
        try:
            header = json.loads(stream.read(length))
            tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
            end = max((int(entry["data_offsets"][1]) for entry in tensors.values()), default=0)
            shapes = {name: list(tensors[name]["shape"]) for name in sorted(tensors)}
            dtypes = {name: str(tensors[name]["dtype"]) for name in shapes}
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise InputError("has a damaged header; not a safetensors file, or cut off", path=path) from None
    if 8 + length + end != size:
        raise InputError(
            f"is damaged: {size} bytes instead of {8 + length + end}", path=path, fix="fetch or copy it again"
        )
    for name, dtype in dtypes.items():
        if dtype not in _FLOATS and not _CONSTANT.search(name):
            raise InputError(f"holds weights other than {', '.join(_FLOATS)}", path=path, got=f"{name} {dtype}")
    return shapes


def check_weights(path: Path, network: Any, tokenizer: Any, missing: Sequence[str]) -> None:
    """Refuse weights that would give wrong scores without a warning.

    Args:
        path: folder of the weights, for messages.
        network: a transformers model, or a torch module with its ``get_input_embeddings``.
        tokenizer: its tokenizer.
        missing: parameters that the weights file lacks; their values are random.

    Raises:
        InputError: parameters are missing, not finite, or too few for the tokenizer's vocabulary; or
            the tokenizer is not of the tokenizers library, or has no vocabulary.
    """
    if missing:
        raise InputError(
            f"the weights lack {len(missing)} parameters of the network, which would be random",
            path=path,
            got=sorted(missing)[0],
            fix="use a model trained for this task",
        )
    for name, values in network.named_parameters():
        if not values.isfinite().all():
            raise InputError("the model's weights hold a NaN or an infinity", path=path, got=name)
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise InputError("the model's tokenizer has no tokenizer.json and cannot be converted", path=path)
    vocabulary = tokenizer.get_vocab()
    # Without its files transformers builds a tokenizer of special tokens; SentencePiece's has the blank besides.
    if vocabulary.keys() <= {*tokenizer.all_special_tokens, "\u2581"}:
        raise InputError("the model's tokenizer knows no words: its files are missing", path=path)
    largest = max(vocabulary.values())
    rows = network.get_input_embeddings().weight.shape[0]
    if largest >= rows:
        raise InputError(f"the tokenizer's token ids reach {largest}, the network knows {rows} tokens", path=path)
