"""Source files over HTTP: only files of documents below the folder, with their types; off by default."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")


from document_files import docx, paragraph, pdf_bytes
from longrank.index import Index
from longrank.service.engine import Engine
from longrank.service.rerank import Service
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from longrank.verbs.sync import sync
from served import Ask, Reply, answers, opened

FILLER = [f"light house bread stone river salt moon {word}" for word in ("tide", "chain", "wheel")] * 3


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    folder = tmp_path / "papers"
    (folder / "my reports").mkdir(parents=True)
    pages = [FILLER, ["Foxes hunt at night."] * 60, FILLER]
    (folder / "my reports" / "a #1.pdf").write_bytes(pdf_bytes(pages, title="Animals"))
    docx(folder / "b.docx", paragraph("Cats purr."))
    (folder / "c.html").write_text("<!doctype html><p>Dogs bark.</p><script>alert(1)</script>")
    (folder / ".secret.txt").write_text("secret")
    (folder / "data.bin").write_bytes(b"\x00\x01")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    return folder


def service(root: Path, tmp_path: Path, *, files: bool = True) -> Service:
    index = Index.build(root, tmp_path / "index")
    engine = Engine([PipelineChoice("lexical")], index, notes=Notes())
    engine.load()
    return opened(engine, replace(ServiceSettings(), files=root if files else None))


def asked(desk: Service, *paths: str) -> list[Reply]:
    async def talk(ask: Ask) -> list[Reply]:
        return [await ask("GET", path) for path in paths]

    return answers(desk, talk)


def searched(desk: Service, query: str) -> Any:
    async def talk(ask: Ask) -> Reply:
        return await ask("POST", "/search", {"query": query})

    return answers(desk, talk).json["results"][0]


def test_files_have_their_types_and_pages_cannot_run_scripts(root: Path, tmp_path: Path) -> None:
    from longrank.service.source_files import SourceFiles

    pdf, word, page = asked(service(root, tmp_path), "/files/my reports/a #1.pdf", "/files/b.docx", "/files/c.html")
    assert (pdf.status, pdf.headers["content-type"]) == (200, "application/pdf")
    assert pdf.body == (root / "my reports" / "a #1.pdf").read_bytes()
    assert word.headers["content-type"].endswith("wordprocessingml.document")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert SourceFiles(root).response("c.html").headers["content-security-policy"].startswith("sandbox")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_texts_and_pages_are_shown_in_their_encoding(encoding: str, root: Path, tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer", reason="needs the extra files")
    text = "L'été, les élèves sont allés à la forêt près du château. " * 5
    (root / "a.txt").write_bytes(text.encode(encoding))
    markup = f"<meta charset={encoding}><p>{text}</p>".encode(encoding)
    (root / "a.html").write_bytes(markup)
    plain, page = asked(service(root, tmp_path), "/files/a.txt", "/files/a.html")
    assert (plain.headers["content-type"], plain.body.decode()) == ("text/plain; charset=utf-8", text)
    kind = "text/html; charset=utf-8" if encoding == "utf-8" else "text/html"
    assert (page.headers["content-type"], page.body) == (kind, markup)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_packed_texts_and_pages_are_shown_unpacked(encoding: str, root: Path, tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer", reason="needs the extra files")
    text = "L'été, les élèves sont allés à la forêt près du château. " * 5
    (root / "A.TXT.GZ").write_bytes(gzip.compress(text.encode(encoding)))
    markup = f"<meta charset={encoding}><p>{text}</p>".encode(encoding)
    (root / "a.html.gz").write_bytes(gzip.compress(markup))
    plain, page = asked(service(root, tmp_path), "/files/A.TXT.GZ", "/files/a.html.gz")
    assert (plain.headers["content-type"], plain.body.decode()) == ("text/plain; charset=utf-8", text)
    kind = "text/html; charset=utf-8" if encoding == "utf-8" else "text/html"
    assert (page.headers["content-type"], page.body) == (kind, markup)


def test_other_packed_files_are_unpacked_by_the_browser(root: Path, tmp_path: Path) -> None:
    (root / "a.pdf.gz").write_bytes(packed := gzip.compress(b"%PDF-1.7\n"))
    (reply,) = asked(service(root, tmp_path), "/files/a.pdf.gz")
    assert (reply.headers["content-type"], reply.headers["content-encoding"]) == ("application/pdf", "gzip")
    assert reply.body == packed


@pytest.mark.parametrize(
    "path",
    [
        *("../outside.txt", "my reports/../../outside.txt", "link.txt", ".secret.txt", "data.bin", "no.pdf", ""),
        *("my reports", "/etc/passwd", "//etc/passwd", "..", "b.docx/", "b.docx\0", "my reports/./a #1.pdf"),
    ],
)
def test_nothing_outside_and_nothing_hidden_is_found(path: str, root: Path, tmp_path: Path) -> None:
    from longrank.service.source_files import SourceFiles

    assert SourceFiles(root).find(path) is None


def test_results_link_their_files_and_pages(root: Path, tmp_path: Path) -> None:
    result = searched(service(root, tmp_path), "foxes hunt")
    address = "files/my%20reports/a%20%231.pdf"
    assert result["file"] == address
    places = {(passage["place"], passage["file"]) for passage in result["passages"]}
    assert ("a #1.pdf, p. 2", f"{address}#page=2") in places
    assert searched(service(root, tmp_path), "dogs bark")["file"] == "files/c.html"


def test_without_a_folder_nothing_is_served_or_linked(root: Path, tmp_path: Path) -> None:
    desk = service(root, tmp_path, files=False)
    assert asked(desk, "/files/b.docx")[0].status == 404
    result = searched(service(root, tmp_path, files=False), "foxes hunt")
    assert "file" not in result
    assert all("file" not in passage for passage in result["passages"])


def test_another_folder_than_was_indexed_is_noted(tmp_path: Path) -> None:
    from longrank.service.source_files import note_other_folder

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"Dogs {name}.")
    sync([tmp_path / "one"], tmp_path / "index")
    for root, n in ((tmp_path / "one", 0), (tmp_path / "two", 1), (tmp_path, 1)):
        note_other_folder(root, tmp_path / "index", notes := Notes())
        assert len(notes.lines()) == n
    note_other_folder(tmp_path, Index.build([("d", "Dogs bark.")]).path, notes := Notes())
    assert notes.lines() == []
