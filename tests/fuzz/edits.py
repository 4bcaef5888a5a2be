"""Changes of valid files: pieces put in, cut out, repeated, cut off, and flipped bits."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    *(b"", b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", "é".encode(), b"\x0c", b"#"),
    *(b"1", b"Q0", b"d1", b"0.5", b"-1", b"nan", b"1e999", b"1_0", b"9" * 30, "٣".encode(), "\u2028".encode()),
    *(b"query-id\tcorpus-id\tscore\n", b"1 0 d1 1\n", b"1 Q0 d1 1 2.5 t\n", b"1\tdogs\n", b"enwiki:A/%ff\n"),
    *(b"<top>", b"</top>", b"<num>", b"</num>", b"<title>", b"Number:", b"<a", b">", b"&x;", b"&#0;", b"<!DOCTYPE t ["),
    *(b"<t>", b"</t>", b"<topic number='1'>", b"</topic>", b"<query>", b"</query>", b'<!ENTITY x "y">', b"<?xml?>"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"_id":',
        b'"text":',
        b'"s1":',
        b'"train":',
        b'"\\ud800"',
        b",",
        b"null",
        b"true",
        b"NaN",
    ),
    *(
        b'"passages": [[0, -1]]',
        b"[]",
        b"{}",
        b'""',
        b"1.5",
        b"<DOC>",
        b"</DOC>",
        b"<DOCNO>",
        b"---\n",
        b"::\n",
        b"=" * 9,
    ),
    *(
        b"[" * 200,
        b"<a>" * 200,
        b"\xff" * 8,
        bytes(8),
        b"\x7f\xff\xff\xff",
        b"=\n",
        b"'",
        b'"',
        b"\\",
        b"obj",
        b"stream\n",
    ),
]


@st.composite
def edited(draw: st.DrawFn, seed: bytes) -> bytes:
    """Draw a file that is a few changes away from `seed`."""
    content = bytearray(seed)
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(content)))
        length = draw(st.sampled_from((0, 0, 1, 2, 8, 40)))
        match draw(st.sampled_from(("piece", "piece", "bytes", "repeat", "flip", "end"))):
            case "piece":
                content[start : start + length] = draw(st.sampled_from(PIECES))
            case "bytes":
                content[start : start + length] = draw(st.binary(max_size=8))
            case "repeat":
                content[start:start] = content[start : start + 40] * draw(st.integers(1, 3))
            case "flip":
                content[start : start + 1] = bytes(
                    b ^ (1 << draw(st.integers(0, 7))) for b in content[start : start + 1]
                )
            case "end":
                del content[start:]
    return bytes(content)


def hostile(seed: bytes) -> st.SearchStrategy[bytes]:
    """Draw a file: a changed seed, pieces in any order, or any bytes."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)
    return st.one_of(edited(seed), edited(seed), pieces, st.binary(max_size=80))
