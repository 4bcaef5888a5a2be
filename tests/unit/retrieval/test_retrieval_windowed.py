"""First stages over packed postings against exhaustive search: the same documents and scores to the last bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_of_words import located
from longrank.index import Index, IndexOptions, build_index, publishing
from longrank.index.arrays import write_array
from longrank.index.folder import SegmentName, verify_index
from longrank.index.publishing import finish, manifest_of, put_data, put_manifest
from longrank.index.stored_postings import CODE_BEGINS, CODES
from longrank.index.windows import SPARSE
from longrank.retrieval import BM25, QueryLikelihood, Searcher, windowed
from longrank.retrieval.windowed import Bm25Windows, Windows, sums_are_exact
from longrank.storage import MANIFEST
from longrank.types import Document

WORDS = [f"w{number:02d}" for number in range(40)]
N_DOCS = 3000


def documents(n: int, seed: int) -> list[Document]:
    """Documents of few words with skewed frequencies; stretches without the common words, and many equal documents."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(n):
        drawn = np.minimum(rng.exponential(4, rng.integers(1, 30)).astype(int), len(WORDS) - 1)
        drawn = drawn[drawn > 3] if 700 < number < 1500 else drawn
        if number % 7 == 0:
            drawn = np.array([1, 1, 2])
        drawn = np.repeat(drawn, 90) if number % 97 == 0 else drawn  # more occurrences than tables have
        made.append(Document(f"d{rng.integers(10**6)}-{number}", "", " ".join(WORDS[place] for place in drawn)))
    return made


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("windowed") / "index"
    return build_index(located(documents(N_DOCS, 1)), folder, options=IndexOptions("none"))


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Three segments, with deleted documents in two of them."""
    folder = tmp_path_factory.mktemp("changed") / "index"
    index = build_index(located(documents(N_DOCS, 2)), folder, options=IndexOptions("none"))
    deleted = index.doc_ids(np.arange(0, N_DOCS, 11))
    with Index.open(folder).writer() as writer:
        writer.delete(deleted)
        writer.add(documents(500, 3))
    with Index.open(folder).writer() as writer:
        writer.delete([document.doc_id for document in documents(500, 3)][::5])
        writer.add(documents(40, 4))
    return Index.open(folder)


@pytest.fixture(params=[True, False], ids=["skipping", "exhaustive"])
def small_windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    monkeypatch.setattr(Windows, "window", 256)
    monkeypatch.setattr(
        Bm25Windows, "_may_skip", lambda self, n_terms, n_postings, k: np.full(len(n_terms), request.param)
    )
    monkeypatch.setattr(windowed, "_TABLED", 200)
    yield request.param


QUERIES = st.dictionaries(st.sampled_from([*WORDS, "nowhere"]), st.floats(0.01, 10), min_size=1, max_size=12)
MODELS = st.fixed_dictionaries({
    "k1": st.one_of(st.just(0.0), st.floats(1e-3, 100)),
    "b": st.floats(0, 1),
    "doc_lengths": st.sampled_from(["lucene", "exact"]),
    "ties": st.sampled_from(["doc_id", "lucene"]),
})  # fmt: skip


def check_same(searcher: Searcher, weights: dict[str, float], k: int) -> None:
    found, query = searcher.search(weights, k), searcher._found(weights)
    if not len(query.weights):
        assert not len(found.numbers)
        return
    expected = searcher._exhaustive(query, k)
    assert found.numbers.tolist() == expected.numbers.tolist()
    assert found.scores.tobytes() == expected.scores.tobytes()


@settings(max_examples=60, deadline=None)
@given(weights=QUERIES, model=MODELS, k=st.integers(1, 400), seed=st.one_of(st.none(), st.integers(0, 99)))
@pytest.mark.parametrize("name", ["many", "changed"])
@pytest.mark.usefixtures("small_windows")
def test_documents_and_scores_are_those_of_exhaustive_search(
    name: str,
    weights: dict[str, float],
    model: dict[str, float],
    k: int,
    seed: int | None,
    request: pytest.FixtureRequest,
) -> None:
    index: Index = request.getfixturevalue(name)
    bm25 = BM25(index, **model)  # type: ignore[arg-type]
    if seed is not None:
        rng = np.random.default_rng(seed)
        bm25 = bm25.within(rng.random(index.n_docs) < rng.choice([0.01, 0.5, 1.0]))
    check_same(bm25, weights, k)


LIKELIHOODS = st.fixed_dictionaries({
    "mu": st.floats(0.1, 5000),
    "doc_lengths": st.sampled_from(["lucene", "exact"]),
    "ties": st.sampled_from(["doc_id", "lucene"]),
})  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(weights=QUERIES, model=LIKELIHOODS, k=st.integers(1, 400), share=st.sampled_from([None, 0.01, 0.5, 1.0]))
@pytest.mark.parametrize("name", ["many", "changed"])
def test_query_likelihood_is_that_of_exhaustive_search(
    name: str,
    weights: dict[str, float],
    model: dict[str, float],
    k: int,
    share: float | None,
    request: pytest.FixtureRequest,
) -> None:
    index: Index = request.getfixturevalue(name)
    searcher = QueryLikelihood(index, **model)  # type: ignore[arg-type]
    if share is not None:
        searcher = searcher.within(np.random.default_rng(k).random(index.n_docs) < share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Windows, "window", 256)
        patch.setattr(windowed, "_TABLED", 200)
        check_same(searcher, weights, k)


@pytest.mark.usefixtures("small_windows")
def test_many_equal_scores_are_cut_by_doc_id(many: Index) -> None:
    for ties in ("doc_id", "lucene"):
        for k in (1, 100, 1000, N_DOCS, 10 * N_DOCS):
            for searcher in (BM25(many, ties=ties), QueryLikelihood(many, ties=ties)):
                check_same(searcher, {"w01": 1.0, "w02": 2.0, "w03": 1.0}, k)


@settings(max_examples=20, deadline=None)
@given(queries=st.lists(QUERIES, min_size=1, max_size=40), k=st.sampled_from([1, 10, 400, 10**6]))
@pytest.mark.parametrize("name", ["many", "changed"])
@pytest.mark.usefixtures("small_windows")
def test_queries_of_a_block_find_what_each_finds_alone(
    name: str, queries: list[dict[str, float]], k: int, request: pytest.FixtureRequest
) -> None:
    for searcher in (BM25(request.getfixturevalue(name)), QueryLikelihood(request.getfixturevalue(name))):
        for found, weights in zip(searcher.search_all(queries, k), queries, strict=True):
            alone = searcher.search(weights, k)
            assert found.numbers.tolist() == alone.numbers.tolist()
            assert found.scores.tobytes() == alone.scores.tobytes()


def test_an_interrupted_search_leaves_nothing_for_the_next(many: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher, weights = BM25(many), {"w01": 1.0, "w07": 2.0}
    expected = searcher.search(weights, 20)

    def interrupted(*arrays: object) -> None:
        arrays[5].sums[:100] = 7.0  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(windowed, "search_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            searcher.search(weights, 20)
    again = searcher.search(weights, 20)
    assert again.numbers.tolist() == expected.numbers.tolist()
    assert again.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("more", [{}, {"w30": 1.0}, {"w01": 1.0}, {"w01": 0.01, "w02": 0.02, "w03": 0.01}])
@pytest.mark.parametrize("name", ["many", "changed"])
@pytest.mark.usefixtures("small_windows")
def test_rare_words_alone_and_beside_frequent_words_find_the_same(
    name: str, more: dict[str, float], request: pytest.FixtureRequest
) -> None:
    index: Index = request.getfixturevalue(name)
    rare = {"w22": 1.0, "w25": 2.0, "w28": 1.0}
    assert 0 < sum(index.inverted.found(sorted(rare)).dfs) * SPARSE < N_DOCS  # documents that are met are listed
    for k in (1, 10, 1000):
        for ties in ("doc_id", "lucene"):
            check_same(BM25(index, ties=ties), rare | more, k)
            check_same(QueryLikelihood(index, ties=ties), rare | more, k)


def test_terms_are_skipped_only_where_sums_are_exact() -> None:
    norms = np.array([0.5, 2.0], np.float32)
    equal = np.array([1.0, 1.0], np.float32)
    assert sums_are_exact(equal, norms, 255)
    assert not sums_are_exact(np.array([1.0, 1e-8], np.float32), norms, 255)
    assert not sums_are_exact(equal, norms, 2**32 - 1)
    assert not sums_are_exact(equal, np.array([np.inf], np.float32), 255)


def test_terms_are_skipped_for_few_documents_of_long_queries_with_many_postings(many: Index) -> None:
    may_skip = BM25(many)._windows._may_skip
    cases = ((4, 1_000_000, 100), (3, 1_000_000, 10), (4, 1_000_000, 101))
    assert [may_skip(np.array([n]), np.array([postings]), k)[0] for n, postings, k in cases] == [True, False, False]


@pytest.fixture
def plain(many: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the same index as version 2 of the format has it: postings in two arrays."""
    (part,) = many.parts
    work, folder = tmp_path / "work", tmp_path / "index"
    shutil.copytree(part.folder, work, ignore=shutil.ignore_patterns(MANIFEST, CODES, CODE_BEGINS))
    docs, tfs = (np.concatenate(arrays) for arrays in zip(*part.postings.runs(10_000), strict=True))
    write_array(work / "docs", docs, "<u4")
    write_array(work / "tfs", tfs, part.meta["tf_type"])
    folder.mkdir()
    data = put_data(finish(work, {key: value for key, value in part.meta.items() if key != "files"}), folder)
    monkeypatch.setattr(publishing, "VERSION", 2)
    put_manifest(folder, manifest_of(folder, [SegmentName(data.name)]))
    monkeypatch.undo()
    return folder


