"""Contracts of document readers of every format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longrank.collections.documents import locate_documents
from longrank.errors import InputError
from longrank.formats.corpora import READERS
from longrank.formats.lines import TextOptions
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes

HTML = "<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
SAMPLES = {
    "jsonl": '{{"id": "d", "title": "{title}", "text": "{text}"}}\n',
    "tsv": "d\t{text}\n",
    "msmarco-docs": "d\thttp://x\t{title}\t{text}\n",
    "trectext": "<DOC>\n<DOCNO> d </DOCNO>\n<HEADLINE>{title}</HEADLINE>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n",
    "trecweb": "<DOC>\n<DOCNO>d</DOCNO>\n<DOCHDR>\nhttp://x\n</DOCHDR>\n" + HTML + "\n</DOC>\n",
    "webap": "<DOC>\n<DOCNO>d</DOCNO>\n<TARGET_QID>7</TARGET_QID>\n<ORIGINAL_DOCNO>o</ORIGINAL_DOCNO>\n<TEXT>\n"
    "<GOOD>\n<SENTENCE>{text}</SENTENCE>\n</GOOD>\n</TEXT>\n</DOC>\n",
    "cord19": "cord_uid,title,abstract\nd,{title},{text}\n",
    "html": HTML,
    "text": "{text}",
    "markdown": "---\ntitle: {title}\n---\n\n{text}",
    "rst": "{text}",
}
WHOLE_FILES = {"html", "text", "markdown", "rst"}
HAVE_NO_TITLE = {"tsv", "text", "webap", "rst"}
CONTAINERS = {"pdf", "docx", "pptx", "odt", "epub", "eml", "mbox", "parquet", "arrow"}
"""Formats that are not text; `test_formats_parsed.py` and `test_formats_arrow.py` have their samples."""


@pytest.fixture(params=sorted(SAMPLES))
def name(request: pytest.FixtureRequest) -> str:
    if request.param in ("html", "trecweb"):
        pytest.importorskip("resiliparse", reason="needs the extra html")
    return str(request.param)


def sample(name: str, title: str = "Dogs", text: str = "They bark.") -> str:
    return SAMPLES[name].format(title=title, text=text)


def read(path: Path, name: str, text: TextOptions | None = None, notes: Notes | None = None) -> list[Document]:
    options = CorpusOptions(name, text=text or TextOptions())
    return [one.document for one in locate_documents([str(path)], Notes() if notes is None else notes, options)]


def expected(name: str, file: str, title: str = "Dogs", text: str = "They bark.") -> list[Document]:
    passages = ((0, len(text)),) if name == "webap" and text else ()
    return [Document(file if name in WHOLE_FILES else "d", "" if name in HAVE_NO_TITLE else title, text, passages)]


def test_every_reader_has_a_sample_here() -> None:
    assert SAMPLES.keys() | CONTAINERS == READERS.keys()


def test_a_document_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name))
    assert read(tmp_path / "x", name) == expected(name, "x")


def test_gzip_is_unpacked_on_the_way(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(sample(name).encode()))
    assert read(tmp_path / "x.gz", name) == expected(name, "x.gz")


def test_a_byte_order_mark_is_no_text(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name), encoding="utf-8-sig")
    notes = Notes()
    assert read(tmp_path / "x", name, notes=notes) == expected(name, "x")
    assert notes["byte-order mark skipped"] == 1


def test_text_beyond_ascii_survives_in_the_encoding_that_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name, "Łódź", "Żółw śpi."), encoding="iso-8859-2")
    assert read(tmp_path / "x", name, TextOptions("iso-8859-2")) == expected(name, "x", "Łódź", "Żółw śpi.")


def test_undecodable_bytes_are_refused_naming_the_byte_or_replaced_and_counted(name: str, tmp_path: Path) -> None:
    raw = sample(name).encode().replace(b"They", b"Th\xffy")
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(InputError, match=f"byte {raw.index(255)} is not utf-8"):
        read(tmp_path / "x", name)
    notes = Notes()
    assert read(tmp_path / "x", name, TextOptions(errors="replace"), notes) == expected(
        name, "x", text="Th\ufffdy bark."
    )
    assert notes["undecodable bytes replaced by U+FFFD"] == 1


def test_an_empty_text_is_accepted_and_counted(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name, text=""))
    notes = Notes()
    assert read(tmp_path / "x", name, notes=notes) == expected(name, "x", text="")
    assert notes["documents with an empty text"] == 1


def test_a_nul_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name, text="Th\x00y"))
    with pytest.raises(InputError, match=r"x:\d+: holds a NUL byte"):
        read(tmp_path / "x", name)


def test_utf_16_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sample(name), encoding="utf-16")
    with pytest.raises(InputError, match="file is UTF-16"):
        read(tmp_path / "x", name)


TOKENS = [s.encode() for s in SAMPLES.values()] + [
    *(
        b'{"id": 1, "text": "x"}',
        b'{"id":',
        b'"passages": [[0, 1]]',
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b"\\ud800",
        b"1e999",
    ),
    *(
        b"%PDF-1.4\n",
        b"1 0 obj\n<< /Pages 1 0 R /Kids [1 0 R] >>",
        b"trailer",
        b"From a\n",
        b"Subject: x\n\n",
        b"# ",
        b".. x::",
    ),
    *(b"\t", b"\n", b"\r\n", b" ", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04", b"\xc3\xa9"),
    *(b"<DOC>", b"</DOC>", b"<DOCNO>", b"</DOCNO>", b"<TEXT>", b"</TEXT>", b"<DOCHDR>", b"</DOCHDR>", b"<!--", b"-->"),
    *(
        b"<",
        b">",
        b"&",
        b"&#",
        b";",
        b"<script>",
        b"<b>",
        b"</p>",
        b'<meta charset="',
        b"utf-16",
        b"<title>",
        b"&#xD800;",
    ),
]
"""What files of these formats are made of, whole and in pieces."""


@pytest.mark.parametrize("name", sorted(READERS))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(TOKENS), max_size=30).map(b"".join)))
@example(b"")
def test_arbitrary_bytes_are_read_or_refused_and_nothing_else(name: str, tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x").write_bytes(raw)
    try:
        found = read(tmp_path / "x", name)
    except InputError as error:
        assert str(error).isprintable()
        return
    for document in found:
        f"{document.doc_id}{document.title}{document.text}".encode()  # no lone surrogates
        assert document.doc_id
        assert all(0 <= start < end <= len(document.text) for start, end in document.passages)
