"""Malformed and hostile files: each is a note that names it, and the folder is read on."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from document_files import docx, epub, odt, paragraph, pdf_bytes, pptx, zipped
from longrank.collections import read_documents
from longrank.formats.parsed import child
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.types import Notes

LAUGHS = '<!DOCTYPE x [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]><x>&c;</x>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


def good_files(folder: Path) -> dict[str, bytes]:
    """Return a good file of each format, by its ending."""
    files = [
        docx(folder / "x.docx", paragraph("Cats purr.") * 20),
        pptx(folder / "x.pptx", [("Cats", "purr")] * 5),
        odt(folder / "x.odt", "<text:p>Cats purr.</text:p>" * 20),
        epub(folder / "x.epub", ["<h1>Cats</h1><p>They purr.</p>"] * 5),
    ]
    contents = {path.suffix: path.read_bytes() for path in files}
    return contents | {".pdf": pdf_bytes([["Cats purr."]] * 3)}


def malformed(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield malformed files of all formats, and files with the endings of others."""
    good = good_files(folder)
    for ending, content in good.items():
        yield f"empty{ending}", b""
        yield f"noise{ending}", random.Random(1).randbytes(2000)
        for share in (0.1, 0.5, 0.9):
            yield f"cut-{share}{ending}", content[: int(share * len(content))]
        yield f"zeros{ending}", content[:40] + bytes(len(content) - 40)
    for ending in (".docx", ".odt", ".epub", ".pptx", ".pdf"):
        yield f"text{ending}", b"Plain text in disguise."
    for ending, other in pairwise([".pdf", *good]):
        yield f"in-disguise-of{ending[1:]}{other}", good[ending]
    yield "loop.pdf", pdf_bytes([["x"]]).replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]")
    yield "no-pages.pdf", pdf_bytes([])
    yield "deep.eml", b"Content-Type: multipart/mixed; boundary=a\n\n" * 3
    yield "header.eml", b"no header at all\n"
    yield "noise.mbox", random.Random(2).randbytes(500)
    yield "noise.txt", random.Random(3).randbytes(500)


def containers(folder: Path) -> Iterator[Path]:
    """Write hostile containers."""
    yield docx(folder / "laughs.docx", "", **{"word/styles.xml": LAUGHS})
    yield docx(folder / "outside.docx", "", **{"word/document.xml": OUTSIDE})
    yield odt(folder / "laughs.odt", "", **{"content.xml": LAUGHS})
    yield odt(folder / "locked.odt", "", **{"META-INF/manifest.xml": "<m><encryption-data/></m>"})
    protected = '<e><x><CipherReference URI="OEBPS/text/c0.xhtml"/></x></e>'
    yield epub(folder / "drm.epub", ["<p>x</p>"], **{"META-INF/encryption.xml": protected})
    yield epub(folder / "lost.epub", [], **{"META-INF/container.xml": '<c><rootfile full-path="../../x"/></c>'})
    yield pptx(folder / "lost.pptx", []).rename(folder / "empty-show.pptx")
    yield zipped(folder / "other.docx", {"readme.txt": "x"})
    yield zipped(folder / "no-content.odt", {"mimetype": "application/vnd.oasis.opendocument.text"})
    yield zipped(folder / "no-chapters.epub", {"mimetype": "application/epub+zip"})
    large = bytes(64 << 20)
    parts = {"docx": "word/document.xml", "odt": "content.xml", "pptx": "ppt/presentation.xml"}
    yield from (zipped(folder / f"bomb.{ending}", {part: large}) for ending, part in parts.items())
    yield epub(folder / "bomb.epub", ["<p>x</p>"], **{"META-INF/container.xml": large.decode()})


def test_malformed_files_are_named_and_the_folder_is_read_on(tmp_path: Path) -> None:
    for extra in ("pypdfium2", "defusedxml", "charset_normalizer"):
        pytest.importorskip(extra, reason="needs the extra files")
    (tmp_path / "scratch").mkdir()
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, content in malformed(tmp_path / "scratch"):
        (folder / name).write_bytes(content)
    for path in list(containers(folder)):
        assert path.parent == folder or not path.exists()
    (folder / "zz.txt").write_text("Cats purr.")
    skipped: dict[str, str] = {}
    options = FileOptions(skipped=lambda path, reason: skipped.setdefault(path.name, reason))
    found = list(read_documents(folder, CorpusOptions(files=options), Notes()))
    assert found[-1].doc_id == "zz.txt"
    names = {path.name for path in folder.iterdir()}
    assert names == {document.doc_id for document in found} | skipped.keys()
    assert len(skipped) >= 40
    assert not any("root:" in document.text or "haha" in document.text for document in found)
    for name in ("laughs.docx", "outside.docx", "laughs.odt"):
        assert "declares a DTD or entities" in skipped[name]
    assert all("zip bomb" in skipped[f"bomb.{ending}"] for ending in ("docx", "odt", "pptx", "epub"))
    assert len(names) >= 60
    assert "encrypted" in skipped["locked.odt"]
    assert "encrypted (DRM)" in skipped["drm.epub"]


def test_a_pdf_of_ten_thousand_pages_is_read_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    idle: list[Any] = []
    monkeypatch.setattr(child, "_idle", idle)
    (tmp_path / "a.pdf").write_bytes(pdf_bytes([[f"Page of number {number}."] for number in range(10_000)]))
    (document,) = read_documents(tmp_path)
    assert document.text.endswith("\nPage of number 9999.")
    assert document.text.count("\n") == 9999
    parser = idle.pop()
    status = Path(f"/proc/{parser._process.pid}/status")
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) if status.exists() else 0
    parser.stop()
    assert peak < 256 << 10  # KiB; Linux alone tells


def test_answers_in_many_pieces_and_several_in_a_piece_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.mbox").write_text("".join(f"From x\nSubject: {n}\n\n{'Cats purr. ' * n}\n\n" for n in range(300)))
    for chunk in (1 << 16, 7):
        monkeypatch.setattr(child, "_CHUNK", chunk)
        titles = [document.title for document in read_documents(tmp_path)]
        assert titles == [str(n) for n in range(300)]


def test_a_process_with_more_than_1024_open_files_reads_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2048:
        pytest.skip("this process may not open 1,100 files more")
    (tmp_path / "a.pdf").write_bytes(pdf_bytes([["Cats purr."]]))
    idle: list[Any] = []
    monkeypatch.setattr(child, "_idle", idle)
    with ExitStack() as files:
        for _ in range(1100):
            files.enter_context(Path(os.devnull).open())
        (document,) = read_documents(tmp_path)
    idle.pop().stop()
    assert document.text == "Cats purr."
