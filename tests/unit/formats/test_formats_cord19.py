"""CORD-19 releases: papers with the full text of their JSON files, in the layouts of all rounds of TREC-COVID."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.collections.documents import read_documents
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes

PARAGRAPHS = [("Introduction", "Bats fly."), ("Introduction", "They sleep."), ("", "Coda.")]
BODY = "Introduction\n\nBats fly.\n\nThey sleep.\n\nCoda."


def paper(path: Path, paragraphs: list[tuple[str, str]] = PARAGRAPHS, abstract: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = [{"section": section, "text": text, "cite_spans": []} for section, text in paragraphs]
    parts = {"abstract": [{"text": abstract, "section": "Abstract"}]} if abstract else {}
    path.write_text(json.dumps({"paper_id": path.stem, "metadata": {"title": "?"}, **parts, "body_text": body}))


def read(folder: Path, fields: tuple[str, ...] = ("title", "text")) -> tuple[list[Document], list[str]]:
    notes = Notes()
    return list(read_documents(str(folder), CorpusOptions(fields=fields), notes)), notes.lines()


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Four papers of round 5: PubMed Central and a PDF; a PDF without abstract; none; and a JSON that is missing."""
    (tmp_path / "metadata.csv").write_text(
        "cord_uid,sha,title,abstract,pdf_json_files,pmc_json_files\n"
        "a,s1,On  bats,About bats.,document_parses/pdf_json/s1.json,document_parses/pmc_json/PMC1.xml.json\n"
        'b,s2,"Two, ""or"" three",,document_parses/pdf_json/s0.json; document_parses/pdf_json/s2.json,\n'
        'c,,Alone,"Two lines\nof an abstract.",,\n'
        "d,s3,Lost,Abstract.,document_parses/pdf_json/s3.json,\n"
    )
    parses = tmp_path / "document_parses"
    paper(parses / "pmc_json" / "PMC1.xml.json")
    paper(parses / "pdf_json" / "s1.json", [("", "of the PDF")])
    paper(parses / "pdf_json" / "s2.json", [("", "Text.")], "Abstract of the PDF.")
    return tmp_path


def test_papers_of_a_folder_have_their_full_text(release: Path) -> None:
    documents, notes = read(release)
    assert documents == [
        Document("a", "On bats", f"About bats.\n\n{BODY}"),
        Document("b", 'Two, "or" three', "Abstract of the PDF.\n\nText."),
        Document("c", "Alone", "Two lines\nof an abstract."),
        Document("d", "Lost", "Abstract."),
    ]
    assert notes == [
        f"papers without full text: 1 (first: {release}/metadata.csv:4)",
        f"papers whose JSON is not in the folder, read without full text: 1 (first: {release}/metadata.csv:6)",
    ]


def test_abstract_and_body_are_fields(release: Path) -> None:
    assert [document.text for document in read(release, ("body",))[0]] == [BODY, "Text.", "", ""]
    assert read(release, ("title", "abstract"))[0][0].text == "About bats."


def test_first_rounds_name_a_subset_and_flags(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text(
        "cord_uid,sha,title,pmcid,abstract,has_pdf_parse,has_pmc_xml_parse,full_text_file\n"
        "a,s1; s9,T,PMC1,A.,True,True,comm_use_subset\n"
        "b,s2,T,,B.,True,False,custom_license\nc,s3,T,PMC3,C.,False,False,x\n"
    )
    paper(tmp_path / "comm_use_subset" / "pmc_json" / "PMC1.xml.json", [("", "one")])
    paper(tmp_path / "custom_license" / "pdf_json" / "s2.json", [("", "two")])
    assert [document.text for document in read(tmp_path)[0]] == ["A.\n\none", "B.\n\ntwo", "C."]


def test_a_paper_of_several_rows_is_read_from_the_first_with_full_text(release: Path) -> None:
    table = (release / "metadata.csv").read_text()
    (release / "metadata.csv").write_text(
        table + "c,s2,Again,With text.,document_parses/pdf_json/s2.json,\nc,,Third,x,,\na,,Again,,,\n"
    )
    documents, notes = read(release)
    assert [document.doc_id for document in documents] == ["a", "b", "d", "c"]
    assert documents[-1].title == "Again"
    assert notes[0] == f"rows of papers that have another row, left out: 3 (first: {release}/metadata.csv)"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("e,s,T,A,../x.json,", r"metadata\.csv:7: names a file outside the folder \(got '\.\./x\.json'\)"),
        ("e,s,T,A", r"metadata\.csv:7: 4 cells instead of 6"),
        ("e f,s,T,A,,", r"metadata\.csv:7: "),
        ('e,s,"T,A,,', r"metadata\.csv:\d+: is no CSV"),
        ("e,s,T,A,document_parses/bad.json,", r"bad\.json: is no CORD-19 paper: 'body_text' is not a list"),
        ("e,s,T,A,document_parses/worse.json,", r"worse\.json: is no CORD-19 paper: a paragraph of 'body_text'"),
    ],
)
def test_faults_are_refused_with_their_place(release: Path, row: str, message: str) -> None:
    (release / "metadata.csv").write_text((release / "metadata.csv").read_text() + row + "\n")
    (release / "document_parses" / "bad.json").write_text('{"body_text": 7}')
    (release / "document_parses" / "worse.json").write_text('{"body_text": [7]}')
    with pytest.raises(InputError, match=message):
        read(release)


def test_a_metadata_table_of_something_else_is_no_release(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("name,value\n")
    with pytest.raises(InputError, match="folder holds no document file"):
        read(tmp_path)


def test_abstracts_may_be_longer_than_pythons_limit_of_csv(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("cord_uid,title,abstract\na,T," + "word " * 40_000 + "\n")
    assert len(read(tmp_path)[0][0].text.split()) == 40_000


def test_other_columns_are_metadata_and_the_parts_of_the_text_only_if_named(release: Path) -> None:
    documents, _ = read(release)
    assert [document.metadata for document in documents] == [{"sha": "s1"}, {"sha": "s2"}, {}, {"sha": "s3"}]
    named = read_documents(str(release), CorpusOptions(metadata=("abstract",)))
    assert [document.metadata for document in named][2] == {"abstract": "Two lines\nof an abstract."}
