"""SECURITY.md says what every command reads, writes, connects to and starts."""

from __future__ import annotations

import re
from pathlib import Path

from longrank.cli.main import COMMANDS

_PAGE = Path(__file__).parents[2] / "SECURITY.md"


def test_the_page_has_a_row_for_every_command() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(COMMANDS)
