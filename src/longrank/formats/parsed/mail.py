"""Mail: a message is a document; its title is its subject. Attachments are counted, and not read."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import UTC, datetime
from datetime import date as date_type
from email import policy
from email.errors import InvalidBase64CharactersDefect, InvalidBase64LengthDefect, MessageError
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from quopri import decodestring

from longrank.formats.markup import cut_out, plain_text
from longrank.formats.parsed import Parsed, Unreadable
from longrank.formats.parsed.encodings import REPLACED, Decoded, codec_of, declared, decoded
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter

_MOST_BYTES = 64 << 20  # of a message
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_DAMAGE = (InvalidBase64LengthDefect, InvalidBase64CharactersDefect)
_HEADER = re.compile(rb"[!-9;-~]+:(?!//)|>From ")  # no http://
_MAIL_HEADER = re.compile(
    rb"(?:x-|arc-|list-|content-|resent-|dkim-|received|return-path|delivered-to|envelope-to|authentication-results"
    rb"|date:|from:|to:|cc:|bcc:|reply-to:|sender:|subject:|message-id:|mime-version:|in-reply-to:|references:"
    rb"|status:|path:|newsgroups:|organization:|lines:|priority:|importance:|precedence:|approved:|comments:|errors-to:"
    rb"|user-agent:|xref:|mailing-list:|expires:|old-|thread-|original-|nntp-|>from )",
    re.IGNORECASE,
)
_UNDATED = re.compile(rb"From\s+(?:\S+\s+)?$")  # some programs write the sender alone, or nothing
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = re.compile(rb"\d:\d\d\b|\b" + _DAY + rb"\b")
_POSTMARK = re.compile(rb"From \S.*? " + _DAY + rb" .*\b[12]\d{3}\s")
_POSTMARK_BYTES = 1000  # of such a line; the time to match it grows with the square of its length
_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:")
_WORD = re.compile(r"=\?([^?*\s]+)(?:\*[^?\s]*)?\?([BbQq])\?([^?\s]*)\?=")  # RFC 2047
_LINK = re.compile(r"https?://\S+")
_STUB = 3  # an alternative with so many times the letters of the plain text is the message
_TEXTS = ("plain", "html", "enriched", "richtext", "markdown", "x-markdown")
_ENRICHED = frozenset({"bold", "italic", "fixed", "smaller", "bigger", "underline", "color", "fontfamily"})  # RFC 1896
_PARAMETER = (re.compile("<param>", re.IGNORECASE), re.compile("</param>", re.IGNORECASE))
_VALUES = {"subject": "title", "from": "author", "to": "to", "date": "date"}


def read_eml(path: str) -> Iterator[Parsed]:
    """Yield the message of a file.

    Raises:
        Unreadable: no mail message, or too long.
    """
    with Path(path).open("rb") as stream:
        raw = stream.read(_MOST_BYTES + 1)
    yield _message(raw.removeprefix(BOM_UTF8))


def read_mbox(path: str) -> Iterator[Parsed]:
    """Yield the messages of a mailbox file, named ``#1``, ``#2``, ...; the last has the count of damaged messages.

    Raises:
        Unreadable: no mailbox, no message that can be read, or a message is too long.
    """
    last, n_damaged = None, 0
    for number, raw in enumerate(_messages(path), 1):
        try:
            parsed = _message(raw)
        except Unreadable:
            n_damaged += 1
            continue
        if last is not None:
            yield last
        parsed.name, last = f"#{number}", parsed
    if last is None and n_damaged:
        raise Unreadable("holds no mail message that can be read")
    if last is not None:
        last.notes["damaged messages of mailboxes, left out"] = n_damaged
        yield last


def _messages(path: str) -> Iterator[bytes]:
    """Cut a mailbox at the lines ``From `` after an empty line or with a date, and before a header.

    ``>From`` is unescaped.
    """
    lines: list[bytes] = []
    size, blank, begun = 0, True, False
    with Path(path).open("rb") as stream:
        for line, after in pairwise(chain(iter(partial(stream.readline, _MOST_BYTES), b""), [b""])):
            if line.startswith(b"From ") and (not begun or ((blank or lines) and _begins_message(line, after, blank))):
                if begun:
                    yield b"".join(lines)
                lines, size, begun = [], 0, True
            elif not begun:
                raise Unreadable("is no mailbox: its first line does not begin with 'From '")
            else:
                lines.append(line[1:] if line.startswith(b">") and line.lstrip(b">").startswith(b"From ") else line)
                size += len(line)
            if size > _MOST_BYTES:
                raise Unreadable(f"holds a message of more than {_MOST_BYTES} bytes")
            blank = not line.strip()
    if begun:
        yield b"".join(lines)


def _begins_message(line: bytes, after: bytes, blank: bool) -> bool:
    """Tell whether a line begins a message, or is a sentence ("From what I see") that the sender did not mask.

    Args:
        line: begins with ``From``.
        after: the next line.
        blank: the line before is blank.
    """
    if blank:
        is_postmark = _TIME.search(line) or _UNDATED.match(line) or _MAIL_HEADER.match(after)
        return is_postmark is not None and _HEADER.match(after) is not None
    return len(line) <= _POSTMARK_BYTES and _NAME.match(after) is not None and _POSTMARK.match(line) is not None


def _message(raw: bytes) -> Parsed:
    if len(raw) > _MOST_BYTES:
        raise Unreadable(f"is longer than {_MOST_BYTES} bytes")
    try:
        message = BytesParser(policy=policy.default).parsebytes(raw)
        if not message.keys():
            raise Unreadable("is no mail message: it has no header")
        return _parsed(message)
    except (MessageError, ValueError, TypeError, AttributeError, IndexError, KeyError, RecursionError) as error:
        raise Unreadable(f"is a damaged mail message ({type(error).__name__})") from None


def _parsed(message: EmailMessage) -> Parsed:
    writer = TextWriter()
    parts, unread = _texts(message)
    contents = [_content(part) for part in parts]
    for part, content in zip(parts, contents, strict=True):
        if part.get_content_subtype() == "html":
            add_html(content.text, writer)
        elif part.get_content_subtype() in ("enriched", "richtext"):
            writer.add(plain_text(cut_out(content.text, *_PARAMETER), _ENRICHED))
        else:
            writer.add(content.text)
    expected = ("utf-8", *_charsets(message))
    headers = {name: _header(message, header, expected) for header, name in _VALUES.items()}
    values = {name: header.text for name, header in headers.items() if header.text}
    date = _date(values.get("date", ""))
    parsed = writer.parsed(values.pop("title", ""), values | ({"date": date} if date else {}))
    parsed.notes = {"mail attachments that are not read": unread}
    if "date" in values and not date:
        parsed.notes["mail dates that are no dates, kept as they are"] = 1
    for read, kind in ((contents, "texts"), (headers.values(), "headers")):
        if not all(each.fits for each in read):
            parsed.notes[f"mail {kind} whose bytes do not fit their encoding"] = 1
            parsed.notes[REPLACED] = parsed.notes.get(REPLACED, 0) + sum(each.n_replaced for each in read)
    return parsed


def _date(text: str) -> str:
    """Return the date of a header as ISO 8601, so that filters compare dates; empty if it is no date.

    It is in UTC if its zone is known; names of zones such as CET are not known, and such a time has no zone.
    """
    try:
        if len(text) == len("2020-01-02") and date_type.fromisoformat(text):
            return text
        date = datetime.fromisoformat(text) if text[:4].isdecimal() else parsedate_to_datetime(text)
        return (date if date.tzinfo is None else date.astimezone(UTC)).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _texts(part: EmailMessage) -> tuple[list[EmailMessage], int]:
    """Return the parts of a message that are read, in order, and the number of its other parts.

    Of alternatives, the plain text is read if it has words, else the first that has; but if an alternative has
    several times its letters, the plain text only says that the program cannot show the message. Mailing lists and
    gateways put texts of their own before and after the message. A multipart that nothing divides is text.
    """
    if part.get_content_maintype() == "multipart" and isinstance(part.get_payload(), str):
        return [part], 0
    if part.get_content_maintype() == "multipart":
        found = [_texts(each) for each in part.iter_parts() if isinstance(each, EmailMessage)]
        if part.get_content_subtype() == "alternative":
            return _alternative(found)
        return [text for texts, _ in found for text in texts], sum(count for _, count in found)
    disposition = part.get_content_disposition()
    named = part.get_param("filename", header="content-disposition") is not None
    is_text = part.get_content_maintype() == "text" and part.get_content_subtype() in _TEXTS
    if is_text and disposition != "attachment" and not named:
        return [part], 0
    return [], 1


def _alternative(found: list[tuple[list[EmailMessage], int]]) -> tuple[list[EmailMessage], int]:
    """Choose among the texts of alternatives; the attachments of all of them are counted."""
    attachments = sum(count for texts, count in found if texts)  # an alternative without text, a calendar's, is no file
    counts = [sum(_n_letters(text) for text in texts) for texts, _ in found]
    if not any(counts):
        return found[0] if found else ([], 0)
    worded = [number for number, count in enumerate(counts) if count]
    plain = (number for number in worded if found[number][0][0].get_content_subtype() == "plain")
    chosen, richest = next(plain, worded[0]), max(worded, key=counts.__getitem__)
    if counts[richest] > _STUB * counts[chosen]:
        chosen = richest
    return found[chosen][0], attachments


def _n_letters(part: EmailMessage) -> int:
    """Return the number of letters and digits, but those of links, which HTML does not show."""
    return sum(map(str.isalnum, _LINK.sub("", _worded(part))))


def _worded(part: EmailMessage) -> str:
    text = _content(part).text
    if part.get_content_subtype() != "html":
        return text
    writer = TextWriter()
    add_html(text, writer)
    return writer.parsed().text


def _charsets(message: EmailMessage) -> Iterator[str]:
    """Yield the encodings of the texts of a message: its headers often have the same."""
    for part in message.walk():
        if part.get_content_maintype() == "text" and (charset := part.get_content_charset()):
            yield from _encodings(charset)


def _header(message: EmailMessage, name: str, expected: tuple[str, ...]) -> Decoded:
    """Return a header; its encoded words are read by the labels that mail programs write, bare bytes as `expected`."""
    folded = next((str(value) for key, value in message.raw_items() if key.lower() == name), "")
    raw = "".join(folded.splitlines())  # as the email library does before it parses a header
    read = decoded(raw.encode("utf-8", "surrogateescape"), expected)
    escaped = read.text.encode(errors="replace").decode("ascii", "surrogateescape")  # which the library reads as UTF-8
    try:
        text = str(policy.default.header_factory(name, _WORD.sub(_as_utf_8, escaped)))
    except (MessageError, ValueError, TypeError, AttributeError, IndexError, KeyError, RecursionError):
        text = read.text  # the library's parser fails on some odd headers
    return read._replace(text=" ".join(text.split()))


def _as_utf_8(word: re.Match[str]) -> str:
    """Write an encoded word in UTF-8; as it is, if its bytes do not fit its charset."""
    label, kind, letters = word.groups()
    try:
        raw = b64decode(letters + "=" * (-len(letters) % 4)) if kind in "Bb" else decodestring(letters, header=True)
    except ValueError:
        return word[0]
    read = decoded(raw, _encodings(label.lower()))
    return f"=?utf-8?b?{b64encode(read.text.encode()).decode()}?=" if read.fits else word[0]


def _content(part: EmailMessage) -> Decoded:
    """Return the text of a part; it fits if it is complete, in its charset or in UTF-8, which many send as ASCII."""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    if any(isinstance(defect, InvalidBase64LengthDefect) for defect in part.defects):  # cut off: `raw` is not decoded
        letters = _NO_BASE64.sub(b"", raw)
        raw = b64decode(letters[: len(letters) // 4 * 4])
    whole = not any(isinstance(defect, _DAMAGE) for defect in part.defects)
    charset = part.get_content_charset("utf-8")
    in_page = declared(raw) if part.get_content_subtype() == "html" else ()
    read = decoded(raw, (*_encodings(charset), *in_page))
    text = read.text.replace("\r\n", "\n").replace("\x00", "")
    if part.get_content_type() == "text/plain" and str(part.get_param("format", "")).lower() == "flowed":
        text = _flowed(text, str(part.get_param("delsp", "")).lower() == "yes")
    return read._replace(text=text, fits=read.fits and whole)


def _flowed(text: str, delete_blank: bool) -> str:
    """Join the lines of a flowed text (RFC 3676): a line that ends in a blank goes on in the next of its quotation.

    Apple Mail breaks words, too, and asks to delete that blank (``delsp=yes``).
    """
    lines: list[str] = []
    depth_before, is_open = 0, False
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        depth = len(line) - len(unquoted)
        content = unquoted.removeprefix(" ")  # which protects a first blank, ">" or "From"
        is_signature = content == "-- "
        if is_open and content and depth == depth_before and not is_signature:
            lines[-1] += content
        else:
            lines.append(">" * depth + " " * bool(depth) + content)
        is_open, depth_before = content.endswith(" ") and not is_signature, depth
        if is_open and delete_blank:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def _encodings(charset: str) -> tuple[str, ...]:
    """Return the encodings to try: many programs send UTF-8 as ASCII, and some bytes fit the label's own table."""
    if charset in ("us-ascii", "ascii"):
        return "ascii", "utf-8"
    return codec_of(charset), charset, "utf-8"
