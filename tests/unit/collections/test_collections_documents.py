from __future__ import annotations

import gzip
import json
import math
import os
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.collections import read_queries
from longrank.collections.documents import locate_documents, read_documents
from longrank.errors import InputError
from longrank.formats.composing import NOT_PLAIN
from longrank.formats.corpora import Located
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits
from longrank.formats.records import CorpusOptions
from longrank.text.segment import make_segmenter
from longrank.types import UNMATCHED, Document, Notes
from malformed_documents import CASES, HTML, Case, by_id

COLLECTIONS = ["adi", "cacm", "cranfield", "time", "qmsum", "scifact", "squad-nqg-sentences"]
COLLECTIONS += ["squad-dev-mixed", "squad-dev-sections", "squad-dev-v1.1"]


def located(*sources: Path, notes: Notes | None = None, **options: Any) -> list[Located]:
    return list(
        locate_documents([str(s) for s in sources], Notes() if notes is None else notes, CorpusOptions(**options))
    )


def documents(*sources: Path, notes: Notes | None = None, **options: Any) -> list[Document]:
    return [one.document for one in located(*sources, notes=notes, **options)]


def jsonl(folder: Path, *records: dict[str, Any], name: str = "docs.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def refusal(*sources: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        located(*sources, **options)
    return str(caught.value)


# --- records to documents -------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["doc_id", "id", "_id", "docno"])
@pytest.mark.parametrize("text", ["text", "body", "contents"])
def test_ids_and_texts_go_by_several_names(key: str, text: str, tmp_path: Path) -> None:
    path = jsonl(tmp_path, {key: "a", "title": "Dogs", text: "They bark."})
    assert documents(path) == [Document("a", "Dogs", "They bark.")]


def test_a_document_knows_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('\n{"id": 1, "text": "x"}\n\n{"id": 2, "text": "y"}\n')
    assert [(one.document.doc_id, one.path, one.line) for one in located(path)] == [
        ("1", str(path), 2),
        ("2", str(path), 4),
    ]


def test_the_text_is_the_named_fields_joined_by_newlines(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path,
        {"id": 1, "title": "T", "text": "x", "keywords": "k", "raw": "r"},
        {"id": 2, "title": None, "text": "y", "keywords": None, "raw": "s"},
    )
    assert documents(path, fields=("text", "keywords")) == [Document("1", "T", "x\nk"), Document("2", "", "y")]
    assert documents(path, fields=("title", "keywords", "text"))[0].text == "k\nx"
    assert documents(path, fields=("raw",)) == [Document("1", "T", "r"), Document("2", "", "s")]
    assert documents(path, fields=("title",)) == [Document("1", "T", ""), Document("2", "", "")]


def test_an_extra_field_may_be_absent_from_some_but_not_from_all(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": 1, "text": "x"}, {"id": 2, "text": "y", "keywords": "k"})
    assert [d.text for d in documents(path, fields=("text", "keywords"))] == ["x", "y\nk"]
    assert "no document has this field (got 'keyword')" in refusal(path, fields=("text", "keyword"))
    assert ":1: no text; a field keywords is needed" in refusal(path, fields=("keywords",))


@pytest.mark.parametrize("fields", [(), ("",), ("text", "text")])
def test_fields_must_be_different_names(fields: tuple[str, ...], tmp_path: Path) -> None:
    assert "fields must be different names" in refusal(jsonl(tmp_path, {"id": 1, "text": "x"}), fields=fields)


def test_empty_texts_are_counted_unless_no_text_is_asked_for(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": 1, "text": ""}, {"id": 2, "text": ""}, {"id": 3, "text": "x"})
    notes = Notes()
    documents(path, notes=notes)
    assert notes.lines() == [f"documents with an empty text: 2 (first: {path}:1)"]
    notes = Notes()
    documents(path, notes=notes, fields=("title",))
    assert notes.lines() == []


def test_documents_with_decomposed_letters_are_counted_and_kept_as_they_are(tmp_path: Path) -> None:
    rows, notes = (
        [("M\xfcller", ""), ("Mu\u0308ller", ""), ("x", "Mu\u0308ller"), ("plain", ""), ("10\u202fkm", "")],
        Notes(),
    )
    path = jsonl(tmp_path, *({"id": text, "text": text, "title": title} for text, title in rows))
    assert [(document.text, document.title) for document in documents(path, notes=notes)] == rows
    assert notes[NOT_PLAIN] == 3


# --- passages -------------------------------------------------------------------------------------


def spans(folder: Path, text: str, passages: Any) -> tuple[tuple[int, int], ...]:
    [document] = documents(jsonl(folder, {"id": 1, "text": text, "passages": passages}))
    return document.passages


@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        (["one two", "three"], ((0, 7), (8, 13))),
        (["o", "o"], ((0, 1), (6, 7))),  # the second one is the next one
        ([[0, 7], [4, 13]], ((0, 7), (4, 13))),  # pairs may overlap
        ([[0, 7], "three"], ((0, 7), (8, 13))),
        ([], ()),
        (None, ()),
    ],
)
def test_passages_are_found_in_the_text_in_order(
    passages: Any, expected: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    assert spans(tmp_path, "one two three", passages) == expected


def test_offsets_of_passages_count_code_points(tmp_path: Path) -> None:
    assert spans(tmp_path, "\U0001f415 é dog", ["dog"]) == ((4, 7),)


@pytest.mark.parametrize(
    "passages",
    [
        ["three", "one"],
        ["four"],
        [""],
        [[0, 14]],
        [[-1, 3]],
        [[3, 3]],
        [[4, 7], [0, 3]],
        [[0, True]],
        [[0, 3.0]],
        [[0, 3, 5]],
        [{"start": 0}],
        [{"start": 0, "end": 3, "text": "two"}],
        [7],
        "one",
        7,
    ],
)
def test_passages_that_do_not_match_the_text_are_counted_and_refused_by_the_segmenter_that_needs_them(
    passages: Any, tmp_path: Path
) -> None:
    path = jsonl(tmp_path, {"id": "a", "text": "x"}, {"id": "b", "text": "one two three", "passages": passages})
    notes = Notes()
    fine, odd = read_documents(path, notes=notes)
    (line,) = notes.lines()
    assert "documents whose 'passages' do not match their text, so the passage preset 'given' refuses them" in line
    assert f"{path}:2" in line
    assert odd.passages == (UNMATCHED,)
    given, words = make_segmenter("given"), make_segmenter("windows")
    assert [p.text for p in given.segment(fine).passages] == ["x"]
    assert [p.text for p in words.segment(odd).passages] == ["one two three"]
    with pytest.raises(InputError, match="the passages of document 'b' do not match its text; correct them"):
        given.segment(odd)


def test_passages_may_be_objects(tmp_path: Path) -> None:
    passages = [{"start": 0, "end": 3}, {"start": 4, "end": 7, "text": "two", "score": 1.5}]
    assert spans(tmp_path, "one two three", passages) == ((0, 3), (4, 7))


def test_passages_can_be_ignored(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": "a", "text": "one", "passages": [[0, 3]]}, {"id": "b", "text": "x", "passages": "y"})
    notes = Notes()
    read = list(read_documents(path, CorpusOptions(ignore_passages=True), notes))
    assert [document.passages for document in read] == [(), ()]
    assert notes.lines() == []


def test_passages_belong_to_the_field_text_alone(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": 1, "text": "one two", "raw": "zero one two", "passages": ["two"]})
    notes = Notes()
    assert documents(path, notes=notes, fields=("raw",))[0].passages == ()
    assert documents(path, notes=notes, fields=("text", "raw"))[0].passages == ()
    assert notes["documents whose own passages were left out: they are spans of 'text' alone"] == 2
    assert documents(path, fields=("text",))[0].passages == ((4, 7),)


def test_passages_move_with_a_title_before_the_text(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": "a", "title": "Two", "text": "one two", "passages": ["one", "two"]})
    [document] = documents(path, title_in_text=True)
    assert [document.text[start:end] for start, end in document.passages] == ["one", "two"]


# --- files and folders ----------------------------------------------------------------------------


def test_a_folder_is_read_in_sorted_order_each_file_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "page.html").write_text("<title>Cats</title><p>They purr.</p>")
    (tmp_path / "b" / "notes.MD").write_text("# Cows\n")
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "dogs"}\n')
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(b"y\thorses\n"))
    (tmp_path / "ft911").write_text("<DOC>\n<DOCNO> FT911-1 </DOCNO>\n<TEXT>\nbees\n</TEXT>\n</DOC>\n")
    (tmp_path / ".hidden.txt").write_text("not this")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.txt").write_text("nor this")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    (tmp_path / "Makefile").write_text("all:\n")
    notes = Notes()
    found = documents(tmp_path, notes=notes)
    assert [d.doc_id for d in found] == ["x", "y", "FT911-1", "b/notes.MD", "b/page.html"]
    assert found[3] == Document("b/notes.MD", "Cows", "Cows")
    assert found[4] == Document("b/page.html", "Cats", "They purr.")
    assert notes.lines() == [f"files of unknown format skipped: 2 (first: {tmp_path / 'Makefile'})"]


def test_a_format_chooses_the_files_of_a_folder_that_may_have_it(tmp_path: Path) -> None:
    (tmp_path / "fb396001").write_text("<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>bees</TEXT>\n</DOC>\n")
    (tmp_path / "readmefb").write_text("About this disk\n")
    (tmp_path / "readchg.txt").write_text("Changes\n")
    notes = Notes()
    assert [d.doc_id for d in documents(tmp_path, notes=notes, format="trectext")] == ["1"]
    assert notes["files of unknown format skipped"] == 2
    assert [d.doc_id for d in documents(tmp_path, format="text")] == ["readchg.txt", "readmefb"]
    (tmp_path / "readmefb").unlink()
    assert "holds no document file" in refusal(tmp_path, format="html")


def test_a_text_file_that_holds_trec_documents_is_read_as_that(tmp_path: Path) -> None:
    path = tmp_path / "collection.txt"
    path.write_text("\ufeff\n<doc>\n<docno>1</docno>\n<text>bees</text>\n</doc>\n", encoding="utf-8")
    assert documents(path) == [Document("1", "", "bees")]
    assert documents(path, format="text")[0].doc_id == "collection.txt"


def test_a_file_of_no_known_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs.dat").write_text("1\tdogs\n")
    assert "its format is unknown; name it with --format" in refusal(tmp_path / "docs.dat")
    assert documents(tmp_path / "docs.dat", format="tsv") == [Document("1", "", "dogs")]


@pytest.mark.parametrize("name", ["a.zip", "a.Z", "a.0z", "a.tar.gz", "docs.jsonl.bz2", "docs.jsonl.xz"])
def test_a_packed_file_is_refused_and_counted_in_a_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("dogs")
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    assert f"{name}: is an archive or has an unsupported compression; only .gz is unpacked; unpack it first" in refusal(
        tmp_path / name
    )
    notes = Notes()
    assert len(documents(tmp_path, notes=notes)) == 1
    assert notes.lines() == [f"archives skipped: unpack them first: 1 (first: {tmp_path / name})"]


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "no.jsonl")
    assert "no such file" in refusal(tmp_path / "no")
    assert "cannot be read" in refusal(tmp_path / ("x" * 5000))
    assert "holds no document file" in refusal(tmp_path)
    (tmp_path / "docs.dat").write_text("x")
    assert "holds no document file" in refusal(tmp_path)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    assert "holds no document" in refusal(tmp_path / "empty.jsonl")
    assert "holds no document" in refusal(tmp_path)


def test_file_names_become_ids_of_one_word(tmp_path: Path) -> None:
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "dogs\tand cats.txt").write_text("x")
    notes = Notes()
    [document] = documents(tmp_path, notes=notes)
    assert document.doc_id == "my%20notes/dogs%09and%20cats.txt"
    assert document.metadata["source"] == "my notes/dogs\tand cats.txt"
    assert notes["file names with white space or escapes, written as in a URL (%20) in ids"] == 1


