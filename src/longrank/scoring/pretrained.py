"""Loading a transformers network and its tokenizer: local files, float32, every parameter from the file."""

from __future__ import annotations

from typing import Any, NamedTuple

from longrank.scoring.models import Model


class Pretrained(NamedTuple):
    """A network in evaluation mode, on the CPU; its tokenizer; the parameters that the file lacks."""

    network: Any
    tokenizer: Any
    missing: list[str]


def load_pretrained(model: Model, family: str) -> Pretrained:
    """Load what a class of transformers makes of a model's folder.

    The caller checks the result (`longrank.scoring.network.check_network`): some heads lack parameters on purpose.

    Args:
        model: the model's files.
        family: the class, such as ``AutoModelForSequenceClassification``.
    """
    import torch
    import transformers

    options = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model.path), **options)
    network, info = getattr(transformers, family).from_pretrained(
        str(model.path), dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
    )
    return Pretrained(network.eval(), tokenizer, sorted(info["missing_keys"]))
