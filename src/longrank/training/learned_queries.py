"""Record the queries that weights were trained on, and refuse weights that have seen a fold's test queries."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.storage import digest_of
from longrank.types import Qrels, Query

LEARNED = "learned"
"""Key of a training: its training and validation queries, as `packed`."""
_BYTES = 5  # of each query's digest: 40 bits; a million pairs of different queries are equal with p 1e-6
_MOST = 50_000  # queries that are recorded: a third of a megabyte in each description and evidence file


def packed(queries: Iterable[Query]) -> str | None:
    """Return a text that `seen` compares queries with; None of more than 50,000 queries."""
    digests = sorted(map(_digest, queries))
    return b64encode(b"".join(digests)).decode() if len(digests) <= _MOST else None


def seen(learned: str, queries: Iterable[Query]) -> list[str]:
    """Return the ids of queries, with equal id and text, that are among the packed queries."""
    content = b64decode(learned)
    known = {content[start : start + _BYTES] for start in range(0, len(content), _BYTES)}
    return [query.query_id for query in queries if _digest(query) in known]


def _digest(query: Query) -> bytes:
    return sha256(f"{query.query_id}\n{' '.join(query.text.split())}".encode()).digest()[:_BYTES]


def check_unseen(
    lineage: Sequence[Mapping[str, str]],
    folds: Mapping[str, Fold],
    queries: Mapping[str, Query],
    qrels: Qrels,
    *,
    noun: str,
    place: Path,
) -> None:
    """Refuse weights that learned from test queries of a fold.

    Args:
        lineage: trainings of the weights (`longrank.models.description.lineage_of`).
        folds: the folds to test.
        queries: query_id -> query.
        qrels: all judgments. Trainings by earlier versions and those on more than 50,000 queries are compared by
            digests of the judgments and of the fold.
        noun: names the weights in messages.
        place: folder of the weights.

    Raises:
        InputError: such weights.
    """
    for name, fold in folds.items():
        fix = f"take a {noun} that did not; if each fold has its own, choose the fold with --fold {name}"
        test = [queries[query_id] for query_id in fold.test]
        for training in lineage:
            if LEARNED in training:
                if known := seen(training[LEARNED], test):
                    what = f"the {noun} learned from {len(known)} of the {len(test)} test queries of fold '{name}'"
                    raise InputError(what, path=place, got=known[0], fix=fix)
            elif test and training["qrels"] == digest_of(qrels) and training["fold"] != digest_of(fold._asdict()):
                what = f"the {noun} was trained on another fold of these judgments, so it may have seen the test "
                raise InputError(f"{what}queries of fold '{name}'", path=place, fix=fix)
