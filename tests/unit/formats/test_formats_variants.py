"""Office, e-book and mail files as their programs write them: sections, encodings, tags without an end, text boxes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from document_files import pptx, zipped
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import parse


def parsed(path: Path, format: str) -> Parsed:
    (document,) = parse(path, format)
    return document


def with_part(path: Path, name: str, content: bytes) -> Path:
    """Replace a part of a container."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    return zipped(path, {**parts, name: content})


def test_slides_are_those_of_the_show_and_not_of_its_sections(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = pptx(tmp_path / "a.pptx", [("Cats", "purr"), ("Dogs", "bark")])
    sections = (
        '<p:extLst><p:ext uri="{521415D9-36F7-43E2-AB2F-B90AF26B5E84}"><p14:sectionLst '
        'xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main"><p14:section name="Default Section">'
        '<p14:sldIdLst><p14:sldId id="257"/><p14:sldId id="256"/></p14:sldIdLst></p14:section></p14:sectionLst>'
        "</p:ext></p:extLst></p:presentation>"
    )
    show = zipfile.ZipFile(path).read("ppt/presentation.xml").decode()
    with_part(path, "ppt/presentation.xml", show.replace("</p:presentation>", sections).encode())
    document = parsed(path, "pptx")
    assert document.text == "Cats\n\npurr\n\nDogs\n\nbark"
    assert document.pages == [0, 12]