def test_no_white_space_of_a_name_divides_an_id_and_no_two_files_have_one_id(tmp_path: Path) -> None:
    names = [
        "a b.txt",
        "a%20b.txt",
        "a%2520b.txt",
        "100%.txt",
        "Shot 1.02\u202fPM.txt",
        "no\xa0break.txt",
        "表\u3000一.txt",
    ]
    for name in names:
        (tmp_path / name).write_text("cats")
    notes = Notes()
    ids = [document.doc_id for document in read_documents(tmp_path, notes=notes)]
    assert sorted(ids) == sorted(
        [
            "a%20b.txt",
            "a%2520b.txt",
            "a%252520b.txt",
            "100%.txt",
            "Shot%201.02%E2%80%AFPM.txt",
            "no%C2%A0break.txt",
            "表%E3%80%80一.txt",
        ]
    )
    assert all(len(found.split()) == 1 for found in ids)
    assert notes["file names with white space or escapes, written as in a URL (%20) in ids"] == 6


def test_a_linked_folder_is_not_walked_so_that_circles_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "self").symlink_to(tmp_path, target_is_directory=True)
    assert len(documents(tmp_path)) == 1


def test_links_to_nothing_and_pipes_are_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to(tmp_path / "nothing.txt")
    os.mkfifo(tmp_path / "c.txt")
    notes = Notes()
    assert [document.doc_id for document in read_documents(tmp_path, notes=notes)] == ["a.txt"]
    assert notes["links to nothing, pipes and devices skipped"] == 2


