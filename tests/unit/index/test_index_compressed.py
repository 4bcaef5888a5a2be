"""Texts that are stored compressed."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.errors import IntegrityError, MissingExtra
from longrank.index import Index, arrays, compressed_texts, verify_index
from longrank.retrieval import make_retriever
from longrank.types import Document, Query

pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd", reason="the extra zstd")

WORDS = ["dogs", "cats", "bark", "purr", "Zürich", "東京", "weather", "report", "minutes", "of", "the", "committee"]


def documents(n: int, seed: int = 1) -> list[Document]:
    """Return documents of very different lengths, some empty."""
    rng = random.Random(seed)
    return [
        Document(f"d{i}", "", " ".join(rng.choices(WORDS, k=rng.choice((0, 1, 30, 300, 3000)))), metadata={"i": i})
        for i in range(n)
    ]


def files(index: Index) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in next(index.path.glob("data-*")).iterdir()}


def stored(index: Index) -> int:
    return sum(len(content) for name, content in files(index).items() if name.startswith("text"))


def test_texts_come_back_and_take_fewer_bytes() -> None:
    some = documents(200)
    plain, compressed = Index.build(some), Index.build(some, compress=True)
    assert list(compressed) == list(plain) == some
    assert [compressed.document(doc.doc_id) for doc in some[::-7]] == some[::-7]
    assert stored(compressed) < 0.4 * stored(plain)
    assert compressed.options.compressed
    assert not plain.options.compressed
    assert make_retriever(compressed).retrieve(Query("q", "cats 東京"), 50) == (
        make_retriever(plain).retrieve(Query("q", "cats 東京"), 50)
    )


@pytest.mark.parametrize("texts", [[""], ["", ""], ["a"], ["dogs " * 50_000, ""], ["é"] * 3000])
def test_texts_of_any_length_come_back(texts: list[str]) -> None:
    some = [Document(str(number), "", text) for number, text in enumerate(texts)]
    assert list(Index.build([*some, Document("last", "", "cats")], compress=True))[:-1] == some


def test_equal_documents_give_equal_bytes_wherever_segments_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    some = documents(150)
    whole = Index.build(some, compress=True)
    monkeypatch.setattr("longrank.index.batches._CHARS", 3000)
    monkeypatch.setattr(arrays, "_COPIED", 100)
    cut = Index.build(some, compress=True)
    assert files(cut) == files(whole)


def test_a_changed_index_stays_compressed_and_merges_to_a_new_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    some = documents(120)
    index = Index.build(some[:50], tmp_path / "index", compress=True)
    index = index.add(some[50:90]).delete([doc.doc_id for doc in some[10:40]]).add(some[90:])
    living = some[:10] + some[40:]
    assert list(index) == living
    assert index.document("d95") == some[95]
    assert verify_index(index.path) > 0
    merged, built = index.merge(), Index.build(living, compress=True)
    assert files(merged) == files(built)
    assert list(merged) == living


def test_damage_is_found_by_check_and_by_reading(tmp_path: Path) -> None:
    index = Index.build(documents(50), tmp_path / "index", compress=True)
    path = next(index.path.glob(f"data-*/{compressed_texts.BLOCKS}.bytes"))
    content = path.read_bytes()
    for damaged in (bytes(len(content)), content[: len(content) // 2] + bytes(len(content) - len(content) // 2)):
        path.write_bytes(damaged)
        with pytest.raises(IntegrityError, match="checksum differs"):
            verify_index(index.path)
        with pytest.raises(IntegrityError, match="damaged"):
            list(Index(index.path))


def test_a_block_that_unpacks_to_more_than_its_texts_is_refused(tmp_path: Path) -> None:
    index = Index.build([Document("a", "", "dogs bark")], tmp_path / "index", compress=True)
    folder = next(index.path.glob("data-*"))
    bomb = compressed_texts.zstandard().compress(bytes(1 << 24))
    assert len(bomb) > len((folder / "text_blocks.bytes").read_bytes())
    (folder / "text_blocks.bytes").write_bytes(bomb)
    (folder / "text_blocks.offsets").write_bytes(len(bomb).to_bytes(8, "little").rjust(16, b"\0"))
    with pytest.raises(IntegrityError, match="a block of another size"):
        compressed_texts.CompressedTexts(folder).text(0)


def test_without_zstandard_the_install_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(compressed_texts, "import_module", missing)
    with pytest.raises(MissingExtra, match="zstd"):
        Index.build(documents(3), tmp_path / "index", compress=True)
    assert not (tmp_path / "index").exists()


def test_the_command_compresses(tmp_path: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text('{"id": "a", "text": "dogs bark"}\n{"id": "b", "text": "cats purr"}\n', encoding="utf-8")
    assert main(["index", str(source), "-o", str(tmp_path / "index"), "--compress"]) == 0
    index = Index(tmp_path / "index")
    assert index.options.compressed
    assert index.document("b").text == "cats purr"
    assert main(["check", str(tmp_path / "index")]) == 0
