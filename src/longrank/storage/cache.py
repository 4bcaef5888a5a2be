"""The cache folder, for files that can be made again."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from longrank.errors import InputError

_places: dict[str, Path] = {}
_SHELVES = ("exports", "models", "remote")  # folders of entries


def cache_folder() -> Path:
    """Return the cache folder, which may not exist yet; default: ``~/.cache/longrank``."""
    return _places.get("cache") or Path.home() / ".cache" / "longrank"


def use_cache_folder(folder: Path) -> None:
    """Set the folder that `cache_folder` returns."""
    _places["cache"] = folder


def entries() -> dict[str, int]:
    """Return name -> bytes of each entry of the cache, ordered by name."""
    folder = cache_folder()
    places = list(folder.iterdir()) if folder.is_dir() else []
    for shelf in [place for place in places if place.name in _SHELVES and place.is_dir()]:
        places.remove(shelf)
        places += shelf.iterdir()
    return {place.relative_to(folder).as_posix(): size_of(place) for place in sorted(places)}


def size_of(place: Path) -> int:
    """Return the bytes of a file, or of all files below a folder; links do not count, and a file of two names once."""
    files = [place] if place.is_file() else place.rglob("*")
    states = [path.lstat() for path in files if path.is_file() and not path.is_symlink()]
    return sum({(state.st_dev, state.st_ino): state.st_size for state in states}.values())


def remove(name: str) -> int:
    """Remove an entry of the cache; return its bytes.

    Raises:
        InputError: there is no such entry.
    """
    size = entries().get(name)
    if size is None:
        raise InputError("the cache has no such entry", path=cache_folder(), got=name, fix="longrank cache list")
    place = cache_folder() / name
    if place.is_dir() and not place.is_symlink():
        aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        place.rename(aside)  # first: half a folder would be read as a whole one
        shutil.rmtree(aside)
    else:
        place.unlink()
    return size
