"""Progress of transfers: the command line shows it; elsewhere nothing is shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[str, int, str], AbstractContextManager[Callable[..., Any]]]
"""Takes the work, the number of units and their noun; yields a function of the units just done."""

_shown: dict[str, Progress] = {}


def use_progress(progress: Progress) -> None:
    """Set how transfers show their progress."""
    _shown["progress"] = progress


def shown(what: str, n_bytes: int) -> AbstractContextManager[Callable[..., Any]]:
    """Return the context of a transfer; it yields a function of the number of bytes just done."""
    progress = _shown.get("progress")
    return nullcontext(lambda n: None) if progress is None else progress(what, n_bytes, "bytes")
