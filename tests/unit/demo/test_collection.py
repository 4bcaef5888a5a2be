"""The demo's collection folder: what is shipped fits together, and what is not ours stays untouched."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from longrank.collections.documents import locate_documents
from longrank.demo.collection import DemoCollection, load, write
from longrank.demo.stdlib import MISSING, module_names
from longrank.errors import InputError
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.types import Notes


@pytest.fixture(scope="module")
def collection() -> DemoCollection:
    notes = Notes()
    found = load(notes)
    assert not notes.lines()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_at_least_sixty_different_queries_are_asked_and_every_one_has_an_answer(collection: DemoCollection) -> None:
    assert len({query.text for query in collection.queries}) == len(collection.queries) >= 60
    assert [query.query_id for query in collection.queries] == list(collection.qrels)
    assert all(max(judged.values()) >= 1 for judged in collection.qrels.values())


def test_judgments_are_graded_0_to_2_and_about_modules_of_the_list(collection: DemoCollection) -> None:
    judged = {doc_id for row in collection.qrels.values() for doc_id in row}
    assert judged <= set(module_names())
    assert {grade for row in collection.qrels.values() for grade in row.values()} == {0, 1, 2}
    assert min(map(len, collection.qrels.values())) >= 10  # the pool holds ten of each system


def test_few_queries_name_the_module_that_answers_them(collection: DemoCollection) -> None:
    naming = [
        query.query_id
        for query in collection.queries
        if any(
            doc_id in query.text.lower().split() for doc_id, grade in collection.qrels[query.query_id].items() if grade
        )
    ]
    assert len(naming) <= len(collection.queries) // 10


def test_what_is_written_is_read_back_by_the_readers_of_every_command(
    collection: DemoCollection, tmp_path: Path
) -> None:
    write(collection, tmp_path / "demo")
    notes = Notes()
    assert read_queries(tmp_path / "demo" / "queries.jsonl", notes) == list(collection.queries)
    assert read_qrels(tmp_path / "demo" / "qrels.txt", notes) == collection.qrels
    found = locate_documents([str(tmp_path / "demo" / "docs.jsonl")], notes)
    assert [located.document for located in found] == list(collection.documents)
    assert not notes.lines()


def test_writing_again_changes_nothing_and_finishes_what_was_interrupted(
    collection: DemoCollection, tmp_path: Path
) -> None:
    write(collection, tmp_path)
    before = contents(tmp_path)
    (tmp_path / "qrels.txt").unlink()  # as if killed before the last file
    (tmp_path / "docs.jsonl").unlink()
    write(collection, tmp_path)
    assert contents(tmp_path) == before
    write(collection, tmp_path)
    assert contents(tmp_path) == before


def test_what_a_kill_left_of_the_first_file_is_no_obstacle(collection: DemoCollection, tmp_path: Path) -> None:
    (tmp_path / ".demo.json.k3j2h1.tmp").write_text("{")
    write(collection, tmp_path)
    assert (tmp_path / "qrels.txt").is_file()


def test_a_folder_of_something_else_is_refused_and_left_alone(collection: DemoCollection, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="is not a demo; name a new folder"):
        write(collection, tmp_path)
    assert contents(tmp_path) == {"thesis.tex": b"mine"}


def test_the_demo_of_another_python_is_refused_and_left_alone(collection: DemoCollection, tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text('{"format": "longrank demo", "digest": "of another"}')
    with pytest.raises(InputError, match="another Python"):
        write(collection, tmp_path)
    assert list(contents(tmp_path)) == ["demo.json"]


def test_missing_modules_go_with_their_judgments_and_their_queries(tmp_path: Path) -> None:
    """A library of two modules: contextlib answers py01 and partly py05, wave answers py76."""
    root = Path(sysconfig.get_path("stdlib"))
    for name in ("contextlib.py", "wave.py"):
        (tmp_path / name).write_bytes((root / name).read_bytes())
    notes = Notes()
    found = load(notes, root=tmp_path)
    assert [document.doc_id for document in found.documents] == ["contextlib", "wave"]
    assert [query.query_id for query in found.queries] == ["py01", "py05", "py76"]
    assert all(set(judged) <= {"contextlib", "wave"} for judged in found.qrels.values())
    assert notes[MISSING] == len(module_names()) - 2
    assert notes["queries that only missing modules answer, dropped"] == 84
    assert notes["judgments of missing modules, dropped"] > 1700


def test_a_python_without_sources_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sources of its standard library"):
        load(Notes(), root=tmp_path)
