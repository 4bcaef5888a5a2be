"""Every recipe's program, planned with the paper's settings: it makes the rows that have published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.reproduction.recipe_files import load_recipe, recipe_names
from sentence_reproductions import commands_of, planned, to_obtain, write_with_sentences

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with all files that settings of recipes name."""
    folder = write_with_sentences(tmp_path_factory.mktemp("plans") / "tiny")
    for name in ("passage_qrels.txt", "fira_qrels.txt", "triples.train.small.tsv"):
        (folder / name).touch()
    (folder / "judged-before.txt").write_text("q00 0 d00 0\n")
    return folder


def test_parade_has_position_embeddings_except_where_its_own_code_is_followed(collection: Path) -> None:
    trained = [command for command in commands_of("parade/table8-gov2-title", collection) if command[0] == "train"]
    assert trained
    assert all("network.options.positions=64" in command for command in trained)
    (readme,) = (c for c in commands_of("parade/readme-standalone-robust04-title", collection) if c[0] == "train")
    assert "network.options.positions=0" in readme


def test_albert_alone_is_trained_without_dropout(collection: Path) -> None:
    for command in commands_of("maxp/table2-robust04-title", collection):
        if command[0] == "train":
            assert ("network.dropout=0.0" in command) is ("network.model=albert-base-v2" in command)


@pytest.mark.parametrize("name", [name for name in recipe_names() if load_recipe(name)[0].program])
def test_a_program_makes_every_row_that_can_be_made(name: str, collection: Path) -> None:
    others = {"UPrrf38rrf3-r4"}  # another team's run
    assert to_obtain(name) - others <= planned(name, collection)
