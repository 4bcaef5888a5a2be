"""Record the queries that weights were trained on, and refuse weights that have seen a fold's test queries."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.storage import digest_of
from longrank.types import Query

LEARNED = "learned"
"""Key of a training: its training and validation queries, as `packed`."""
_BYTES = 5  # of each digest: 40 bits; a million pairs of different queries are equal with p 1e-6
_MOST = 50_000  # queries that are recorded: two thirds of a megabyte in each description and evidence file


def packed(queries: Iterable[Query]) -> str | None:
    """Return a text that `seen` compares queries with; None of more than 50,000 queries."""
    recorded = list(queries)
    digests = sorted(digest for query in recorded for digest in (_digest(query.query_id), _whole(query)))
    return b64encode(b"".join(digests)).decode() if len(recorded) <= _MOST else None


def seen(learned: str, queries: Iterable[Query], *, by_id: bool = False) -> list[str]:
    """Return the ids of queries that are among the packed queries: of equal id and text, or of equal id alone."""
    content = b64decode(learned)
    known = {content[start : start + _BYTES] for start in range(0, len(content), _BYTES)}
    return [query.query_id for query in queries if (_digest(query.query_id) if by_id else _whole(query)) in known]


def _whole(query: Query) -> bytes:
    return _digest(f"{query.query_id}\n{' '.join(query.text.split())}")


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()[:_BYTES]


def check_unseen(
    lineage: Sequence[Mapping[str, str]],
    folds: Mapping[str, Fold],
    queries: Mapping[str, Query],
    judged: str,
    *,
    noun: str,
    place: Path,
) -> None:
    """Refuse weights that learned from test queries of a fold.

    Args:
        lineage: trainings of the weights (`longrank.networks.trainings.lineage_of`).
        folds: the folds to test.
        queries: query_id -> query.
        judged: digest of all judgments. A training by the same judgments has queries of the same ids, also by other
            fields of the topics. Trainings by earlier versions and those on more than 50,000 queries are compared by
            digests of the judgments and of the fold.
        noun: names the weights in messages.
        place: folder of the weights.

    Raises:
        InputError: such weights.
    """
    for name, fold in folds.items():
        fix = f"take another {noun}; if each fold has its own, choose the fold with --fold {name}"
        test = [queries[query_id] for query_id in fold.test]
        for training in lineage:
            is_judged_alike = training["qrels"] == judged
            if LEARNED in training:
                if known := seen(training[LEARNED], test, by_id=is_judged_alike):
                    what = f"the {noun} learned from {len(known)} of the {len(test)} test queries of fold '{name}'"
                    raise InputError(what, path=place, got=known[0], fix=fix)
            elif test and is_judged_alike and training["fold"] != digest_of(fold._asdict()):
                what = f"the {noun} was trained on another fold of these judgments, so it may have seen the test "
                raise InputError(f"{what}queries of fold '{name}'", path=place, fix=fix)
