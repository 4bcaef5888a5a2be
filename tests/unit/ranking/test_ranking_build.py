from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import longrank
from fakes import documents, index_of, queries
from longrank.errors import InputError
from longrank.index import Index, verify_index
from longrank.index.vectors import stored_vectors
from longrank.networks.feeding import OffsetTokenizer
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.ranking.build import add_vectors, attach_vectors
from longrank.ranking.known_passages import KnownPassages
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.retrieval import make_retriever
from longrank.scoring import make_scorer
from longrank.scoring.bi_encoder import BiEncoder
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes, Query
from tiny_models import save_encoder

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of([*documents(5), Document("empty", "", "")], tmp_path / "index")


def bi_encoder(index: Index, model: str) -> BiEncoder:
    scorer = make_scorer("bi-encoder", index=index, model=model, options={})
    assert isinstance(scorer, BiEncoder)
    return scorer


def tasks(index: Index, every: int = 1) -> list[ScoringTask]:
    """Each query with each document, of whose passages only every so many is scored."""
    result = []
    for query in queries(3):
        for document in index:
            passages = make_segmenter("windows").segment(document).passages[::every]
            result.append(ScoringTask(query, document.doc_id, passages, tuple(p.text for p in passages)))
    return result


def attach(scorer: BiEncoder, index: Index, *, title: bool = False, selects: bool = False) -> Notes:
    notes = Notes()
    attach_vectors(scorer, index, KnownPassages(make_segmenter("windows")), title=title, selects=selects, notes=notes)
    return notes


def test_scores_with_stored_vectors_are_the_same_bits_and_no_passage_is_encoded(index: Index, model: str) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    encoding, reading = bi_encoder(index, model), bi_encoder(index, model)
    notes = attach(reading, index)
    expected = encoding.score(tasks(index))
    calls: list[object] = []
    reading._network[0].register_forward_hook(lambda *seen: calls.append(seen) or None)
    for found, usual in zip(reading.score(tasks(index)), expected, strict=True):
        assert found.scores.tobytes() == usual.scores.tobytes()
        assert found.truncated.tolist() == usual.truncated.tolist()
    assert len(calls) == 3  # one per query
    assert notes.lines() == []
    assert reading.fingerprint == encoding.fingerprint


def test_selected_passages_are_the_same_up_to_float_noise_and_the_fingerprint_says_so(index: Index, model: str) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    encoding, reading = bi_encoder(index, model), bi_encoder(index, model)
    attach(reading, index, selects=True)
    for found, usual in zip(reading.score(tasks(index, 2)), encoding.score(tasks(index, 2)), strict=True):
        np.testing.assert_allclose(found.scores, usual.scores, atol=1e-6)
    assert reading.fingerprint == f"{encoding.fingerprint} with stored vectors"


def test_vectors_that_do_not_fit_are_not_used_and_that_is_said(index: Index, model: str) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    notes = attach(bi_encoder(index, model), index, title=True)
    assert notes.lines() == [
        "passages are encoded, since the stored vectors do not fit: 1 (first: tiny-windows has another title)"
    ]


def test_without_stored_vectors_nothing_is_said(index: Index, model: str) -> None:
    assert attach(bi_encoder(index, model), index).lines() == []


def test_other_scorers_are_left_alone(index: Index) -> None:
    notes = Notes()
    scorer = make_scorer("lexical", index=index)
    attach_vectors(scorer, index, KnownPassages(make_segmenter("windows")), title=False, selects=False, notes=notes)
    assert notes.lines() == []


def test_adding_vectors_reports_progress_and_cut_passages_and_the_index_stays_sound(index: Index, model: str) -> None:
    notes, done = Notes(), []
    before = verify_index(index.path)
    folder = add_vectors(index.path, model, "windows", notes, done.append)
    assert folder == index.path / "vectors" / "tiny-windows"
    assert sum(done) == 6
    assert notes["passages cut at the encoder's length limit"] > 0
    assert verify_index(index.path) == before + 8


