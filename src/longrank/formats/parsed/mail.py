"""Mail: a message is a document; its title is its subject. Attachments are counted, and not read."""

from __future__ import annotations

import codecs
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from email import policy
from email.errors import InvalidBase64CharactersDefect, InvalidBase64LengthDefect, MessageError
from email.message import EmailMessage
from email.parser import BytesParser
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

from longrank.formats.parsed import Parsed, Unreadable
from longrank.formats.parsed.encodings import decoded
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter

_MOST_BYTES = 64 << 20  # of a message
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_DAMAGE = (InvalidBase64LengthDefect, InvalidBase64CharactersDefect)
_HEADER = re.compile(rb"[!-9;-~]+:|>From ")
_WINDOWS = ("cp1252", "latin-1")  # what Latin-1 means in browsers and mail programs; five bytes are Latin-1 alone
_OF_WINDOWS = {code: text for code in range(0x80, 0xA0) if (text := bytes([code]).decode("cp1252", "ignore"))}
_VALUES = {"from": "author", "to": "to", "date": "date"}


def read_eml(path: str) -> Iterator[Parsed]:
    """Yield the message of a file.

    Raises:
        Unreadable: no mail message, or too long.
    """
    with Path(path).open("rb") as stream:
        raw = stream.read(_MOST_BYTES + 1)
    yield _message(raw)


def read_mbox(path: str) -> Iterator[Parsed]:
    """Yield the messages of a mailbox file, named ``#1``, ``#2``, ...

    Raises:
        Unreadable: no mailbox, or a message is too long.
    """
    for number, raw in enumerate(_messages(path), 1):
        parsed = _message(raw)
        parsed.name = f"#{number}"
        yield parsed


def _messages(path: str) -> Iterator[bytes]:
    """Cut a mailbox at the lines ``From ``, between an empty line and a header; ``>From`` is unescaped."""
    lines: list[bytes] = []
    size, blank, begun = 0, True, False
    with Path(path).open("rb") as stream:
        for line, after in pairwise(chain(iter(partial(stream.readline, _MOST_BYTES), b""), [b""])):
            if blank and line.startswith(b"From ") and (not begun or _HEADER.match(after)):
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
    writer, fits = TextWriter(), True
    read, unread = _texts(message)
    for part in read:
        text, fit = _content(part)
        fits = fits and fit
        if part.get_content_subtype() == "html":
            add_html(text, writer)
        else:
            writer.add(text)
    values = {name: _header(message, header) for header, name in _VALUES.items()}
    parsed = writer.parsed(_header(message, "subject"), {name: value for name, value in values.items() if value})
    parsed.notes = {"mail attachments that are not read": unread}
    if not fits:
        parsed.notes["mail texts whose bytes do not fit their encoding"] = 1
    return parsed


def _texts(part: EmailMessage) -> tuple[list[EmailMessage], int]:
    """Return the parts of a message that are read, in order, and the number of its other parts.

    Of alternatives, the plain text is read if it has words, else the first that has. Mailing lists and gateways put
    texts of their own before and after the message. A multipart that nothing divides is text.
    """
    if part.get_content_maintype() == "multipart" and isinstance(part.get_payload(), str):
        return [part], 0
    if part.get_content_maintype() == "multipart":
        found = [_texts(each) for each in part.iter_parts() if isinstance(each, EmailMessage)]
        if part.get_content_subtype() == "alternative":
            worded = [each for each in found if any(_content(text)[0].strip() for text in each[0])]
            plain = (each for each in worded if each[0][0].get_content_subtype() == "plain")
            return next(plain, next(iter(worded or found), ([], 0)))
        return [text for texts, _ in found for text in texts], sum(count for _, count in found)
    disposition = part.get_content_disposition()
    named = part.get_param("filename", header="content-disposition") is not None
    if part.get_content_type() in ("text/plain", "text/html") and disposition != "attachment" and not named:
        return [part], 0
    return [], 1


def _header(message: EmailMessage, name: str) -> str:
    return " ".join(str(message.get(name, "")).translate(_OF_WINDOWS).split())


def _content(part: EmailMessage) -> tuple[str, bool]:
    """Return the text of a part, and True if its bytes fit its charset or UTF-8, which many programs send as ASCII."""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    if any(isinstance(defect, InvalidBase64LengthDefect) for defect in part.defects):  # cut off: `raw` is not decoded
        letters = _NO_BASE64.sub(b"", raw)
        raw = b64decode(letters[: len(letters) // 4 * 4])
    whole = not any(isinstance(defect, _DAMAGE) for defect in part.defects)
    charset = part.get_content_charset("utf-8")
    text, fits = decoded(raw, _WINDOWS if _is_latin(charset) else (charset, "utf-8"))
    return text.replace("\r\n", "\n").replace("\x00", ""), fits and whole


def _is_latin(charset: str) -> bool:
    with suppress(LookupError):
        return codecs.lookup(charset).name == "iso8859-1"
    return False
