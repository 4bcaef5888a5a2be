"""Small collections for the tests of feedback: words of every kind that a filter tells apart, and plain counts."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from collections_of_words import located
from longrank.index import Index, IndexOptions, build_index
from longrank.retrieval import Hits
from longrank.types import Document

RARE = [
    *("apple", "pear", "plum", "ab", "cd3", "42", "1999", "b", "7", "x" * 20, "y" * 21, "zürich", "東", "naïve"),
    *(f"word{letter}" for letter in "abcdefghijklmnop"),
    *(letter * 3 for letter in "abcdefgh"),
]
COMMON = ["the", "common", "usual", "of"]  # in more than a tenth of the documents


def feedback_texts(seed: int, n: int = 120) -> list[str]:
    """Texts of a few words each, some of them common; one in twelve is empty."""
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        words = rng.choices(RARE, k=rng.randrange(1, 12)) + rng.choices(COMMON, k=rng.randrange(3))
        texts.append(" ".join(words) if rng.random() > 1 / 12 else "")
    return texts


def index_of(folder: Path, texts: Sequence[str]) -> Index:
    """Return an index of `texts` without stemming or stop list; ids sort like numbers."""
    documents = [Document(f"d{number:04}", "", text) for number, text in enumerate(texts)]
    return build_index(located(documents), folder / "index", options=IndexOptions("none"))


def with_others(texts: Sequence[str], n_others: int = 40) -> list[str]:
    """Return `texts` and many documents of one word each that occurs nowhere else."""
    return [*texts, *(f"other{number}" for number in range(n_others))]


def hits_of(*pairs: tuple[int, float]) -> Hits:
    """Return a first pass of these document numbers and scores."""
    numbers, scores = zip(*pairs, strict=True)
    return Hits(np.array(numbers, np.int64), np.array(scores, np.float32))


def counts_of(index: Index) -> list[Counter[str]]:
    """Return the terms of each document with their occurrences, by analysing its text again."""
    return [Counter(index.analyzer(document.text)) for document in index]


def dfs_of(counts: Sequence[Counter[str]]) -> Counter[str]:
    """Return how many documents hold each term."""
    return Counter(term for document in counts for term in document)


def n_characters(term: str) -> int:
    """Return the length of a term as Java counts it."""
    return len(term.encode("utf-16-le")) // 2


def is_usual(term: str) -> bool:
    """Return whether RM3 and BM25PRF look at a term."""
    return re.fullmatch("[a-z0-9]{2,20}", term) is not None
