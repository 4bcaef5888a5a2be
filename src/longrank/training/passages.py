"""Choose the passages that are read of an instance's documents: a pure function of (seed, n) and the documents.

A reading names the passages of each document of the group that are read together. An instance gives one reading or
more, and the loss is computed for each reading (`PASSAGE_CHOICES`):

    aligned   passage i of every document, for i = 0 and each other i with probability `keep` (MaxP)
    random    one passage of each document, drawn independently (later versions of Capreolus)
    all       all passages of every document (PARADE and other networks that read whole documents)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from longrank.draws import below, chance
from longrank.errors import InputError
from longrank.registries import lookup
from longrank.training.samples import Group

Reading: TypeAlias = tuple[tuple[int, ...], ...]
"""For each document of a group, ascending, the 0-based passages that are read of it."""

KEEP = 0.1
"""Dai and Callan's probability that a passage other than the first is kept, MaxP's too."""


def aligned(group: Group, counts: Sequence[int], seed: int, n: int, *, keep: float = KEEP) -> list[Reading]:
    """Return the readings ((i,), (i,), ...): of passage 0, and each other with probability `keep`.

    i stays below the smallest count, so no document is read past its end. With a single document, this is Dai and
    Callan's rule for pointwise training.
    """
    kept = [i for i in range(min(counts)) if i == 0 or chance(seed, n, "passage", i) < keep]
    return [tuple((i,) for _ in counts) for i in kept]


def random_passages(group: Group, counts: Sequence[int], seed: int, n: int) -> list[Reading]:
    """Return a reading with one passage of each document, all equally likely."""
    drawn = zip(group.doc_ids, counts, strict=True)
    return [tuple((below(count, seed, n, "passage", doc_id),) for doc_id, count in drawn)]


def all_passages(group: Group, counts: Sequence[int], seed: int, n: int) -> list[Reading]:
    """Return a reading of all passages."""
    return [tuple(tuple(range(count)) for count in counts)]


PassageChoice: TypeAlias = Callable[[Group, Sequence[int], int, int], list[Reading]]
"""(instance, passages of each of its documents, all >= 1, seed, number of the instance) -> readings, at least one."""

PASSAGE_CHOICES: dict[str, Callable[..., list[Reading]]] = {
    "aligned": aligned,
    "random": random_passages,
    "all": all_passages,
}
"""Choices of passages by name."""


def make_passage_choice(name: str, *, keep: float | None = None) -> PassageChoice:
    """Return a choice of passages.

    Args:
        name: of `PASSAGE_CHOICES`.
        keep: probability that ``aligned`` keeps a passage other than the first, 0 to 1; None: .1.

    Raises:
        InputError: unknown name, or `keep` out of range or with another name.
    """
    choice = lookup(PASSAGE_CHOICES, name, "choice of passages")
    if keep is None:
        return choice
    if name != "aligned":
        raise InputError(f"choice of passages '{name}' takes no keep-probability", got=keep, fix="only aligned does")
    if not 0 <= keep <= 1:
        raise InputError("keep is a probability", got=keep)
    return partial(aligned, keep=keep)