def test_an_index_of_version_2_gives_the_same_rankings_and_keeps_its_segment(many: Index, plain: Path) -> None:
    old, weights = Index.open(plain), {"w01": 1.0, "w07": 0.5, "w20": 2.0}
    assert verify_index(plain) > 0
    expected = BM25(many).search(weights, 100)
    assert BM25(old).search(weights, 100).scores.tobytes() == expected.scores.tobytes()
    likely = QueryLikelihood(many).search(weights, 100).scores
    assert QueryLikelihood(old).search(weights, 100).scores.tobytes() == likely.tobytes()
    assert [array.tolist() for array in old.postings("w09")] == [array.tolist() for array in many.postings("w09")]
    changed = old.add(documents(30, 9))
    assert [(part.folder / CODES).exists() for part in changed.parts] == [False, True]
    for searcher in (BM25(changed), QueryLikelihood(changed)):
        check_same(searcher, weights, 50)


def test_merging_an_index_of_version_2_gives_the_bytes_of_a_new_build(plain: Path, tmp_path: Path) -> None:
    first, *others = documents(N_DOCS, 1)
    merged = Index.open(plain).delete([first.doc_id]).merge()
    built = build_index(located(others), tmp_path / "built", options=IndexOptions("none"))
    assert merged.digest == built.digest


def test_an_older_version_refuses_the_index_instead_of_missing_files(many: Index) -> None:
    assert json.loads((many.path / MANIFEST).read_text())["version"] == 4


def test_the_same_documents_give_the_same_codes(many: Index, tmp_path: Path) -> None:
    again = build_index(located(documents(N_DOCS, 1)), tmp_path / "index", options=IndexOptions("none"))
    assert again.digest == many.digest
