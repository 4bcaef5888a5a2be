"""Parts of a zip container (DOCX, PPTX, ODT, EPUB), with limits against zip bombs, and their XML."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from longrank.formats.parsed import Parsed, Unreadable
from longrank.formats.parsed.language_codes import language_fields
from longrank.formats.parsed.writer import TextWriter

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CORE = "docProps/core.xml"
"""Usual name of the part of DOCX and PPTX with title, author and language."""

_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_MOST_BYTES = 256 << 20  # unpacked, of all parts together
_MOST_PARTS = 20_000
_MAX_RATIO, _RATIO_FROM = 200, 16 << 20
_CHUNK = 1 << 20
_ENCRYPTED = 0x1


class Container:
    """An open zip container.

    Attributes:
        n_unread: parts beside the main text, such as comments, that could not be read.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = _MOST_BYTES
        self.n_unread = 0
        if len(archive.filelist) > _MOST_PARTS:
            raise Unreadable(f"holds more than {_MOST_PARTS} parts")

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        return self._archive.namelist()

    def read(self, name: str) -> bytes:
        """Return a part, unpacked in bounded memory.

        Raises:
            Unreadable: no such part, encrypted, damaged, or larger than the limits.
        """
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise Unreadable(f"is damaged: it lacks the part {name}") from None
        if info.flag_bits & _ENCRYPTED:
            raise Unreadable("is encrypted: it needs a password")
        chunks, size = [], 0
        with self._archive.open(info) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > self._left or (size > _RATIO_FROM and size > _MAX_RATIO * max(1, info.compress_size)):
                    raise Unreadable("unpacks to more than the limit (a zip bomb?)")
                chunks.append(chunk)
        self._left -= size
        return b"".join(chunks)

    def xml(self, name: str) -> Element:
        """Return the root element of an XML part.

        Raises:
            Unreadable: as `read`; not XML, or with a DTD or entities.
        """
        from xml.etree.ElementTree import ParseError

        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring

        try:
            root: Element = fromstring(self.read(name), forbid_dtd=True)
        except (ParseError, LookupError, ValueError) as error:
            entities = isinstance(error, DefusedXmlException)
            fault = "declares a DTD or entities, which are refused" if entities else "is no XML"
            raise Unreadable(f"is damaged: its part {name} {fault}") from None
        _keep_first_alternatives(root)
        return root

    def beside(self, name: str) -> list[Element]:
        """Return the root element of a part beside the main text; none, counted, if it cannot be read."""
        try:
            return [self.xml(name)]
        except (Unreadable, zipfile.BadZipFile, zlib.error, EOFError):
            self.n_unread += 1
            return []


def _keep_first_alternatives(root: Element) -> None:
    """Remove what other programs show in the place of the first of several contents (ISO/IEC 29500-3)."""
    for alternatives in list(root.iter(_ALTERNATIVES)):
        choices = [child for child in alternatives if local(child) == "Choice"]
        if choices:
            alternatives[:] = choices[:1]


@contextmanager
def opened(path: str) -> Iterator[Container]:
    """Open a zip container.

    Raises:
        Unreadable: not a zip file, cut off or damaged (also while its parts are read).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield Container(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
        raise Unreadable("is damaged, or of another format than its name says") from None


def local(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def walk(element: Element, but: Collection[str]) -> Iterator[Element]:
    """Yield an element and those below it in the order of their begins, without elements of some names and theirs."""
    stack = [element]
    while stack:
        element = stack.pop()
        if local(element) not in but:
            yield element
            stack.extend(reversed(element))


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its name without its namespace; empty if absent."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


class Relation(NamedTuple):
    """A part that another part of an Office file refers to: its id, its kind (``styles``, ``slide``) and its name."""

    key: str
    kind: str
    part: str


def relations(container: Container, name: str) -> list[Relation]:
    """Return the relations of a part of an Office file, or of the file if the name is empty.

    Relations to other files and to parts that the container lacks are left out; so are all if they cannot be read.
    """
    folder, base = posixpath.split(name)
    listed = posixpath.join(folder, "_rels", f"{base}.rels")
    found = []
    with suppress(Unreadable):
        for element in container.xml(listed) if listed in container else ():
            target = attribute(element, "Target")
            joined = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            kind, part = posixpath.basename(attribute(element, "Type")), posixpath.normpath(joined)
            part = part if part in container else unquote(part)
            if attribute(element, "TargetMode") != "External" and part in container:
                found.append(Relation(attribute(element, "Id"), kind, part))
    return found


EMBEDDED = "files embedded in Office files (OLE objects), left out"


def n_embedded(found: Iterable[Relation]) -> int:
    """Return the number of files among the relations of a part that other programs show in it."""
    return len({relation.part for relation in found if relation.kind in ("oleObject", "package")})


def related(found: Sequence[Relation], kind: str, usual: str) -> str:
    """Return the first part of a kind among relations; `usual`, its usual name, if there is none."""
    return next((relation.part for relation in found if relation.kind == kind), usual)


def core_values(container: Container, name: str) -> dict[str, str]:
    """Return ``title``, ``author`` and ``lang`` of a part with Dublin Core elements; a container may lack it.

    Several authors are joined by semicolons.
    """
    if name not in container:
        return {}
    names = {"title": "title", "creator": "author", "initial-creator": "author", "language": "lang"}
    found: dict[str, list[str]] = {}
    for element in container.xml(name).iter():
        if local(element) in names and element.text and element.text.strip():
            found.setdefault(local(element), []).append(" ".join(element.text.split()))
    values: dict[str, str] = {}
    for kind, texts in found.items():
        values.setdefault(names[kind], "; ".join(dict.fromkeys(texts)) if kind == "creator" else texts[0])
    return values | language_fields(values.pop("lang", None))


def office_document(container: Container, writer: TextWriter, name: str, left_out: Mapping[str, int]) -> Parsed:
    """Return the written document of an Office file, with the values of its part of Dublin Core elements.

    `left_out` are its notes; one on parts that could not be read is added.
    """
    values = core_values(container, name)
    parsed = writer.parsed(values.pop("title", ""), values)
    damaged = "parts of Office files (comments, headers, charts) that are damaged, left out"
    parsed.notes = {**left_out, damaged: container.n_unread}
    return parsed
