from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.formats.jsonl import id_of, parse_object, read_json, read_objects
from longrank.formats.lines import Line
from longrank.types import Notes

PATH = Path("docs.jsonl")


def parsed(text: str, notes: Notes | None = None, *, ended: bool = True) -> dict[str, Any]:
    return parse_object(Line(7, text, ended), PATH, Notes() if notes is None else notes)


def nested(depth: int) -> str:
    """An object that holds an array in an array ...; `depth` levels in all."""
    return '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param("{'a': 1}", "is not JSON: a key in double quotes is missing at column 2", id="case-41"),
        pytest.param('{"a": 1} {"b": 2}', "is not JSON: more text follows its end at column 10", id="case-41-two"),
        pytest.param('[{"a": 1},', "looks like JSON, not JSONL", id="case-42"),
        pytest.param("[]", "looks like JSON, not JSONL", id="case-42-empty"),
        pytest.param('"a"', "is not a JSON object", id="string"),
        pytest.param("null", "is not a JSON object", id="null"),
        pytest.param('{"a": 1, "a": 1}', "key occurs twice in an object (got 'a')", id="case-46"),
        pytest.param('{"b": {"a": 1, "a": 2}}', "key occurs twice", id="case-46-inside"),
        pytest.param('{"\\ud800": 1, "\\ud801": 1}', "key occurs twice", id="case-46-surrogates"),
        pytest.param('{"a": NaN}', "is not a JSON number (got 'NaN')", id="case-51"),
        pytest.param('{"a": -Infinity}', "is not a JSON number", id="case-51-infinity"),
        pytest.param('{"a": 1e999}', "number is too large", id="case-51-overflow"),
        pytest.param(nested(101), "nested deeper than 100", id="case-52"),
        pytest.param('{"a":' * 101 + "1" + "}" * 101, "nested deeper than 100", id="case-52-objects"),
        pytest.param(nested(100_000), "nested deeper than 100", id="case-52-deep"),
        pytest.param('{"a": ' + "1" * 5000 + "}", "number of 5000 digits", id="case-53"),
        pytest.param('{"a": 0.' + "1" * 5000 + "}", "number of 5002 digits", id="case-53-fraction"),
        pytest.param('{"a": 1_000}', "is not JSON", id="underscore"),
        pytest.param(
            '{"a": "\t"}',
            "is not JSON: a control character that is not escaped as \\n, \\t or alike at",
            id="control",
        ),
    ],
)
def test_what_json_lets_through_is_refused_with_its_line(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert str(caught.value).startswith("docs.jsonl:7: ")
    assert what in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_hundred_levels_are_accepted_and_brackets_in_strings_are_none() -> None:
    assert parsed(nested(100))["a"] != []
    assert parsed('{"a": "' + "[" * 500 + '"}') == {"a": "[" * 500}
    assert len(parsed('{"a": [' + ",".join(["[]"] * 500) + "]}")["a"]) == 500


def test_a_cut_last_line_looks_truncated() -> None:
    with pytest.raises(InputError, match="the file looks truncated"):
        parsed('{"a": "b', ended=False)
    with pytest.raises(InputError) as caught:
        parsed('{"a": "b')
    assert "truncated" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        parsed("<topics></topics>", ended=False)  # not JSON at all
    assert "truncated" not in str(caught.value)


def test_case_54_lone_surrogates_become_u_fffd_and_are_counted() -> None:
    notes = Notes()
    value = parsed('{"a": "x\\ud800y", "b": ["\\uDFFF\\udfff"], "\\ud83d\\ude00": "\\ud83d\\ude00"}', notes)
    assert value == {"a": "x\ufffdy", "b": ["\ufffd\ufffd"], "\U0001f600": "\U0001f600"}
    assert notes["lone surrogates replaced by U+FFFD"] == 3


def test_an_escaped_backslash_is_no_surrogate() -> None:
    notes = Notes()
    assert parsed('{"a": "\\\\ud800"}', notes) == {"a": "\\ud800"}
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("record", "expected"),
    [({"_id": "7"}, "7"), ({"_id": 7}, "7"), ({"id": "x", "_id": "y"}, "y"), ({"id": "a/b:c"}, "a/b:c")],
)
def test_ids_are_strings_and_case_45_the_number_7_is_the_id_7(record: dict[str, Any], expected: str) -> None:
    assert id_of(record, ("_id", "id"), Line(7, "", True), PATH) == expected


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ({"text": "a"}, "no id; one of _id, id is needed"),
        ({"id": None}, "'id' is neither a string nor an integer"),
        ({"id": True}, "'id' is neither a string nor an integer"),
        ({"id": 7.0}, "'id' is neither a string nor an integer"),
        ({"id": ""}, "'id' is empty"),
        ({"id": "a b"}, "'id' holds white space (got 'a b')"),
        ({"id": "a\nb"}, "'id' holds white space (got 'a\\nb')"),
    ],
)
def test_an_unfit_id_is_refused(record: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError) as caught:
        id_of(record, ("_id", "id"), Line(7, "", True), PATH)
    assert str(caught.value).startswith(f"docs.jsonl:7: {what}")


def test_blank_lines_of_a_file_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"a": 1}\n\n  \n{"a": 2}\n')
    assert [(line.number, record["a"]) for line, record in read_objects(path, Notes())] == [(1, 1), (4, 2)]


def test_a_json_file_is_as_strict_and_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "folds.json"
    path.write_text('[\n 1,\n "a"]\n')
    assert read_json(path, Notes()) == [1, "a"]
    path.write_text('[\n 1,\n "a\n]\n')
    with pytest.raises(InputError, match=r"folds.json:3: is not JSON: a control character"):
        read_json(path, Notes())
    path.write_text("[\n 1,\n")
    with pytest.raises(InputError, match="is not JSON"):
        read_json(path, Notes())
    path.write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        read_json(path, Notes())
