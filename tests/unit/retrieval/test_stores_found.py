"""Scores of a store and the order in which it returns documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError, MissingExtra
from longrank.formats.records import Record
from longrank.retrieval.stores.found import scored
from longrank.retrieval.stores.payloads import Hit, records_of_hits
from longrank.retrieval.stores.postgres_settings import PostgresSettings
from longrank.retrieval.stores.settings import StoreSettings, settings_of
from longrank.types import Notes

PLACE = Path("table pages")


def rows(*scores: float | None) -> list[tuple[Record, float | None]]:
    return [(Record(f"d{n}", {"text": "t"}, n), score) for n, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("settings", "analyzer"),
    [
        ({"table": "t"}, "porter"),
        ({"table": "t", "language": "german"}, "german"),
        ({"table": "t", "language": "pg_catalog.simple"}, "none"),
        ({"table": "t", "language": "my_own"}, "porter"),
        ({"sql": "SELECT %(query)s", "language": "german"}, "porter"),
    ],
)
def test_texts_of_a_table_are_analysed_as_its_text_search_does(settings: dict[str, Any], analyzer: str) -> None:
    assert settings_of(PostgresSettings, {"url": "u", **settings}, Path("s.toml")).default_analyzer == analyzer


def test_texts_in_a_language_whose_packages_are_missing_are_read_as_english(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(PostgresSettings, {"url": "u", "table": "t", "language": "german"}, Path("s.toml"))

    def missing(name: str) -> None:
        raise MissingExtra(f"the analyzer '{name}'", "languages")

    monkeypatch.setattr("longrank.retrieval.stores.settings.check_analyzer", missing)
    assert settings.chosen_analyzer() == "porter"
    settings.note_analyzer(notes := Notes())
    assert notes.lines() == ["texts in german are read as English: pip install 'longrank[languages]'"]
    monkeypatch.undo()
    english = settings_of(PostgresSettings, {"url": "u", "table": "t"}, Path("s.toml"))
    english.note_analyzer(quiet := Notes())
    assert (english.chosen_analyzer(), quiet.lines()) == ("porter", [])


def test_an_unknown_analyzer_of_a_store_is_refused() -> None:
    with pytest.raises(InputError, match=r"s\.toml: .*unknown analyzer \(got 'klingon'"):
        settings_of(StoreSettings, {"analyzer": "klingon"}, Path("s.toml"))


@pytest.mark.parametrize("scores", [(3.0, 2.0, 2.0, 1.0), (1.0, 1.0), (5.0,), ()])
def test_scores_that_fall_are_kept(scores: tuple[float, ...]) -> None:
    found = scored(rows(*scores), PLACE, notes := Notes())
    assert [item.score for item in found] == [*scores]
    assert not notes.lines()


def test_without_scores_they_are_one_by_rank() -> None:
    assert [item.score for item in scored(rows(None, None, None), PLACE, Notes())] == [1, 1 / 2, 1 / 3]


@pytest.mark.parametrize("scores", [(0.9, None, 0.2), (None, 0.2), (0.9, None)])
def test_a_score_that_is_missing_beside_others_is_refused(scores: tuple[float | None, ...]) -> None:
    with pytest.raises(InputError, match=r"'d\d' is not a finite number; return a score for each document"):
        scored(rows(*scores), PLACE, Notes())


@pytest.mark.parametrize("scores", [(0.1, 0.4, 0.5, 0.9, 1.5, 1.7), (0.1, 0.1, 0.4, 0.5, 0.9, 0.9, 1.5, 1.7)])
def test_scores_that_never_fall_are_distances_and_refused(scores: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=r"^table pages: the scores grow from .*; return scores that fall"):
        scored(rows(*scores), PLACE, Notes())


@pytest.mark.parametrize("scores", [(2.0, 3.0, 1.0), (1.0, 2.0), (1.0, 1.0, 1.0000001), (1.0, 2.0, 2.0, 3.0, 4.0, 5.0)])
def test_scores_in_another_order_than_the_documents_are_counted(scores: tuple[float, ...]) -> None:
    scored(rows(*scores), PLACE, notes := Notes())
    assert notes.lines() == [
        "queries whose documents the store orders otherwise than by their scores, ranked by the scores: 1"
    ]


def test_documents_may_lack_the_text_once_one_has_had_it() -> None:
    settings, seen = StoreSettings(text="body"), set[str]()
    with pytest.raises(InputError, match=r"no document has this field \(got 'body'\).*documents have title"):
        records_of_hits([Hit(1, {"title": "t"})], settings, None, PLACE, seen)
    for payload, text in (({"body": "words"}, "words"), ({"title": "t"}, "")):
        ((record, _),) = records_of_hits([Hit(1, payload)], settings, None, PLACE, seen)
        assert record.values["text"] == text


def test_parts_of_a_text_are_lines_and_another_value_is_refused_by_its_field_and_document() -> None:
    settings, hits = StoreSettings(text="page.body"), [Hit(7, {"page": {"body": ["First part.", None, "Second."]}})]
    ((record, _),) = records_of_hits(hits, settings, None, PLACE, set())
    assert record.values["text"] == "First part.\nSecond."
    with pytest.raises(InputError, match=r"^table pages: the field page\.body of document 8 is no text \(got 12\)"):
        records_of_hits([Hit(8, {"page": {"body": 12}})], settings, None, PLACE, set())
