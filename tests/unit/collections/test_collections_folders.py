"""Folders as people have them: formats by content, patterns, encodings, and files that cannot be read."""

from __future__ import annotations

import gzip
import random
import shlex
import sys
from pathlib import Path

import pytest

from document_files import docx, paragraph, pdf_bytes
from longrank.collections import read_documents
from longrank.collections.patterns import matches
from longrank.errors import InputError
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.types import Document, Notes


def read(folder: Path, notes: Notes | None = None, **options: object) -> list[Document]:
    files = FileOptions(**options)  # type: ignore[arg-type]
    return list(read_documents(folder, CorpusOptions(files=files), notes))


@pytest.mark.parametrize(
    ("name", "pattern", "matching"),
    [
        ("a/b.pdf", "*.pdf", True),
        ("a/b.pdf", "b.*", True),
        ("a/b.pdf", "a/*.pdf", True),
        ("x/a/b.pdf", "a/*.pdf", False),
        ("x/a/b.pdf", "**/a/*.pdf", True),
        ("a/b.pdf", "**/a/*.pdf", True),
        ("a/x/y/b.pdf", "a/**", True),
        ("a/x/b.pdf", "a/*.pdf", False),
        ("b.pdf", "/b.pdf", True),
        ("a/b.pdf", "/b.pdf", False),
        ("b1.pdf", "b[0-9].pdf", True),
        ("bx.pdf", "b[!0-9].pdf", True),
        ("b.pdf", "b?pdf", True),
        ("bxpdf", "b.pdf", False),
        ("b", "b/", False),
    ],
)
def test_patterns_match_as_in_gitignore(name: str, pattern: str, matching: bool) -> None:
    assert matches(name, [pattern]) == matching


