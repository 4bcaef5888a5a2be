"""weak-labels by its documented command line: which sentences of which documents are written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import main
from longrank.formats.evidence import read_evidence
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Evidence, Notes
from training_collections import documents, write_collection

TEXTS = {document.doc_id: document.text for document in documents()}
QUERIES = {f"q{n:02d}" for n in range(12)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, its first stage, folds, and evidence that ``longrank rerank`` has written."""
    folder = write_collection(tmp_path_factory.mktemp("weak"))
    windows = ["--set", "passages.preset=windows", "--set", "passages.options={length=6, stride=6}"]
    places = [str(folder / name) for name in ("index", "queries.jsonl", "first.run")]
    assert main(["rerank", *places, "-o", str(folder / "r.run"), "--pipeline", "lexical", *windows]) == 0
    lists = [[f"q{n:02d}" for n in range(k, 12, 3)] for k in range(3)]
    (folder / "folds.json").write_text(json.dumps(lists))
    return folder


def label(folder: Path, output: Path, *more: str, **changes: Path) -> int:
    names = {"index": "index", "queries": "queries.jsonl", "qrels": "qrels.txt", "run": "first.run"}
    names["evidence"] = "r.run.evidence"
    places = [str(changes.get(what, folder / name)) for what, name in names.items()]
    return main(["weak-labels", *places, "-o", str(output), *more])


