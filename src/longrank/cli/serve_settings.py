"""Settings of ``longrank serve`` from options and the environment: the key, host names, limits."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.small_files import MIB, read_small

if TYPE_CHECKING:
    from longrank.service.settings import ServiceSettings

KEY = "LONGRANK_API_KEY"
"""Environment variable of the key."""
_HOST_NAME = re.compile(r"\*|[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


def check_writable(key: str | None, index: Path | None) -> None:
    """Refuse to change an index without a key, or an index that cannot be written to.

    Raises:
        InputError: there is no key or no index, or the index is not in a local folder.
    """
    from longrank.storage import check_folder
    from longrank.storage.remote import address_of

    if index is None:
        raise InputError("--writable needs an index", fix="leave out --rerank-only, and give INDEX")
    if key is None:
        raise InputError("--writable needs a key", fix=f"give --key-file FILE, or set ${KEY}")
    if address_of(index):
        raise InputError("--writable needs an index in a local folder", got=str(index))
    check_folder(index)


def server_settings(options: dict[str, Any], allowed: Sequence[str]) -> ServiceSettings:
    """Return the limits, and the host names that clients may use: localhost, `host`, and `allowed`.

    Raises:
        InputError: `allowed` has something other than names.
    """
    from longrank.service.settings import ServiceSettings

    for name in allowed:
        if not _HOST_NAME.fullmatch(name):
            raise InputError("--allow-host takes a name without scheme and port, or *", got=name)
    settings = ServiceSettings(**options)
    settings = replace(settings, drain=max(settings.drain, settings.deadline))  # a shutdown keeps the deadlines
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    names = [*(() if host in ("0.0.0.0", "[::]") else (host,)), *allowed]  # noqa: S104 - these name no host
    return replace(settings, allowed_hosts=(*settings.allowed_hosts, *(name.lower() for name in names)))


def key_of(file: Path | None) -> str | None:
    """Return the key from the file or the environment; errors never show it.

    Raises:
        InputError: the key is empty, or a header cannot hold it.
    """
    from longrank.service.settings import is_key

    if file is None and KEY not in os.environ:
        return None
    key = os.environ[KEY] if file is None else read_small(file, MIB, "keys").decode("utf-8", "replace").rstrip("\r\n")
    if not is_key(key):
        fault = "the key must be visible ASCII characters without blanks"
        raise InputError(fault, path=file) if file else InputError(fault, fix=f"see ${KEY}")
    return key
