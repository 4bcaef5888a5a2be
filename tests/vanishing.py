"""A file that vanishes between the moment it is listed and the moment it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from longrank.verbs import source_states


@contextmanager
def vanishing(path: Path) -> Iterator[None]:
    """Remove a file right after the files of the sources are listed."""
    listed = source_states.files_of

    def then_gone(*given: Any) -> Iterator[Any]:
        yield from listed(*given)
        path.unlink()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(source_states, "files_of", then_gone)
        yield
