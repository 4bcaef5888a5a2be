"""What is trained, on disk: a folder as transformers writes it, with the record of the training beside the weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longrank.models.description import TRAINED
from longrank.networks.loading import quiet
from longrank.storage.folders import atomic_folder


def save_model(folder: Path, network: Any, tokenizer: Any, record: Mapping[str, Any]) -> None:
    """Write a model of transformers, its tokenizer and the record of its training; replace such a folder.

    Args:
        folder: the folder above must exist.
        network: of transformers, on any device.
        tokenizer: of transformers.
        record: JSON-able.

    Raises:
        InputError: `folder` holds other files, or cannot be written.
        LongRankError: writing failed.
    """
    with model_folder(folder, record) as new:
        network.save_pretrained(new)
        tokenizer.save_pretrained(new)


@contextmanager
def model_folder(folder: Path, record: Mapping[str, Any]) -> Iterator[Path]:
    """Give an empty folder for the files of a model; it appears as `folder` afterwards, with the record.

    Args and Raises: as `save_model`.
    """
    with atomic_folder(folder) as new, quiet():
        yield new
        (new / TRAINED).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in new.rglob("*.safetensors"):  # else only their owner may read them
            path.chmod((new / TRAINED).stat().st_mode)
