"""Results carry the metadata of their documents, and facets count what a plain loop counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.index import Index
from longrank.index.filter_parsing import parse_filter
from longrank.ranking import fields
from longrank.ranking.fields import facets
from longrank.types import Query

ROWS: list[dict[str, Any]] = [
    {
        "id": f"d{n}",
        "text": ("the fox and the moon" if n % 2 else "a fox") if n != 7 else "nothing",
        "title": f"Title {n}",
        "year": 2000 + n % 4,
        "tags": ["x", "x", f"t{n % 3}"],
        "about": {"n": n},
        "by": "an\u001b[31mauthor",
    }
    for n in range(12)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.build(ROWS, tmp_path_factory.mktemp("fields") / "index")


def test_results_have_metadata(index: Index) -> None:
    for show in (None, ["by", "year"], []):
        for hit in longrank.search(index, "fox", pipeline="lexical", show=show):
            row = next(row for row in ROWS if row["id"] == hit.doc_id)
            kept = ["year", "tags", "about", "by"] if show is None else show
            assert list(hit.metadata.items()) == [(name, row[name]) for name in kept]
    with pytest.raises(InputError, match=r"no document has this field \(got 'yaer'\); did you mean 'year'"):
        longrank.search(index, "fox", pipeline="lexical", show=["yaer"])
    assert longrank.search(Index.build([("a", "fox")]), "fox", pipeline="bm25")[0].metadata == {}


def test_fields_to_show_may_be_a_text_with_commas(index: Index) -> None:
    listed, text = (
        longrank.search(index, "fox", pipeline="lexical", show=show) for show in (["year", "by"], "year, by")
    )
    assert [hit.metadata for hit in text] == [hit.metadata for hit in listed]
    with pytest.raises(InputError, match="yaer"):
        longrank.search(index, "fox", pipeline="lexical", show="yaer")


def test_the_command_shows_fields(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["search", str(index.path), "fox", "--pipeline", "bm25", "-k", "1"]
    assert main([*command, "--show", "year, by"]) == 0
    out = capsys.readouterr().out
    assert "\n    year 200" in out
    assert "\n    by an\\x1b[31mauthor" in out
    assert main(command) == 0
    assert "year" not in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["metadata"]) == ["year", "tags", "about", "by"]
    assert main([*command, "--json", "--show", "year"]) == 0
    assert list(json.loads(capsys.readouterr().out)["metadata"]) == ["year"]


@pytest.mark.parametrize("filter", [None, {"year": {"$lt": 2003}}])
def test_facets_count_documents_with_a_term_that_match(index: Index, filter: dict[str, Any] | None) -> None:
    rows = [row for row in ROWS if "fox" in row["text"] and (filter is None or row["year"] < 2003)]
    found = facets(index, Query("q", "Foxes and dogs"), ["year", "tags", "about"], filter and parse_filter(filter))
    for name in ("year", "tags"):
        values = [row[name] if isinstance(row[name], list) else [row[name]] for row in rows]
        counted = Counter(value for some in values for value in set(some))
        expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        assert [(entry["value"], entry["count"]) for entry in found[name]] == expected
    assert found["about"] == []


def test_facets_are_cut_at_the_most_frequent_values(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "FACET_VALUES", 2)
    assert facets(index, Query("q", "fox"), ["tags"]) == {
        "tags": [{"value": "x", "count": 11}, {"value": "t0", "count": 4}]
    }
    assert facets(index, Query("q", "nowhere"), ["tags"]) == {"tags": []}
    assert facets(index, Query("q", "fox"), []) == {}
    with pytest.raises(InputError, match="no document has this field"):
        facets(index, Query("q", "fox"), ["lang"])


def test_an_index_without_metadata_has_no_facets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the index holds no metadata"):
        facets(Index.build([("a", "fox")], tmp_path / "index"), Query("q", "fox"), ["year"])
