"""Check the files of a model's folder that comes from a stranger, before any library opens them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.patterns import may_explode

_RULES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def check_links(folder: Path, place: Path) -> None:
    """Refuse what is no plain file, and links that lead out of a model's folder.

    A link could bring a private file into a vocabulary, which training copies. Weights may be links, as data tools make
    them: safetensors are read as numbers or refused. So may files of a snapshot in the cache of Hugging Face, which are
    links to its ``blobs``.

    Args:
        folder: the model's.
        place: `folder`, or a subfolder with a module.

    Raises:
        InputError: names the link, or the pipe or device.
    """
    home = Path(os.path.realpath(folder))
    homes = [home, home.parent.parent / "blobs"] if home.parent.name == "snapshots" else [home]
    for path in [place, *sorted(place.iterdir())]:
        target = Path(os.path.realpath(path))
        inside = any(target.is_relative_to(one) for one in homes)
        if not inside and (path.is_dir() or path.suffix != ".safetensors"):
            raise InputError(
                "is a link out of the model's folder", path=path, got=str(target), fix="put the file itself there"
            )
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError("is a pipe or a device, no file", path=path)


def check_patterns(path: Path) -> None:
    """Refuse a tokenizer whose regular expressions could take exponential time.

    Args:
        path: a ``tokenizer.json``.

    Raises:
        InputError: not a JSON object, or such an expression.
    """
    content = path.read_bytes()
    if b'"Regex"' not in content and b"\\u00" not in content:  # a key may be written with escapes
        return
    try:
        tokenizer = json.loads(content)
        patterns = [pattern for rule in _RULES for pattern in _patterns(tokenizer.get(rule))]
    except (ValueError, AttributeError, RecursionError):
        raise InputError("is not a JSON object, or nested too deeply", path=path) from None
    for pattern in patterns:
        if may_explode(pattern):
            raise InputError("a regular expression could take exponential time", path=path, got=pattern)


def _patterns(rule: Any) -> Iterator[str]:
    """Yield the regular expressions of a rule and of the rules in it."""
    if isinstance(rule, dict):
        if isinstance(rule.get("Regex"), str):
            yield rule["Regex"]
        for value in rule.values():
            yield from _patterns(value)
    elif isinstance(rule, list):
        for value in rule:
            yield from _patterns(value)
