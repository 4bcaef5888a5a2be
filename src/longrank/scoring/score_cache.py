"""Cache of passage scores in a file, shared by runs.

    key     SHA-256 of the scorer's fingerprint, the query's text and the passage's text as the scorer reads it; and
            of the precision, where the program lets PyTorch round float32 products
    value   the score, float32; whether the text was cut

The same query and text have the same entry in any document, collection or run. Only passages without an entry are read,
so batches, and with them the last bits of a score, depend on the cache. So a run with a score cache has another
fingerprint, and evidence written without a cache cannot be resumed with it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from longrank.errors import InputError
from longrank.networks.inference import rounding
from longrank.protocols import PassageScorer, PassageScores, ScoringTask
from longrank.storage.key_values import KeyValues
from longrank.types import Notes

CACHED = " with score cache"
"""End of the fingerprint of a scorer with a score cache."""
_VALUE = struct.Struct("<f?")


@runtime_checkable
class Cacheable(PassageScorer, Protocol):
    """A passage scorer that reads query and passage together, so that a cache saves time."""

    reads_pairs: bool

    def cuts_query(self, query: str) -> bool:
        """Say whether the query is cut."""
        ...


class _Score(NamedTuple):
    score: float
    truncated: bool


class ScoreCache:
    """A passage scorer that reads scores from a file and computes only missing ones.

    The scores of a call are stored together at its end, so an interrupted and resumed run gives the bytes of an
    undisturbed run. If two processes score the same passage, both use the score that was stored first.

    Args:
        scorer: computes missing scores.
        path: the file; created if missing.
        notes: counts passages with and without an entry.

    Attributes:
        scorers: the scorer.

    Raises:
        InputError: the scorer is not `Cacheable`, or the file is not a score cache.
        IntegrityError: the file is damaged.
    """

    needs_model, scores_documents = True, False

    def __init__(self, scorer: PassageScorer, path: Path, notes: Notes) -> None:
        if not isinstance(scorer, Cacheable):
            raise InputError(
                "a score cache needs a scorer that reads query and passage together",
                got=scorer.fingerprint.partition(" ")[0],
                fix="leave it out; vectors of a bi-encoder can be kept in the index (longrank index --vectors)",
            )
        self._scorer, self._notes, self._file = scorer, notes, KeyValues(path, "score cache")
        self.scorers = (scorer,)
        self.unit = scorer.unit
        self.fingerprint = scorer.fingerprint + CACHED

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the scores of each task; missing ones are computed and stored.

        Raises:
            LongRankError: as the scorer; or the file cannot be read or written, or is damaged.
        """
        keys = [list(self._keys(task)) for task in tasks]
        known = _decoded(self._file.get({key for own in keys for key in own}))
        n_passages, n_known = sum(map(len, keys)), sum(key in known for own in keys for key in own)
        known |= _decoded(self._file.add(self._computed(tasks, keys, known)))
        self._notes.add("passages whose scores came from the score cache", count=n_known)
        self._notes.add("passages whose scores were not in the score cache", count=n_passages - n_known)
        return [_as_scores([known[key] for key in own]) for own in keys]

    def cuts_query(self, query: str) -> bool:
        """Say whether the query is cut."""
        return self._scorer.cuts_query(query)

    def _computed(
        self, tasks: Sequence[ScoringTask], keys: Sequence[Sequence[bytes]], known: Mapping[bytes, _Score]
    ) -> dict[bytes, bytes]:
        """Compute the missing scores, each text once; return the entries to store."""
        missing, missing_keys, seen = [], [], set(known)
        for task, own in zip(tasks, keys, strict=True):
            fresh = {key: n for n, key in reversed([*enumerate(own)]) if key not in seen}
            chosen = sorted(fresh.values())
            if chosen:
                passages, texts = [task.passages[n] for n in chosen], [task.texts[n] for n in chosen]
                missing.append(task._replace(passages=tuple(passages), texts=tuple(texts)))
                missing_keys += [own[n] for n in chosen]
            seen |= fresh.keys()
        results = self._scorer.score(missing) if missing else []
        values = (
            _VALUE.pack(*pair) for result in results for pair in zip(result.scores, result.truncated, strict=True)
        )
        return dict(zip(missing_keys, values, strict=True))

    def _keys(self, task: ScoringTask) -> Iterator[bytes]:
        begun = hashlib.sha256()
        for text in (f"{self._scorer.fingerprint}{rounding()}", task.query.text):
            begun.update(_delimited(text))
        for text in task.texts:
            digest = begun.copy()
            digest.update(_delimited(text))
            yield digest.digest()


def _decoded(entries: Mapping[bytes, bytes]) -> dict[bytes, _Score]:
    return {key: _Score(*_VALUE.unpack(value)) for key, value in entries.items()}


def _delimited(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(8, "little") + raw


def _as_scores(entries: Sequence[_Score]) -> PassageScores:
    scores = np.array([entry.score for entry in entries], dtype=np.float32)
    return PassageScores(scores, np.array([entry.truncated for entry in entries], dtype=np.bool_))
