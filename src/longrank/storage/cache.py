"""The cache folder, for files that can be made again."""

from __future__ import annotations

from pathlib import Path

_places: dict[str, Path] = {}


def cache_folder() -> Path:
    """Return the cache folder, which may not exist yet; default: ``~/.cache/longrank``."""
    return _places.get("cache") or Path.home() / ".cache" / "longrank"


def use_cache_folder(folder: Path) -> None:
    """Set the folder that `cache_folder` returns."""
    _places["cache"] = folder
