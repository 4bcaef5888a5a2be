from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from longrank.collections import read_documents, read_qrels, read_queries
from longrank.collections.available import open_whole
from longrank.collections.collection import Collection
from longrank.collections.judgments import read_judgments
from longrank.collections.queries import read_queries_or_text
from longrank.errors import InputError
from longrank.types import Notes

TOPIC = "<top><num>{}\n<title> dogs\n<desc> Why do dogs bark?\n</top>\n"
DOCUMENT = '{"id": "d1", "text": "dogs bark"}\n'


def written(folder: Path, **files: str) -> Path:
    """A folder of files; a name's last underline is its dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    queries = '{"query_id": "1", "text": "dogs"}\n'
    return written(tmp_path / "mine", docs_jsonl=DOCUMENT, queries_jsonl=queries, qrels_txt="1 0 d1 1\n")


def test_a_folder_is_its_files(folder: Path) -> None:
    parts = [(str(folder / name),) for name in ("docs.jsonl", "queries.jsonl", "qrels.txt")]
    assert open_whole(str(folder)) == Collection(
        name="mine", sources=parts[0], queries=parts[1], qrels=parts[2], folder=folder
    )
    (folder / "folds.json").write_text("{}")
    assert open_whole(str(folder)).folds == folder / "folds.json"


def test_a_folder_is_an_entry_of_the_catalogue_by_its_name_or_because_the_user_says_so(folder: Path) -> None:
    found = open_whole(f"core17={folder}")
    assert found.name == "core17" and found.entry is not None
    assert (found.folds, found.index_options) == (None, ())
    assert open_whole(str(folder.rename(folder.with_name("core17")))).name == "core17"


def test_a_folder_may_hold_a_corpus_as_it_is_distributed_and_the_topics_of_several_years(tmp_path: Path) -> None:
    years = {f"topics_{year}": TOPIC.format(year) for year in (701, 751)}
    years |= {f"qrels_{year}": f"{year} 0 GX1 1\n" for year in (701, 751)}
    folder = written(tmp_path, **years)
    written(folder / "docs" / "GX000")
    found = open_whole(f"gov2={folder}")
    assert found.sources == (str(folder / "docs"),)
    queries, lacking = read_queries_or_text(found, "question", Notes())
    assert [(query.query_id, query.text) for query in queries] == [
        ("701", "Why do dogs bark?"),
        ("751", "Why do dogs bark?"),
    ]
    assert not lacking
    assert read_judgments(found.qrels, Notes()) == {"701": {"GX1": 1}, "751": {"GX1": 1}}


def test_queries_without_the_field_are_their_text_and_it_is_said(folder: Path) -> None:
    queries, lacking = read_queries_or_text(open_whole(str(folder)), "title", Notes())
    assert ([query.text for query in queries], lacking) == (["dogs"], True)
    assert read_queries_or_text(open_whole(str(folder)), None, Notes())[1] is False


def test_packed_files_are_found(folder: Path) -> None:
    (folder / "qrels.txt").rename(folder / "qrels.old")
    (folder / "qrels.txt.gz").write_bytes(gzip.compress(b"1 0 d1 2\n"))
    assert read_judgments(open_whole(str(folder)).qrels, Notes()) == {"1": {"d1": 2}}


def test_the_format_of_the_catalogue_reads_local_topics(tmp_path: Path) -> None:
    folder = written(tmp_path, docs_jsonl=DOCUMENT, topics_txt="enwiki:Dog/Barking\n", qrels_txt="x 0 d1 1\n")
    queries, _ = read_queries_or_text(open_whole(f"car={folder}"), None, Notes())
    assert [query.text for query in queries] == ["Dog Barking"]


def test_a_query_or_a_judgment_in_two_files_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, docs_jsonl=DOCUMENT, topics_a=TOPIC.format(1), topics_b=TOPIC.format(1))
    written(folder, qrels_a="1 0 d1 1\n", qrels_b="1 0 d1 2\n")
    found = open_whole(str(folder))
    with pytest.raises(InputError, match=r"topics\.b: a query of this id is in another file, too \(got '1'\)"):
        read_queries_or_text(found, None, Notes())
    with pytest.raises(InputError, match=r"qrels\.b: document d1 has two grades for query 1: 1 and 2"):
        read_judgments(found.qrels, Notes())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("robust4", "unknown collection (got 'robust4'); did you mean 'robust04'?"),
        ("robust4=x", "unknown collection (got 'robust4')"),
        ("time", "time: is not here; open, from https://ir.dcs.gla.ac.uk/resources/test_collections/time/"),
        (
            "microblog",
            "put it in microblog=FOLDER (docs.jsonl or docs/, queries.jsonl or topics*, qrels.txt or qrels.*: ",
        ),
        ("microblog=nowhere", "nowhere: no such folder; on request, from https://trec.nist.gov/data/microblog.html"),
        ("./nowhere", "./nowhere: no such folder"),
    ],
)
def test_what_is_not_here_is_one_line_that_says_where_to_get_it(given: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        open_whole(given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_part_says_which(folder: Path) -> None:
    (folder / "qrels.txt").unlink()
    with pytest.raises(InputError, match=r"mine: has no judgments; a collection folder holds docs\.jsonl or docs/"):
        open_whole(str(folder))
    with pytest.raises(InputError, match=r"has no judgments; on request, from https://trec"):
        open_whole(f"microblog={folder}")


# --- through ir_datasets, of which nothing is at hand here ----------------------------------------


@pytest.fixture
def _irds(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("irds")))
    pytest.importorskip("ir_datasets", reason="needs the extra irds")


@pytest.mark.usefixtures("_irds")
def test_a_name_stands_for_what_ir_datasets_has() -> None:
    gov2 = open_whole("gov2", check=False)
    years = tuple(f"irds:gov2/trec-tb-{year}" for year in (2004, 2005, 2006))
    assert (gov2.sources, gov2.queries, gov2.qrels) == (("irds:gov2",), years, years)
    assert open_whole("irds:gov2", check=False) == gov2
    core17 = open_whole("core17", check=False)
    assert core17.index_options == ("--fields", "headline,body")
    covid = open_whole("covid-round3", check=False)
    assert covid.judged_before == ("irds:cord19/trec-covid/round1", "irds:cord19/trec-covid/round2")


@pytest.mark.usefixtures("_irds")
def test_an_id_that_the_catalogue_does_not_have_is_no_entry_of_it() -> None:
    found = open_whole("irds:cranfield")  # its grades are not those of our cranfield
    assert (found.name, found.entry, found.sources) == ("irds:cranfield", None, ("irds:cranfield",))


@pytest.mark.usefixtures("_irds")
def test_what_a_folder_lacks_comes_from_ir_datasets(tmp_path: Path) -> None:
    folder = written(tmp_path, qrels_txt="0101 0 clueweb12-1 1\n")
    found = open_whole(f"ntcir-www3={folder}", check=False)
    assert found.sources == found.queries == ("irds:clueweb12/b13/ntcir-www-3",)
    assert found.qrels == (str(folder / "qrels.txt"),)
    with pytest.raises(InputError, match="ntcir-www3: is not here; licensed, from https://lemurproject"):
        open_whole("ntcir-www3", check=False)


@pytest.mark.usefixtures("_irds")
def test_a_licensed_corpus_that_is_not_here_is_one_line_that_says_where_to_get_it() -> None:
    with pytest.raises(InputError) as caught:
        open_whole("robust04")
    message = str(caught.value)
    assert message.startswith("irds:disks45/nocr/trec-robust-2004: cannot be read (FileNotFoundError: ")
    assert "; licensed, from https://trec.nist.gov/data/cd45/index.html; put it in robust04=FOLDER (" in message
    assert message.endswith(", or where ir_datasets wants disks45/nocr/trec-robust-2004")


def test_every_reader_takes_a_folder_of_several_files_by_path_and_by_name(tmp_path: Path) -> None:
    years = {f"topics_{year}": TOPIC.format(year) for year in (701, 751)}
    years |= {f"qrels_{year}": f"{year} 0 d1 1\n" for year in (701, 751)}
    folder = written(tmp_path / "mine", docs_jsonl=DOCUMENT, **years)
    for source in (folder, str(folder), f"time={folder}"):
        assert [query.query_id for query in read_queries(source)] == ["701", "751"]
        assert [query.text for query in read_queries(source, field="description")] == ["Why do dogs bark?"] * 2
        assert read_qrels(source) == {"701": {"d1": 1}, "751": {"d1": 1}}
        assert [document.doc_id for document in read_documents(source)] == ["d1"]


def test_a_folder_of_beir_is_a_collection_folder(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "Dogs", "text": "They bark."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "why do dogs bark"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert [document.doc_id for document in read_documents(tmp_path)] == ["d1"]
    assert [query.query_id for query in read_queries(tmp_path)] == ["q1"]
    assert read_qrels(tmp_path) == {"q1": {"d1": 1}}
