"""Batches of texts of similar length within a budget of padded tokens.

A padded batch of B texts, the longest of L tokens, costs B * L. Sorting by length keeps the padding small, and a budget
for B * L bounds the memory. Called once per block, the batches are a function of the block alone.
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
        # Ascending order: this text is the longest of its batch.
        if result and (len(result[-1]) + 1) * lengths[position] <= max_tokens:
            result[-1].append(position)
        else:
            result.append([position])
    return result
