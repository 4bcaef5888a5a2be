"""Bytes of pages, mail, e-books and texts that fit no encoding, or only the table that browsers use."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from document_files import epub
from longrank.collections.documents import locate_documents
from longrank.formats.parsed.encodings import decoded
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes

REPLACED = "undecodable bytes replaced by U+FFFD"
GERMAN = "Die Größe der Fläche über den Wäldern ist schön"


def read(path: Path, raw: bytes) -> tuple[Document, Notes]:
    """Read a file of a folder."""
    notes = Notes()
    path.write_bytes(raw)
    [located] = locate_documents([str(path.parent)], notes, CorpusOptions(guess=True))
    return located.document, notes


def page(charset: str, body: bytes) -> bytes:
    return f'<meta charset="{charset}"><p>'.encode() + body


def mail(charset: str, body: bytes) -> bytes:
    return f"Subject: s\nContent-Type: text/plain; charset={charset}\n\n".encode() + body


def test_a_damaged_byte_changes_no_other_letter_of_a_file(tmp_path: Path) -> None:
    for module in ("resiliparse", "defusedxml", "charset_normalizer"):
        pytest.importorskip(module, reason="needs the extra files")
    raw = GERMAN.encode() + b" \xe2\x80 end"
    files = {
        "a.html": page("utf-8", raw),
        "a.xhtml": b'<?xml version="1.0" encoding="utf-8"?><p>' + raw,
        "a.eml": mail("utf-8", raw),
        "b.eml": mail("us-ascii", raw),
        "a.md": raw,
        "a.txt": raw,
    }
    for name, content in files.items():
        folder = tmp_path / name
        folder.mkdir()
        document, notes = read(folder / name, content)
        assert document.text == f"{GERMAN} \ufffd end", name
        assert notes[REPLACED] == 1, name
        assert notes["pages whose declared charset contradicts their bytes"] == 0
        assert notes["mail texts whose bytes do not fit their encoding"] == name.endswith("eml")
    book = epub(tmp_path / "book.epub", ["<p>@</p>"])
    with zipfile.ZipFile(book) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(book, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part.replace(b"@", raw))
    notes = Notes()
    [located] = locate_documents([str(book)], notes)
    assert located.document.text == f"{GERMAN} \ufffd end"
    assert notes[REPLACED] == notes["e-book chapters whose bytes do not fit their encoding"] == 1


@pytest.mark.parametrize(
    ("raw", "encodings", "text", "n_replaced"),
    [
        (GERMAN.encode("latin-1"), ["utf-8"], GERMAN, 0),
        (GERMAN.encode("latin-1") + "ß".encode(), ["utf-8"], GERMAN + "ÃŸ", 0),
        ("Привет мир".encode("cp1251") * 3 + b"\x98", ["utf-8", "cp1251"], "Привет мир" * 3 + "\ufffd", 1),
        ("한국어 텍스트".encode("cp949") * 3 + b"\xff", ["utf-8", "cp949"], "한국어 텍스트" * 3 + "\ufffd", 1),
        ("caf\ufffd é ".encode() + b"\xff", ["no-such", "hex", "", "utf-8"], "caf\ufffd é \ufffd", 1),
        (b"caf\xe9", ["no-such", "hex", ""], "café", 0),
    ],
)
def test_few_bad_bytes_are_replaced_and_many_are_of_another_encoding(
    raw: bytes, encodings: list[str], text: str, n_replaced: int
) -> None:
    found = decoded(raw, encodings)
    assert (found.text, found.fits, found.n_replaced) == (text, False, n_replaced)


@pytest.mark.parametrize(
    ("label", "raw", "text"),
    [
        ("big5", "恒生，裏碁".encode("cp950") + b"\xa3\xe1", "恒生，裏碁€"),
        ("big5", "𠝹".encode("big5hkscs"), "𠝹"),
        ("big5-hkscs", "𠝹".encode("big5hkscs"), "𠝹"),
        ("x-x-big5", "恒".encode("cp950"), "恒"),
        ("euc-jp", b"\xad\xa1" + "株式会社".encode("euc_jp") + b"\xad\xea\xfc\xe2\x8e\xb1", "①株式会社㈱髙ｱ"),
        ("iso-2022-kr", "안녕".encode("iso2022_kr"), "안녕"),
    ],
)
def test_letters_of_windows_and_hong_kong_are_read(label: str, raw: bytes, text: str, tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    for name, content in {"a.html": page(label, raw), "a.eml": mail(label, raw)}.items():
        (tmp_path / name).mkdir()
        document, notes = read(tmp_path / name / name, content)
        assert document.text == text
        assert notes[REPLACED] == notes["mail texts whose bytes do not fit their encoding"] == 0


def test_the_charset_may_stand_in_an_xml_declaration_or_in_the_html_of_a_mail(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    raw = "Привет мир".encode("cp1251")
    meta = page("windows-1251", raw)
    files = {
        "a.xhtml": b"<?xml version='1.0' encoding='windows-1251'?><p>" + raw,
        "b.xhtml": b"<?xml version='1.0' encoding='utf-8'?>" + meta,
        "a.eml": b"Subject: s\nContent-Type: text/html\n\n" + meta,
        "b.eml": b"Subject: s\nContent-Type: text/html; charset=us-ascii\n\n" + meta,
    }
    for name, content in files.items():
        (tmp_path / name).mkdir()
        document, notes = read(tmp_path / name / name, content)
        assert document.text == "Привет мир", name
        assert notes.lines() == []
