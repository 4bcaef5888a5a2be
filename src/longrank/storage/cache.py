"""Where files lie that can be made again: one folder of the user's, which the command line may move."""

from __future__ import annotations

from pathlib import Path

_places: dict[str, Path] = {}


def cache_folder() -> Path:
    """Return the folder; it need not exist. Unless it was moved, ``~/.cache/longrank``."""
    return _places.get("cache") or Path.home() / ".cache" / "longrank"


def use_cache_folder(folder: Path) -> None:
    """Let `cache_folder` return this one from now on."""
    _places["cache"] = folder
