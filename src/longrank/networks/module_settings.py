"""Settings of sentence-transformers' Transformer module, where they change texts or networks: followed or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import read_json

_OWN_SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
TASKS = ("query_length", "document_length", "query_expansion")
"""Settings of the texts of a task, in the file of sentence-transformers' Transformer module."""

_READING: dict[str, tuple[object, ...]] = {
    "max_length": (None,),
    "truncation": (True, "longest_first"),
    "truncation_side": (None, "right"),
    "add_special_tokens": (True,),
    "return_token_type_ids": (None, True),
    "split_special_tokens": (None,),
}
"""Options of a tokenizer's call that change the tokens of a text, with the values that do not."""

_LOADING = ("tokenizer_args", "processor_kwargs", "config_args", "config_kwargs", "model_args", "model_kwargs")
_HARMLESS = frozenset(
    [
        "trust_remote_code",
        "token",
        "revision",
        "cache_dir",
        "local_files_only",
        "use_safetensors",
        "low_cpu_mem_usage",
        "device_map",
        "dtype",
        "torch_dtype",
        "attn_implementation",
        "add_pooling_layer",
        "use_cache",
        "use_fast",
        "padding_side",
        "clean_up_tokenization_spaces",
    ]
)
"""Options of loading that change neither tokens nor weights nor layers that are read."""


def own_settings(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the file of sentence-transformers' Transformer module and its values, of the first name with any.

    Args:
        folder: of the module.

    Raises:
        InputError: as `read_json`.
    """
    for path in (folder / name for name in _OWN_SETTINGS):
        if path.is_file() and (values := read_json(path)):
            return path, values
    return folder / _OWN_SETTINGS[0], {}


def check_reading(folder: Path, refused: Sequence[str] = TASKS) -> None:
    """Refuse settings of sentence-transformers' Transformer module that change the tokens of texts.

    Args:
        folder: of the module.
        refused: those of `TASKS` that are not followed.

    Raises:
        InputError: names the settings.
    """
    path, values = own_settings(folder)
    found = {name: values[name] for name in refused if values.get(name) is not None}
    kinds = _dictionary(values.get("processing_kwargs"))
    for options in (_dictionary(kinds.get(kind)) for kind in ("common", "text")):
        found |= {name: options[name] for name in _READING if name in options and options[name] not in _READING[name]}
    if found:
        fix = "remove them if the model was trained without them; max_seq_length is the limit of all texts"
        raise InputError(
            "the model's files set how texts are read, for sentence-transformers", path=path, got=_shown(found), fix=fix
        )


def check_plain(folder: Path, *, renders: bool = False) -> None:
    """Refuse models whose texts sentence-transformers puts into the chat template of their tokenizer.

    Args:
        folder: of the Transformer module.
        renders: True: it does so whatever the module's file says.

    Raises:
        InputError: the model is refused.
    """
    path, values = own_settings(folder)
    stated = "message" in _dictionary(values.get("modality_config"))
    if stated or renders:
        raise InputError(
            "the model's texts are to be put into its chat template, and texts are read plain here",
            path=path if stated else folder,
            fix="if it was trained on plain texts, "
            + ("leave 'message' out of modality_config" if stated else "remove chat_template from its files"),
        )


def check_loading(folder: Path) -> None:
    """Refuse settings by which sentence-transformers' Transformer module loads another tokenizer or network.

    Args:
        folder: of the module.

    Raises:
        InputError: names the settings.
    """
    path, values = own_settings(folder)
    found: dict[str, Any] = {}
    for options in (_dictionary(values.get(name)) for name in _LOADING):
        found |= {name: value for name, value in options.items() if name not in _HARMLESS and value is not None}
    if found:
        raise InputError(
            "the model's files set how the model is loaded, for sentence-transformers",
            path=path,
            got=_shown(found),
            fix="write them into tokenizer_config.json or config.json, which are followed",
        )


def check_texts_and_loading(folder: Path, tokenizer: Any, *, renders: bool = False) -> None:
    """Refuse all settings that `check_lower_case`, `check_reading`, `check_loading` and `check_plain` refuse.

    For networks that are loaded without sentence-transformers; the lengths of tasks are not refused.
    """
    check_lower_case(folder, tokenizer)
    check_reading(folder, refused=())
    check_loading(folder)
    check_plain(folder, renders=renders)


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in found.items())


def check_lower_case(folder: Path, tokenizer: Any) -> None:
    """Refuse a module of sentence-transformers that makes texts lower case, with a tokenizer that keeps upper case.

    Args:
        folder: of the module.
        tokenizer: the model's tokenizer.

    Raises:
        InputError: the texts would reach the tokenizer in another case.
    """
    path, values = own_settings(folder)
    if values.get("do_lower_case") and _keeps_case(tokenizer):
        fix = "use a tokenizer that makes letters lower case itself (a Lowercase normalizer in tokenizer.json)"
        raise InputError("the model's texts are to be made lower case before its tokenizer", path=path, fix=fix)


def _keeps_case(tokenizer: Any) -> bool:
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        return False  # refused by `check_weights`
    normalizer = tokenizer.backend_tokenizer.normalizer
    return normalizer is None or normalizer.normalize_str("A") != "a"