def test_of_a_collection_folder_the_documents_are_read(tmp_path: Path) -> None:
    jsonl(tmp_path, {"id": 1, "text": "x"})
    jsonl(tmp_path, {"query_id": "q", "text": "y"}, name="queries.jsonl")
    (tmp_path / "README.md").write_text("About")
    assert [d.doc_id for d in documents(tmp_path)] == ["1"]
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip.compress(b""))
    assert "lies there plain and gzipped" in refusal(tmp_path)


def test_sources_are_read_one_after_the_other_and_lazily(tmp_path: Path) -> None:
    first = jsonl(tmp_path, {"id": 1, "text": "x"}, name="a.jsonl")
    (tmp_path / "b.jsonl").write_text("not JSON")
    stream = locate_documents([str(first), str(tmp_path / "b.jsonl")], Notes())
    assert [one.document.doc_id for one in islice(stream, 1)] == ["1"]
    with pytest.raises(InputError):
        next(stream)


def test_an_unknown_format_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert "unknown format (got 'json'); did you mean 'jsonl'?" in refusal(tmp_path, format="json")


# --- all numbered cases, and real collections -----------------------------------------------------


@pytest.mark.parametrize("case", [case for case in CASES if case.options[:1] != ("--max-uncompressed",)], ids=by_id)
def test_numbered_case(case: Case, tmp_path: Path) -> None:
    if case in HTML:
        pytest.importorskip("resiliparse", reason="needs the extra html")
    path = tmp_path / case.name
    path.write_bytes(case.content)
    given = dict(zip(case.options[::2], case.options[1::2], strict=True))
    text = TextOptions(given.get("--encoding", "utf-8"), given.get("--encoding-errors", "strict"))
    notes = Notes()
    if case.outcome == "E":
        assert case.says in refusal(path, format=given.get("--format"), text=text)
        return
    found = documents(path, notes=notes, format=given.get("--format"), text=text)
    wanted = {"1", case.name}
    assert [d.text for d in found if d.doc_id in wanted] == [case.text]
    assert case.says in "\n".join(notes.lines())
    assert bool(notes.lines()) == (case.outcome == "W")


