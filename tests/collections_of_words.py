"""Small random collections for the tests of the index."""

from __future__ import annotations

import random
from collections.abc import Sequence

from longrank.formats.corpora import Located
from longrank.types import Document

LETTERS = "abcdefghij"


def located(documents: Sequence[Document], path: str = "docs.jsonl") -> list[Located]:
    return [Located(document, path, line) for line, document in enumerate(documents, 1)]


def random_documents(n: int, seed: int = 3, mean_words: int = 40) -> list[Document]:
    """Documents of words of one to three letters with skewed frequencies; a few are empty, a few have passages."""
    rng = random.Random(seed)
    made = []
    for number in range(n):
        n_words = rng.choice((0, 1, mean_words, 2 * mean_words))
        words = ["".join(rng.choices(LETTERS, k=min(int(rng.expovariate(0.7)) + 1, 3))) for _ in range(n_words)]
        text = " ".join(words) + rng.choice(("", " Zürich", " 東京\n"))
        spans = ((0, len(text) // 2), (len(text) // 2, len(text))) if number % 5 == 0 and len(text) > 1 else ()
        made.append(Document(f"doc-{rng.randrange(10**9)}-{number}", rng.choice(("", "a title")), text, spans))
    return made
