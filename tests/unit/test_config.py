from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field

from longrank.config import load_settings, override, read_toml, validated
from longrank.errors import InputError
from longrank.registries import lookup, suggestion


@pytest.mark.parametrize("given", [3, None, object(), [1], [None], b"a=1"])
def test_settings_that_are_no_texts_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"settings must be texts like 'final\.depth=50', or a mapping"):
        override({}, given)


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"a": np.int64(3), "b": np.float32(0.5), "c": [np.int64(1), np.array([2])], "d": np.bool_(True)}
    assert override({}, given) == {"a": 3, "b": 0.5, "c": [1, [2]], "d": True}


class Windows(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size_words: int = Field(default=150, ge=1)
    tail: Literal["keep", "drop"] = "keep"


class Named(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    windows: Windows = Windows()
    depth: int = 100
    many: list[Named] = []
    numbers: list[int] | None = None


def test_a_name_is_looked_up_and_a_string_entry_imported() -> None:
    assert lookup({"len": len}, "len", "function") is len
    assert lookup({"sqrt": "math:sqrt"}, "sqrt", "function")(9.0) == 3.0  # type: ignore[operator]


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        lookup({"maxp": 1, "sump": 2}, "maxpp", "aggregator")
    assert str(caught.value) == "unknown aggregator (got 'maxpp'); did you mean 'maxp'? (one of maxp, sump)"
    assert suggestion("zzz", ["maxp", "sump"]) == "one of maxp, sump"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = \n", "is not valid TOML: .*line 1"),
        (b"a = 1\na = 2\n", "is not valid TOML: .*line 2"),
        (b"a = '\xff'\n", "is not UTF-8"),
        (b"a = " + b"[" * 5000, "is nested too deep|is not valid TOML"),
    ],
)
def test_a_broken_toml_file_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_toml(path)


def test_a_toml_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.toml"):
        with pytest.raises(InputError, match="no such file"):
            read_toml(path)


def test_settings_are_overridden_and_the_original_kept() -> None:
    data = {"depth": 100, "a": {"b": {"c": 1}}}
    changed = override(data, ["depth=50", "a.b.c=2", "a.b.d=[1, 2]", "new.key=true", "name=bare word"])
    assert changed == {"depth": 50, "a": {"b": {"c": 2, "d": [1, 2]}}, "new": {"key": True}, "name": "bare word"}
    assert data == {"depth": 100, "a": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0.5", 0.5),
        ("'1'", "1"),
        ("1\nb = 2", "1\nb = 2"),
        ("[" * 5000, "[" * 5000),
        ('""', ""),
        ("20:40:20", "20:40:20"),
        ("2020-01-01", "2020-01-01"),
    ],
)
def test_a_value_is_toml_or_a_bare_word(text: str, value: object) -> None:
    assert override({}, [f"key={text}"]) == {"key": value}


def test_a_key_without_a_value_is_left_out() -> None:
    data = {"loop": {"steps": 3, "patience": 2}, "loss": [{}]}
    assert override(data, ["loop.patience=", "loss= "]) == {"loop": {"steps": 3}}
    quoted = {"stages": {"BM25+RM3": {"b": 0.6}, "a.b": 1}}
    assert override(quoted, ['stages."BM25+RM3".b=0.3', "stages.'a.b'=2"]) == {
        "stages": {"BM25+RM3": {"b": 0.3}, "a.b": 2}
    }
    assert override(quoted, ["stages.BM25+RM3.b=0.3"])["stages"]["BM25+RM3"] == {"b": 0.3}
    assert override({}, ["weights.O'Brien=1"]) == {"weights": {"O'Brien": 1}}
    assert override({}, ["#depth=5", "a.1.5=2"]) == {"#depth": 5, "a": {"1": {"5": 2}}}
    assert override({}, ["loop.patience=2", "loop.patience="]) == {"loop": {}}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("deptj=", "this key is not set, so it cannot be removed"),
        ("other.depth=", "this key is not set, so it cannot be removed"),
        ("depth", "--set takes key=value"),
        ("=3", "--set takes key=value"),
        ("depth.x=3", "'depth' holds a value, not a section"),
    ],
)
def test_a_wrong_assignment_is_refused(assignment: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        override({"depth": 100}, [assignment])


@pytest.mark.parametrize("text", [".5", "-.5", "2.", "True", "False"])
def test_numbers_as_python_writes_them_are_not_taken_for_texts(text: str) -> None:
    with pytest.raises(InputError, match=r"--set takes TOML values .*; TOML writes 0\.5, 1\.0, true and false"):
        override({}, [f"loop.rate={text}"])
    assert override({}, [f'loop.rate="{text}"']) == {"loop": {"rate": text}}


def test_right_settings_are_built() -> None:
    assert validated(Settings, {"windows": {"tail": "drop"}}, "x.toml").windows.tail == "drop"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"dept": 3}, "x.toml: unknown key (got 'dept'); did you mean 'depth'?"),
        ({"windows": {"sizewords": 3}}, "x.toml: unknown key (got 'windows.sizewords'); did you mean 'size_words'?"),
        ({"windows": {"size_words": "x"}}, "x.toml: windows.size_words: Input should be a valid integer"),
        ({"windows": {"size_words": 0}}, "x.toml: windows.size_words: Input should be greater than or equal to 1"),
        ({"windows": {"tail": "cut"}}, "x.toml: windows.tail: Input should be 'keep' or 'drop' (got 'cut')"),
        ({"windows": 3}, "x.toml: windows: Input should be a valid dictionary"),
        ({"many": {"name": "a"}}, "x.toml: many: Input should be a valid list; write [[many]], once for each"),
        (
            {"many": ["a"]},
            "x.toml: many.0: Input should be a valid dictionary or instance of Named (got 'a'); write [[many]]",
        ),
        ({"numbers": {"a": 1}}, "x.toml: numbers: Input should be a valid list"),
        ({"many": [{"nmae": "a"}]}, "x.toml: unknown key (got 'many.0.nmae'); did you mean 'name'?"),
    ],
)
def test_the_first_fault_is_one_line_that_names_the_key(data: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        validated(Settings, data, "x.toml")
    assert str(caught.value).startswith(message)


def test_a_section_that_is_a_value_is_shown_as_toml_writes_it() -> None:
    with pytest.raises(InputError, match=r"\(got 3\); write \[windows\] and its keys, or --set windows\.KEY=VALUE"):
        validated(Settings, {"windows": 3}, "x.toml")


def test_a_file_by_another_ending_is_told_from_an_unknown_name(tmp_path: Path) -> None:
    (tmp_path / "mine.tml").write_text("depth = 3")
    with pytest.raises(InputError) as caught:
        validated(Settings, {"numbers": {"a": 1}}, "x.toml")
    assert "[[" not in str(caught.value)
    with pytest.raises(InputError, match=r"unknown training .*; a settings file must end in \.toml; or one of "):
        load_settings(Settings, "training", tmp_path, str(tmp_path / "mine.tml"), ())
