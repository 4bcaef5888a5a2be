"""BM25 against bm25s; `test_lucene_runs.py` has it against Lucene."""

from __future__ import annotations

from pathlib import Path

import pytest

from collections_of_words import located, random_documents
from longrank.index import build_index
from longrank.retrieval import BM25
from longrank.types import Query

bm25s = pytest.importorskip("bm25s", reason="needs the extra dev")


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75)])
def test_exact_lengths_give_the_scores_of_bm25s(tmp_path: Path, k1: float, b: float) -> None:
    index = build_index(located([d for d in random_documents(200) if d.text.strip()]), tmp_path / "index")
    tokens = [index.analyzer(index.options.indexed(document.title, document.text)) for document in index]
    theirs = bm25s.BM25(method="lucene", k1=k1, b=b)
    theirs.index(tokens, show_progress=False)
    ours = BM25(index, k1=k1, b=b, doc_lengths="exact")
    for text in ("a b abc", "ca zürich", "bb bb e", "東京 c"):
        terms = index.analyzer(text)
        expected = {index.doc_id(i): s for i, s in enumerate(theirs.get_scores(terms).tolist()) if s > 0}
        found = {row.doc_id: row.score for row in ours.retrieve(Query("q", text), 1000)}
        assert found == pytest.approx(expected, rel=1e-4)
        assert found
