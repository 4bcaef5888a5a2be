"""Filters are parsed strictly, and choose the documents that a plain reading of the filter chooses."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longrank
from longrank.errors import InputError
from longrank.index import Index, filter_parsing
from longrank.index.filter_parsing import filter_json, parse_filter, parse_json, parse_where, parsed_filter
from longrank.types import Notes

BOOKS: list[dict[str, Any]] = [
    {"id": "a", "text": "x", "year": 2020, "lang": "en", "tags": ["x", "y"], "new": True},
    {"id": "b", "text": "x", "year": 2019.5, "lang": "de", "new": False},
    {"id": "c", "text": "x", "lang": "en", "tags": []},
    {"id": "d", "text": "x", "year": 1999, "tags": "y", "about": {"a": 1}},
    {"id": "e", "text": "x", "mixed": 1},
    {"id": "f", "text": "x", "mixed": "1"},
    {"id": "g", "text": "x", "mixed": True},
]


@pytest.fixture(scope="module")
def index() -> Index:
    return Index.build(BOOKS)


def matching(index: Index, filter: Any) -> str:
    return "".join(index.doc_ids(np.flatnonzero(index.mask(parse_filter(filter)))))


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({}, "abcdefg"),
        ({"lang": "en"}, "ac"),
        ({"lang": {"$eq": "en"}, "year": {"$gte": 2020}}, "a"),
        ({"year": {"$gte": 2019.5}}, "ab"),
        ({"year": {"$gt": 2019.5}}, "a"),
        ({"year": {"$lt": 2020}}, "bd"),
        ({"year": {"$lte": 1999}}, "d"),
        ({"year": {"$gt": 1999, "$lt": 2020}}, "b"),
        ({"year": 2020.0}, "a"),
        ({"year": {"$gt": 10**40}}, ""),
        ({"lang": {"$gt": "de"}}, "ac"),
        ({"lang": {"$ne": "en"}}, "bdefg"),
        ({"lang": {"$in": ["de", "fr"]}}, "b"),
        ({"lang": {"$nin": ["de", "fr"]}}, "acdefg"),
        ({"tags": "y"}, "ad"),
        ({"tags": {"$in": ["x"]}}, "a"),
        ({"tags": {"$exists": True}}, "acd"),
        ({"tags": {"$exists": False}}, "befg"),
        ({"none": {"$exists": True}}, ""),
        ({"tags": []}, "c"),
        ({"tags": {"$ne": []}}, "abdefg"),
        ({"none": []}, ""),
        ({"$or": [{"tags": []}, {"tags": {"$exists": False}}]}, "bcefg"),
        ({"about": {"$exists": True}}, "d"),
        ({"new": True}, "a"),
        ({"new": {"$ne": True}}, "bcdefg"),
        ({"mixed": 1}, "e"),
        ({"mixed": "1"}, "f"),
        ({"mixed": True}, "g"),
        ({"year": {"$not": {"$gte": 2000}}}, "cdefg"),
        ({"$not": {"lang": "en"}}, "bdefg"),
        ({"$or": [{"lang": "de"}, {"year": 1999}]}, "bd"),
        ({"$and": [{"lang": "en"}, {"$or": [{"year": 2020}, {"tags": "z"}]}]}, "a"),
    ],
)
def test_a_filter_chooses(index: Index, filter: dict[str, Any], expected: str) -> None:
    assert matching(index, filter) == expected


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        (["year"], r"^filter must be an object of fields \(got \[\"year\"\]\); e\.g\."),
        ({"year": {"$gtt": 1}}, r"^filter/year/\$gtt: unknown operator \(got '\$gtt'\); did you mean '\$gt'"),
        ({"$nor": [{}]}, r"^filter/\$nor: unknown operator here \(got '\$nor'\); did you mean '\$or'"),
        ({"$gte": 3}, r"^filter/\$gte: unknown operator here \(got '\$gte'\); it follows a field"),
        ({"year": {}}, r"^filter/year: no operator; one of \$eq"),
        ({"year": None}, r'^filter/year takes a number, a text, true or false \(got \'None\'\); {"\$exists": false}'),
        ({"year": [1]}, r"^filter/year takes a number"),
        ({"year": {"$gt": float("nan")}}, r"^filter/year/\$gt takes a number"),
        ({"new": {"$gt": False}}, r"^filter/new/\$gt takes a number or a text"),
        ({"year": {"$in": []}}, r"^filter/year/\$in takes a list of values"),
        ({"year": {"$in": [1, [2]]}}, r"^filter/year/\$in/1 takes a number"),
        ({"year": {"$exists": 1}}, r"^filter/year/\$exists takes true or false"),
        ({"year": {"$not": 3}}, r"^filter/year/\$not takes an object of operators"),
        ({"$and": []}, r"^filter/\$and takes a list of filters"),
        ({"$or": [{"year": 1}, 3]}, r"^filter/\$or/1 must be an object"),
        ({1: 2}, r"^filter/1: a field is a string"),
        ({"yaer": 1}, r"^filter/yaer: no document has this field \(got 'yaer'\); did you mean 'year'"),
        ({"year": "2020"}, r"^filter/year: no document has such a value \(got '2020'\); the field holds numbers"),
        ({"lang": {"$ne": 1}}, r"^filter/lang/\$ne: no document has such a value \(got 1\); the field holds text"),
    ],
)
def test_a_wrong_filter_is_refused_with_its_place(index: Index, filter: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        index.mask(parse_filter(filter))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: dict[str, Any] = {"year": 1}
    for _ in range(40):
        deep = {"$not": deep}
    with pytest.raises(InputError, match="nested deeper than 30"):
        parse_filter(deep)
    monkeypatch.setattr(filter_parsing, "MAX_CONDITIONS", 3)
    monkeypatch.setattr(filter_parsing, "MAX_VALUES", 3)
    with pytest.raises(InputError, match=r"^filter/d: more than 3 conditions"):
        parse_filter(dict.fromkeys("abcd", 1))
    with pytest.raises(InputError, match="more than 3 values"):
        parse_filter({"a": {"$in": [1, 2, 3, 4]}})


@pytest.mark.parametrize(
    ("where", "filter"),
    [
        ("year>=2020", {"year": {"$gte": 2020}}),
        (" year < 2019.5 ", {"year": {"$lt": 2019.5}}),
        ("lang=en", {"lang": "en"}),
        ("lang == en", {"lang": "en"}),
        ("lang!=en", {"lang": {"$ne": "en"}}),
        ("lang in de, fr", {"lang": {"$in": ["de", "fr"]}}),
        ('mixed="1"', {"mixed": "1"}),
        ("new=true", {"new": True}),
    ],
)
def test_a_condition_is_a_filter(index: Index, where: str, filter: dict[str, Any]) -> None:
    assert np.array_equal(index.mask(parse_where(where)), index.mask(parse_filter(filter)))


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ('name in "a, b" ,c', ["a, b", "c"]),
        ('name in c,"a, b"', ["c", "a, b"]),
        (r'name in "say \"a, b\"","\"c"', ['say "a, b"', '"c']),
        ('name in "q" x,c', ['"q" x', "c"]),
        ('name in "open,c', ['"open', "c"]),
        ("name in c,,d,", ["c", "", "d", ""]),
        ("name in 2020 , true", [2020, True]),
    ],
)
def test_a_comma_within_a_quoted_text_separates_no_values(where: str, values: list[Any]) -> None:
    assert filter_json(None, [where]) == {"name": {"$in": values}}


@pytest.mark.parametrize(
    "where",
    [
        "lang<>en",
        "year=>2020",
        "lang != 'en'",
        "lang in [en,de]",
        'lang in ["en","de"]',
        "lang in (en, de)",
        "lang={a}",
    ],
)
def test_a_value_of_another_notation_is_refused(where: str) -> None:
    with pytest.raises(InputError, match=r"--where takes values without brackets.*'lang in en,de', 'lang != en' or"):
        parse_where(where)


def test_a_text_that_begins_with_a_bracket_is_quoted() -> None:
    assert filter_json(None, ['lang in "[en]","<de"']) == {"lang": {"$in": ["[en]", "<de"]}}
    assert filter_json(None, ['lang="(x)"']) == {"lang": {"$eq": "(x)"}}


DAYS = ["2020-05-05", "2020-05-06T00:00:00", "2020-05-06T23:59:59.5", "2020-05-06 10:00", "2020-05-06", "2020-05-07"]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("$lt", "a"),
        ("$lte", "abcde"),
        ("$gt", "f"),
        ("$gte", "bcdef"),
        ("$eq", "bcde"),
        ("$ne", "afg"),
        ("$in", "bcde"),
    ],
)
def test_a_date_means_all_times_of_the_day(operator: str, expected: str) -> None:
    documents = [{"id": "abcdef"[n], "text": "x", "day": day} for n, day in enumerate(DAYS)]
    index = Index.build([*documents, {"id": "g", "text": "x"}])
    value: Any = datetime.date(2020, 5, 6)
    assert matching(index, {"day": {operator: [value] if operator == "$in" else value}}) == expected


@pytest.mark.parametrize("hour", [0, 9])
@pytest.mark.parametrize("before", ["T", " "])
@pytest.mark.parametrize("operator", ["$lt", "$lte", "$gt", "$gte", "$eq", "$ne"])
def test_times_compare_as_times_whatever_form_the_documents_have(operator: str, hour: int, before: str) -> None:
    """Texts of the same length after the date, so that letters compare as times do."""
    day = datetime.datetime(2020, 5, 6)
    times = [day + datetime.timedelta(hours=hours) for hours in (-25, -24, -1, 0, 1, 9, 10, 23, 24, 33)]
    documents = [
        {"id": f"{n}", "text": "x", "when": f"{time:%Y-%m-%d}{before}{time:%H:%M:%S}"} for n, time in enumerate(times)
    ]
    days = [{"id": f"-{n}", "text": "x", "when": f"{time:%Y-%m-%d}"} for n, time in enumerate(times[::3])]
    index, value = Index.build([*documents, *days]), day + datetime.timedelta(hours=hour)
    holds = {"$lt": "__lt__", "$lte": "__le__", "$gt": "__gt__", "$gte": "__ge__", "$eq": "__eq__", "$ne": "__ne__"}
    begins = [datetime.datetime.fromisoformat(row["when"]) for row in days]
    expected = "".join(
        row["id"]
        for row, time in zip([*documents, *days], [*times, *begins], strict=True)
        if getattr(time, holds[operator])(value)
    )
    for form in (value, np.datetime64(value, "ns"), value.isoformat(), f"{value:%Y-%m-%d %H:%M:%S}"):
        assert matching(index, {"when": {operator: form}}) == expected


@pytest.mark.parametrize("value", ["2020-05-06", "2020-05-06T10:00:00", "2020-05-06 00:00:00"])
def test_every_text_is_before_or_after_or_equal_to_a_date_or_a_time(value: str) -> None:
    ends = ["\t", "", " 10:00:00", " v2", "-draft", ".md", ", rev", "T10:00:00", "X", "Z", "_x"]
    days = [f"2020-05-0{day}{end}" for day in (5, 6, 7) for end in ends]
    index = Index.build([{"id": f"{n:02}", "text": "x", "name": day} for n, day in enumerate(days)])
    below, equal, above = (index.mask(parse_filter({"name": {operator: value}})) for operator in ("$lt", "$eq", "$gt"))
    assert (below.astype(int) + equal + above == 1).all()
    assert (index.mask(parse_filter({"name": {"$gte": value}})) == ~below).all()
    assert (index.mask(parse_filter({"name": {"$lte": value}})) == ~above).all()
    assert above[days.index("2020-05-06-draft")]


def test_values_of_numpy_and_sets_are_values(index: Index) -> None:
    assert matching(index, {"year": np.int64(2020)}) == "a"
    assert (
        matching(index, {"lang": {"$in": {"de", "fr"}}}) == matching(index, {"lang": {"$in": np.array(["de"])}}) == "b"
    )
    assert matching(index, {"year": {"$in": range(1990, 2000)}}) == "d"
    with pytest.raises(InputError, match=r"takes a number, a text, true or false .got 'inf'"):
        parse_filter({"year": float("inf")})


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        (
            {"year": {"$gte": 2000}},
            ["documents whose 'year' is true or false and text, not numbers as in the filter: 3"],
        ),
        (
            {"year": {"$ne": "2001"}},
            ["documents whose 'year' is true or false and numbers, not text as in the filter: 2"],
        ),
        ({"$or": [{"year": 2000}, {"year": "2001"}, {"year": True}]}, []),
        (
            {"$and": [{"lang": "en"}, {"year": {"$in": ["2001", 2000]}}]},
            ["documents whose 'year' is true or false, not numbers and text as in the filter: 1"],
        ),
        ({"year": {"$exists": True}, "lang": "en"}, []),
    ],
)
def test_documents_whose_values_are_of_another_kind_are_noted(
    filter: dict[str, Any], said: list[str], tmp_path: Path
) -> None:
    years = [2000, "2000", [2001, "2001"], True, ["2002"], [], None]
    rows = [{"id": str(n), "text": "x", "year": year, "lang": "en"} for n, year in enumerate(years)]
    index = Index.build(rows, tmp_path / "index")
    found = longrank.search(index, "x", filter=filter).notes.lines()
    assert [line for line in found if "whose" in line] == said


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        ({"lang": "no"}, ["no document matches the filter"]),
        ({"lang": {"$ne": "no"}}, ["every document matches the filter"]),
        ({"lang": "en"}, []),
    ],
)
def test_a_filter_that_restricts_nothing_or_leaves_nothing_is_noted(
    index: Index, filter: dict[str, Any], said: list[str]
) -> None:
    notes = Notes()
    longrank.retrieve(index, ["x"], filter=filter, notes=notes)
    assert [line for line in notes.lines() if "matches the filter" in line] == said
    assert [line for line in longrank.search(index, "x", filter=filter).notes.lines() if "matches" in line] == said


@pytest.mark.parametrize("where", ["", "year", "year>", ">=3", "year ~ 3"])
def test_a_wrong_condition_is_refused(where: str) -> None:
    with pytest.raises(InputError, match="--where takes FIELD"):
        parse_where(where)


def test_json_is_strict(index: Index) -> None:
    assert np.array_equal(index.mask(parse_json('{"lang": "en"}')), index.mask(parse_filter({"lang": "en"})))
    for text, message in (('{"a": 1, "a": 2}', "key occurs twice"), ("{", "--filter is not JSON"), ("[]", "an object")):
        with pytest.raises(InputError, match=message):
            parse_json(text)


def test_all_given_filters_must_match(index: Index) -> None:
    assert parsed_filter() is None
    both = parsed_filter('{"lang": "en"}', ["year>2000", "new=true"])
    assert both is not None
    assert index.doc_ids(np.flatnonzero(index.mask(both))) == ["a"]


def test_an_index_without_metadata_refuses_a_filter() -> None:
    with pytest.raises(InputError, match="the index holds no metadata"):
        Index.build([("a", "x")]).mask(parse_filter({"year": 1}))


# --- a plain reading of filters -------------------------------------------------------------------

VALUES = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", "ab"]), st.booleans(), st.sampled_from([0.5, -1.0]))
FIELDS = st.sampled_from(["p", "q"])
CONDITIONS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), VALUES),
    st.tuples(
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), VALUES.filter(lambda value: not isinstance(value, bool))
    ),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(VALUES, min_size=1, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
)
FILTERS = st.recursive(
    st.builds(lambda field, condition: {field: dict([condition])}, FIELDS, CONDITIONS),
    lambda parts: st.one_of(
        st.builds(lambda some: {"$and": some}, st.lists(parts, min_size=1, max_size=3)),
        st.builds(lambda some: {"$or": some}, st.lists(parts, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, parts),
    ),
    max_leaves=5,
)


def plain(filter: dict[str, Any], record: dict[str, Any]) -> bool:
    return all(_holds(key, value, record) for key, value in filter.items())


def _holds(key: str, value: Any, record: dict[str, Any]) -> bool:
    if key == "$not":
        return not plain(value, record)
    if key in ("$and", "$or"):
        return (all if key == "$and" else any)(plain(part, record) for part in value)
    [(operator, operand)] = value.items()
    if operator == "$exists":
        return (key in record) == operand
    if operator in ("$ne", "$nin"):
        return not _holds(key, {"$eq" if operator == "$ne" else "$in": operand}, record)
    held = record.get(key, [])
    return any(_compares(item, operator, operand) for item in (held if isinstance(held, list) else [held]))


def _kind(value: Any) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


def _compares(item: Any, operator: str, operand: Any) -> bool:
    if operator == "$in":
        return any(_compares(item, "$eq", one) for one in operand)
    if _kind(item) is not _kind(operand):
        return False
    return {
        "$eq": lambda: item == operand,
        "$gt": lambda: item > operand,
        "$gte": lambda: item >= operand,
        "$lt": lambda: item < operand,
        "$lte": lambda: item <= operand,
    }[operator]()


@pytest.fixture(scope="module")
def mixed() -> tuple[Index, list[dict[str, Any]]]:
    """Documents with values of all kinds in both fields, some absent, some lists."""
    rng = np.random.default_rng(5)
    pool = [-3, -1, 0, 1, 2, 3, 0.5, -1.0, "a", "b", "ab", True, False]
    records = []
    for _ in range(60):
        record: dict[str, Any] = {}
        for field in "pq":
            n = int(rng.integers(0, 4))
            values = [pool[i] for i in rng.integers(0, len(pool), max(n, 1))]
            if n:
                record[field] = values[0] if n < 3 else values
        records.append(record)
    return Index.build([{"id": f"d{i}", "text": "x", **record} for i, record in enumerate(records)]), records


@settings(max_examples=150, deadline=None)
@given(FILTERS)
def test_masks_equal_a_plain_reading(mixed: tuple[Index, list[dict[str, Any]]], filter: dict[str, Any]) -> None:
    index, records = mixed
    assert index.mask(parse_filter(filter)).tolist() == [plain(filter, record) for record in records]
