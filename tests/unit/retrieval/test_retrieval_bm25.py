"""BM25 against hand computation and against a slow and obvious implementation."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.index import Index, IndexOptions, build_index
from longrank.index.similarity import LENGTHS
from longrank.retrieval import BM25, Searcher
from longrank.text.analysis import DECOMPOSED
from longrank.types import Document, Notes, Query

THREE = [
    Document("d1", "", "apple banana apple"),
    Document("d2", "", "banana cherry cherry cherry date"),
    Document("d3", "", "banana"),
]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(THREE), tmp_path_factory.mktemp("three") / "index", options=IndexOptions("none"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(random_documents(150)), tmp_path_factory.mktemp("many") / "index")


def found(searcher: Searcher, weights: dict[str, float], k: int) -> list[tuple[str, float]]:
    hits = searcher.search(weights, k)
    return list(zip(searcher.index.doc_ids(hits.numbers), hits.scores.tolist(), strict=True))


def test_scores_of_three_documents_by_hand(three: Index) -> None:
    # avgdl = 9 / 3; apple: idf ln(1 + 2.5 / 1.5), in d1 twice of 3 terms; banana: idf ln(1 + 0.5 / 3.5)
    apple, banana = math.log(8 / 3), math.log(8 / 7)
    expected = [
        ("d1", apple * 2 / (2 + 0.9) + banana * 1 / (1 + 0.9)),
        ("d3", banana * 1 / (1 + 0.9 * (0.6 + 0.4 * 1 / 3))),
        ("d2", banana * 1 / (1 + 0.9 * (0.6 + 0.4 * 5 / 3))),
    ]
    rows = BM25(three).retrieve(Query("q", "banana apple"), 10)
    assert [(row.doc_id, row.query_id) for row in rows] == [(doc_id, "q") for doc_id, _ in expected]
    assert [row.score for row in rows] == pytest.approx([score for _, score in expected], rel=1e-6)


def test_a_repeated_query_word_counts_as_often(three: Index) -> None:
    bm25 = BM25(three)
    once, thrice = (dict(found(bm25, {"cherry": w}, 3)) for w in (1, 3))
    assert dict((r.doc_id, r.score) for r in bm25.retrieve(Query("q", "cherry Cherry cherry"), 3)) == thrice
    assert thrice["d2"] == pytest.approx(3 * once["d2"], rel=1e-6)


def reference(
    documents: list[Document], index: Index, weights: dict[str, float], k1: float, b: float, exact: bool
) -> dict[str, float]:
    counts = {d.doc_id: Counter(index.analyzer(index.options.indexed(d.title, d.text))) for d in documents}
    filled = [c for c in counts.values() if c]
    avgdl = sum(c.total() for c in filled) / len(filled)
    scores: dict[str, float] = {}
    for doc_id, tfs in counts.items():
        length = tfs.total() if exact else max(int(n) for n in LENGTHS if n <= tfs.total())
        for term, weight in weights.items():
            df = sum(term in c for c in filled)
            if tf := tfs[term]:
                idf = math.log(1 + (len(filled) - df + 0.5) / (df + 0.5))
                scores[doc_id] = scores.get(doc_id, 0) + weight * idf * tf / (tf + k1 * (1 - b + b * length / avgdl))
    return scores


@settings(max_examples=60, deadline=None)
@given(
    weights=st.dictionaries(
        st.sampled_from(["aba", "bb", "c", "ca", "dd", "e", "j", "abc", "zürich", "東", "nowhere"]), st.floats(0.01, 10)
    ),
    k1=st.floats(0, 4),
    b=st.floats(0, 1),
    exact=st.booleans(),
    k=st.integers(1, 200),
)
@example(weights={"c": 1.0}, k1=1.5e-39, b=0.0, exact=False, k=1)  # 1 / k1 is beyond float32
def test_the_best_k_are_those_of_the_obvious_implementation(
    many: Index, weights: dict[str, float], k1: float, b: float, exact: bool, k: int
) -> None:
    expected = reference(list(many), many, weights, k1, b, exact)
    bm25 = BM25(many, k1=k1, b=b, doc_lengths="exact" if exact else "lucene")
    everything = found(bm25, weights, 1000)
    assert dict(everything) == pytest.approx(expected, rel=1e-5)
    assert everything == sorted(everything, key=lambda hit: (hit[1], hit[0]), reverse=True)
    assert found(bm25, weights, k) == everything[:k]


def test_ties_are_cut_by_doc_id_descending(tmp_path: Path) -> None:
    ids = ["b", "d", "a", "é", "c", "Z"]
    documents = [Document(doc_id, "", "same words") for doc_id in ids] + [Document("best", "", "same same")]
    index = build_index(located(documents), tmp_path / "index")
    expected = ["best", "é", "d", "c", "b", "a", "Z"]
    for k in range(1, 8):
        assert [doc_id for doc_id, _ in found(BM25(index), {"same": 1}, k)] == expected[:k]
    ascending = [doc_id for doc_id, _ in found(BM25(index, ties="lucene"), {"same": 1}, 4)]
    assert ascending == ["best", "Z", "a", "b"]


def test_a_query_without_terms_finds_nothing_and_is_counted(many: Index) -> None:
    notes = Notes()
    bm25 = BM25(many, notes=notes)
    assert bm25.retrieve(Query("q1", "the of and"), 10) == []
    assert bm25.retrieve(Query("q2", ""), 10) == []
    assert notes["queries without terms after analysis"] == 2


def test_decomposed_letters_of_a_query_are_counted(many: Index) -> None:
    notes = Notes()
    for query in ("caf\u00e9", "cafe\u0301", "same", "10\u202fkm long"):
        BM25(many, notes=notes).retrieve(Query("q", query), 10)
    assert notes[f"queries {DECOMPOSED}"] == 2


def test_a_query_of_unknown_words_finds_nothing(many: Index) -> None:
    assert BM25(many).retrieve(Query("q", "nowhere unheard"), 10) == []


def test_of_a_huge_query_the_heaviest_terms_are_searched_for(three: Index) -> None:
    notes = Notes()
    words = [f"w{i}" for i in range(20_000)]
    found = BM25(three, notes=notes).retrieve(Query("q", " ".join(words) + " zebra cherry cherry"), 10)
    assert [row.doc_id for row in found] == ["d2"]
    assert notes["query terms left out, beyond the 1024 heaviest"] == 20_002 - 1024


@pytest.mark.parametrize(
    "arguments",
    [
        *({"k1": k1} for k1 in (-0.1, math.nan, math.inf)),
        *({"b": b} for b in (-0.1, 1.1, math.nan)),
        {"doc_lengths": "rough"},
        {"ties": "random"},
    ],
)
def test_parameters_out_of_range_are_refused(three: Index, arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        BM25(three, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf, 1e39])
def test_weights_must_be_positive_and_fit_float32(three: Index, weight: float) -> None:
    with pytest.raises(InputError, match="weight of term 'apple'"):
        BM25(three).search({"apple": weight}, 10)


def test_k_must_be_positive(three: Index) -> None:
    with pytest.raises(InputError, match="k must be"):
        BM25(three).retrieve(Query("q", "apple"), 0)
