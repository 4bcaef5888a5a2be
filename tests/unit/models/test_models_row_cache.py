"""What an encoder made of passages is kept, and shared by all networks on that encoder."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import IntegrityError
from longrank.models import DOCUMENT_NETWORKS
from longrank.networks.model_files import find_model
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.types import Notes
from tiny_models import save_document_network, task

pytestmark = pytest.mark.neural

TASKS = [
    task("river bank", ["the king of the north", "a boat", "money"], doc_id="one"),
    task("river bank", ["war and peace over the water"], doc_id="two"),
]
FOUND = "passages whose vectors came from the score cache"
FRESH = "passages whose vectors were not in the score cache"


def scorer(folder: Path, cache: Path | None, notes: Notes | None = None) -> DocumentNetworkScorer:
    opened = DocumentNetworkScorer(find_model(str(folder)), allow_untrained=True, notes=notes or Notes())
    if cache is not None:
        opened.use_cache(cache)
    return opened


def counts(notes: Notes) -> tuple[int, int]:
    """How many rows were found, and how many were not."""
    lines = {line.rpartition(": ")[0]: int(line.rpartition(": ")[2]) for line in notes.lines() if "score cache" in line}
    return lines.get(FOUND, 0), lines.get(FRESH, 0)


@pytest.mark.parametrize("name", sorted(DOCUMENT_NETWORKS))
def test_what_is_kept_gives_the_same_scores_and_nothing_is_read_twice(tmp_path: Path, name: str) -> None:
    folder = save_document_network(tmp_path / "m", name)
    plain = scorer(folder, None).score(TASKS)
    first, second = Notes(), Notes()
    once = scorer(folder, tmp_path / "cache", first).score(TASKS)
    again = scorer(folder, tmp_path / "cache", second).score(TASKS)
    assert (counts(first), counts(second)) == ((0, 4), (4, 0))
    for expected, one, other in zip(plain, once, again, strict=True):
        assert one.document == other.document == expected.document
        assert one.scores.tobytes() == other.scores.tobytes() == expected.scores.tobytes()


def test_rows_of_rounded_products_are_kept_apart(tmp_path: Path) -> None:
    import torch

    folder, rounded, again = save_document_network(tmp_path / "m", "parade-max"), Notes(), Notes()
    scorer(folder, tmp_path / "cache").score(TASKS)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        scorer(folder, tmp_path / "cache", rounded).score(TASKS)
    finally:
        torch.set_float32_matmul_precision(before)
    scorer(folder, tmp_path / "cache", again).score(TASKS)
    assert (counts(rounded), counts(again)) == ((0, 4), (4, 0))


def test_other_aggregators_on_the_same_encoder_share_what_is_kept(tmp_path: Path) -> None:
    for name, expected in (("parade-max", (0, 4)), ("parade-attn", (4, 0)), ("vanilla-bert", (4, 0))):
        folder, notes = save_document_network(tmp_path / name, name, encoder_seed=1), Notes()
        found = scorer(folder, tmp_path / "cache", notes).score(TASKS)
        assert counts(notes) == expected
        assert [one.document for one in found] == [one.document for one in scorer(folder, None).score(TASKS)]


@pytest.mark.parametrize(
    ("name", "options"),
    [("parade-max", {"vector": "pooled"}), ("knrm", {}), ("knrm", {"exact_sigma": 0.01}), ("maxp", {})],
)
def test_what_other_networks_keep_is_not_taken_for_theirs(
    tmp_path: Path, name: str, options: dict[str, object]
) -> None:
    scorer(save_document_network(tmp_path / "a", "parade-max", encoder_seed=1), tmp_path / "cache").score(TASKS)
    scorer(save_document_network(tmp_path / "b", "knrm", encoder_seed=1, layers="last"), tmp_path / "cache").score(
        TASKS
    )
    folder, notes = save_document_network(tmp_path / "c", name, encoder_seed=1, **options), Notes()
    found = scorer(folder, tmp_path / "cache", notes).score(TASKS)
    assert counts(notes) == (0, 4)
    assert [one.document for one in found] == [one.document for one in scorer(folder, None).score(TASKS)]


def test_another_encoder_keeps_its_own(tmp_path: Path) -> None:
    for seed in (1, 2):
        notes = Notes()
        folder = save_document_network(tmp_path / str(seed), "parade-max", encoder_seed=seed)
        scorer(folder, tmp_path / "cache", notes).score(TASKS)
        assert counts(notes) == (0, 4)


def test_what_is_of_the_query_is_no_part_of_the_passage(tmp_path: Path) -> None:
    """The token ids are the same, the segments are not."""
    folder, notes = save_document_network(tmp_path / "m", "parade-max"), Notes()
    tasks = [task("river [SEP] bank", ["war"], doc_id="one"), task("river", ["bank [SEP] war"], doc_id="two")]
    found = scorer(folder, tmp_path / "cache", notes).score(tasks)
    assert counts(notes) == (0, 2)
    assert [one.document for one in found] == [one.document for one in scorer(folder, None).score(tasks)]


@pytest.mark.parametrize(("name", "expected"), [("knrm", (0, 2)), ("parade-max", (1, 1))])
def test_equal_tokens_with_another_end_of_the_query_are_another_pair_where_queries_are_told_apart(
    tmp_path: Path, name: str, expected: tuple[int, int]
) -> None:
    """RoBERTa has no segments: the end of the query is all that differs."""
    folder, notes = save_document_network(tmp_path / "m", name, "roberta"), Notes()
    tasks = [task("moon</s></s>fox", ["war"], doc_id="one"), task("moon", ["fox</s></s>war"], doc_id="two")]
    cached = scorer(folder, tmp_path / "cache", notes)
    found = [cached.score([one])[0].document for one in tasks]
    assert counts(notes) == expected
    assert found == [scorer(folder, None).score([one])[0].document for one in tasks]


def test_an_encoder_of_another_configuration_keeps_its_own(tmp_path: Path) -> None:
    folder, notes = save_document_network(tmp_path / "m", "parade-max"), Notes()
    scorer(folder, tmp_path / "cache").score(TASKS)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    scorer(folder, tmp_path / "cache", notes).score(TASKS)
    assert counts(notes) == (0, 4)


def test_the_fingerprint_says_that_there_was_a_cache(tmp_path: Path) -> None:
    folder = save_document_network(tmp_path / "m")
    fingerprint = scorer(folder, tmp_path / "cache").fingerprint
    assert fingerprint == scorer(folder, None).fingerprint + " with score cache"


def test_a_damaged_row_is_refused_by_the_files_name(tmp_path: Path) -> None:
    import sqlite3

    folder = save_document_network(tmp_path / "m")
    scorer(folder, tmp_path / "cache").score(TASKS)
    with closing(sqlite3.connect(tmp_path / "cache")) as file, file:
        ((value,),) = file.execute("SELECT value FROM entries LIMIT 1").fetchall()
        changed = bytes([value[0] ^ 1]) + value[1:]
        file.execute("UPDATE entries SET value = ? WHERE value = ?", (changed, value))
    file.close()
    with pytest.raises(IntegrityError, match=r"cache: damaged; name another file"):
        scorer(folder, tmp_path / "cache").score(TASKS)
    assert np.isfinite(scorer(folder, None).score(TASKS)[0].scores).all()
