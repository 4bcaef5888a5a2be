"""Predicted queries change what is indexed, as if they stood in the text, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.formats.corpora import Located
from longrank.formats.expansions import Expansion, expansion_line
from longrank.index import Index, IndexOptions, batches, build_index, builder, expansions, spill
from longrank.types import Document, Notes

DOCUMENTS = random_documents(150)
ABC = [Document("a", "", "apple"), Document("b", "Bee", "banana"), Document("c", "", "")]


def predicted(lines: list[tuple[str, list[str]]], path: str = "d2q.jsonl") -> list[Expansion]:
    return [Expansion(doc_id, queries, path, number) for number, (doc_id, queries) in enumerate(lines, 1)]


def random_expansions() -> list[Expansion]:
    """Two files in another order than the documents; some documents in both, some in none, some by passages."""
    rng = random.Random(5)

    def queries() -> list[str]:
        return [
            " ".join(rng.choices(("abc", "b", "the", "Zürich's", "new", "words"), k=3)) for _ in range(rng.randrange(4))
        ]

    ids = [document.doc_id for document in DOCUMENTS]
    first = [(doc_id, queries()) for doc_id in rng.sample(ids, 100)]
    second = [(f"{doc_id}#{k}", queries()) for doc_id in rng.sample(ids, 60) for k in range(3)]
    rng.shuffle(second)
    return predicted(first) + predicted([*second, ("another", ["collection"])], "passages.jsonl")


def appended(document: Document, lines: list[Expansion], copies: int = 1) -> Document:
    """The document with its queries in its text, the slow and obvious way."""
    own = IndexOptions().indexed(document.title, document.text)
    queries = [q for one in lines if one.doc_id.partition("#")[0] == document.doc_id for q in one.queries]
    return Document(document.doc_id, "", "\n".join([own] * copies + queries))


def check_same_postings(index: Index, expected: Index) -> None:
    assert list(index.terms()) == list(expected.terms())
    for term in expected.terms():
        for values, others in zip(index.postings(term), expected.postings(term), strict=True):
            assert values.tolist() == others.tolist()
    assert index.lengths.tolist() == expected.lengths.tolist()
    assert (index.total_terms, index.n_nonempty) == (expected.total_terms, expected.n_nonempty)
    for number in range(len(expected)):
        for values, others in zip(index.vector(number), expected.vector(number), strict=True):
            assert values.tolist() == others.tolist()


@pytest.mark.parametrize("copies", [1, 3])
def test_an_expanded_index_is_that_of_documents_whose_text_holds_the_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    monkeypatch.setattr(spill, "_RUN", 64)
    monkeypatch.setattr(batches, "_CHARS", 3000)
    lines, options = random_expansions(), IndexOptions(original_copies=copies)
    index = build_index(located(DOCUMENTS), tmp_path / "index", options=options, expansions=iter(lines))
    longer = [appended(document, lines, copies) for document in DOCUMENTS]
    check_same_postings(index, build_index(located(longer), tmp_path / "longer"))
    assert list(index) == DOCUMENTS  # what is shown is what was read


def test_workers_batches_and_runs_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(name: str, **settings: int) -> dict[str, bytes]:
        folder = tmp_path / name
        build_index(located(DOCUMENTS), folder, expansions=random_expansions(), **settings)
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    whole = built("whole")
    monkeypatch.setattr(batches, "_CHARS", 3000)
    monkeypatch.setattr(spill, "_RUN", 5)
    monkeypatch.setattr(expansions, "_GROUP", 7)
    assert built("pieces") == whole
    assert built("processes", workers=2) == whole


def test_every_query_counts_as_often_as_it_was_predicted(tmp_path: Path) -> None:
    lines = predicted([("a", ["apple", "apple pie", "apple"]), ("b", ["bananas"])])
    index = build_index(located(ABC), tmp_path / "index", expansions=lines)
    assert [values.tolist() for values in index.postings("appl")] == [[0], [4]]
    assert [values.tolist() for values in index.postings("banana")] == [[1], [2]]
    assert index.lengths.tolist() == [5, 3, 0]


def test_an_empty_document_is_found_by_its_expansion(tmp_path: Path) -> None:
    index = build_index(located(ABC), tmp_path / "index", expansions=predicted([("c", ["cherry"])]))
    assert index.postings("cherri")[0].tolist() == [2]
    assert index.n_nonempty == 3


def test_words_do_not_join_across_text_and_queries(tmp_path: Path) -> None:
    lines = predicted([("a", ["1.", "5"]), ("a", ["6"])])
    index = build_index(located([Document("a", "", "apple")]), tmp_path / "index", expansions=lines)
    assert list(index.terms()) == ["1", "5", "6", "appl"]


def test_a_passage_id_is_a_document_where_there_is_one(tmp_path: Path) -> None:
    passages = [Document("d#0", "", "zero"), Document("d#1", "", "one")]
    lines = predicted([("d#1", ["first"]), ("d#0", ["second"]), ("d#1#0", ["third"])])
    index = build_index(located(passages), tmp_path / "index", expansions=lines)
    assert [index.postings(term)[0].tolist() for term in ("second", "first", "third")] == [[0], [1], [1]]


@pytest.mark.parametrize("unlike", ["d#", "#1", "d#x", "d#-1", "d#1.5", "d1", "d#１", "d #1"])
def test_only_a_number_makes_the_id_of_a_passage(tmp_path: Path, unlike: str) -> None:
    notes = Notes()
    lines = predicted([("d", ["own"]), (unlike, ["another"])])
    index = build_index(located([Document("d", "", "dogs")]), tmp_path / "index", expansions=lines, notes=notes)
    assert index.df("anoth") == 0
    assert notes["expansion lines whose document is not in the collection"] == 1


@pytest.mark.parametrize("ids", [("d", "d#1"), ("d#1", "d")])
def test_an_id_that_could_mean_two_documents_is_refused(tmp_path: Path, ids: tuple[str, str]) -> None:
    documents = [Document(doc_id, "", "dogs") for doc_id in ids]
    with pytest.raises(InputError) as caught:
        build_index(located(documents), tmp_path / "index", expansions=predicted([("d", ["x"]), ("d#1", ["y"])]))
    assert str(caught.value).startswith("d2q.jsonl:2: is the id of a document and of a passage of another")
    assert "(got 'd#1')" in str(caught.value)
    assert not (tmp_path / "index").exists()


def test_ids_of_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "hash", lambda key: 7, raising=False)
    lines = predicted([("b", ["bee"]), ("a#1", ["ant"]), ("c", ["cat"]), ("b", ["bear"])])
    index = build_index(located(ABC), tmp_path / "index", expansions=lines)
    assert [index.postings(term)[0].tolist() for term in ("ant", "bear", "cat")] == [[0], [1], [2]]
    assert index.count("bee") == 2  # the title of b, and its query


def test_what_did_not_fit_is_counted(tmp_path: Path) -> None:
    notes = Notes()
    first = predicted([("a", ["x"]), ("gone", ["y"]), ("a", ["x"]), ("b", [])], "one.jsonl")
    second = predicted([("a#0", ["z"]), ("a#1", ["z"]), ("lost#1", ["y"])], "two.jsonl")
    build_index(located(ABC), tmp_path / "index", expansions=first + second, notes=notes)
    assert notes.lines() == [
        "expansion lines added to earlier lines of the same id: 1 (first: one.jsonl:3)",
        "documents without expansion: 2 (first: b)",
        "expansion lines whose document is not in the collection: 2 (first: one.jsonl:2)",
        "expansion lines of passages ID#NUMBER, added to the document ID: 2 (first: two.jsonl:1)",
        "documents without a term, which no query finds: 1",
    ]


def test_a_file_for_another_collection_is_refused(tmp_path: Path) -> None:
    lines = predicted([("a", ["x"])], "one.jsonl") + predicted([("z", ["x"]), ("y", ["x"])], "two.jsonl")
    with pytest.raises(InputError) as caught:
        build_index(located(ABC), tmp_path / "index", expansions=lines)
    says = "two.jsonl: none of its ids is in the collection (got 'z'); are the predictions for another collection?"
    assert str(caught.value) == says
    assert not (tmp_path / "index").exists()


def test_the_index_remembers_its_expansions(tmp_path: Path) -> None:
    def built(name: str, lines: list[Expansion] | None, copies: int = 1) -> Index:
        options = IndexOptions(original_copies=copies)
        return build_index(located(ABC), tmp_path / name, options=options, expansions=lines)

    lines = predicted([("a", ["x"]), ("gone", ["y"])])
    index = built("index", lines)
    assert [(file.lines, file.used) for file in index.options.expansions] == [(2, 1)]
    assert built("renamed", [one._replace(path="elsewhere.jsonl") for one in lines]).digest == index.digest
    stop_words = [predicted([("a", [query])]) for query in ("the", "of")]  # leave no trace in the postings
    others = [built("plain", None), built("copies", lines, 2), *(built(q[0].queries[0], q) for q in stop_words)]
    assert len({one.digest for one in [index, *others]}) == 5
    assert [one.options.expansions for one in others[:1]] == [()]


def test_expansions_that_are_no_longer_needed_leave_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"

    def merge(*args: object) -> str:
        work = next(folder.glob(".building-*"))
        assert not (work / "expansions").exists()
        raise InputError("seen")

    monkeypatch.setattr(builder, "merge", merge)
    with pytest.raises(InputError, match="seen"):
        build_index(located(ABC), folder, expansions=predicted([("a", ["x"])]))


def test_a_batch_is_cut_by_what_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 1000)
    seen: list[int] = []
    lines = predicted([(document.doc_id, ["long " * 300]) for document in ABC])
    build_index(located(ABC), tmp_path / "index", expansions=lines, progress=seen.append)
    assert seen == [1, 1, 1]


def test_documents_are_read_as_they_are_needed(tmp_path: Path) -> None:
    taken: list[int] = []

    def stream() -> list[Located]:
        for number, one in enumerate(located(DOCUMENTS)):
            taken.append(number)
            yield one

    stored = expansions.store(predicted([(DOCUMENTS[0].doc_id, ["x"])]), tmp_path / "spill")
    first = next(stored.joined(stream(), Notes()))
    assert (first.document, first.expansion) == (DOCUMENTS[0], "x")
    assert len(taken) < len(DOCUMENTS)


@pytest.mark.parametrize("copies", [0, -1, 101])
def test_a_text_counts_once_to_a_hundred_times(tmp_path: Path, copies: int) -> None:
    with pytest.raises(InputError, match="`original_copies` is out of range"):
        build_index(located(ABC), tmp_path / "index", options=IndexOptions(original_copies=copies), expansions=[])


def test_without_expansions_a_text_counts_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`original_copies` is out of range"):
        build_index(located(ABC), tmp_path / "index", options=IndexOptions(original_copies=2))


def test_lines_of_text_files_belong_to_the_documents_in_the_collections_order(tmp_path: Path) -> None:
    """As the samples of docTTTTTquery, a file each, or doc2query's single file."""
    texts = [["one", "uno", ""], ["bird", "bird", "cat"]]
    for number, lines in enumerate(texts):
        (tmp_path / f"sample{number}.txt").write_text("".join(f"{line}\n" for line in lines))
    paths = [tmp_path / "sample0.txt", tmp_path / "sample1.txt"]
    rows = [(one.doc_id, [text for text in (texts[0][n], texts[1][n]) if text]) for n, one in enumerate(ABC)]
    notes = Notes()
    found = Index.build(ABC, tmp_path / "text.index", expansions=paths, notes=notes)
    (tmp_path / "rows.jsonl").write_text("".join(expansion_line(*row) for row in rows))
    check_same_postings(found, Index.build(ABC, tmp_path / "json.index", expansions=tmp_path / "rows.jsonl"))
    assert notes.lines()[0] == f"expansion lines without a query: 1 (first: {paths[0]}:3)"


