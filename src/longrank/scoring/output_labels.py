"""Labels of a classifier's two outputs, in ``id2label`` of config.json.

Most rerankers say ``LABEL_0`` and ``LABEL_1``, which tells nothing. Labels are believed only where they are clear: one
denies what the other affirms, as "not relevant" and "relevant" or "negative" and "positive" do.
"""

from __future__ import annotations

import re

_NEGATIONS = frozenset({"not", "non", "no", "irrelevant", "nonrelevant", "negative", "false"})
_AFFIRMATIONS = frozenset({"relevant", "positive", "true", "yes"})
_DENIED = re.compile(r"(?:not|non|no|un|ir|in) ?(.+)")
_OTHERS = re.compile(r"[^a-z0-9]+")  # "Not_Relevant", "not-relevant" and "not relevant" are one label


def denies(label: str, other: str) -> bool:
    """Say whether `label` clearly means not relevant, and `other` relevant."""
    first, second = (_OTHERS.sub(" ", text.lower()).strip() for text in (label, other))
    if (first, second) == ("0", "1"):
        return True
    denied = _DENIED.fullmatch(first)
    if denied is not None and denied[1] == second:
        return True
    words, others = first.split(), set(second.split())
    return bool(words) and words[0] in _NEGATIONS and bool(others & _AFFIRMATIONS) and not others & _NEGATIONS
