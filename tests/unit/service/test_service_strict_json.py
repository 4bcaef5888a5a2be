"""Strict JSON bodies: refusals of values that Python's parser accepts."""

from __future__ import annotations

from typing import Any

import pytest

from longrank.service.errors import Refusal
from longrank.service.strict_json import parse


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param(b"", "bad_json", "a value is missing at column 1 of line 1", id="empty"),
        pytest.param(b'{"query": "x"', "bad_json", "a comma is missing at column 14 of line 1", id="cut"),
        pytest.param(b'{\n"query" 1}', "bad_json", "a colon is missing at column 9 of line 2", id="second-line"),
        pytest.param(b"{'query': 1}", "bad_json", "a key in double quotes is missing", id="single-quotes"),
        pytest.param(b"{} {}", "bad_json", "more text follows its end", id="two-values"),
        pytest.param(b'{"k": 1, "k": 2}', "bad_json", "key occurs twice in an object (got 'k')", id="twice"),
        pytest.param(b'{"a": [{"k": 1, "\\u006b": 2}]}', "bad_json", "key occurs twice", id="twice-escaped"),
        pytest.param(b'{"k": NaN}', "bad_json", "is not a JSON number (got 'NaN')", id="nan"),
        pytest.param(b'{"k": -Infinity}', "bad_json", "is not a JSON number", id="infinity"),
        pytest.param(b'{"k": 1e999}', "bad_json", "number is too large", id="overflow"),
        pytest.param(b'{"k": ' + b"7" * 5000 + b"}", "bad_json", "number of 5000 digits", id="digits"),
        pytest.param(b'{"k": 0.' + b"7" * 5000 + b"}", "bad_json", "number of 5002 digits", id="digits-behind-point"),
        pytest.param(b"[" * 101 + b"]" * 101, "bad_json", "nested deeper than 100", id="nesting"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "bad_json", "nested deeper than 100", id="recursion"),
        pytest.param(b'{"query": "\\ud800"}', "bad_json", "lone surrogate", id="lone-surrogate"),
        pytest.param(b'{"\\udfff": 1}', "bad_json", "lone surrogate", id="lone-surrogate-in-a-key"),
        pytest.param(b'{"query": "a\nb"}', "bad_json", "a control character", id="raw-newline"),
        pytest.param(b'{"query": "\xff"}', "bad_utf8", "not UTF-8 at byte 11", id="invalid-utf-8"),
        pytest.param(b'{"query": "\xed\xa0\x80"}', "bad_utf8", "not UTF-8 at byte 11", id="utf-8-of-a-surrogate"),
        pytest.param('{"query": 1}'.encode("utf-16"), "bad_utf8", "not UTF-8 at byte 0", id="utf-16"),
        pytest.param(b"\xef\xbb\xbf{}", "bad_json", "begins with a byte order mark", id="byte-order-mark"),
    ],
)
def test_what_is_no_strict_json_is_refused_with_400(body: bytes, code: str, message: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse(body)
    assert (caught.value.status, caught.value.code) == (400, code)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b' {"a": [1, -2.5e3, true, null]}\r\n', {"a": [1, -2500.0, True, None]}),
        (b'"\\ud83d\\ude00 \xf0\x9f\x98\x80"', "\U0001f600 \U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"[" * 100 + b"]" * 100, None),
        (b'{"k": ' + b"7" * 1000 + b"}", {"k": int("7" * 1000)}),
    ],
)
def test_what_is_strict_json_is_read(body: bytes, value: Any) -> None:
    found = parse(body)
    assert value is None or found == value


def test_hostile_keys_are_shown_escaped() -> None:
    with pytest.raises(Refusal) as caught:
        parse(b'{"\\u001b[31m\\u202e": 1, "\\u001b[31m\\u202e": 2}')
    assert "\x1b" not in caught.value.message
    assert "\u202e" not in caught.value.message