def test_more_documents_than_fit_in_a_group_meet_their_lines(tmp_path: Path) -> None:
    documents = [Document(f"d{n}", "", "text") for n in range(200)]
    (tmp_path / "pred.txt").write_text("".join(f"w{n}x\n" for n in range(200)))
    index = Index.build(documents, tmp_path / "index", expansions=tmp_path / "pred.txt")
    assert [index.postings(f"w{n}x")[0].tolist() for n in range(200)] == [[n] for n in range(200)]


@pytest.mark.parametrize("n_lines", [2, 4])
def test_a_text_file_with_another_number_of_lines_is_refused(tmp_path: Path, n_lines: int) -> None:
    (tmp_path / "pred.txt").write_text("query\n" * n_lines)
    with pytest.raises(InputError, match=rf"pred\.txt: holds {n_lines} lines for 3 documents"):
        Index.build(ABC, tmp_path / "index", expansions=tmp_path / "pred.txt")
    assert not (tmp_path / "index").exists()


def test_documents_added_later_have_no_predicted_queries_and_are_counted(tmp_path: Path) -> None:
    lines = predicted([("a", ["zebra"]), ("b", ["zebra"])])
    index = build_index(located(ABC), tmp_path / "index", expansions=lines, notes=Notes())
    assert index.df("zebra") == 2
    notes = Notes()
    with index.writer(notes=notes) as writer:
        writer.add([Document("a", "", "apple pie"), Document("d", "", "date")], replace=True)
    assert Index(tmp_path / "index").df("zebra") == 1
    assert notes.lines() == [
        "documents added to an index of predicted queries, without any: build the index again to give them some: "
        "2 (first: a)"
    ]