def test_vectors_that_are_there_are_not_made_again(index: Index, model: str) -> None:
    first = add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    written = (first / "vectors").stat().st_mtime_ns
    done: list[int] = []
    assert add_vectors(index.path, model, "windows", Notes(), done.append) == first
    assert done == [6]
    assert (first / "vectors").stat().st_mtime_ns == written


def test_another_model_of_the_same_name_replaces_no_vectors(index: Index, model: str, tmp_path: Path) -> None:
    other, notes = str(save_encoder(tmp_path / "tiny", prompts={"document": "stone "})), Notes()
    first = add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    before = stored_files(index)
    second = add_vectors(index.path, other, "windows", notes, lambda done: None)
    beginning = find_model(other).fingerprint.removeprefix("sha256:")[:8]
    assert (second.name, stored_files(index)) == (f"tiny-windows-{beginning}", before)
    assert any("tiny-windows has vectors of another model, which stay" in line for line in notes.lines())
    changed = index.add([("new", "New words on an old page.")])
    for path, of in ((first, model), (second, other)):  # both models renew their own
        assert add_vectors(changed.path, of, "windows", Notes(), lambda done: None) == path
        assert make_retriever(changed, f"dense:{path.name}", model=of).retrieve(queries(1)[0], 3)
    assert sorted(path.name for path in first.parent.iterdir()) == [first.name, second.name]
    shutil.rmtree(first)
    assert add_vectors(changed.path, other, "windows", Notes(), lambda done: None) == second
    (second / "vectors").write_bytes(b"")
    assert add_vectors(changed.path, other, "windows", Notes(), lambda done: None) == second
    assert add_vectors(changed.path, model, "windows", Notes(), lambda done: None) == first


def test_the_vectors_of_the_named_model_are_searched(index: Index, model: str, tmp_path: Path) -> None:
    other = str(save_encoder(tmp_path / "other" / "tiny", "roberta"))
    alone = {}
    for name in (model, other):
        add_vectors(index.path, name, "windows", Notes(), lambda done: None)
        alone[name] = [*longrank.retrieve(index, {"q": "river"}, preset="dense", model=name).rows()]
    assert alone[model] != alone[other]
    assert [*longrank.retrieve(index, {"q": "river"}, preset="dense", model=model).rows()] == alone[model]
    with pytest.raises(InputError, match="the index has several sets of vectors"):
        longrank.retrieve(index, {"q": "river"}, preset="dense")


@pytest.mark.parametrize("flipped", [False, True])
def test_damaged_vectors_are_made_again_and_that_is_said(index: Index, model: str, flipped: bool) -> None:
    folder = add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    whole = (folder / "vectors").read_bytes()
    (folder / "vectors").write_bytes(bytes([whole[0] ^ 1]) + whole[1:] if flipped else whole[:-4])
    notes = Notes()
    add_vectors(index.path, model, "windows", notes, lambda done: None)
    assert (folder / "vectors").read_bytes() == whole
    assert any("are damaged and computed again" in line for line in notes.lines())


def test_windows_of_wordpieces_are_counted_by_the_models_own_tokenizer(index: Index, model: str) -> None:
    folder = add_vectors(index.path, model, "ecir21", Notes(), lambda done: None)
    assert folder.name == "tiny-ecir21"


