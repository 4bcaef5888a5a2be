"""Paired two-sided tests of significance over queries, and corrections for several tests.

Tests: the t-test, and Fisher's randomization test, which flips the signs of per-query differences (Smucker, Allan and
Carterette, CIKM 2007). Corrections: Bonferroni, and Holm (Scandinavian Journal of Statistics 1979), which is never less
powerful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError

Differences: TypeAlias = NDArray[np.float64]

N_SAMPLES = 100_000
"""Largest number of sign assignments in a randomization test; of more, this many are drawn."""

_CHUNK = 4096  # sign assignments held in memory at a time


def differences(values: Mapping[str, float], baseline: Mapping[str, float]) -> Differences:
    """Return ``values - baseline`` over the queries of both, in the order of query ids."""
    return np.array([values[q] - baseline[q] for q in sorted(values.keys() & baseline.keys())], dtype=np.float64)


def t_test(d: Differences) -> float | None:
    """Return the two-sided p of the paired t-test; None for fewer than two queries.

    Args:
        d: float64[Q], per-query differences. All 0 gives 1; all equal and not 0 gives 0.
    """
    from scipy.special import stdtr  # Student's distribution; scipy.stats takes a second to import

    if len(d) < 2:
        return None
    if not d.any():
        return 1.0
    error = d.std(ddof=1) / math.sqrt(len(d))
    return float(2 * stdtr(len(d) - 1, -abs(d.mean()) / error)) if error > 0 else 0.0


def randomization_test(d: Differences, *, samples: int = N_SAMPLES, seed: int = 0) -> float | None:
    """Return the two-sided p of the paired randomization test; None for fewer than two queries.

    p is the share of sign assignments whose mean difference is at least as large as the observed one: of all 2^Q
    assignments if these are at most `samples`, else of `samples` random assignments and the observed one, so p is never
    0. Queries without a difference do not count in Q.

    Args:
        d: float64[Q], per-query differences.
        samples: largest number of assignments.
        seed: seed of the random assignments; equal seeds and differences give equal p.
    """
    if len(d) < 2:
        return None
    d = d[d != 0]
    if len(d) < samples.bit_length() and 1 << len(d) <= samples:
        return _as_extreme(d, _all_flips(len(d))) / (1 << len(d))
    generator = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, samples, _CHUNK):
        rows = min(_CHUNK, samples - start)
        extreme += _as_extreme(d, generator.integers(0, 2, size=(rows, len(d)), dtype=np.uint8))
    return (extreme + 1) / (samples + 1)


def _all_flips(n: int) -> NDArray[np.uint8]:
    numbers = np.arange(1 << n, dtype=np.uint32)
    return ((numbers[:, np.newaxis] >> np.arange(n, dtype=np.uint32)) & 1).astype(np.uint8)


def _as_extreme(d: Differences, flips: NDArray[np.uint8]) -> int:
    """Count the rows of `flips` (0 or 1 per query) whose sum is at least as far from 0 as that of `d`."""
    sums = d.sum() - 2.0 * (flips @ d)
    tolerance = 1e-12 * np.abs(d).sum()  # sums that are equal on paper differ in their last bits
    return int(np.count_nonzero(np.abs(sums) >= abs(d.sum()) - tolerance))


def bonferroni(p_values: Sequence[float | None], comparisons: int) -> list[float | None]:
    """Return each p times the number of comparisons, at most 1; None stays None."""
    return [None if p is None else min(1.0, p * comparisons) for p in p_values]


def holm(p_values: Sequence[float | None], comparisons: int) -> list[float | None]:
    """Return corrected p values: the smallest times m, the next times m - 1, ...; never descending.

    Args:
        p_values: in any order; None stays None.
        comparisons: m, at least the number of p values.
    """
    corrected: list[float | None] = [None] * len(p_values)
    so_far = 0.0
    ascending = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    for step, (p, i) in enumerate(ascending):
        so_far = max(so_far, min(1.0, p * (comparisons - step)))
        corrected[i] = so_far
    return corrected


TESTS: dict[str, Callable[[Differences], float | None]] = {"t": t_test, "randomization": randomization_test}
CORRECTIONS: dict[str, Callable[[Sequence[float | None], int], list[float | None]]] = {
    "bonferroni": bonferroni,
    "holm": holm,
}


def corrected(p_values: Sequence[float | None], correction: str | None, comparisons: int) -> list[float | None]:
    """Return p values after a correction, or unchanged without one.

    Args:
        p_values: a value for each comparison; None if there is no p.
        correction: ``"bonferroni"``, ``"holm"`` or None.
        comparisons: number of tests, systems times measures; at least ``len(p_values)``.

    Raises:
        InputError: fewer comparisons than p values.
    """
    if comparisons < len(p_values):
        raise InputError(f"{len(p_values)} tests cannot be fewer comparisons", got=comparisons)
    return list(p_values) if correction is None else CORRECTIONS[correction](p_values, comparisons)
