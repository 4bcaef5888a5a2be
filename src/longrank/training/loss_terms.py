"""Losses by name, their needs, and weighted sums; no torch until a loss is computed.

CrossEntropy and MSE as in PARADE's distillation, alpha = .75:
    [LossTerm(name="cross-entropy", weight=0.75), LossTerm(name="mse", weight=0.25)]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple

from pydantic import Field

from longrank.errors import InputError
from longrank.registries import lookup, suggestion
from longrank.training.loop_settings import Section


class LossKind(NamedTuple):
    """Needs and options of a loss.

    Attributes:
        function: of `longrank.training.losses`, as ``"module:name"``.
        reads: ``scores`` [B, G], ``logits`` [B, C] or ``vectors`` [B, 3, H].
        group: documents or texts of an instance; 0: any number from two on.
        outputs: values of C that it accepts; (2,) needs two outputs of the teacher, too: log-probabilities in evidence.
        needs: further input: ``labels``, [B] of logits and [B, G] of scores; or ``teacher``, of the shape of the
            outputs; None: nothing.
        own_logits: it needs the teacher's own logits (``teacher.model``), which evidence does not hold.
        options: options and their defaults; all are positive numbers.
    """

    function: str
    reads: Literal["scores", "logits", "vectors"]
    group: int
    outputs: tuple[int, ...] = (1, 2)
    needs: Literal["labels", "teacher"] | None = None
    options: Mapping[str, float] = {}
    own_logits: bool = False

    @property
    def about(self) -> str:
        """Description of the loss, in a line; imports torch."""
        return (inspect.getdoc(_function(self)) or "").partition("\n")[0]


_HERE = "longrank.training.losses"

LOSSES: dict[str, LossKind] = {
    "hinge": LossKind(f"{_HERE}:hinge", "scores", 2, options={"margin": 1.0}),
    "pair-softmax": LossKind(f"{_HERE}:pair_softmax", "scores", 2),
    "lce": LossKind(f"{_HERE}:lce", "scores", 0),
    "listnet": LossKind(f"{_HERE}:listnet", "scores", 0, needs="labels"),
    "lambdarank": LossKind(f"{_HERE}:lambdarank", "scores", 0, needs="labels", options={"sigma": 1.0}),
    "cross-entropy": LossKind(f"{_HERE}:cross_entropy", "logits", 1, needs="labels", options={"temperature": 1.0}),
    "triplet": LossKind(f"{_HERE}:triplet", "vectors", 2, options={"margin": 5.0}),
    "mse": LossKind(f"{_HERE}:mse", "logits", 1, needs="teacher"),
    "squared-distance": LossKind(f"{_HERE}:squared_distance", "logits", 1, needs="teacher", own_logits=True),
    "margin-mse": LossKind(f"{_HERE}:margin_mse", "scores", 2, needs="teacher"),
    "soft-cross-entropy": LossKind(
        f"{_HERE}:soft_cross_entropy", "logits", 1, (2,), needs="teacher", options={"temperature": 10.0}
    ),
    "kl": LossKind(f"{_HERE}:kl", "scores", 0, needs="teacher", options={"temperature": 1.0}),
}
"""The losses by name."""


class LossTerm(Section):
    """A loss of a sum: name, weight, and options that replace the defaults."""

    name: str
    weight: float = Field(default=1.0, gt=0)
    options: dict[str, float] = Field(default_factory=dict)


def loss_kind(term: LossTerm) -> LossKind:
    """Return the needs of a term, after checking its options.

    Raises:
        InputError: no such loss or option, or an option that is not positive.
    """
    kind: LossKind = lookup(LOSSES, term.name, "loss")
    for option, value in term.options.items():
        if option not in kind.options:
            fix = suggestion(option, kind.options) if kind.options else "leave it out"
            raise InputError(f"the loss {term.name} has no option", got=option, fix=fix)
        if not value > 0:
            raise InputError(f"{option} of the loss {term.name} must be positive", got=value)
    return kind


def weighted_loss(terms: Sequence[LossTerm]) -> Callable[..., Any]:
    """Return the weighted sum of losses as one function, ``(outputs, *, labels=None, teacher=None) -> scalar``.

    All terms must read the same outputs: ``scores``, ``logits`` or ``vectors``.

    Raises:
        InputError: no term, or terms that read different outputs; or as `loss_kind`.
    """
    kinds = [loss_kind(term) for term in terms]
    if not kinds:
        raise InputError("a training needs a loss", fix=f"one of {', '.join(sorted(LOSSES))}")
    if len({kind.reads for kind in kinds}) > 1:
        reads = ", ".join(f"{term.name}: {kind.reads}" for term, kind in zip(terms, kinds, strict=True))
        raise InputError("losses that read different outputs cannot be added", got=reads)
    functions = [_function(kind) for kind in kinds]

    def total(outputs: Any, *, labels: Any = None, teacher: Any = None) -> Any:
        inputs = {"labels": labels, "teacher": teacher}
        values = []
        for term, kind, function in zip(terms, kinds, functions, strict=True):
            targets = {kind.needs: inputs[kind.needs]} if kind.needs else {}
            values.append(term.weight * function(outputs, **targets, **term.options))
        return sum(values[1:], values[0])

    return total


def check_reads(terms: Sequence[LossTerm], reads: Sequence[str], network: str) -> None:
    """Refuse losses of what a network does not compute.

    Args:
        terms: the losses of a training.
        reads: what the network computes: ``scores``, ``logits`` or ``vectors``.
        network: its name, for the message.

    Raises:
        InputError: such a loss; or as `weighted_loss`.
    """
    for term in terms:
        if (kind := loss_kind(term)).reads not in reads:
            fits = ", ".join(name for name, loss in LOSSES.items() if loss.reads in reads)
            what = f"the loss {term.name} reads {kind.reads}, which a {network} does not compute"
            raise InputError(what, fix=f"use {fits}")
    weighted_loss(terms)


def loss_fault(terms: Sequence[LossTerm], noun: str, width: int, *, taught: bool) -> str | None:
    """Return the reason why losses cannot learn from an instance; None: they can.

    Args:
        terms: the losses of a training.
        noun: ``documents`` or ``texts``, of which an instance consists.
        width: documents or texts of the instance.
        taught: whether a teacher has scored them.
    """
    for term in terms:
        kind = loss_kind(term)
        if kind.group not in (0, width) or (kind.group == 0 and width < 2):
            needed = {0: f"groups of {noun}", 1: f"single {noun}"}.get(kind.group, f"groups of {kind.group} {noun}")
            return f"the loss {term.name} learns from {needed}"
        if kind.needs == "teacher" and not taught:
            return f"the loss {term.name} learns from a teacher's scores, which are missing"
    return None


def _function(kind: LossKind) -> Callable[..., Any]:
    module, _, name = kind.function.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
