"""Addresses of folders in object stores: ``SCHEME://BUCKET/PREFIX``.

To add a store, add a line to `SCHEMES`: the package through which fsspec reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from longrank.errors import InputError

_ADDRESS = re.compile(r"([a-z][a-z0-9]*):/+(.+)", re.DOTALL)  # pathlib leaves one slash of two
_PART = re.compile(r"[^\\:?#*\[\]%\x00-\x20\x7f]+")


class Scheme(NamedTuple):
    """A kind of object store.

    Attributes:
        package: the package that brings it to fsspec.
        options: options of its file system.
        condition: from fsspec's description of an object, options of a write that replaces the object in this state
            only; None: the store, or its package, has no such writes.
    """

    package: str
    options: Mapping[str, Any] = MappingProxyType({})
    condition: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None


def _etag(state: Mapping[str, Any]) -> dict[str, Any]:
    return {"IfMatch": state["ETag"]}


SCHEMES: dict[str, Scheme] = {
    "s3": Scheme("s3fs", {"max_concurrency": 4}, _etag),  # parts of 50 MB of a file at a time, which memory holds
    "gs": Scheme("gcsfs"),
    "az": Scheme("adlfs"),
}


def address_of(place: object) -> str:
    """Return the address of a folder in an object store in its only form; "": another place.

    >>> address_of("s3://bucket/my.index/"), address_of(Path("s3://bucket/my.index")), address_of("my.index")
    ('s3://bucket/my.index', 's3://bucket/my.index', '')

    Raises:
        InputError: it names no folder below a bucket, or has characters that some stores do not take.
    """
    match = _ADDRESS.fullmatch(str(place)) if isinstance(place, str | Path) else None
    if match is None or match[1] not in SCHEMES:
        return ""
    parts = match[2].rstrip("/").split("/")
    if len(parts) < 2 or any(part in (".", "..") or not _PART.fullmatch(part) for part in parts):
        fix = f"write {match[1]}://BUCKET/NAME, without keys or passwords"
        raise InputError("the address names no folder of an object store", path=f"{match[1]}://", fix=fix)
    return f"{match[1]}://{'/'.join(parts)}"
