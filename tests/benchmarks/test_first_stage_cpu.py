"""CPU times of first stages are measured for each number of terms and depth, and queries have that number of words."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("words", ["text", "frequent"])
def test_the_words_of_a_query_are_distinct_and_the_same_in_every_run(words: str) -> None:
    module = import_module("benchmarks.first_stage_cpu")
    made = module.queries(20, 10, words, 1)
    assert [len(set(text.split())) for text in made] == [10] * 20
    assert made == module.queries(20, 10, words, 1) != module.queries(20, 10, words, 2)


def test_frequent_words_are_among_the_first_thousand() -> None:
    module, million = import_module("benchmarks.first_stage_cpu"), import_module("benchmarks.million")
    frequent = {million.word(rank) for rank in range(1000)}
    assert {word for text in module.queries(50, 5, "frequent", 1) for word in text.split()} <= frequent


def test_every_setting_has_a_row_and_an_engine_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.first_stage_cpu", "--folder", tmp_path, "--docs", 120, "--rounds", 1]
    command += ["--engines", "longrank", "pisa", "--python", "pisa=/nowhere/python", "--queries", 3]
    command += ["--terms", 2, 3, "--k", 1, 20, "--words", "text"]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "pisa: not installed (No such file or directory)"
    rows = [line.split(" | ") for line in lines if line.startswith("| text")]
    assert [row[1:3] for row in rows] == [["2", "1"], ["2", "20"], ["3", "1"], ["3", "20"]]
    assert [path.name for path in tmp_path.iterdir()] == ["generated-120-1"]


def test_an_index_that_is_kept_is_used_again_with_the_figures_of_its_build(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.first_stage_cpu", "--folder", tmp_path, "--docs", 120]
    command += ["--engines", "longrank", "--indexes", tmp_path / "kept", "--builds-only"]
    first, second = (
        subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert first.stdout == second.stdout
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "build.log",
        "longrank.index",
        "longrank.json",
    ]


def test_rare_words_are_not_among_the_first_thousand() -> None:
    module, million = import_module("benchmarks.first_stage_cpu"), import_module("benchmarks.million")
    frequent = {million.word(rank) for rank in range(1000)}
    assert not {word for text in module.queries(50, 5, "rare", 1) for word in text.split()} & frequent


def test_postings_are_counted_once_for_each_document_and_word(tmp_path: Path) -> None:
    sizes = import_module("benchmarks.index_sizes")
    (tmp_path / "a.jsonl").write_text('{"id": "1", "contents": "x y x"}\n{"id": "2", "contents": "x"}\n')
    assert sizes.n_postings(tmp_path) == 3
    (tmp_path / "i.bmw.64").write_bytes(b"12")
    (tmp_path / "i.bmw.64.block_simdbp").write_bytes(b"123")
    assert sizes.sizes("pisa", tmp_path) == {"postings": 3, "bounds": 2}
