"""What `longrank analyze latency` counts, against counting by hand; times are not asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.errors import InputError
from longrank.scoring.latency import SIZES, latencies

pytestmark = pytest.mark.neural

TINY = ("--size", "tiny", "--passages", "3", "--tokens", "16", "--seconds", "0", "--threads", "1")


def bert_parameters(layers: int, hidden: int) -> int:
    """Word, position and segment embeddings and their norm; per layer four projections, feed-forward, two norms."""
    embeddings = (30522 + 512 + 2) * hidden + 2 * hidden
    each = 4 * (hidden * hidden + hidden) + (hidden * 4 * hidden + 4 * hidden) + (4 * hidden * hidden + hidden)
    return embeddings + layers * (each + 4 * hidden)


def test_the_parameters_are_those_of_bert_and_a_linear_layer() -> None:
    for size in ("tiny", "mini"):
        (row,) = latencies("parade-max", [size], passages=1, tokens=16, seconds=0)
        layers, hidden = SIZES[size]
        assert row.parameters == bert_parameters(layers, hidden) + hidden + 1


def test_the_sizes_are_those_of_parades_table_7() -> None:
    """To the million, as published; BERT-Large's 360M there is more than its layers hold with one vocabulary."""
    millions = {size: bert_parameters(*SIZES[size]) / 1e6 for size in SIZES}
    published = {"base": 123, "10/768": 109, "8/768": 95, "medium": 48, "small": 35, "mini": 13, "2/512": 28, "tiny": 5}
    for size, count in published.items():
        aggregator = 2 * 12 * SIZES[size][1] ** 2 / 1e6  # two layers of the encoder's dimensions
        assert millions[size] + aggregator == pytest.approx(count, abs=2)


def test_operations_grow_with_passages_and_not_with_padding() -> None:
    one, two = (next(latencies("parade-max", ["tiny"], passages=n, tokens=64, seconds=0)).gflops for n in (8, 16))
    assert two == pytest.approx(2 * one, rel=0.1)


@pytest.mark.parametrize("network", ["parade-transformer", "maxp", "cedr-knrm"])
def test_every_kind_of_network_can_be_measured(network: str) -> None:
    (row,) = latencies(network, ["tiny"], passages=2, tokens=16, seconds=0)
    assert row.gflops > 0
    assert row.milliseconds > 0


def test_an_unknown_size_or_network_is_refused() -> None:
    with pytest.raises(InputError, match="unknown encoder size"):
        list(latencies("parade-max", ["huge"]))
    with pytest.raises(InputError, match="unknown document network"):
        list(latencies("parade-mx", ["tiny"]))


def test_the_command_prints_a_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "latency", *TINY, "-o", str(tmp_path / "rows.json")]) == 0
    shown = capsys.readouterr().out
    assert "parade-transformer, 3 passages of 16 tokens, float32" in shown
    assert "tiny" in shown.splitlines()[-1]
    written = json.loads((tmp_path / "rows.json").read_text())
    assert [row["size"] for row in written["rows"]] == ["tiny"]
    assert written["machine"]["cores"] >= 1


def test_a_wrong_option_of_a_subcommand_names_its_help_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "latency", "--nonsense"]) == 2
    assert "see longrank analyze latency --help" in capsys.readouterr().err
    for words in ((), ("latncy",)):
        assert main(["analyze", *words]) == 2
        said = capsys.readouterr().err
        assert said.endswith("see longrank analyze --help\n")
        assert "Usage" not in said
