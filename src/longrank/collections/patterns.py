"""Patterns of file names, as in ``.gitignore``, and of sources, as in a shell."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache
from glob import escape, glob, has_magic
from pathlib import Path

from longrank.errors import InputError

_PARTS = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matching(source: str) -> tuple[str, ...]:
    """Return the files and folders that match a pattern such as ``docs/*.jsonl.gz``, sorted; a path stands for itself.

    A file whose name holds the characters of a pattern is a path. ``**`` matches folders at any depth.

    Raises:
        InputError: no file or folder matches.
    """
    if not is_pattern(source):
        return (source,)
    found = sorted(glob(source, recursive=True))  # noqa: PTH207
    if not found:
        raise InputError("no file or folder matches", got=source)
    return tuple(found)


def is_pattern(source: str) -> bool:
    """Tell whether a source is a pattern, and not a file or folder whose name holds the characters of a pattern."""
    return has_magic(source) and not glob(escape(source))  # noqa: PTH207 - Path.glob loses a leading ./ and takes no root


def would_match(source: str, path: Path | str) -> bool:
    """Tell whether a source is a pattern that matches a file, which need not exist yet."""
    if not is_pattern(source):
        return False
    parts = absolute_pattern(source).split("/")
    first = _n_fixed(parts)
    below = absolute_path(str(path)).split("/")[first:]
    if any(part.startswith(".") for part in below) and not any(part.startswith(".") for part in parts[first:]):
        return False  # wildcards match no hidden names
    patterns = [absolute_pattern(source), absolute_pattern(source, os.path.realpath)]
    files = (absolute_path(str(path)), os.path.realpath(path))  # links lead to the same files
    return any(matches(file.lstrip("/"), patterns) for file in files)


def folders_above(file: str, pattern: str) -> list[str]:
    """Return the folders above a file through which a pattern finds the file; none of files elsewhere."""
    parts, names = pattern.split("/"), file.split("/")
    first = _n_fixed(parts)
    if names[:first] != parts[:first]:
        return []
    return ["/".join(names[:n]) or "/" for n in range(first, len(names))]


def absolute_pattern(pattern: str, absolute: Callable[[str], str] | None = None) -> str:
    """Return a pattern that matches the same files from any working folder.

    Args:
        pattern: the pattern.
        absolute: returns the absolute path of the folder before the first wildcard; None: `absolute_path`.
    """
    parts = pattern.split("/")
    first = _n_fixed(parts)
    fixed, rest = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else "."), "/".join(parts[first:])
    wild = rest if ".." in parts[first:] else os.path.normpath(rest)
    return os.path.join(escape((absolute or absolute_path)(fixed)), wild)  # noqa: PTH118 - pathlib has no normpath


def _n_fixed(parts: list[str]) -> int:
    """Return the number of parts of a pattern before its first part that matches several names."""
    return next((n for n, part in enumerate(parts) if has_magic(part)), len(parts))


def absolute_path(path: str) -> str:
    """Return the absolute path of a file or folder without ``..``; links stay links, but for a link before ``..``.

    ``link/../docs`` lies beside the folder to which the link leads.
    """
    plain = os.path.abspath(path)  # noqa: PTH100 - links stay links
    given = Path(path)
    if ".." not in given.parts:
        return plain
    if given.name != "..":
        return str(Path(absolute_path(str(given.parent)), given.name))
    return plain if given.resolve() == Path(plain).resolve() else str(given.resolve())


def absolute_paths() -> Callable[[Path], str]:
    """Return a function that gives files their absolute paths, as `absolute_path`; it looks at each folder once."""
    folder = lru_cache(maxsize=None)(lambda parent: absolute_path(str(parent)))
    return lambda path: str(Path(folder(path.parent), path.name))


def matches(name: str, patterns: Iterable[str], *, folder: bool = False) -> bool:
    """Tell whether a path matches a pattern.

    A pattern without a slash matches a name at any depth; a pattern with a slash matches the path from the source
    folder on. A slash at the end: only folders. ``*`` and ``?`` match within a name, ``**`` matches across folders.

    Args:
        name: the path relative to the source folder, with slashes.
        patterns: the patterns.
        folder: True: it is a folder.
    """
    return any(_matches(name, pattern, folder) for pattern in patterns)


def _matches(name: str, pattern: str, folder: bool) -> bool:
    if pattern.endswith("/"):
        if not folder:
            return False
        pattern = pattern[:-1]
    if "/" not in pattern:
        name = name.rpartition("/")[2]
    return _compiled(pattern.removeprefix("/")).fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_translated(part) for part in _PARTS.findall(pattern)), re.DOTALL)


def _translated(part: str) -> str:
    if part in _WILD:
        return _WILD[part]
    if len(part) > 2 and part.startswith("["):
        return f"(?!/){translate(part)[4:-3]}"  # without (?s: and its end
    return re.escape(part)
