"""Languages that files name for themselves."""

from __future__ import annotations

import re

_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


def language_fields(value: str | None) -> dict[str, str]:
    """Return ``{"lang": CODE}`` for a code such as ``de`` or ``pt-BR``; empty for another value."""
    code = (value or "").strip()
    return {"lang": code} if _CODE.fullmatch(code) else {}
