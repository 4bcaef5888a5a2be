"""Parse bodies of requests as strict JSON."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import Any

from longrank.errors import shown
from longrank.formats.strict_json import Fault, explained, without_surrogates
from longrank.formats.strict_json import parse as parse_text
from longrank.service.errors import Refusal


def parse(body: bytes) -> Any:
    """Return the JSON value of `body`.

    Raises:
        Refusal: 400, not UTF-8, a byte order mark, not JSON, a key twice in an object, ``NaN`` or an infinity, a
            number of more than 1000 digits, nesting deeper than 100, or a lone surrogate.
    """
    if body.startswith(BOM_UTF8):
        raise Refusal(400, "bad_json", "the body begins with a byte order mark: leave it out")
    try:
        text = body.decode("utf-8")
        value, lone = without_surrogates(text, parse_text(text))
    except UnicodeDecodeError as error:
        raise Refusal(400, "bad_utf8", f"the body is not UTF-8 at byte {error.start}") from None
    except Fault as fault:
        got = "" if fault.got is None else f" (got {shown(fault.got)})"
        raise Refusal(400, "bad_json", f"the body: {fault.what}{got}") from None
    except json.JSONDecodeError as error:
        raise Refusal(400, "bad_json", f"the body {explained(error)} of line {error.lineno}") from None
    if lone:
        raise Refusal(400, "bad_json", "the body: a lone surrogate is not valid text")
    return value
