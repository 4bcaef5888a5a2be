"""After any sequence of changes, an index is the index that a new build of its documents gives."""

from __future__ import annotations

import gc
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from collections_of_words import LETTERS
from longrank.errors import InputError, IntegrityError
from longrank.index import Index, tiers, verify_index
from longrank.index.filter_parsing import parse_filter
from longrank.index.filters import Filter
from longrank.retrieval import make_retriever
from longrank.types import Document, Query
from slow_values import slow

STAGES = [
    {"preset": "bm25-anserini"},
    {"preset": "bm25-anserini", "doc_lengths": "exact"},
    {"preset": "ql"},
    {"preset": "bm25-anserini+rm3", "fb_docs": 3},
    {"preset": "ql+rm3", "fb_docs": 3},
    {"preset": "bm25-anserini+bm25prf", "fb_docs": 4},
    {"preset": "bm25-anserini+axiomatic", "fb_docs": 2, "pool_factor": 3},
    {"preset": "bm25-anserini+rocchio", "fb_docs": 3, "gamma": 0.15},
]
TONGUES = ("german", "en-GB", "ja", "none", "french")


@pytest.fixture(autouse=True)
def small_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge so small segments that the sequences of these tests meet all cases."""
    monkeypatch.setattr(tiers, "FANOUT", 3)
    monkeypatch.setattr(tiers, "_FLOOR", 4)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Sequence:
    """Random changes of an index, and the documents that should be in it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng, self.folder, self.serial, self.seed = random.Random(seed), folder, 0, seed
        self.living = {document.doc_id: document for document in self.new(self.rng.randrange(1, 9))}
        self.index = self.built(folder)

    def built(self, folder: Path | None = None) -> Index:
        """Build an index of the documents; in a third of the sequences, each is analysed by its own language."""
        if self.mixed:
            pytest.importorskip("Stemmer", reason="needs the extra languages")
        return Index.build(list(self.living.values()), folder, analyzer_field="tongue" if self.mixed else "")

    @property
    def mixed(self) -> bool:
        return self.seed % 3 == 2

    def text(self) -> str:
        n_words = self.rng.choice((0, 1, 5, 20, 60))
        words = ("".join(self.rng.choices(LETTERS[:4], k=self.rng.randrange(1, 4))) for _ in range(n_words))
        return " ".join(words) + self.rng.choice(("", " Zürich", " the running Häuser", f" only{self.serial}"))

    def document(self, doc_id: str) -> Document:
        text = self.text()
        spans = ((0, len(text) // 2), (len(text) // 2, len(text))) if self.rng.random() < 0.2 and text else ()
        return Document(doc_id, self.rng.choice(("", "a title")), text, spans, self.metadata())

    def metadata(self) -> dict[str, object]:
        """Return metadata in half of the sequences, from the third document on."""
        tongue = {"tongue": self.rng.choice(TONGUES)} if self.mixed else {}
        if self.seed % 2 or self.serial < 3:
            return tongue
        values = {"year": self.rng.randrange(2000, 2005), "lang": ["en", "de"][: self.rng.randrange(3)]}
        return tongue | {name: value for name, value in values.items() if self.rng.random() < 0.5}

    def new(self, n: int) -> list[Document]:
        self.serial += n
        return [self.document(f"{self.rng.choice('éxm')}{self.serial - i}") for i in range(n)]

    def change(self) -> None:
        """Commit one to three changes."""
        with self.index.writer() as writer:
            for _ in range(self.rng.choice((1, 1, 2, 3))):
                kind = self.rng.choice(("add", "add", "replace", "delete", "delete", "merge", "again"))
                some = self.rng.sample(sorted(self.living), self.rng.randrange(1, max(2, len(self.living) // 3)))
                if kind == "add":
                    added = self.new(self.rng.randrange(1, 6))
                    writer.add(added)
                    self.living |= {document.doc_id: document for document in added}
                elif kind == "delete" and len(some) < len(self.living):
                    assert writer.delete(some) == len(some)
                    self.living = {name: document for name, document in self.living.items() if name not in some}
                elif kind in ("replace", "again"):
                    changed = [self.living[name] if kind == "again" else self.document(name) for name in some]
                    changed += self.new(self.rng.randrange(2))
                    writer.add(changed, replace=True)
                    self.living = {name: doc for name, doc in self.living.items() if name not in some}
                    self.living |= {document.doc_id: document for document in changed}
                elif kind == "merge":
                    writer.merge()
        self.index = Index(self.folder)

    def queries(self) -> Iterator[Query]:
        for number in range(4):
            words = ["".join(self.rng.choices(LETTERS[:4], k=self.rng.randrange(1, 4))) for _ in range(3)]
            text = " ".join([*words, self.rng.choice(("title", "zürich", "only3", "the running Häusern"))])
            yield Query(f"q{number}", text, {"tongue": TONGUES[number]} if number < 2 else {})


def assert_equal(changed: Index, built: Index) -> None:
    """Compare all that an index tells."""
    assert list(changed) == list(built)
    assert (len(changed), changed.n_nonempty, changed.n_terms, changed.total_terms) == (
        *(len(built), built.n_nonempty, built.n_terms, built.total_terms),
    )
    for values, expected in (
        (changed.lengths, built.lengths),
        (changed.id_order, built.id_order),
        (changed.id_ranks, built.id_ranks),
        (changed.empty_ranks, built.empty_ranks),
    ):
        assert values.tolist() == expected.tolist()
    assert list(changed.terms()) == list(built.terms())
    for term in built.terms():
        assert (changed.df(term), changed.count(term)) == (built.df(term), built.count(term))
        for values, expected in zip(changed.postings(term), built.postings(term), strict=True):
            assert values.tolist() == expected.tolist()
    numbers = np.arange(len(built))
    assert changed.doc_ids(numbers) == built.doc_ids(numbers) == [changed.doc_id(n) for n in numbers.tolist()]
    for number, doc_id in enumerate(built.doc_ids(numbers)):
        assert changed.number(doc_id) == number
        assert vector(changed, number) == vector(built, number)
        assert changed.metadata(doc_id) == built.metadata(doc_id)
        assert changed.document_analyzer(doc_id) is built.document_analyzer(doc_id)
    assert (changed.stored is None) == (built.stored is None)
    for name in built.stored.fields if built.stored else ():
        for condition in ({name: {"$exists": True}}, {"year": {"$gte": 2002}}, {"lang": "de"}):
            where = parse_filter(condition)
            assert mask(changed, where) == mask(built, where)


def mask(index: Index, where: Filter) -> list[bool] | str:
    try:
        return index.mask(where).tolist()  # type: ignore[no-any-return]
    except InputError as error:
        return str(error).partition("; did you mean")[0]


def vector(index: Index, number: int) -> list[tuple[str, int]]:
    terms, tfs = index.vector(number)
    assert terms.tolist() == sorted(terms.tolist())
    text, bounds = index.spelled(terms)
    spelled = [text[a:b].tobytes().decode() for a, b in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)]
    assert spelled == index.terms_at(terms)
    return list(zip(spelled, tfs.tolist(), strict=True))


def run_sequence(seed: int, folder: Path, n_changes: int) -> None:
    sequence = Sequence(seed, folder)
    for _ in range(n_changes):
        sequence.change()
        if sequence.rng.random() < 0.7:
            continue
        built = sequence.built()
        assert_equal(sequence.index, built)
        queries = list(sequence.queries())
        for stage in STAGES:
            changed_stage, built_stage = (make_retriever(index, **stage) for index in (sequence.index, built))
            for query in queries:
                assert changed_stage.retrieve(query, 50) == built_stage.retrieve(query, 50), (stage, query)
                assert changed_stage.retrieve(query, 2) == built_stage.retrieve(query, 2), (stage, query)
            odd = np.arange(len(built)) % 2 == 1
            within = changed_stage.within(odd), built_stage.within(odd)
            assert within[0].retrieve(queries[0], 50) == within[1].retrieve(queries[0], 50), stage
    assert verify_index(folder) > 0
    merged, built = sequence.index.merge(), sequence.built()
    if built.stored is None:  # fields of metadata may be in another order
        assert merged.digest == built.digest
        assert {path.name for path in folder.iterdir()} == {path.name for path in built.path.iterdir()}
    assert_equal(merged, built)


@pytest.mark.parametrize("seed", [*range(12), *slow(*range(12, 24))])
def test_a_changed_index_equals_a_new_build(seed: int, tmp_path: Path) -> None:
    run_sequence(seed, tmp_path / "index", 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_many_changed_indexes_equal_new_builds(seed: int, tmp_path: Path) -> None:
    run_sequence(seed, tmp_path / "index", 20)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_a_name_of_deletions_that_a_flipped_bit_changed_is_damage(tmp_path: Path) -> None:
    Index.build([("a", "The sea."), ("b", "The ice.")], tmp_path / "index").delete(["a"])
    path = tmp_path / "index" / "manifest.json"
    entry = json.loads(path.read_text())["segments"][0]["deleted"]
    other = entry[:-1] + ("0" if entry[-1] != "0" else "1")
    path.write_text(path.read_text().replace(entry, other))
    with pytest.raises(IntegrityError, match=f"{other}: missing"):
        Index(tmp_path / "index")


def test_many_commits_leave_no_file_open_until_garbage_collection(tmp_path: Path) -> None:
    index = Index.build([{"doc_id": "0", "text": "cats", "year": 2000}], tmp_path / "index")
    gc.collect()
    gc.disable()
    try:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for number in range(1, 6):
            index.add([{"doc_id": str(number), "text": "dogs", "year": 2001}])
            changed = Index(index.path)
            assert changed.mask(parse_filter({"year": 2001})).sum() == number
            assert changed.df("dog") == number
            del changed
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    finally:
        gc.enable()


def test_a_writer_changes_nothing_when_its_block_has_ended(tmp_path: Path) -> None:
    index = Index.build([("a", "dogs"), ("b", "cats")], tmp_path / "index")
    with index.writer() as writer:
        writer.delete(["a"])
    with pytest.raises(ZeroDivisionError), index.writer() as failed:
        raise ZeroDivisionError
    for ended in (writer, failed):
        for change in (lambda: ended.delete(["b"]), lambda: ended.add([("c", "birds")]), ended.merge):  # noqa: B023
            with pytest.raises(InputError, match="the changes were committed, or their block has ended"):
                change()
    assert [document.doc_id for document in Index(tmp_path / "index")] == ["b"]
