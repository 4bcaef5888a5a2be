"""Merge LoRA adapters into their base model, by the package peft."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import torch
import transformers

from longrank.errors import InputError, MissingExtra, first_line
from longrank.networks.checks import read_json
from longrank.networks.conversion.heads import FAMILIES, n_labels
from longrank.networks.conversion.reading import read_tensors
from longrank.networks.conversion.sources import ADAPTER, Source
from longrank.networks.conversion.writing import Checkpoint
from longrank.networks.model_files import find_model

_HEADS = {
    "SEQ_CLS": "classification",
    "SEQ_2_SEQ_LM": "seq2seq",
    "CAUSAL_LM": "decoder",
    "FEATURE_EXTRACTION": "encoder",
}
"""Task of an adapter -> head."""

_READ = (
    *(
        "r",
        "lora_alpha",
        "target_modules",
        "exclude_modules",
        "modules_to_save",
        "bias",
        "fan_in_fan_out",
        "use_rslora",
    ),
    *(
        "init_lora_weights",
        "use_dora",
        "rank_pattern",
        "alpha_pattern",
        "layers_to_transform",
        "layers_pattern",
        "task_type",
        "peft_type",
    ),
)
_WITHOUT_EFFECT = (
    *("auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout"),
    *("peft_version", "loftq_config", "megatron_core", "eva_config", "corda_config", "runtime_config"),
    *("ensure_weight_tying", "qalora_group_size"),
)
"""Settings that matter only before or during the training.

`revision` is part of the base model's name here; `megatron_core` has a default and no effect alone.
"""

_BEGINNINGS = (None, True, False, "true", "false", "gaussian", "eva", "orthogonal")
"""Values of `init_lora_weights` that set A and B alone, before the training."""
_CHANGING_BASES = ("pissa", "olora")
"""Values that change the base weights, too: peft computes the same change again, from the base weights alone."""


def read_adapter(source: Source, head: str | None) -> Checkpoint:
    """Return the base model with its adapter merged: each adapted weight is W + scale * B A.

    Args:
        source: the adapter's files; `base` names a model that `find_model` finds.
        head: a key of `FAMILIES`; None: the task of the adapter.

    Raises:
        InputError: the base model cannot be read; a tensor of the adapter has no place in it, or is missing; a head
            would be random; or a T5's shared weights are adapted.
        MissingExtra: peft is not installed.
    """
    settings = read_json(source.weights[0].parent / ADAPTER)
    kind = head or _HEADS.get(str(settings.get("task_type")))
    if kind is None:
        raise InputError("names no task", path=source.weights[0].parent / ADAPTER, fix="name the head: --head")
    tensors = read_tensors(source.weights)
    network, missing = _base(source, kind, tensors)
    _untie(network, kind, tensors, source)
    adapted = _adapted(network, settings, tensors, source)
    lost = sorted(name for name in missing if not _is_saved(name, tensors) and "pooler" not in name.split("."))
    if lost:
        raise InputError(
            "neither the adapter nor its base model has a parameter, which would be random",
            path=source.weights[0],
            got=lost[0],
        )
    merged = adapted.merge_and_unload()
    state = dict(merged.state_dict())
    return Checkpoint(merged.config, state, kind, {name: name for name in state})


def _base(source: Source, head: str, tensors: dict[str, torch.Tensor]) -> tuple[Any, list[str]]:
    """Return the base network and the parameters that its files lack."""
    model = find_model(source.base)
    shapes = {name.removeprefix("base_model.model."): tuple(values.shape) for name, values in tensors.items()}
    options = {"num_labels": n_labels(shapes)} if head == "classification" and n_labels(shapes) else {}
    network, info = getattr(transformers, FAMILIES[head]).from_pretrained(
        str(model.network),
        use_safetensors=True,
        output_loading_info=True,
        local_files_only=True,
        trust_remote_code=False,
        dtype=torch.float32,
        **options,
    )
    return network, sorted(info["missing_keys"])


def _untie(network: Any, head: str, tensors: Collection[str], source: Source) -> None:
    """Give embeddings and head weights of their own if they share them and the adapter changes those of one.

    A merge into the shared weights would change both.

    Raises:
        InputError: a T5, which scales its outputs only if they are shared.
    """
    outputs = network.get_output_embeddings()
    if outputs is None or outputs.weight is not network.get_input_embeddings().weight:
        return
    adapted = {name.removeprefix("base_model.model.").partition(".lora_")[0] for name in tensors if ".lora_" in name}
    sharing = (name for name, module in network.named_modules() if getattr(module, "weight", None) is outputs.weight)
    shared = [name for name in sharing if name in adapted]
    if not shared:
        return
    if head == "seq2seq":
        what = "adapts weights that the base model shares between embeddings and head"
        raise InputError(what, path=source.weights[0], got=shared[0], fix="train the adapter without this module")
    outputs.weight = torch.nn.Parameter(outputs.weight.detach().clone())
    network.config.tie_word_embeddings = False


def _adapted(network: Any, settings: dict[str, Any], tensors: dict[str, torch.Tensor], source: Source) -> Any:
    try:
        from peft import PeftConfig, get_peft_model, set_peft_model_state_dict
    except ImportError:
        raise MissingExtra("merging an adapter", "convert") from None
    try:
        config = PeftConfig.from_peft_type(**_checked(settings, source), inference_mode=True)
        with warnings.catch_warnings():  # peft calls names that transformers deprecates
            warnings.simplefilter("ignore", FutureWarning)
            adapted = get_peft_model(network, config)
        result = set_peft_model_state_dict(adapted, tensors)
    except (ValueError, TypeError, KeyError, RuntimeError) as error:
        raise InputError(f"does not fit its base model: {first_line(error)}", path=source.weights[0]) from error
    absent = [name for name in result.missing_keys if ".lora_" in name or "modules_to_save" in name]
    for what, names in (("has no place in the base model", result.unexpected_keys), ("is missing", absent)):
        if names:
            raise InputError(f"a tensor of the adapter {what}", path=source.weights[0], got=sorted(names)[0])
    return adapted.eval()


def _checked(settings: dict[str, Any], source: Source) -> dict[str, Any]:
    """Return the settings that a merge reads; settings that would change it in unknown ways are refused."""
    path = source.weights[0].parent / ADAPTER
    if settings.get("peft_type") != "LORA":
        raise InputError("only LoRA adapters are merged (peft_type)", path=path, got=settings.get("peft_type"))
    other = sorted(name for name, value in settings.items() if value and name not in (*_READ, *_WITHOUT_EFFECT))
    if other:
        raise InputError("a setting of the adapter is not supported", path=path, got=other[0])
    beginning = settings.get("init_lora_weights")
    beginning = beginning.lower() if isinstance(beginning, str) else beginning
    if beginning not in (*_BEGINNINGS, *_CHANGING_BASES):
        fix = "save it by peft's path_initial_model_for_weight_conversion, as an adapter of the original base model"
        what = "the beginning of the training may have changed the base weights (init_lora_weights)"
        raise InputError(what, path=path, got=beginning, fix=fix)
    kept = {} if beginning in _CHANGING_BASES else {"init_lora_weights": True}
    return {name: value for name, value in settings.items() if name in _READ} | kept


def _is_saved(name: str, tensors: Collection[str]) -> bool:
    """Say whether the adapter holds a parameter of the base network whole, such as its new head."""
    return f"base_model.model.{name}" in tensors
