"""Queries that weights were trained on are recognised by id and text."""

from __future__ import annotations

from longrank.training.learned_queries import packed, seen
from longrank.types import Query


def queries(n: int, text: str = "cats purr") -> list[Query]:
    return [Query(f"q{number}", f"{text} {number}") for number in range(n)]


def test_queries_are_recognised_by_id_and_text() -> None:
    learned = packed(queries(300))
    assert learned is not None
    assert seen(learned, reversed(queries(301))) == [f"q{number}" for number in reversed(range(300))]
    assert seen(learned, queries(300, "dogs bark")) == []
    assert seen(learned, [Query("other", "cats purr 1"), Query("q2", " cats  purr 2\n")]) == ["q2"]
    assert seen(learned, queries(3, "dogs bark"), by_id=True) == ["q0", "q1", "q2"]
    assert seen(packed([]) or "", queries(3)) == []


def test_very_many_queries_are_not_recorded() -> None:
    assert packed(queries(50_001)) is None
    assert len(packed(queries(50_000)) or "") < 667_000
