"""Make random folds: nearly equal parts of the queries, each tested once; groups of queries stay together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from longrank.draws import digest
from longrank.errors import InputError
from longrank.formats.folds import Fold, open_folds
from longrank.types import Notes

Folds: TypeAlias = Mapping[str, Fold] | None


def make_folds(
    query_ids: Sequence[str], n: int, seed: int, group_of: Mapping[str, str] | None = None
) -> dict[str, Fold]:
    """Return `n` folds of nearly equal size; fold i tests part i, its dev queries are the next part, train the others.

    Groups go to the smallest part so far, the largest first; groups of equal size in seeded order. The part of a query
    depends on the ids, not on their order.

    Args:
        query_ids: different ids.
        n: number of parts. With two, each is the dev part of the other, and there are no train queries.
        seed: another seed gives other folds.
        group_of: query_id -> group, such as the article that it asks about; queries of a group stay together. None:
            each query is a group.

    Raises:
        InputError: fewer than 2 folds, more folds than groups, or a query without a group.
    """
    groups = _groups(query_ids, group_of)
    if not 2 <= n <= len(groups):
        kind = "queries" if group_of is None else "groups of queries"
        raise InputError(
            f"{len(groups)} {kind} can make between 2 and {len(groups)} folds", about=("queries", "qrels"), got=n
        )
    parts: list[list[str]] = [[] for _ in range(n)]
    for name in sorted(groups, key=lambda name: (-len(groups[name]), digest(seed, name))):
        min(parts, key=len).extend(groups[name])
    train = [tuple(q for j in range(n) if j not in (i, (i + 1) % n) for q in parts[j]) for i in range(n)]
    return {f"s{i + 1}": Fold(train[i], tuple(parts[(i + 1) % n]), tuple(parts[i])) for i in range(n)}


def read_or_make_folds(source: Any, query_ids: Sequence[str], seed: int, notes: Notes) -> tuple[Folds, Folds]:
    """Return the folds of a file or of values in memory, or that many new folds; and again the folds that are new.

    Raises:
        InputError: as `open_folds` and `make_folds`.
    """
    if isinstance(source, int):
        made = make_folds(query_ids, source, seed)
        return made, made
    return (None if source is None else open_folds(source, notes)), None


def _groups(query_ids: Sequence[str], group_of: Mapping[str, str] | None) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for query_id in sorted(query_ids):
        if group_of is not None and query_id not in group_of:
            raise InputError("query has no group", about=("queries",), got=query_id)
        groups.setdefault(query_id if group_of is None else group_of[query_id], []).append(query_id)
    return groups
