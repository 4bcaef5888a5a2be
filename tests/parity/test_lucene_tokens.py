"""Our terms are those of Lucene's analyzers, of every text; `benchmarks/lucene_tokens.py` wrote what is expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longrank.text.analysis import ANALYZERS
from token_streams import COLLECTIONS, digest, texts_of

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("lucene_tokens.json").read_text("ascii"))
ENGLISH = ("porter", "none")


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("analyzer", ENGLISH)
def test_the_terms_of_a_collection_are_lucenes(shared_data: Path, name: str, analyzer: str) -> None:
    folder = shared_data / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not at {shared_data}")
    found = {part: digest(map(ANALYZERS[analyzer], texts)) for part, texts in texts_of(folder).items()}
    assert found == EXPECTED["collections"][analyzer][name]


@pytest.mark.parametrize("analyzer", ENGLISH)
def test_the_terms_of_hard_strings_are_lucenes(analyzer: str) -> None:
    assert len(EXPECTED["strings"]) > 50
    for string in EXPECTED["strings"]:
        assert ANALYZERS[analyzer](string["text"]) == string[analyzer], string["text"]


@pytest.mark.parametrize("analyzer", ENGLISH)
def test_hard_strings_in_one_text_have_the_same_terms(analyzer: str) -> None:
    text = "\n".join(string["text"] for string in EXPECTED["strings"])
    assert ANALYZERS[analyzer](text) == [term for string in EXPECTED["strings"] for term in string[analyzer]]