def test_patterns_choose_files_and_folders(tmp_path: Path) -> None:
    for name in ("a.txt", "drafts/b.txt", "c.md", "node_modules/d.txt", ".e.txt", "__pycache__/f.txt", "x/g.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("cats")
    assert [d.doc_id for d in read(tmp_path)] == ["a.txt", "c.md", "drafts/b.txt", "x/g.txt"]
    assert [d.doc_id for d in read(tmp_path, include=("*.txt",), exclude=("drafts/",))] == ["a.txt", "x/g.txt"]
    assert [d.doc_id for d in read(tmp_path, include=("x/*",))] == ["x/g.txt"]


def test_files_with_the_names_of_queries_or_judgments_are_documents_and_are_counted(tmp_path: Path) -> None:
    for name in ("queries.txt", "corpus.jsonl", "deep/qrels.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"id": "d", "text": "cats"}\n' if name == "corpus.jsonl" else "cats")
    notes = Notes()
    assert [d.doc_id for d in read(tmp_path, notes)] == ["d", "queries.txt", "deep/qrels.txt"]
    assert notes["files read as documents that have the names of queries, topics or judgments"] == 2


def test_the_content_tells_the_format_before_the_name(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    (tmp_path / "a.txt").write_bytes(pdf_bytes([["Cats purr."]]))
    (tmp_path / "b").write_bytes(pdf_bytes([["Dogs bark."]]))
    docx(tmp_path / "c.pdf", paragraph("Cows moo."))
    (tmp_path / "d.txt").write_text("<html> is a tag of HTML")
    (tmp_path / "e.pdf").write_text("Bees hum.")
    notes = Notes()
    texts = [(d.doc_id, d.text) for d in read(tmp_path, notes)]
    assert texts == [
        ("a.txt", "Cats purr."),
        ("b", "Dogs bark."),
        ("c.pdf", "Cows moo."),
        ("d.txt", "<html> is a tag of HTML"),
    ]
    assert notes.lines() == [
        f"files that cannot be read skipped: 1 (first: {tmp_path / 'e.pdf'}: is damaged, or no PDF)"
    ]


def test_files_that_cannot_be_read_are_counted_and_reported_and_refused_if_strict(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 cut")
    (tmp_path / "b.txt").write_bytes(random.Random(0).randbytes(3000))
    (tmp_path / "c.txt").write_text("cats")
    (tmp_path / "d.jpg").write_bytes(b"\xff\xd8")
    notes, rows = Notes(), []
    assert len(read(tmp_path, notes, skipped=lambda path, reason: rows.append((path.name, reason)))) == 1
    assert notes["files that cannot be read skipped"] == 2
    assert rows == [
        ("a.pdf", f"{tmp_path / 'a.pdf'}: is damaged, or no PDF"),
        ("b.txt", f"{tmp_path / 'b.txt'}: is not a text file: it holds NUL bytes"),
        ("d.jpg", "files of unknown format skipped"),
    ]
    with pytest.raises(InputError, match=r"a\.pdf: is damaged"):
        read(tmp_path, strict=True)
    (tmp_path / "c.txt").unlink()
    with pytest.raises(InputError, match=r"a\.pdf: is damaged"):  # a folder without any document
        read(tmp_path)


def test_another_encoding_is_guessed_in_a_folder_and_counted(tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer", reason="needs the extra files")
    german = "Die Kühe stehen müßig auf der Wiese, während der Bäcker Brötchen und süße Kuchen verkauft. " * 5
    (tmp_path / "a.txt").write_bytes(german.encode("cp1252"))
    (tmp_path / "b.txt").write_bytes(german.encode("utf-16"))
    (tmp_path / "c.txt").write_bytes("déjà vu garçon".encode("cp1252"))
    notes = Notes()
    assert [d.text for d in read(tmp_path, notes)] == [german, german, "déjà vu garçon"]
    assert notes.lines() == [
        f"files in another encoding than UTF-8, guessed as cp1252: 2 (first: {tmp_path / 'a.txt'})",
        f"files in another encoding than UTF-8, guessed as utf-16: 1 (first: {tmp_path / 'b.txt'})",
    ]
    with pytest.raises(InputError, match="is not utf-8"):
        list(read_documents(tmp_path / "a.txt"))


def test_a_byte_that_fits_no_guess_is_replaced_and_a_byte_order_mark_left_out(tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer", reason="needs the extra files")
    french = "Là-bas, l'été était déjà passé. " * 5
    (tmp_path / "a.txt").write_bytes((french + "\n").encode("cp1252") + b"\x9d")
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf" + french.encode("cp1252"))
    notes = Notes()
    assert [d.text for d in read(tmp_path, notes)] == [french + "\n\ufffd", french]
    assert notes["files in another encoding than UTF-8, guessed as cp1252"] == 2
    assert notes["undecodable bytes replaced by U+FFFD"] == 1
    assert notes["byte-order mark skipped"] == 1


def test_scanned_files_are_counted_or_read_by_a_command(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    (tmp_path / "a.pdf").write_bytes(pdf_bytes([[], []]))
    (tmp_path / "b.txt").write_text("cats")
    notes = Notes()
    assert [d.doc_id for d in read(tmp_path, notes)] == ["b.txt"]
    assert notes["files without a text layer (scanned pages) skipped"] == 1
    script = tmp_path.parent / "ocr.py"
    script.write_text("import sys; print('Page of', sys.argv[1][-5:], end='\\f'); print('Dogs', end='\\f')")
    found = read(tmp_path, ocr=f"{sys.executable} {script}")
    assert found[0].text == "Page of a.pdf\nDogs"
    script.write_text("raise SystemExit(3)")
    notes = Notes()
    read(tmp_path, notes, ocr=f"{sys.executable} {script}")
    assert "--ocr ends with exit code 3" in notes.lines()[-1]


def test_line_ends_of_any_system_are_line_ends(tmp_path: Path) -> None:
    for name, end in (("unix", "\n"), ("dos", "\r\n"), ("mac", "\r")):
        (tmp_path / f"{name}.txt").write_bytes(f"Cats{end}purr.{end}".encode())
    assert {document.text for document in read(tmp_path)} == {"Cats\npurr.\n"}


def test_bytes_of_whole_files_are_counted_for_the_progress(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Dogs bark.")
    (tmp_path / "b.md").write_text("Cats purr, and sleep.")
    (tmp_path / "c.jsonl").write_text('{"id": "c", "text": "Cows moo."}\n')
    counted: list[int] = []
    list(read_documents(tmp_path, CorpusOptions(text=TextOptions(on_bytes=counted.append))))
    assert sum(counted) == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_text_in_utf_16_that_is_too_long_is_skipped_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 400, encoding="utf-16")
    (tmp_path / "b.txt").write_text("cats")
    notes, text = Notes(), TextOptions(limits=Limits(max_line=500))
    documents = list(read_documents(tmp_path, CorpusOptions(text=text), notes))
    assert [document.doc_id for document in documents] == ["b.txt"]
    assert any("files that cannot be read skipped" in line for line in notes.lines())


def test_a_source_that_a_file_states_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\nsource: https://example.org\nauthor: Ada\ntext: Dogs\n"
        "headings: none\npassages: John 3 to 5\n---\n# Cats\n\nCats purr.\n"
    )
    notes = Notes()
    [document] = read(tmp_path, notes)
    assert document.metadata == {"source": "a.md", "author": "Ada", "headings": [[0, 4, 1]]}
    assert document.passages == ()
    for name in ("source", "text", "headings", "passages"):
        assert any(f"values '{name}' of the files themselves left out" in line for line in notes.lines())


def test_texts_in_a_collection_folder_are_counted_since_they_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "cats"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "cats"}\n')
    (tmp_path / "qrels").mkdir()
    for name in ("README.md", "qrels/test.tsv", "qrels.txt", "passage_qrels.txt"):
        (tmp_path / name).write_text("1 0 d 1\n")
    notes = Notes()
    assert [d.doc_id for d in read(tmp_path, notes)] == ["d"]
    assert notes.lines() == []
    (tmp_path / "qrels" / "manual.pdf").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("dogs")
    read(tmp_path, notes)
    assert notes["texts beside corpus.jsonl not read, since their folder is a collection"] == 2


def test_a_faulty_file_of_a_folder_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Dogs bark.")
    (tmp_path / "it's [1].json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"1\]\.json:1: no id.*; or leave it out: longrank index --exclude '") as told:
        list(read_documents(tmp_path))
    pattern = shlex.split(str(told.value)[str(told.value).index("longrank index") :])[-1]
    assert pattern == "/it's [[]1].json"
    chosen = CorpusOptions(files=FileOptions(exclude=(pattern,)))
    assert [document.doc_id for document in read_documents(tmp_path, chosen)] == ["a.md"]
    (tmp_path / "docs.jsonl").write_text('{"a": 1}')  # a collection, of which only this file is read
    with pytest.raises(InputError, match="no id") as caught:
        list(read_documents(tmp_path))
    assert "--exclude" not in str(caught.value)


def test_packed_files_of_formats_that_are_read_unpacked_are_named_so(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    (tmp_path / "a.pdf.gz").write_bytes(gzip.compress(pdf_bytes("Cats purr.")))
    (tmp_path / "b.md.gz").write_bytes(gzip.compress(b"# Dogs\n\nDogs bark.\n"))
    notes = Notes()
    assert [document.doc_id for document in read(tmp_path, notes)] == ["b.md.gz"]
    assert any(
        "a.pdf.gz: is packed, and pdf files are read unpacked; unpack it first" in line for line in notes.lines()
    )
