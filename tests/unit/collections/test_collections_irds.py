from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import longrank
from longrank.collections.collection import Collection, open_collection
from longrank.collections.documents import locate_documents, read_documents
from longrank.errors import InputError, MissingExtra
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes, Query

_NUMBERS = count()


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """ir_datasets makes folders in its home as soon as it is imported."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("irds")))
    pytest.importorskip("ir_datasets", reason="needs the extra irds")


def register(dataset: Any) -> str:
    import ir_datasets

    dataset_id = f"longrank-test/{next(_NUMBERS)}"
    ir_datasets.registry.register(dataset_id, dataset)
    return dataset_id


@pytest.fixture
def local(tmp_path: Path) -> str:
    import ir_datasets

    (tmp_path / "docs.tsv").write_text("d1\tdogs bark\nd2\tcats purr\n")
    (tmp_path / "queries.tsv").write_text("q1\tbarking dogs\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    parts = {"docs_tsv": "docs.tsv", "queries_tsv": "queries.tsv", "qrels_trec": "qrels.txt"}
    return register(ir_datasets.create_dataset(**{part: str(tmp_path / name) for part, name in parts.items()}))


class Part:
    """A dataset with one iterator."""

    def __init__(self, **iterators: Callable[[], Iterator[Any]]) -> None:
        for name, iterate in iterators.items():
            setattr(self, f"{name}_iter", iterate)
            setattr(self, f"{name}_handler", lambda: self)


def dataset(**iterators: Callable[[], Iterator[Any]]) -> str:
    import ir_datasets

    return register(ir_datasets.Dataset(Part(**iterators)))


def test_documents_queries_and_judgments_of_a_local_dataset(local: str) -> None:
    source = f"irds:{local}"
    assert list(locate_documents([source], Notes())) == [
        Located(Document("d1", "", "dogs bark"), source, None),
        Located(Document("d2", "", "cats purr"), source, None),
    ]
    assert longrank.read_queries(f"irds:{local}") == [Query("q1", "barking dogs", {"text": "barking dogs"})]
    assert longrank.read_qrels(f"irds:{local}") == {"q1": {"d1": 2, "d2": 0}}
    assert open_collection(source) == Collection(name=source, sources=(source,), queries=(source,), qrels=(source,))


def test_the_readers_of_the_package_take_a_dataset(local: str) -> None:
    source = f"irds:{local}"
    assert longrank.read_queries(source) == [Query("q1", "barking dogs", {"text": "barking dogs"})]
    assert longrank.read_qrels(source) == {"q1": {"d1": 2, "d2": 0}}
    assert [document.doc_id for document in longrank.Index.build(source)] == ["d1", "d2"]


class WebDoc(NamedTuple):
    doc_id: str
    title: str
    body: str
    url: str
    raw: bytes


class Argument(NamedTuple):
    doc_id: str
    premises: list[str]

    def default_text(self) -> str:
        return " ".join(self.premises)


def test_fields_of_documents_are_named_as_in_the_dataset() -> None:
    web = dataset(docs=lambda: iter([WebDoc("d1", "Dogs", "They bark.", "http://x", b"...")]))
    assert [one.document for one in locate_documents([f"irds:{web}"], Notes())] == [
        Document("d1", "Dogs", "They bark.")
    ]
    options = CorpusOptions(fields=("url", "text"))
    assert next(locate_documents([f"irds:{web}"], Notes(), options)).document.text == "http://x\nThey bark."
    arguments = dataset(docs=lambda: iter([Argument("d1", ["Dogs", "bark."])]))
    assert next(locate_documents([f"irds:{arguments}"], Notes())).document.text == "Dogs bark."


class Topic(NamedTuple):
    query_id: str
    title: str
    description: str

    def default_text(self) -> str:
        return self.title


def test_a_topic_is_searched_by_its_title_or_the_field_that_is_named() -> None:
    topics = dataset(queries=lambda: iter([Topic("301", "crime ", "Identify gangs.")]))
    fields = {"title": "crime", "description": "Identify gangs."}
    source = f"irds:{topics}"
    assert longrank.read_queries(source) == [Query("301", "crime", fields)]
    for field in ("description", "question"):
        assert longrank.read_queries(source, field=field) == [Query("301", "Identify gangs.", fields)]
    with pytest.raises(InputError, match="no query has a field 'descripton'; did you mean 'description'"):
        longrank.read_queries(f"irds:{topics}", field="descripton")
    with pytest.raises(InputError, match="this dataset has no docs"):
        next(locate_documents([f"irds:{topics}"], Notes()))
    with pytest.raises(InputError, match="this collection has no qrels"):
        longrank.read_qrels(f"irds:{topics}")


class Paper(NamedTuple):
    doc_id: str
    title: str
    body: tuple[str, ...]
    authors: list[str]
    sizes: dict[str, int]
    raw: bytes
    passages: tuple[tuple[str, int], ...] = (("run", 1),)

    def default_text(self) -> str:
        return " ".join((self.title, *self.body))


def test_fields_that_are_lists_or_mappings_are_metadata_and_parts_of_the_text_and_bytes_are_not() -> None:
    paper = Paper("p", "Foxes", ("run", "fast"), ["A", "B"], {"a4": 2}, b"raw")
    source, notes = f"irds:{dataset(docs=lambda: iter([paper]))}", Notes()
    (read,) = read_documents(source, notes=notes)
    assert (read.title, read.text) == ("Foxes", "Foxes run fast")
    assert read.metadata == {"authors": ["A", "B"], "sizes": {"a4": 2}}
    assert (notes.lines(), read.passages) == ([], ())


class Question(NamedTuple):
    query_id: str
    text: str
    lang: Any
    year: int = 2020

    def default_text(self) -> str:
        return self.text


def test_queries_and_judgments_of_a_dataset_are_checked_and_counted_as_those_of_files() -> None:
    empty = f"irds:{dataset(queries=lambda: iter([Question('1', 'a &amp; b', 'en'), Question('2', ' ', None)]))}"
    queries = longrank.read_queries(empty, allow_empty=True)
    assert [(query.query_id, query.text) for query in queries] == [("1", "a &amp; b"), ("2", "")]
    assert [line.partition(":")[0] for line in queries.notes.lines()] == [
        "query fields left out",
        "queries with entities such as &amp;, read as they stand",
        "queries with an empty text",
    ]
    graded = [Judgment("1", "d", 1), Judgment("1", "d", 1), Judgment("2", "d", -1)]
    qrels = longrank.read_qrels(f"irds:{dataset(qrels=lambda: iter(graded))}")
    assert [line.partition(":")[0] for line in qrels.notes.lines()] == [
        "repeated judgments with the same grade",
        "negative grades, read as not judged",
        "judged queries without a relevant document",
    ]


@pytest.mark.parametrize(
    ("read", "part", "rows", "message"),
    [
        (longrank.read_queries, "queries", [("1", " ", "en")], "query 1 has an empty text"),
        (longrank.read_queries, "queries", [("1", "fox", 7)], r"'lang' is not a string \(got 7\)"),
        (longrank.read_queries, "queries", [("1", "fox", "")] * 2, "query id occurs twice, first on line 1"),
        (longrank.read_queries, "queries", [], "holds no query"),
        (longrank.read_qrels, "qrels", [], "holds no judgment"),
        (longrank.read_qrels, "qrels", [("1", "d", 128)], "grade is not an integer from -127 to 127"),
        (longrank.read_qrels, "qrels", [("1", "d d", 1)], "doc_id holds white space"),
    ],
)
def test_unusable_queries_and_judgments_of_a_dataset_are_refused(
    read: Callable[[str], object], part: str, rows: list[Any], message: str
) -> None:
    kind = Question if part == "queries" else Judgment
    source = f"irds:{dataset(**{part: lambda: iter([kind(*row) for row in rows])})}"
    with pytest.raises(InputError, match=f"{source}.*{message}"):
        read(source)


def test_a_format_belongs_to_a_file(local: str) -> None:
    with pytest.raises(InputError, match="a format is of a file, and these queries are of ir_datasets"):
        longrank.read_queries(f"irds:{local}", format="tsv")


class Judgment(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


def test_judgments_that_contradict_each_other_are_refused() -> None:
    twice = dataset(qrels=lambda: iter([Judgment("q", "d", 1), Judgment("q", "d", 1)]))
    assert longrank.read_qrels(f"irds:{twice}") == {"q": {"d": 1}}
    contradicting = dataset(qrels=lambda: iter([Judgment("q", "d", 1), Judgment("q", "d", 0)]))
    with pytest.raises(InputError, match="document d has two grades for query q: 1 and 0"):
        longrank.read_qrels(f"irds:{contradicting}")


def test_an_unknown_id_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        next(locate_documents(["irds:vaswany"], Notes()))
    assert str(caught.value) == "irds:vaswany: ir_datasets has no such dataset; did you mean vaswani?"


def test_ids_of_several_words_are_refused() -> None:
    bad = dataset(docs=lambda: iter([WebDoc("d 1", "", "", "", b"")]))
    with pytest.raises(InputError, match=f"irds:{bad}: doc_id holds white space"):
        next(locate_documents([f"irds:{bad}"], Notes()))


def noisy() -> Iterator[WebDoc]:
    print("out")
    print("err", file=sys.stderr)
    yield WebDoc("d1", "", "x", "", b"")
    raise ConnectionError("no route\nto host")


def test_what_fails_in_ir_datasets_is_one_line_and_all_else_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    stream = locate_documents([f"irds:{dataset(docs=noisy)}"], Notes())
    assert next(stream).document.doc_id == "d1"
    with pytest.raises(InputError, match=r"irds:.*: cannot be read \(ConnectionError: no route\); is the network"):
        next(stream)
    assert capsys.readouterr() == ("", "")


def asking() -> Iterator[WebDoc]:
    yield WebDoc(input("user name? "), "", "x", "", b"")


def test_a_dataset_that_asks_for_a_password_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="needs a licence"):
        next(locate_documents([f"irds:{dataset(docs=asking)}"], Notes()))
    assert capsys.readouterr() == ("", "")


def test_files_that_cannot_be_fetched_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ir_datasets
    from ir_datasets.formats import TsvDocs
    from ir_datasets.util import Download, RequestsDownload

    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    download = Download([RequestsDownload("http://127.0.0.1:9/docs.tsv")], cache_path=str(tmp_path / "docs.tsv"))
    dataset_id = register(ir_datasets.Dataset(TsvDocs(download)))
    with pytest.raises(InputError, match="cannot be read"):
        next(locate_documents([f"irds:{dataset_id}"], Notes()))
    assert capsys.readouterr() == ("", "")


def test_without_the_extra_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[irds\]'"):
        longrank.read_queries("irds:vaswani")
