"""Scores kept in a file for other runs: a passage that was scored for a query once is not read again.

    key     SHA-256 of the scorer's fingerprint, the query's text and the passage's text as the scorer reads it
    value   the score, float32; whether the text was cut

Scores are found by content: in whatever document, collection or run the same text comes again. Only unknown
passages are read, so the batches, and with them the last bits of a score, depend on what was known before. Hence the
fingerprint: evidence of a run with a score cache is not gone on with by one without.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from longrank.errors import InputError
from longrank.protocols import PassageScorer, PassageScores, ScoringTask
from longrank.storage.key_values import KeyValues
from longrank.types import Notes

_VALUE = struct.Struct("<f?")


@runtime_checkable
class Cacheable(PassageScorer, Protocol):
    """A passage scorer that is worth a cache: it reads query and passage together."""

    def count_cut_queries(self, tasks: Sequence[ScoringTask]) -> None:
        """Count the queries that are cut, without reading a passage."""
        ...

    def cuts_query(self, query: str) -> bool:
        """Say whether a part of the query is left out."""
        ...


class _Score(NamedTuple):
    score: float
    truncated: bool


class ScoreCache:
    """A passage scorer that asks another one only for what a file does not know.

    The scores of one call are stored together, or not at all if it does not end: a run that is interrupted and gone on
    with gives the bytes of an undisturbed one. Where two processes score the same passage, both use what came first.

    Args:
        scorer: reads what is not known.
        path: the file; made if it is not there.
        notes: counts what was known and what was not.

    Raises:
        InputError: the scorer is none that can be cached, or the file is something else.
        IntegrityError: the file is damaged.
    """

    needs_model, scores_documents = True, False

    def __init__(self, scorer: PassageScorer, path: Path, notes: Notes) -> None:
        if not isinstance(scorer, Cacheable):
            raise InputError(
                "a score cache is for scorers that read query and passage together",
                got=scorer.fingerprint.partition(" ")[0],
                fix="leave it out; vectors of a bi-encoder can be kept in the index (longrank index --vectors)",
            )
        self._scorer, self._notes, self._file = scorer, notes, KeyValues(path, "score cache")
        self.unit = scorer.unit
        self.fingerprint = f"{scorer.fingerprint} with score cache"

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the scores of each task: those known, and those that are computed and stored now.

        Raises:
            LongRankError: as the scorer; or the file cannot be read or written, or is damaged.
        """
        keys = [list(self._keys(task)) for task in tasks]
        known = _decoded(self._file.get({key for own in keys for key in own}))
        n_passages, n_found = sum(map(len, keys)), sum(key in known for own in keys for key in own)
        known |= _decoded(self._file.add(self._computed(tasks, keys, known)))
        self._notes.add("passages whose scores came from the score cache", count=n_found)
        self._notes.add("passages whose scores were not in the score cache", count=n_passages - n_found)
        return [_as_scores([known[key] for key in own]) for own in keys]

    def cuts_query(self, query: str) -> bool:
        """Say whether a part of the query is left out."""
        return self._scorer.cuts_query(query)

    def _computed(
        self, tasks: Sequence[ScoringTask], keys: Sequence[Sequence[bytes]], known: Mapping[bytes, _Score]
    ) -> dict[bytes, bytes]:
        """Let the scorer read what is not known, the same text once; return the entries to store."""
        asked, asked_keys, seen = [], [], set(known)
        for task, own in zip(tasks, keys, strict=True):
            fresh = {key: n for n, key in reversed([*enumerate(own)]) if key not in seen}
            chosen = sorted(fresh.values())
            if chosen:
                passages, texts = [task.passages[n] for n in chosen], [task.texts[n] for n in chosen]
                asked.append(task._replace(passages=tuple(passages), texts=tuple(texts)))
                asked_keys += [own[n] for n in chosen]
            seen |= fresh.keys()
        read = {task.query.query_id for task in asked}
        self._scorer.count_cut_queries([task for task in tasks if task.query.query_id not in read])
        results = self._scorer.score(asked) if asked else []
        values = (_VALUE.pack(*pair) for one in results for pair in zip(one.scores, one.truncated, strict=True))
        return dict(zip(asked_keys, values, strict=True))

    def _keys(self, task: ScoringTask) -> Iterator[bytes]:
        begun = hashlib.sha256()
        for text in (self._scorer.fingerprint, task.query.text):
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


def _as_scores(found: Sequence[_Score]) -> PassageScores:
    scores = np.array([one.score for one in found], dtype=np.float32)
    return PassageScores(scores, np.array([one.truncated for one in found], dtype=np.bool_))
