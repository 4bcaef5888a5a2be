"""Names of tensors as transformers writes them today; no torch.

module.bert.encoder...              torch.nn.DataParallel
model.bert.encoder..., bert.bert... a training program's own module around the network
LayerNorm.gamma, LayerNorm.beta     TensorFlow's names, which early PyTorch ports kept
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from longrank.errors import InputError

_OLD = ((re.compile(r"(norm)\.gamma$", re.IGNORECASE), r"\1.weight"), (re.compile(r"(norm)\.beta$", re.I), r"\1.bias"))


def new_names(names: Iterable[str], base: str) -> dict[str, str]:
    """Return the new name of each tensor.

    Args:
        names: the names in the file.
        base: transformers' name of the encoder inside a network with a head, such as ``bert``.

    Raises:
        InputError: two tensors would have the same name.

    >>> new_names(["module.bert.embeddings.LayerNorm.gamma", "module.classifier.bias"], "bert")
    {'module.bert.embeddings.LayerNorm.gamma': 'bert.embeddings.LayerNorm.weight', 'module.classifier.bias': \
'classifier.bias'}
    """
    old = list(names)
    prefix = _wrapping(old, base)
    new = {name: _modern(name[len(prefix) :]) for name in old}
    origins: dict[str, str] = {}
    for name, changed in new.items():
        if changed in origins:
            raise InputError(f"two tensors have the name {changed}", got=f"{origins[changed]}, {name}")
        origins[changed] = name
    return new


def _wrapping(names: list[str], base: str) -> str:
    """Return the prefix of the modules around the network, which every name shares."""
    prefix = ""
    while True:
        rest = [name[len(prefix) :] for name in names]
        first = rest[0].partition(".")[0] + "." if rest else ""
        shared = bool(first.strip(".")) and all(name.startswith(first) and name != first for name in rest)
        inner = f"{base}." if base else ""
        is_base = first == inner and not any(name.startswith(first + inner) for name in rest)
        if not shared or is_base:
            return prefix
        prefix += first


def _modern(name: str) -> str:
    for pattern, new in _OLD:
        name = pattern.sub(new, name)
    return name