def test_a_search_over_stored_vectors_neither_encodes_nor_splits_a_document(
    index: Index, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes()
    add_vectors(index.path, model, "tokens", notes, lambda done: None)
    pipeline = open_pipeline(index, "minilm", model=model, notes=notes)
    monkeypatch.setattr(OffsetTokenizer, "offsets", None)
    ranked = rank_one(pipeline, queries(1)[0], 5)
    assert len(ranked.evidence) == 5
    assert not any(evidence.n_truncated for evidence in ranked.evidence)
    assert notes.lines() == []


def test_a_pipeline_of_other_passages_than_the_stored_vectors_says_so_once(index: Index, model: str) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    notes, silent = Notes(), Notes()
    open_pipeline(index, "minilm", model=model, notes=notes)
    open_pipeline(index, "minilm", model=model, assignments=["passages.preset=windows"], notes=silent)
    (line,) = notes.lines()
    assert line.endswith("do not fit: 1 (first: tiny-windows has another segmenter)")
    assert silent.lines() == []


def test_an_unknown_preset_or_index_is_refused(index: Index, model: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="passage preset"):
        add_vectors(index.path, model, "window", Notes(), lambda done: None)
    with pytest.raises(InputError, match="no such index"):
        add_vectors(tmp_path / "nowhere", model, "windows", Notes(), lambda done: None)


def test_a_query_is_not_a_passage(index: Index, model: str) -> None:
    """A document whose passage is the query itself is the best, with and without stored vectors."""
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    scorer = bi_encoder(index, model)
    attach(scorer, index)
    document = index.document("d001")
    passage = make_segmenter("windows").segment(document).passages[0]
    (scores,) = scorer.score([ScoringTask(Query("q", passage.text), "d001", (passage,), (passage.text,))])
    assert scores.scores[0] == pytest.approx(1.0, abs=1e-5)


def test_after_a_change_only_passages_of_new_documents_are_encoded(
    index: Index, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    changed = index.delete([index.doc_id(1)]).add([("new", "New words on an old page.")])
    encoded: list[str] = []
    encode = BiEncoder.encode
    monkeypatch.setattr(BiEncoder, "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts))
    add_vectors(changed.path, model, "windows", Notes(), lambda done: None)
    assert encoded == ["new"]
    built = Index.build(list(changed), tmp_path / "built")
    add_vectors(built.path, model, "windows", Notes(), lambda done: None)
    for stored, expected in zip(tasks(changed), tasks(built), strict=True):
        assert stored == expected
    reading, usual = bi_encoder(changed, model), bi_encoder(built, model)
    attach(reading, changed), attach(usual, built)
    for found, expected in zip(reading.score(tasks(changed)), usual.score(tasks(built)), strict=True):
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


def stored_files(index: Index) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (index.path / "vectors" / "tiny-windows").iterdir()}


def test_int8_is_added_and_removed_without_encoding_and_kept_through_changes(
    index: Index, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    plain, encoded, encode = stored_files(index), [], BiEncoder.encode
    monkeypatch.setattr(BiEncoder, "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts))
    for dtype, small in (("int8", True), (None, True), ("float32", False), (None, False), ("int8", True)):
        add_vectors(index.path, model, "windows", Notes(), lambda done: None, dtype=dtype)  # type: ignore[arg-type]
        assert stored_vectors(index).dtype == ("int8" if small else "float32")
        assert small or stored_files(index) == plain
    assert encoded == []
    changed = index.delete([index.doc_id(1)]).add([("new", "New words on an old page.")])
    with pytest.raises(InputError, match="these vectors are of other documents"):
        stored_vectors(changed)
    add_vectors(changed.path, model, "windows", Notes(), lambda done: None)
    assert (encoded, stored_vectors(changed).dtype) == (["new"], "int8")
    built = Index.build(list(changed), tmp_path / "built")
    add_vectors(built.path, model, "windows", Notes(), lambda done: None, dtype="int8")
    for query in queries(3):
        one, other = (make_retriever(made, "dense", model=model).retrieve(query, 9) for made in (changed, built))
        assert [row.doc_id for row in one] == [row.doc_id for row in other]
        assert [row.score for row in one] == pytest.approx([row.score for row in other], abs=1e-6)


def test_an_interrupted_change_of_the_type_leaves_the_vectors_as_they_were(
    index: Index, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vectors(index.path, model, "windows", Notes(), lambda done: None)
    plain = stored_files(index)

    def dying(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_vectors(index.path, model, "windows", Notes(), dying, dtype="int8")
    assert stored_files(index) == plain
    assert list(index.path.glob(".building-*")) == []