@pytest.mark.parametrize("name", COLLECTIONS)
def test_real_collections_have_the_documents_and_passages_their_statistics_say(name: str, shared_data: Path) -> None:
    stats = json.loads((shared_data / name / "stats.json").read_text())
    found = documents(shared_data / name)
    assert len(found) == stats["docs"]
    assert len({d.doc_id for d in found}) == stats["docs"]
    assert sum(len(d.passages) for d in found) == stats.get("passages", 0)
    assert sum(not d.text for d in found) == stats["docs_without_body"]


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_file_too_long_for_one_document_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x" * 1001)
    text = TextOptions(limits=Limits(max_line=1000))
    assert "is longer than 1000 bytes, too long for one document" in refusal(tmp_path, text=text)


def test_the_documents_of_ms_marco_are_known_by_their_name(tmp_path: Path) -> None:
    (tmp_path / "msmarco-docs.tsv").write_text("D1\thttp://x.org\tDogs\tThey bark.\n")
    (found,) = locate_documents(str(tmp_path), Notes())
    assert found.document == Document("D1", "Dogs", "They bark.")


@pytest.mark.parametrize("header", ["id\ttext", "DOCNO\tBody", "\ufeffdoc_id\tcontents", "\n \nid\ttext"])
def test_a_header_line_of_tab_separated_documents_is_no_document(tmp_path: Path, header: str) -> None:
    path, notes = tmp_path / "docs.tsv", Notes()
    path.write_text(f"{header}\nid\ttext\nd1\tdogs\n", encoding="utf-8")  # the second line is a document
    assert documents(path, notes=notes) == [Document("id", "", "text"), Document("d1", "", "dogs")]
    assert notes["header lines skipped"] == 1


