"""Whatever bytes a file holds, a reader returns or raises InputError, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.formats.expansions import read_expansions
from longrank.formats.folds import read_folds
from longrank.formats.queries import QUERY_FORMATS, read_queries
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes

READERS: dict[str, Callable[[Path, Notes], object]] = {
    "qrels": read_qrels,
    "run": read_run,
    "folds": read_folds,
    "expansions": lambda path, notes: list(read_expansions([path], notes)),
    "queries": read_queries,
    **{f"queries-{name}": partial(read_queries, format=name) for name in QUERY_FORMATS},
}

PIECES = [
    *(b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"\xff", "é".encode(), "\u2028".encode(), b"\x0c", b"#"),
    *(b"1", b"Q0", b"d1", b"0.5", b"-1", b"nan", b"1e999", b"1_0", b"9" * 30, "٣".encode(), b"query"),
    *(b"query-id\tcorpus-id\tscore\n", b"1 0 d1 1\n", b"1 Q0 d1 1 2.5 t\n", b"1\tdogs\n", b"enwiki:A/%ff\n"),
    *(b"<top>", b"</top>", b"<num>", b"</num>", b"<title>", b"Number:", b"<a", b">", b"&x;", b"<!DOCTYPE t [", b"]>"),
    *(b"<t>", b"</t>", b"<topic number='1'>", b"</topic>", b"<query>", b"</query>", b'<!ENTITY x "y">', b"<?xml?>"),
    *(b"{", b"}", b"[", b"]", b'"_id":', b'"text":', b'"s1":', b'"train":', b'"test":', b'"\\ud800"', b",", b"null"),
    *(b'"queries":', b'{"id": "1", "queries": ["dogs"]}'),
    b"[" * 200,
]  # fmt: skip


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, deadline=None)
@given(content=st.one_of(st.binary(max_size=80), st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)))
def test_only_an_input_error_escapes(name: str, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.txt"
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        READERS[name](path, Notes())


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None)
@given(content=st.binary(max_size=60))
def test_only_an_input_error_escapes_from_damaged_gzip(
    name: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00" + content)
    with contextlib.suppress(InputError):
        READERS[name](path, Notes())
