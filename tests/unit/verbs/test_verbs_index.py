from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.errors import InputError, IntegrityError
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes
from longrank.verbs.index import add_vectors

DOGS, CATS = Document("d1", "Dogs", "They bark."), Document("d2", "", "Cats purr.")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    rows = ({"id": document.doc_id, "title": document.title, "text": document.text} for document in (DOGS, CATS))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_single_path_is_one_source_and_gives_the_index_of_its_documents(docs: Path, tmp_path: Path) -> None:
    built = longrank.Index.build(str(docs), tmp_path / "index")
    assert list(built) == [DOGS, CATS]
    assert built.notes.lines() == []
    for number, source in enumerate([docs, [docs], (str(docs),), iter([DOGS, CATS]), [DOGS, ("d2", "Cats purr.")]]):
        assert longrank.Index.build(source, str(tmp_path / str(number))).digest == built.digest
    assert longrank.index_files(docs, tmp_path / "files").digest == built.digest
    assert longrank.build_index([DOGS, CATS], tmp_path / "values").digest == built.digest
    assert list(longrank.Index(str(tmp_path / "index"))) == list(longrank.Index.open(tmp_path / "index"))


def test_a_temporary_index_disappears_with_its_object() -> None:
    built = longrank.Index.build([DOGS, {"docno": "d2", "text": "Cats purr."}])
    folder = built.path
    assert list(built) == [DOGS, CATS] and folder.is_dir()
    del built
    gc.collect()
    assert not folder.exists()


def test_a_temporary_index_disappears_with_python() -> None:
    code = "import longrank; index = longrank.Index.build([('a', 'x')]); print(index.path)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() and not Path(run.stdout.strip()).exists()


def test_a_failed_temporary_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match="documents:2: is not a document"):
        longrank.Index.build([DOGS, 7])
    assert list(tmp_path.iterdir()) == []


def test_an_index_shows_its_path_and_sizes(docs: Path, tmp_path: Path) -> None:
    built = longrank.Index.build(docs, tmp_path / "index", corpus=CorpusOptions(fields=("text",)))
    assert repr(built) == f"Index('{tmp_path / 'index'}', documents=2, terms=3)"
    (tmp_path / "index/vectors/minilm-windows").mkdir(parents=True)
    (tmp_path / "index/vectors/minilm-windows/manifest.json").touch()
    assert repr(built) == f"Index('{tmp_path / 'index'}', documents=2, terms=3, vectors=['minilm-windows'])"


def test_documents_without_terms_are_counted_in_the_notes_of_the_index() -> None:
    notes = Notes()
    built = longrank.Index.build({"d1": "the", "d2": "dogs"}, notes=notes)
    assert built.notes is notes and notes["documents without a term, which no query finds"] == 1


@pytest.mark.parametrize(
    ("source", "folder", "message"),
    [
        (None, None, "no documents can be read from a NoneType"),
        (7, None, "no documents can be read from a int (got 7); documents are files, folders"),
        ([], None, "there is no document"),
        ([("d", "x"), ("d", "y")], None, "doc_id"),
        ("no.jsonl", None, "no.jsonl: no such file or folder"),
        ([("d", "x")], 7, "an index is a folder (got 7); give its path"),
        ([("d", "x")], "", "an index is a folder (got '')"),
    ],
)
def test_unusable_sources_and_folders_are_refused_in_a_sentence(source: Any, folder: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        longrank.Index.build(source, folder)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", [None, 7, ""])
def test_only_a_path_opens_an_index(path: Any) -> None:
    with pytest.raises(InputError, match="an index is a folder"):
        longrank.Index(path)


def test_check_counts_files_and_names_a_damaged_one(tmp_path: Path) -> None:
    built = longrank.Index.build([DOGS], tmp_path / "index")
    assert longrank.check(built) == longrank.check(str(built.path)) > 5
    victim = next(path for path in sorted(built.path.rglob("data-*/*")) if path.stat().st_size > 8)
    content = bytearray(victim.read_bytes())
    content[0] ^= 1
    victim.write_bytes(content)
    with pytest.raises(IntegrityError, match=victim.name):
        longrank.check(built)


def test_copies_without_expansions_are_refused_before_anything_is_written(docs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`original_copies` is out of range"):
        longrank.Index.build(docs, tmp_path / "index", original_copies=2)
    assert not (tmp_path / "index").exists()


@pytest.mark.neural
def test_vectors_are_stored_once(docs: Path, tmp_path: Path) -> None:
    built = longrank.Index.build(docs, tmp_path / "index")
    done: list[int] = []
    opened = add_vectors(built, "minilm", progress=done.append)
    assert (len(opened.vectors), sum(done)) == (1, 2)
    assert add_vectors(str(built.path), "minilm").vectors == opened.vectors
    assert add_vectors(built, "minilm", dtype="int8").vectors == opened.vectors
    assert (built.path / "vectors" / opened.vectors[0] / "int8").is_file()


@pytest.mark.neural
def test_approximate_search_that_went_with_its_vectors_or_is_damaged_is_said(docs: Path, tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs the extra ann")
    built = add_vectors(longrank.Index.build(docs, tmp_path / "index"), "minilm", ann="hnsw")
    assert add_vectors(built, "minilm").notes.lines() == []
    (graph,) = built.path.glob("vectors/*/hnsw/graph")
    graph.write_bytes(b"-" + graph.read_bytes()[1:])
    (line,) = add_vectors(built, "minilm").notes.lines()
    assert line.endswith("checksum differs; the file is damaged; to build it again: --ann hnsw")
    changed = built.add([("new", "A new page.")])
    assert add_vectors(changed, "minilm").notes.lines() == [
        "minilm-tokens has lost its approximate search; to build it again: --ann hnsw"
    ]
    assert add_vectors(changed, "minilm").notes.lines() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int4"}, r"unknown type of vectors \(got 'int4'\); did you mean 'int8'"),
        ({"ann": "hnws"}, r"unknown approximate search \(got 'hnws'\); did you mean 'hnsw'"),
    ],
)
def test_a_wrong_way_to_search_vectors_is_refused_before_a_model_is_loaded(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        add_vectors(tmp_path / "nowhere", "no-model", **options)  # type: ignore[arg-type]
