"""What the tests of integrations and of real clients rank: whole documents of which one passage answers."""

from __future__ import annotations

from pathlib import Path

from fakes import index_of
from longrank.types import Document

QUERY = "how are hurricanes named"
FILLER = "The harbour was quiet and the boats lay still while the market opened. " * 60
ANSWER = "Hurricanes are named from lists that the weather organisation keeps for every season."
LONG = FILLER + "\U0001f32a\U0001f300 naïve café. " + ANSWER + " " + FILLER
"""A document whose answer is in its middle, behind characters outside the basic plane."""

NEAR = "A list of names is kept for every storm. " + FILLER
FAR = FILLER
TEXTS = {"far": FAR, "long": LONG, "near": NEAR}
ORDER = ["long", "near", "far"]
"""The documents, best first."""


def saved_index(folder: Path) -> str:
    """Build an index of the documents, whose statistics the lexical pipeline takes, and return its folder."""
    index_of([Document(doc_id, "", text) for doc_id, text in TEXTS.items()], folder)
    return str(folder)
