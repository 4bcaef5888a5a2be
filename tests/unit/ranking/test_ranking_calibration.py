from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from longrank.aggregation import make_aggregator
from longrank.errors import InputError, IntegrityError
from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.ranking.calibration import Calibration, calibrate, joined, read_calibration, write_calibration


def test_candidates_are_walked_by_cheap_score_and_doc_id_falling() -> None:
    found = joined({"q": {"a": 1.0, "b": 1.0, "c": 2.0}}, {"q": {"a": 7.0, "b": 8.0, "c": 6.0}}, Path("x"))
    assert found["q"].cheap.tolist() == [2.0, 1.0, 1.0]
    assert found["q"].expensive.tolist() == [6.0, 8.0, 7.0]


def test_a_candidate_without_cheap_evidence_is_named() -> None:
    with pytest.raises(InputError, match=r"cheap\.evidence: holds no evidence of document 'b' for query 'q'"):
        joined({"q": {"a": 1.0}}, {"q": {"a": 1.0, "b": 2.0}}, Path("cheap.evidence"))


def test_a_candidate_without_expensive_evidence_is_named() -> None:
    with pytest.raises(InputError, match=r"cheap\.evidence: alone holds evidence of document 'b' for query 'q'"):
        joined({"q": {"a": 1.0, "b": 2.0}}, {"q": {"a": 1.0}}, Path("cheap.evidence"))


def without(path: Path, *names: str) -> dict[str, object]:
    return {name: value for name, value in json.loads(path.read_text()).items() if name not in names}


def test_a_flipped_bit_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    whole = Calibration(10, 0.05, "maxp", "cheap", "expensive", 83, 0.01, 0.5, (0.1, 0.3), (1.0, 2.5), 0.7, 50)
    path = tmp_path / "c.json"
    write_calibration(whole, path)
    content = path.read_bytes()
    for place in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            read = read_calibration(path)
        except (InputError, IntegrityError):
            continue
        assert read == whole


def test_a_calibration_of_an_earlier_version_has_no_depth_and_no_checksum(tmp_path: Path) -> None:
    whole = Calibration(10, 0.05, "maxp", "cheap", "expensive", 83, 0.01, 0.5, (0.1, 0.3), (1.0, 2.5), 0.7, 50)
    write_calibration(whole, tmp_path / "c.json")
    assert read_calibration(tmp_path / "c.json").depth == 50
    (tmp_path / "c.json").write_text(json.dumps(without(tmp_path / "c.json", "depth", "checksum")))
    assert read_calibration(tmp_path / "c.json").depth == 0


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"collection": "another"}, "another collection"),
        ({"queries": "others"}, "other queries"),
        ({"queries": "more", "n_queries": 1}, "other queries"),
    ],
)
def test_evidence_of_another_index_or_of_other_queries_is_refused(
    tmp_path: Path, changed: dict[str, object], what: str
) -> None:
    same = {"unit": "logit", "collection": "i", "queries": "q", "n_queries": 0, "candidates": "c", "options": {}}
    for name, header in (("cheap", same | changed), ("expensive", same)):
        with EvidenceWriter(tmp_path / name, evidence_header(scorer=name, **header)) as writer:  # type: ignore[arg-type]
            writer.commit()
    with pytest.raises(InputError, match=rf"cheap: is evidence of {what} than .*expensive; score the same run"):
        calibrate(tmp_path / "cheap", tmp_path / "expensive", "maxp", make_aggregator("maxp"), k=1, risk=0.5)


def test_evidence_that_early_stopping_left_incomplete_is_refused(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("whole", "stopped")]
    for path, options in zip(paths, ({}, {"stopped": "maxp"}), strict=True):
        header = evidence_header(
            unit="x", scorer="s", collection="c", queries="q", n_queries=0, candidates="r", options=options
        )
        with EvidenceWriter(path, header) as writer:
            writer.commit()
    for cheap, expensive in (paths, paths[::-1]):
        with pytest.raises(InputError, match="stopped: early stopping left this evidence incomplete"):
            calibrate(cheap, expensive, "maxp", make_aggregator("maxp"), k=10, risk=0.05)


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    whole = Calibration(10, 0.05, "maxp", "cheap", "expensive", 83, 0.01, 0.5, (0.1, 0.3), (1.0, 2.5), 0.7)
    write_calibration(whole, tmp_path / "c.json")
    assert read_calibration(tmp_path / "c.json") == whole
    assert "50.0% of the candidates skipped, 1.0% of the true top 10 missed" in whole.summary


@pytest.mark.parametrize(
    "wrong",
    [
        *({"k": "many"}, {"x": "01"}, {"margin": math.nan}, {"y": [1.0, math.inf]}, {"other": 1}),
        *({"x": [0.3, 0.1]}, {"y": [2.5, 1.0]}, {"x": [0.1]}, {"x": [], "y": []}),
    ],
)
def test_points_that_are_no_bound_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    whole = Calibration(10, 0.05, "maxp", "cheap", "expensive", 83, 0.01, 0.5, (0.1, 0.3), (1.0, 2.5), 0.7)
    path = tmp_path / "c.json"
    write_calibration(whole, path)
    path.write_text(json.dumps(without(path, "checksum") | wrong))
    with pytest.raises(InputError, match="is not a calibration; longrank calibrate writes them"):
        read_calibration(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "longrank-calibration", "version": 2}'])
def test_another_file_is_no_calibration(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match="is not a calibration; longrank calibrate writes them"):
        read_calibration(tmp_path / "c.json")
