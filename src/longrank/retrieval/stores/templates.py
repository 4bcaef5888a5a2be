"""Templates of requests: JSON values in which placeholders stand for query, k and query vector."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

PLACEHOLDERS = ("%(query)s", "%(k)s", "%(vector)s")


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with each placeholder replaced by its value; the value is never read as part of the template.

    Args:
        template: a JSON value. A placeholder is a whole string.
        values: placeholder -> value.
    """
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, Mapping):
        return {name: filled(part, values) for name, part in template.items()}
    return [filled(part, values) for part in template] if isinstance(template, list) else template


def strings_in(template: Any) -> Iterator[str]:
    """Yield the strings of a template, without the names of its objects."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping | list):
        for part in template.values() if isinstance(template, Mapping) else template:
            yield from strings_in(part)


def _day(value: Any) -> str:
    """Return a day or time of TOML as text; the clients send it, too."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"it lacks {value!r}")


def check_template(template: Any, *, encoder: bool) -> None:
    """Refuse a template without a query, with a placeholder inside a longer text, or with a vector that is not made.

    Raises:
        ValueError: names the fault and the cure.
    """
    try:
        json.dumps(template, default=_day, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`body` is no JSON: {error}") from None
    strings = list(strings_in(template))
    for text in strings:
        if text not in PLACEHOLDERS and any(placeholder in text for placeholder in PLACEHOLDERS):
            raise ValueError(f"a placeholder must be the whole text: {text!r}")
    if not {"%(query)s", "%(vector)s"} & set(strings):
        raise ValueError('`body` must contain the text "%(query)s" or "%(vector)s"')
    if ("%(vector)s" in strings) != encoder:
        raise ValueError('"%(vector)s" in `body` and `encoder` need each other')
