"""Text of scanned files by a command of the user."""

from __future__ import annotations

import shlex
import subprocess
import unicodedata
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.parsed import Parsed

_SECONDS = 600
_FIX = "the command must print UTF-8 text, with a form feed between pages"


class NotStarted(InputError):
    """The command cannot be started."""


class Failed(InputError):
    """The command has failed; the cause may lie outside the file, so the next update tries again."""


def recognised(path: Path, command: str, folder: str = "") -> Parsed:
    """Return the document that a command reads from a file.

    Args:
        path: the file; its absolute path is added to the command as its last argument.
        command: the command; it prints the text, with a form feed after each page, as ``pdftotext`` does.
        folder: the folder in which it runs; the working folder, if it is empty or gone.

    Raises:
        NotStarted: the command cannot be started.
        Failed: it ends with another exit code than 0.
        InputError: it takes more than 600 seconds, or prints no UTF-8 text.
    """
    place = folder if folder and Path(folder).is_dir() else None
    try:
        words = [*shlex.split(command), str(path.absolute())]
        done = subprocess.run(
            words, check=False, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, cwd=place
        )
    except (OSError, ValueError) as error:
        raise NotStarted(f"--ocr cannot be started: {error}", got=command) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"--ocr takes more than {_SECONDS} seconds", path=path) from None
    if done.returncode:
        raise Failed(f"--ocr ends with exit code {done.returncode}", path=path, got=command)
    try:
        printed = unicodedata.normalize("NFC", done.stdout.decode().replace("\x00", ""))
        texts = [page.strip() for page in printed.removesuffix("\f\n").split("\f")]
    except UnicodeDecodeError:
        raise InputError("--ocr prints no UTF-8", path=path, fix=_FIX) from None
    if not texts[-1] and len(texts) > 1:
        texts.pop()
    if not any(texts):
        raise InputError("--ocr finds no text", path=path, fix=_FIX)
    pages, length = [], 0
    for text in texts:
        pages.append(length)
        length += len(text) + 1
    return Parsed("\n".join(texts), pages=pages)