def examples(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def queries_of(folder: Path) -> dict[str, str]:
    rows = map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
    return {row["query_id"]: row["text"] for row in rows}


def best(one: Evidence) -> str:
    """Return the sentence of highest score of a document."""
    i = int(one.passage_score.argmax())
    return TEXTS[one.doc_id][one.passage_start[i] : one.passage_end[i]]


def expected(folder: Path, chosen: set[str], depth: int = 50, *, unjudged: bool = True) -> set[tuple[str, str, str]]:
    """Return every triplet that may be drawn: (query, best sentence of a relevant document, of another)."""
    sentences = {(one.query_id, one.doc_id): best(one) for one in read_evidence(folder / "r.run.evidence")[1]}
    qrels, run, found = read_qrels(folder / "qrels.txt", Notes()), read_run(folder / "first.run", Notes()), set()
    for query_id in chosen:
        judged = qrels[query_id]
        others = [row.doc_id for row in run[query_id] if judged.get(row.doc_id, 0 if unjudged else 1) == 0][:depth]
        for doc_id, grade in judged.items():
            pairs = [(sentences[query_id, doc_id], sentences[query_id, other]) for other in others if grade]
            found |= {(queries_of(folder)[query_id], *pair) for pair in pairs}
    return found


def rows(path: Path) -> set[tuple[str, str, str]]:
    return {(one["query"], *one["texts"]) for one in examples(path)}


def test_best_sentences_of_relevant_documents_and_of_others_are_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert label(folder, tmp_path / "train.jsonl", "--dev", str(tmp_path / "dev.jsonl")) == 0
    train, dev = examples(tmp_path / "train.jsonl"), examples(tmp_path / "dev.jsonl")
    qrels = read_qrels(folder / "qrels.txt", Notes())
    n = 5 * sum(grade > 0 for judged in qrels.values() for grade in judged.values())
    assert (len(train), len(dev)) == (n - n // 10, n // 10)
    assert rows(tmp_path / "train.jsonl") | rows(tmp_path / "dev.jsonl") <= expected(folder, QUERIES)
    assert {one["query"] for one in train} == set(queries_of(folder).values())
    said = capsys.readouterr().err
    assert f"train.jsonl: {len(train)} examples" in said
    assert f"dev.jsonl: {len(dev)} examples" in said


def test_only_the_train_queries_of_a_fold_are_labelled_for(folder: Path, tmp_path: Path) -> None:
    folds = ("--folds", str(folder / "folds.json"), "--fold", "s1")
    assert label(folder, tmp_path / "train.jsonl", *folds) == 0
    chosen = {f"q{n:02d}" for n in range(2, 12, 3)}  # s1 tests the first list, dev is the second
    assert rows(tmp_path / "train.jsonl") <= expected(folder, chosen)
    assert {one["query"] for one in examples(tmp_path / "train.jsonl")} == {queries_of(folder)[q] for q in chosen}


def test_depth_repeats_and_unjudged_documents_are_chosen(folder: Path, tmp_path: Path) -> None:
    for name, more in (("deep", ()), ("judged", ("--judged-only",))):
        assert label(folder, tmp_path / name, "--depth", "3", "--repeats", "3", *more) == 0
        assert rows(tmp_path / name) == expected(folder, QUERIES, 3, unjudged=not more)
    assert rows(tmp_path / "deep") != rows(tmp_path / "judged")


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        assert label(folder, tmp_path / name, "--seed", seed) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_a_kill_between_the_two_files_leaves_no_dev_file_of_an_earlier_call(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its examples may be training examples now. A link stays a link."""

    def killed(message: str) -> None:
        raise KeyboardInterrupt

    output, dev = tmp_path / "t.jsonl", tmp_path / "dev.jsonl"
    dev.symlink_to(tmp_path / "target.jsonl")
    assert label(folder, output, "--dev", str(dev)) == 0
    with monkeypatch.context() as patched:
        patched.setattr("longrank.cli.console.note", killed)  # which tells that a file is written
        assert label(folder, output, "--dev", str(dev), "--seed", "7") == 130
    assert output.exists() and not dev.exists()
    assert label(folder, output, "--dev", str(dev), "--seed", "7") == 0
    assert dev.is_symlink() and not rows(output) & rows(dev)


def test_documents_without_evidence_are_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels.txt").write_text((folder / "qrels.txt").read_text() + "q00 0 unranked 1\n")
    assert label(folder, tmp_path / "train.jsonl", qrels=tmp_path / "qrels.txt") == 0
    assert "documents without evidence, left out: 1 (first: q00 unranked)" in capsys.readouterr().err


@pytest.mark.neural
def test_a_bi_encoder_learns_from_what_is_written(folder: Path, tmp_path: Path) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.bi_encoder import BiEncoder
    from tiny_models import save_encoder

    model = save_encoder(tmp_path / "encoder")
    files = [str(tmp_path / name) for name in ("train.jsonl", "dev.jsonl")]
    assert label(folder, Path(files[0]), "--dev", files[1]) == 0
    sets = [f"network.model={model}", "read.max_tokens=32", "loop.steps=2", "loop.validate_every=2"]
    options = [word for one in sets for word in ("--set", one)]
    assert main(["train-passages", "santos", files[0], "--dev", files[1], "-o", str(tmp_path / "out"), *options]) == 0
    assert BiEncoder(find_model(str(tmp_path / "out" / "model"))).dimension == 16


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--folds", "FOLDS"), "--folds and --fold belong together"),
        (("--fold", "s1"), "--folds and --fold belong together"),
        (("--folds", "FOLDS", "--fold", "s4"), "unknown fold (got 's4'); one of s1, s2, s3"),
        (("--folds", "nowhere.json", "--fold", "s1"), "nowhere.json"),
        (("--depth", "0"), "depth must be at least 1 (got 0)"),
        (("--repeats", "0"), "repeats must be at least 1 (got 0)"),
        (("--level", "0"), "relevance_level must be at least 1 (got 0)"),
        (("--level", "3"), "no query has both a relevant document and another with evidence"),
        (("--dev-share", "0.2"), "--dev-share belongs to --dev (got 0.2)"),
        (("--dev", "DEV", "--dev-share", "1"), "dev is a share, at least 0 and less than 1"),
        (("--dev", "DEV", "--dev-share", "0"), "--dev-share leaves nothing to validate on"),
        (("--dev", "DEV", "--dev-share", "0.0001"), "too few examples to train and to validate on"),
        (("--dev", "OUT"), "is also an input and would be overwritten"),
        (("--dev", "nowhere/dev.jsonl"), "its folder does not exist"),
    ],
)
def test_a_wrong_option_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    places = {"FOLDS": folder / "folds.json", "DEV": tmp_path / "dev.jsonl", "OUT": tmp_path / "train.jsonl"}
    assert label(folder, tmp_path / "train.jsonl", *(str(places.get(word, word)) for word in more)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_evidence_of_other_documents_or_unknown_queries_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fakes import index_of

    index_of(documents()[1:], tmp_path / "index")
    (tmp_path / "folds.json").write_text(json.dumps({"s1": {"train": ["q99"], "dev": [], "test": ["q01"]}}))
    (tmp_path / "qrels.txt").write_text("elsewhere 0 d01 1\n")
    (tmp_path / "evidence").write_bytes(b"not evidence\n")
    before = sorted(tmp_path.iterdir())
    folds = ("--folds", str(tmp_path / "folds.json"), "--fold", "s1")
    output = tmp_path / "train.jsonl"
    wrong: list[tuple[tuple[str, ...], dict[str, Path], str]] = [
        ((), {"index": tmp_path / "index"}, "is evidence of other documents than the index holds; rerank with"),
        ((), {"evidence": tmp_path / "evidence"}, "evidence"),
        ((), {"evidence": tmp_path / "gone"}, "gone"),
        ((), {"qrels": tmp_path / "qrels.txt"}, "no query to label for is judged (got 'elsewhere')"),
        (folds, {}, "fold 's1' trains on 1 queries that the query file lacks (got 'q99')"),
    ]
    for more, changes, said in wrong:
        assert label(folder, output, *more, **changes) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert said in lines[0]
    assert label(folder, folder / "qrels.txt") == 2
    assert "is also an input and would be overwritten" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_packed_dev_file_is_refused_before_the_other_is_written(folder: Path, tmp_path: Path) -> None:
    assert label(folder, tmp_path / "t.jsonl", "--dev", str(tmp_path / "dev.jsonl.gz")) == 2
    assert list(tmp_path.iterdir()) == []
