"""Batches for a network: texts of like length together, at most so many padded tokens in each.

A padded batch of B texts, the longest of L tokens, costs B * L; sorting by length keeps the padding
small, and a budget on B * L keeps memory flat whatever the lengths are. Texts are sorted only among
those given, so calling this once per block makes the batches a pure function of the block.
"""

from __future__ import annotations

from collections.abc import Sequence


def batches(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Split the positions 0 .. N-1 into batches, shortest texts first.

    Args:
        lengths: tokens of each text, N of them.
        max_tokens: most padded tokens (texts x longest) per batch; a longer text goes alone.

    Returns:
        Lists of positions; each position occurs once. Equal lengths keep their order.
    """
    result: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Ascending order: the text at hand is the longest of its batch.
        if result and (len(result[-1]) + 1) * lengths[position] <= max_tokens:
            result[-1].append(position)
        else:
            result.append([position])
    return result
