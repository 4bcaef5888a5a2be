"""Forward pass of an encoder by an exported graph."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError, LongRankError, first_line
from longrank.networks.backends import BACKENDS, Run
from longrank.networks.loading import position_limit

if TYPE_CHECKING:
    import torch

# Lengths are padded to a multiple, since runtimes compile and cache each shape of a batch.
_STEP = 16  # tokens


class Exported:
    """Forward pass of an encoder by another program, with the encoder's inputs and outputs: padded tensors.

    Args:
        encoder: a transformers model without head; its pooler is used if it has one.
        run: computes the last hidden states.
    """

    def __init__(self, encoder: Any, run: Run) -> None:
        self._encoder, self._run, self.inputs = encoder, run, input_names(encoder)
        self._longest, self._padding = position_limit(encoder), encoder.config.pad_token_id or 0
        window = getattr(encoder.config, "local_attention", None)
        self._step = _STEP if window is None else max(1, min(_STEP, window // 2))  # less than a token sees on a side
        self._has_window = window is not None
        # XLM and FlauBERT add words for types, and nothing where there are no types: zeros are not the same.
        self._has_words_as_types = _takes_types(encoder) and not hasattr(encoder.config, "type_vocab_size")

    def __call__(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        **others: Any,
    ) -> Any:
        """Return transformers' output of [B, L] ids and mask, in float32; padding is zeros.

        Raises:
            TypeError: an input other than ids, mask and token types.
            InputError: when a head reads another output; or types of an encoder without a vocabulary of types.
        """
        import torch

        unknown = sorted(name for name, value in others.items() if value is not None and name != "return_dict")
        if unknown:
            raise TypeError(f"inputs of an exported encoder: {unknown}")
        if self._has_words_as_types and token_type_ids is not None:
            what = "token types of an encoder without a vocabulary of types are not computed by a graph"
            raise InputError(what, got=type(self._encoder).__name__, fix="use backend=torch")
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        features = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": types}
        hidden = self._alike(features) if self._has_window else self._hidden(features)
        hidden[attention_mask == 0] = 0  # a runtime may leave NaN here
        return _output_class()(hidden, self._pooled(hidden))

    def _alike(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return hidden states, [B, L, H]: texts of one width at a time, with less padding than an attention window.

        A padded token whose window holds nothing but padding is NaN in a runtime, and so are all tokens after the next
        layer that attends to it.
        """
        lengths = features["attention_mask"].sum(1).clamp(min=1)
        widths = (lengths + self._step - 1) // self._step * self._step
        hidden = None
        for width in widths.unique().tolist():
            rows = widths == width
            found = self._hidden({name: values[rows, :width] for name, values in features.items()})
            if hidden is None:
                hidden = found.new_zeros(*features["input_ids"].shape, found.shape[2])
            hidden[rows, : found.shape[1]] = found
        return hidden

    def _hidden(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the hidden states of padded texts, [B, L, H]."""
        import torch

        length = features["input_ids"].shape[1]
        extra = max(0, min(-length % self._step, self._longest - length))
        fill = {"input_ids": self._padding}
        wider = {
            name: torch.nn.functional.pad(features[name], (0, extra), value=fill.get(name, 0)) for name in self.inputs
        }
        return torch.from_numpy(self._run({name: rows.numpy() for name, rows in wider.items()})[:, :length])

    def _pooled(self, hidden: torch.Tensor) -> torch.Tensor | None:
        """Return the pooled first token, [B, H]; ALBERT and BigBird store layer and activation of the pooler apart."""
        import torch

        pooler = getattr(self._encoder, "pooler", None)
        if not isinstance(pooler, torch.nn.Linear):
            return pooler(hidden) if pooler is not None else None
        activation = getattr(self._encoder, "pooler_activation", None) or self._encoder.activation
        pooled: torch.Tensor = activation(pooler(hidden[:, 0]))
        return pooled


class _NotComputed(InputError, AttributeError):
    """An output of the network that graphs do not compute; `hasattr` is False for it."""


@cache
def _output_class() -> Any:
    """Return transformers' class of outputs; another output than those computed here is an error with its name."""
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    class Output(BaseModelOutputWithPooling):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise _NotComputed("the head reads an output that graphs do not compute", got=name, fix="use backend=torch")

    return Output


def input_names(encoder: Any) -> tuple[str, ...]:
    """Return the names of an encoder's inputs; token types only where it has several."""
    types = ("token_type_ids",) if _takes_types(encoder) and getattr(encoder.config, "type_vocab_size", 0) > 1 else ()
    return ("input_ids", "attention_mask", *types)


def _takes_types(encoder: Any) -> bool:
    return "token_type_ids" in inspect.signature(encoder.forward).parameters


def load_graph(backend: str, folder: Path, *, bf16: bool) -> Run:
    """Load the graph in a folder.

    Raises:
        LongRankError: the backend cannot read it.
    """
    run: Run
    try:
        run = import_module(BACKENDS[backend].module).load(folder, bf16)
    except Exception as error:  # runtimes raise errors of many types
        raise LongRankError(f"{folder}: {backend} cannot load the graph: {first_line(error)}") from error
    return run
