"""OpenDocument texts (ODT, ISO/IEC 26300): headings, paragraphs, lists, tables, notes; no macro is run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from longrank.formats.note_marks import is_mark
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import Container, attribute, local, office_document, opened
from longrank.formats.ruby import in_brackets

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SKIPPED = frozenset({"tracked-changes", "annotation", "forms", "note-citation", "bibliography-source", "script"})
_LEFT_OUT = {"comments": ("annotation",), "charts and other objects": ("object", "object-ole")}
_MOST_BLANKS = 1000
_RAISED = ("super", *"123456789")


def read_odt(path: str) -> Iterator[Parsed]:
    """Yield the document of an OpenDocument text.

    Raises:
        Unreadable: damaged or encrypted.
    """
    from longrank.formats.parsed import Unreadable

    with opened(path) as container:
        if _is_encrypted(container):
            raise Unreadable("is encrypted: it needs a password")
        writer = TextWriter()
        content = container.xml("content.xml")
        styles = container.beside("styles.xml") if "styles.xml" in container else []
        roots = [*styles, content]
        titles = _derived(_styles(roots, "paragraph"), ["Title"])  # its name is in English in every language
        heights = {name: (style, _raises(style)) for name, style in _styles(roots, "text").items()}
        letters = {name: style for name, (style, raises) in heights.items() if raises is not False}
        raised = _derived(letters, (name for name in letters if heights[name][1]))
        body = next((e for e in content.iter() if local(e) == "body"), None)
        for level, paragraph in _paragraphs(body):
            level = level or int(attribute(paragraph, "style-name") in titles)  # noqa: PLW2901
            aside: list[Element] = []
            writer.add(_text(paragraph, raised, aside if level else None), level)
            for block in aside:
                writer.add(_text(block, raised))
        for text in _filled_in(body):
            writer.add(text)
        for text in dict.fromkeys(_headers(styles, raised)):  # those of first, left and right pages are often the same
            writer.add(text)
        names = [] if body is None else [local(element) for element in body.iter()]
        counts = {kind: sum(map(names.count, elements)) for kind, elements in _LEFT_OUT.items()}
        left_out = {f"{kind} of OpenDocument texts, left out": count for kind, count in counts.items()}
        yield office_document(container, writer, "meta.xml", left_out)


def _is_encrypted(container: Container) -> bool:
    return "META-INF/manifest.xml" in container and b"encryption-data" in container.read("META-INF/manifest.xml")


def _paragraphs(body: Element | None) -> Iterator[tuple[int, Element]]:
    stack = [] if body is None else [body]
    while stack:
        element = stack.pop()
        name = local(element)
        if name in _SKIPPED:
            continue
        if name in ("h", "p"):
            level = attribute(element, "outline-level") or "1"
            yield (min(int(level), 10) if level.isdigit() else 1) if name == "h" else 0, element
        else:
            stack.extend(reversed(element))


def _filled_in(body: Element | None) -> list[str]:
    """Return the values of form fields, but for passwords."""
    fields = [] if body is None else [element for element in body.iter() if local(element) != "password"]
    return [value for field in fields if (value := attribute(field, "current-value"))]


def _derived(styles: Mapping[str, Element], names: Iterable[str]) -> set[str]:
    """Return names of styles, and of those that derive from them."""
    derived: dict[str, list[str]] = {}
    for name, style in styles.items():
        derived.setdefault(attribute(style, "parent-style-name"), []).append(name)
    known = set(names)
    found = [*known]
    while found:
        new = set(derived.get(found.pop(), [])) - known
        known |= new
        found += new
    return known


def _raises(style: Element) -> bool | None:
    """Tell whether a style raises letters: ``super 58%``, or ``33% 58%``, a third of their height; None: unsaid."""
    positions = [position for part in style if (position := attribute(part, "text-position"))]
    return any(position.startswith(_RAISED) for position in positions) if positions else None


def _styles(roots: Sequence[Element], family: str) -> dict[str, Element]:
    """Return the styles of a family by their names; a later root replaces those of an earlier."""
    elements = (element for root in roots for element in root.iter() if local(element) == "style")
    return {attribute(style, "name"): style for style in elements if attribute(style, "family") == family}


def _headers(styles: Sequence[Element], raised: Collection[str]) -> Iterator[str]:
    """Yield the paragraphs of the headers and footers of pages."""
    for root in styles:
        for element in root.iter():
            if local(element).startswith(("header", "footer")) and not local(element).endswith("-style"):
                yield from (_text(paragraph, raised) for _, paragraph in _paragraphs(element))


def _text(paragraph: Element, raised: Collection[str], aside: list[Element] | None = None) -> str:
    """Return the text of a paragraph: `text` before the children, `tail` after each of them.

    Texts by themselves inside it are lines; if there is a list `aside`, they are put there. `raised` are the styles
    that raise letters.
    """
    parts: list[str] = [paragraph.text or ""]
    stack: list[Element | str | None] = []  # None: a line end, if the text before has none
    _push(stack, paragraph, aside)
    while stack:
        item = stack.pop()
        if item is None:
            parts += [] if parts[-1].endswith(("\n", "\t", " ")) else ["\n"]
        elif isinstance(item, str):
            parts.append(item)
        elif (name := local(item)) == "ruby":
            halves = {local(half): "".join(half.itertext()) for half in item}
            parts += [halves.get("ruby-base", ""), in_brackets([halves.get("ruby-text", "")])]
        elif name not in _SKIPPED:
            mark = attribute(item, "style-name") in raised and is_mark("".join(parts[-8:]), item.text or "")
            parts += filter(None, [" " if mark else _blank(item, name), item.text])
            _push(stack, item, aside)
    return "".join(parts)


def _push(stack: list[Element | str | None], element: Element, aside: list[Element] | None) -> None:
    items: list[Element | str | None] = []
    for child in element:
        if not _is_block(child):
            items.append(child)
        elif aside is None:
            items += [None, child, None]
        else:
            aside.append(child)
        items += [child.tail] if child.tail else []
    stack.extend(reversed(items))


def _is_block(element: Element) -> bool:
    """Tell whether an element of a paragraph is a text by itself: of a note or a frame, or a picture's title."""
    name = local(element)
    return name in ("p", "h") or (name in ("title", "desc") and "svg" in element.tag)


def _blank(element: Element, name: str) -> str:
    if name == "s":
        count = attribute(element, "c")
        return " " * min(int(count), _MOST_BLANKS) if count.isdigit() else " "
    return {"tab": "\t", "line-break": "\n"}.get(name, "")