def test_a_header_line_of_ms_marcos_documents_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "msmarco-docs.tsv").write_text("docid\turl\ttitle\tbody\nid\thttp://x.org\tDogs\tThey bark.\n")
    (found,) = locate_documents(str(tmp_path), Notes())
    assert found.document == Document("id", "Dogs", "They bark.")


def test_a_row_has_the_same_id_in_a_file_and_in_memory(tmp_path: Path) -> None:
    names = ("doc_id", "id", "_id", "docno")
    for n in range(4):
        row = {name: name for name in reversed(names[n:])} | {"text": "dogs"}
        (tmp_path / "docs.jsonl").write_text(json.dumps(row) + "\n")
        assert [one.doc_id for one in (*read_documents(tmp_path / "docs.jsonl"), *read_documents([row]))] == [
            names[n]
        ] * 2
    names = ("query_id", "_id", "id", "qid")
    for n in range(4):
        row = {name: name for name in reversed(names[n:])} | {"text": "dogs"}
        (tmp_path / "q.jsonl").write_text(json.dumps(row) + "\n")
        assert {one.query_id for source in (tmp_path / "q.jsonl", [row]) for one in read_queries(source)} == {names[n]}


@pytest.mark.parametrize(
    "passages", [((0, 4), (5, 9)), [np.array([0, 4]), (np.int64(5), 9)], np.array([[0, 4], [5, 9]])]
)
def test_passages_in_memory_may_be_tuples_and_arrays(passages: Any) -> None:
    notes = Notes()
    (document,) = read_documents([{"id": "d", "text": "dogs bark", "passages": passages}], notes=notes)
    assert document.passages == ((0, 4), (5, 9))
    assert notes.lines() == []


def test_missing_values_of_a_table_are_no_values() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (None, math.nan, pandas.NA, pandas.NaT):
        row = {"docno": "d", "text": "dogs", "title": missing, "passages": missing, "year": missing}
        assert list(read_documents([row])) == [Document("d", "", "dogs")]
        table = pandas.DataFrame([row | {"docno": "e", "title": "Dogs"}, row])
        assert [one.title for one in read_documents(table)] == ["Dogs", ""]
        with pytest.raises(InputError, match="documents:1: 'text' is null"):
            list(read_documents([row | {"text": missing}]))


@pytest.mark.parametrize("options", [{"fields": ("id", "text")}, {"index_only": ("id",)}], ids=str)
def test_an_id_may_be_a_field_in_a_file_and_in_memory(tmp_path: Path, options: dict[str, Any]) -> None:
    row = {"id": "lamp", "text": "oil", "docno": "D", "year": 7}
    (tmp_path / "docs.jsonl").write_text(json.dumps(row) + "\n")
    corpus = CorpusOptions(**options)
    of_file, of_memory = (
        list(locate_documents(source, Notes(), corpus)) for source in (tmp_path / "docs.jsonl", [row])
    )
    assert (of_file[0].document, of_file[0].expansion) == (of_memory[0].document, of_memory[0].expansion)
    assert "lamp" in f"{of_memory[0].document.text} {of_memory[0].expansion}"
