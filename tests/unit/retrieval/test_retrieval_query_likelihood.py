"""Query likelihood against hand computation and against a slow and obvious implementation."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.index import Index, IndexOptions, build_index
from longrank.retrieval import QueryLikelihood
from longrank.types import Document, Query


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Index:
    long = Document("long", "", "ca " * 200 + "c " * 500)  # more occurrences than there are logarithms at hand
    return build_index(located([*random_documents(150), long]), tmp_path_factory.mktemp("many") / "index")


def test_scores_of_two_documents_by_hand(tmp_path: Path) -> None:
    documents = [Document("d1", "", "apple apple pear"), Document("d2", "", "pear plum plum plum")]
    index = build_index(located(documents), tmp_path / "index", options=IndexOptions("none"))
    found = QueryLikelihood(index, mu=10.0).retrieve(Query("q", "apple pear"), 10)
    # p(apple) = (2 + 1) / (7 + 1), p(pear) the same
    d1 = math.log(1 + 2 / 3.75) + math.log(10 / 13)
    assert [(row.doc_id, row.score) for row in found] == [("d1", pytest.approx(d1)), ("d2", 0.0)]
    assert math.log(1 + 1 / 3.75) + math.log(10 / 13) < 0  # so pear counts nothing, but finds d2 all the same


@settings(max_examples=60, deadline=None)
@given(
    weights=st.dictionaries(
        st.sampled_from(["aba", "bb", "c", "ca", "dd", "e", "abc", "zürich", "nowhere"]), st.floats(0.01, 10)
    ),
    mu=st.floats(0.1, 5000),
    k=st.integers(1, 200),
)
def test_the_best_k_are_those_of_the_obvious_implementation(
    many: Index, weights: dict[str, float], mu: float, k: int
) -> None:
    counts = {d.doc_id: Counter(many.analyzer(many.options.indexed(d.title, d.text))) for d in many}
    searcher = QueryLikelihood(many, mu=mu, doc_lengths="exact")
    expected: dict[str, float] = {}
    for doc_id, tfs in counts.items():
        for term, weight in weights.items():
            if tf := tfs[term]:
                p = (many.count(term) + 1) / (many.total_terms + 1)
                gain = math.log(1 + tf / (mu * p)) + math.log(mu / (tfs.total() + mu))
                expected[doc_id] = expected.get(doc_id, 0.0) + max(0.0, weight * gain)
    everything = searcher.search(weights, 1000)
    found = dict(zip(many.doc_ids(everything.numbers), everything.scores.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
    some = searcher.search(weights, k)
    assert some.numbers.tolist() == everything.numbers[:k].tolist()
    assert some.scores.tolist() == everything.scores[:k].tolist()


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf])
def test_mu_out_of_range_is_refused(many: Index, mu: float) -> None:
    with pytest.raises(InputError, match="mu must be"):
        QueryLikelihood(many, mu=mu)
