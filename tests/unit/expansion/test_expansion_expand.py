"""A file of predictions: what is in it, and that interruptions at any byte do not change it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import BeingWritten, InputError
from longrank.expansion.decoding import Decoding, TextKey
from longrank.expansion.expand import Documents, _write, expand, open_documents
from longrank.expansion.predictor import Prediction
from longrank.expansion.reading import Reading
from longrank.index import Index, index_files
from longrank.storage import read_journal
from longrank.types import Document, Notes
from power_cuts import PowerCuts

DOCUMENTS = [
    {"doc_id": f"d{n}", "title": f"T{n}", "text": " ".join(f"Sentence {n} {i} stands here." for i in range(3 * n))}
    for n in range(9)
]


class Echo:
    """Stands in for a model: predicts the key and the number of words; of a long text, that it was cut."""

    fingerprint, max_tokens, decoding, batch = "echo", 50, Decoding(max_query_tokens=9), 4

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls, self._fails_at = 0, fails_at

    def predict(self, texts: Sequence[str], keys: Sequence[TextKey]) -> list[Prediction]:
        self.calls += 1
        if self.calls == self._fails_at:
            raise KeyboardInterrupt
        return [
            Prediction((f"{key.doc_id} {key.passage}", f"é {len(text.split())}"), len(text) > 100, 1, 2)
            if text
            else Prediction(())
            for text, key in zip(texts, keys, strict=True)
        ]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.expansion.expand._BLOCK", 2)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    return path


def opened(source: object) -> AbstractContextManager[Documents]:
    return open_documents(source, None, Notes())


def expanded(
    source: Path, output: Path, predictor: Echo | None = None, preset: str = "doct5query", **options: object
) -> tuple[bytes, list[str]]:
    notes, reading = Notes(), Reading(preset, ())
    with opened(str(source)) as collection:
        expand(collection, predictor or Echo(), reading, output, notes=notes, **options)  # type: ignore[arg-type]
    return output.read_bytes(), notes.lines()


def test_a_line_has_the_queries_of_all_passages_of_a_document_in_their_order(source: Path, tmp_path: Path) -> None:
    done: list[int] = []
    written, notes = expanded(source, tmp_path / "out.jsonl", progress=done.append)
    lines = [json.loads(line) for line in written.decode().splitlines()]
    assert [line["doc_id"] for line in lines] == [f"d{n}" for n in range(9)]
    assert lines[0]["queries"] == []
    assert lines[5]["queries"] == ["d5 0", "é 51", "d5 1", "é 51"]  # 10 sentences of 5 words, and the title
    assert sum(done) == 9
    assert notes == [
        "documents without text, for which nothing is predicted: 1 (first: document d0)",
        "predicted queries cut at 9 tokens: 18 (first: document d1)",
        "predicted queries that are empty, left out: 36 (first: document d1)",
        "passages cut at 50 tokens: 17 (first: document d2)",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "out.jsonl"]


@pytest.mark.parametrize("call", [1, 3, 4])
def test_work_that_was_interrupted_goes_on_to_the_same_bytes(source: Path, tmp_path: Path, call: int) -> None:
    expected, broken, output, again = (
        expanded(source, tmp_path / "whole.jsonl"),
        Echo(call),
        tmp_path / "o.jsonl",
        Echo(),
    )
    with pytest.raises(KeyboardInterrupt):
        expanded(source, output, broken)
    assert not output.exists()
    done: list[int] = []
    assert expanded(source, output, again, progress=done.append) == expected
    assert again.calls + broken.calls - 1 == 4  # no block is read twice but the one that was lost
    assert sum(done) == 9


def test_a_second_call_is_refused_until_the_file_of_the_first_is_written(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, output = expanded(source, tmp_path / "whole.jsonl"), tmp_path / "o.jsonl"

    def write(*args: Any) -> int:
        with pytest.raises(BeingWritten, match="is being written by pid"):
            expanded(source, output)
        return _write(*args)

    monkeypatch.setattr("longrank.expansion.expand._write", write)
    assert expanded(source, output) == expected


def test_a_kill_at_any_byte_costs_no_byte(source: Path, tmp_path: Path) -> None:
    expected, output = expanded(source, tmp_path / "whole.jsonl"), tmp_path / "o.jsonl"
    journal = tmp_path / "o.jsonl.unfinished"
    with pytest.raises(KeyboardInterrupt):
        expanded(source, output, Echo(4))
    full = journal.read_bytes()
    header = full.index(b"\n") + 1
    for length in {*range(header, len(full), 29), len(full)}:
        journal.write_bytes(full[:length])
        assert expanded(source, output) == expected
        output.unlink()


def test_documents_with_other_headings_are_other_documents() -> None:
    one = Document("d", "T", "One two. Head three.", headings=((9, 13, 1),))
    other = replace(one, headings=())
    with opened([one]) as first, opened([other]) as second:
        assert first.digest != second.digest


def test_what_was_begun_with_other_settings_is_refused_by_name(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.jsonl"
    with pytest.raises(KeyboardInterrupt):
        expanded(source, output, Echo(2))
    with pytest.raises(InputError, match=r"o.jsonl.unfinished: was begun with other reading: .*give the old settings"):
        expanded(source, output, preset="whole")
    other = Echo()
    other.fingerprint = "another"
    with pytest.raises(InputError, match='was begun with other model: "echo" then, "another" now'):
        expanded(source, output, other)
    source.write_text(source.read_text().replace("Sentence 3 1", "Sentence 3 one"))
    with pytest.raises(InputError, match="was begun with other documents"):
        expanded(source, output)


def _changed(path: Path) -> None:
    path.write_text(path.read_text().replace("Sentence 7 1 ", "Sentence 7 one "))


def _fewer(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def _more(path: Path) -> None:
    path.write_text(path.read_text() + json.dumps({"doc_id": "d9", "text": "One more."}) + "\n")


def _in_another_order(path: Path) -> None:
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))


@pytest.mark.parametrize(
    ("change", "doc_id"), [(_changed, "'d7'"), (_fewer, None), (_more, "'d9'"), (_in_another_order, "'d8'")]
)
def test_documents_that_change_between_the_two_readings_are_refused(
    change: Callable[[Path], None], doc_id: str | None, tmp_path: Path
) -> None:
    """Neither the file nor the journal gets queries of other documents; the old documents go on to the same bytes."""
    folder, output, journal = tmp_path / "docs", tmp_path / "o.jsonl", tmp_path / "o.jsonl.unfinished"
    folder.mkdir()
    for name, documents in (("a", DOCUMENTS[:6]), ("b", DOCUMENTS[6:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    expected, last = expanded(folder, tmp_path / "whole.jsonl"), folder / "b.jsonl"
    old = last.read_text()

    def interfere(n_done: int) -> None:
        if n_done and last.read_text() == old:
            change(last)

    got = f" \\(got {doc_id}\\)" if doc_id else ""
    with pytest.raises(InputError, match=rf"docs: the documents have changed since the first reading{got}; index them"):
        expanded(folder, output, progress=interfere)
    assert not output.exists()
    kept = [(record["doc_id"], record["queries"]) for record in map(json.loads, read_journal(journal))]
    whole = [(line["doc_id"], line["queries"]) for line in map(json.loads, expected[0].decode().splitlines())]
    assert kept and kept == whole[: len(kept)]
    with pytest.raises(InputError, match="was begun with other documents"):
        expanded(folder, output)
    last.write_text(old)
    again = Echo()
    assert expanded(folder, output, again) == expected
    assert again.calls < 4  # blocks of the first call are kept


def test_an_index_and_its_source_give_the_same_file(source: Path, tmp_path: Path) -> None:
    index_files([str(source)], tmp_path / "index", notes=Notes())
    assert expanded(tmp_path / "index", tmp_path / "a.jsonl") == expanded(source, tmp_path / "b.jsonl")


def test_files_of_two_models_are_united_by_the_index(source: Path, tmp_path: Path) -> None:
    other = Echo()
    other.predict = lambda texts, keys: [Prediction(("zebra zebra",) if text else ()) for text in texts]  # type: ignore[method-assign]
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file, predictor in zip(files, (Echo(), other), strict=True):
        expanded(source, file, predictor)
    index = index_files([str(source)], tmp_path / "index", expansions=files, notes=Notes())
    # One passage has two queries of the first model and one of the second; 1 + 1 + 1 + 2 + 2 + 3 + 4 + 4 passages.
    assert (index.count("zebra"), index.count("é")) == (2 * 18, 18)
    assert [one.text for one in Index.open(tmp_path / "index")] == [one["text"] for one in DOCUMENTS]


def test_a_source_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no document"), opened(str(tmp_path / "none.jsonl")):
        pass
    with pytest.raises(InputError, match="gone"), opened(str(tmp_path / "gone")):
        pass


def test_predictions_after_a_power_cut_end_with_the_same_bytes(source: Path, cuts: PowerCuts) -> None:
    with cuts.during():
        expected = expanded(source, cuts.folder / "out.jsonl")

    def resumed(disk: Path) -> tuple[bytes, list[str]]:
        path = disk / "out.jsonl"
        assert not path.exists() or path.read_bytes() == expected[0]
        again = expanded(source, path)
        assert [entry.name for entry in disk.iterdir()] == ["out.jsonl"]
        return again

    worlds = [world for _, world in cuts.disk.worlds()]
    assert len(worlds) > 5
    assert all(cuts.tell(world, resumed) == expected for world in worlds)
    assert cuts.surviving(lambda disk: (disk / "out.jsonl").read_bytes()) == expected[0]
