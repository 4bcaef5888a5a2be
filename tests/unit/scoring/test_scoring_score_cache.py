from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from fakes import documents, index_of, queries
from longrank.errors import IntegrityError
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.scoring.score_cache import ScoreCache
from longrank.storage.key_values import KeyValues
from longrank.types import Notes, Run, ScoredDoc
from tiny_models import task

FOUND, FRESH = "passages whose scores came from the score cache", "passages whose scores were not in the score cache"


class Lengths:
    """Scores a text by its length, and in the last bits by how many are read at a time, as networks do."""

    needs_model, scores_documents, reads_pairs = True, False, True
    unit = "logit"

    def __init__(self, fingerprint: str = "lengths") -> None:
        self.fingerprint, self.read = fingerprint, list[str]()

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        texts = [text for task in tasks for text in task.texts]
        self.read += texts
        return [
            PassageScores(
                np.array([len(t) + len(texts) * 2**-12 for t in one.texts], dtype=np.float32),
                np.array([t.endswith("...") for t in one.texts]),
            )
            for one in tasks
        ]

    def cuts_query(self, query: str) -> bool:
        return False


def test_only_unknown_passages_are_read_and_the_same_text_once(tmp_path: Path) -> None:
    inner, notes = Lengths(), Notes()
    cache = ScoreCache(inner, tmp_path / "c", notes)
    first = cache.score([task("q", ["a", "bb...", "a"]), task("q", ["bb...", "ccc"], doc_id="other")])
    assert inner.read == ["a", "bb...", "ccc"]
    assert [one.scores.round(1).tolist() for one in first] == [[1, 5, 1], [5, 3]]
    assert [one.truncated.tolist() for one in first] == [[False, True, False], [True, False]]
    (again,) = cache.score([task("q", ["dddd", "ccc"], "q2")])
    assert inner.read[3:] == ["dddd"]
    assert again.scores[1].tobytes() == first[1].scores[1].tobytes()
    assert (notes[FOUND], notes[FRESH]) == (1, 6)


def test_another_query_text_or_another_scorer_is_unknown(tmp_path: Path) -> None:
    inner, other = Lengths(), Lengths("lengths of another kind")
    ScoreCache(inner, tmp_path / "c", Notes()).score([task("q", ["a"]), task("qa", [""]), task("q2", ["a"])])
    assert inner.read == ["a", "", "a"]
    ScoreCache(other, tmp_path / "c", Notes()).score([task("q", ["a"])])
    assert other.read == ["a"]


def test_scores_of_rounded_products_are_kept_apart(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    exact, rounded, again = Lengths(), Lengths(), Lengths()
    ScoreCache(exact, tmp_path / "c", Notes()).score([task("q", ["a"])])
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        ScoreCache(rounded, tmp_path / "c", Notes()).score([task("q", ["a"])])
    finally:
        torch.set_float32_matmul_precision(before)
    ScoreCache(again, tmp_path / "c", Notes()).score([task("q", ["a"])])
    assert (exact.read, rounded.read, again.read) == (["a"], ["a"], [])


def test_the_fingerprint_says_that_there_is_a_cache(tmp_path: Path) -> None:
    cache = ScoreCache(Lengths(), tmp_path / "c", Notes())
    assert (cache.unit, cache.fingerprint) == ("logit", "lengths with score cache")
    assert cache.score([]) == []


def test_a_score_whose_bits_have_changed_is_an_integrity_error(tmp_path: Path) -> None:
    import sqlite3

    cache = ScoreCache(Lengths(), tmp_path / "c", Notes())
    cache.score([task("q", ["a"])])
    for change in (b"\x00\x00\x00\x40\x00\x00\x00\x00\x00", b"", b"long" * 9):
        with closing(sqlite3.connect(tmp_path / "c")) as file, file:
            file.execute("UPDATE entries SET value = ?", (change,))
        with pytest.raises(IntegrityError, match="c: damaged; name another file"):
            cache.score([task("q", ["a"])])


def test_of_two_that_score_the_same_at_once_both_return_what_was_stored_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (ScoreCache(Lengths(), tmp_path / "c", Notes()) for _ in range(2))
    (first,) = one.score([task("q", ["a", "bb"])])
    monkeypatch.setattr(KeyValues, "get", lambda self, keys: {})  # it asked just before
    (late,) = other.score([task("q", ["bb"])])
    assert late.scores.tobytes() == first.scores[1:].tobytes()


def ranked(folder: Path, run: str, kill: str = "") -> None:
    """Rerank six queries in blocks of two with a cache; `kill` says where in the second block the process dies."""
    import os

    from longrank.ranking import opening

    class Dying(Lengths):
        calls = 0

        def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
            type(self).calls += 1
            if kill == "score" and self.calls == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().score(tasks)

    class DyingFile(KeyValues):
        def add(self, values):  # type: ignore[no-untyped-def]
            if kill == "within" and Dying.calls == 2:
                self._stored = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment,return-value,method-assign]
            found = super().add(values)
            if kill == "after" and Dying.calls == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(opening, "make_scorer", lambda *_, **__: Dying())
        patched.setattr("longrank.scoring.score_cache.KeyValues", DyingFile)
        index = index_of(documents(8), folder / "index") if not (folder / "index").exists() else None
        from longrank.index import Index

        pipeline = open_pipeline(
            index or Index.open(folder / "index"),
            "maxp",
            model="any",
            assignments=["final.block_queries=2"],
            score_cache=folder / f"{run}.cache",
        )
        asked = queries(6)
        first = Run(
            "t", [ScoredDoc(q.query_id, f"d{n:03d}", 9.0 - n) for m, q in enumerate(asked) for n in range(m, 8)]
        )
        rerank(pipeline, asked, first, folder / f"{run}.evidence", tag="t", notes=Notes())


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("where", ["score", "within", "after"])
def test_a_run_that_was_killed_and_gone_on_with_gives_the_bytes_of_an_undisturbed_one(
    tmp_path: Path, where: str
) -> None:
    """Killed while passages are read, between insert and commit, and between the cache's commit and the evidence's."""
    ranked(tmp_path, "undisturbed")
    script = f"""
import sys; sys.path[:0] = {sys.path!r}
from pathlib import Path
from test_scoring_score_cache import ranked
ranked(Path({str(tmp_path)!r}), "killed", {where!r})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    half = (tmp_path / "killed.evidence").read_bytes()
    ranked(tmp_path, "killed")
    whole = (tmp_path / "killed.evidence").read_bytes()
    assert whole == (tmp_path / "undisturbed.evidence").read_bytes()
    assert len(half) < len(whole)
