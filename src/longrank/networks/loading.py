"""Load models quietly: no progress bars, faults in one line, checked devices and input lengths.

torch is imported only when a network is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from longrank.errors import InputError, LongRankError, MissingExtra, first_line
from longrank.networks.dense import keep_few_kernels
from longrank.networks.misfits import misfit
from longrank.networks.model_files import Model, check_unchanged

_NEURAL = ("torch", "transformers", "sentence_transformers", "tokenizers", "safetensors", "accelerate")
_DEVICES = ("cpu", "cuda", "mps", "xpu")
_LEAST_TOKENS = 8  # special tokens and a word or two
_SPECIAL = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id")
_UNLIMITED = 1 << 20  # tokenizers without a limit of their own say 1e30


@contextmanager
def loading(model: Model) -> Iterator[None]:
    """Silence progress bars while a model is loaded, and turn errors into one line; bound oneDNN's memory before.

    Raises:
        MissingExtra: torch or transformers are not installed.
        InputError: the library cannot load the model, or its files changed meanwhile.
    """
    keep_few_kernels()
    with quiet():
        try:
            yield
            check_unchanged(model)
        except (LongRankError, MemoryError):
            raise
        except ModuleNotFoundError as error:
            if error.name in _NEURAL:
                raise MissingExtra(f"the model '{model.name}'", "neural") from error
            raise InputError(f"the model needs the package {error.name}", path=model.path) from error
        except Exception as error:  # these libraries raise errors of many types
            if explained := misfit(model.network, error):
                raise explained from error
            raise InputError(f"the model cannot be loaded: {first_line(error)}", path=model.path) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers and sentence-transformers from writing to stderr."""
    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels = [logger.level for logger in loggers]
    bars = _switch_bars(False)
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        _switch_bars(bars)


def _switch_bars(on: bool) -> bool:
    """Switch the progress bars of transformers; return their state before."""
    try:
        from transformers.utils import logging as bars
    except ModuleNotFoundError:
        return False  # loading the model names the missing package
    was: bool = bars.is_progress_bar_enabled()
    (bars.enable_progress_bar if on else bars.disable_progress_bar)()
    return was


def choose_device(device: str) -> str:
    """Return the torch device for ``auto`` (an accelerator if there is one), or `device` itself.

    Raises:
        InputError: the device is unknown or not available.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if device.partition(":")[0] not in _DEVICES:
        raise InputError(f"device must be auto, or one of {', '.join(_DEVICES)}", got=device)
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise InputError("device is not available here", got=device, fix="use cpu or auto") from None
    return device


def own_weights(network: Any) -> None:
    """Copy the weights on the CPU into memory of this process.

    The libraries map the file of the weights: a file that is overwritten in place, as `cp` does, would change the
    network, or end the process by a bus error.
    """
    for weights in (*network.parameters(), *network.buffers()):
        if weights.device.type == "cpu":
            weights.data = weights.data.clone()


def forget_habits(network: Any) -> None:
    """Remove the generation settings of the model's folder, except special tokens.

    transformers would use them as defaults; BART's folders, for instance, forbid repeated trigrams.
    """
    from transformers import GenerationConfig

    tokens = {name: getattr(network.generation_config, name, None) for name in _SPECIAL}
    own = {name: getattr(network.config, name, None) if token is None else token for name, token in tokens.items()}
    network.generation_config = GenerationConfig(**own)


def position_limit(network: Any) -> int:
    """Return the number of tokens that a transformers model can read, by its position embeddings.

    Of rotary positions by ``longrope`` (Phi-3, Phi-4-mini), the first range: transformers turns all texts of a batch by
    the second range if one text is longer, so that scores would depend on other texts.
    """
    limit = getattr(network.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return _UNLIMITED
    limit = min(limit, _first_range(network.config))
    # RoBERTa and similar models count positions from the padding id.
    embeddings = getattr(network.base_model, "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return limit if padding is None else limit - int(padding) - 1


def _first_range(config: Any) -> int:
    """Return the number of positions in the first range of ``longrope``."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    for each in (rope, *rope.values()):  # some models have one for each kind of layer
        if isinstance(each, Mapping) and "longrope" in (each.get("rope_type"), each.get("type")):
            own = getattr(config, "original_max_position_embeddings", None)
            return int(each.get("original_max_position_embeddings") or own or _UNLIMITED)
    return _UNLIMITED


def choose_max_tokens(model: Model, requested: int | None, *limits: int | None) -> int:
    """Return the number of tokens to read: `requested`, or the smallest of the model's limits.

    Raises:
        InputError: `requested` or the model's limit is below 8 tokens, or `requested` is above the limit.
    """
    limit = int(min([limit for limit in limits if limit is not None and limit < _UNLIMITED], default=512))  # or 512.0
    if limit < _LEAST_TOKENS:
        raise InputError(f"the model reads {limit} tokens at most, too few for a passage", path=model.path)
    if requested is not None and not _LEAST_TOKENS <= requested <= limit:
        raise InputError(
            f"max_tokens must be between {_LEAST_TOKENS} and {limit} for '{model.name}'",
            got=requested,
            fix=f"give {limit} or less (--max-tokens of expand; by --set, read.max_tokens of a training, "
            "scorer.options.max_tokens of a pipeline)",
        )
    return limit if requested is None else requested
