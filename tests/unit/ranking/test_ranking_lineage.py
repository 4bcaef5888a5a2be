"""Evidence names the trainings of a scorer's weights, whatever the scorer stands in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.neural

TRAINING = {"qrels": "digest of the judgments", "fold": "digest of the fold"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder that was trained on a fold."""
    from tiny_models import save_document_network

    folder = save_document_network(tmp_path_factory.mktemp("models") / "maxp", "maxp")
    description = json.loads((folder / "longrank.json").read_text())
    trained = {"untrained": False, "record": {"run": TRAINING}}
    (folder / "longrank.json").write_text(json.dumps({**description, **trained}))
    return folder


def _plain(folder: Path) -> dict[str, Any]:
    return {}


def _cached(folder: Path) -> dict[str, Any]:
    return {"score_cache": folder / "scores.cache"}


def _mixed(folder: Path) -> dict[str, Any]:
    return {"assignments": {"mix.lexical": 0.5}}


def _mixed_and_cached(folder: Path) -> dict[str, Any]:
    return _mixed(folder) | _cached(folder)


def _stopping(folder: Path) -> dict[str, Any]:
    """Early stopping by a bound that skips nothing."""
    from longrank.ranking.calibration import Calibration, write_calibration
    from longrank.storage import read_header

    cheap, expensive = (read_header(folder / name)["scorer"] for name in ("lexical", "plain"))
    costs = {"k": 1, "risk": 0.5, "queries": 1, "missed": 0.0, "left_alone": 0.0}
    bound = Calibration(aggregator="maxp", cheap=cheap, expensive=expensive, x=(0.0,), y=(0.0,), margin=1e6, **costs)
    write_calibration(bound, folder / "stop.json")
    return {"assignments": {"stop.calibration": str(folder / "stop.json"), "stop.scorer": "lexical"}}


@pytest.mark.parametrize("option", [_plain, _cached, _mixed, _mixed_and_cached, _stopping])
def test_evidence_has_the_lineage_of_its_model(
    option: Callable[[Path], dict[str, Any]], model: Path, tmp_path: Path
) -> None:
    import longrank
    from longrank.storage import read_header

    index = longrank.Index.build([("a", "river bank"), ("b", "king moon river")], tmp_path / "index")
    run = longrank.retrieve(index, {"1": "river"})

    def reranked(name: str, pipeline: str, **more: Any) -> dict[str, Any]:
        longrank.rerank(index, {"1": "river"}, run, pipeline=pipeline, evidence=tmp_path / name, **more)
        return read_header(tmp_path / name)

    reranked("lexical", "lexical", assignments={"passages.preset": "dai"})
    reranked("plain", "maxp", model=str(model))
    assert reranked("evidence", "maxp", model=str(model), **option(tmp_path))["lineage"] == [TRAINING]


def test_a_comparison_keeps_the_lineage_of_its_evidence(model: Path, tmp_path: Path) -> None:
    import longrank
    from longrank.storage import read_header
    from tiny_language_models import save_seq2seq

    index = longrank.Index.build([("a", "river bank"), ("b", "king moon river")], tmp_path / "index")
    queries, evidence = {"1": "river"}, tmp_path / "evidence"
    run = longrank.rerank(
        index, queries, longrank.retrieve(index, queries), pipeline="maxp", model=str(model), evidence=evidence
    )
    duo = str(save_seq2seq(tmp_path / "t5"))
    longrank.compare(index, queries, run, evidence, model=duo, output_evidence=tmp_path / "compared")
    assert read_header(tmp_path / "compared")["lineage"] == [TRAINING]


def test_a_passage_model_has_the_lineage_of_the_network_that_it_began_with(model: Path, tmp_path: Path) -> None:
    from longrank.networks.trainings import lineage_of
    from longrank.training.passage_data.examples import group
    from passage_trainings import settings, trained

    start = settings("cross-encoder", model, loss=[{"name": "lce"}])
    record = trained(start, tmp_path, [group("river", ["river bank", "king"]), group("king", ["king", "moon"])])
    assert record["run"]["lineage"] == [TRAINING]
    assert lineage_of(tmp_path / "out" / "model") == [TRAINING]


def test_a_network_that_is_created_on_trained_weights_has_their_lineage(model: Path, tmp_path: Path) -> None:
    from longrank.models.new import create_folder
    from longrank.networks.model_files import find_model
    from longrank.types import Notes

    create_folder("parade-max", find_model(str(model)), tmp_path / "new", Notes(), options={})
    assert find_model(str(tmp_path / "new")).lineage == [TRAINING]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("training.json", "{}"),
        ("training.json", '{"step": 1}\n{"step": 2}\n'),
        ("longrank.json", "[1]"),
        ("training.json", '{"run": "of another program"}'),
        ("training.json", '{"run": {"qrels": 1, "fold": 2, "lineage": "of another program"}}'),
        ("lineage.json", '{"lineage": {"of": "another program"}}'),
        ("lineage.json", '{"lineage": ["of another program", {"qrels": "only"}, {"qrels": "a", "fold": 3}]}'),
    ],
)
def test_records_of_other_programs_have_no_lineage(name: str, content: str, tmp_path: Path) -> None:
    from longrank.networks.trainings import lineage_of

    (tmp_path / name).write_text(content)
    assert lineage_of(tmp_path) == []


def test_an_open_pipeline_writes_the_lineage_of_the_weights_that_it_loaded(model: Path, tmp_path: Path) -> None:
    import longrank
    from longrank.ranking.pipeline import open_pipeline
    from longrank.storage import read_header

    index = longrank.Index.build([("a", "river bank"), ("b", "king moon river")], tmp_path / "index")
    run, folder = longrank.retrieve(index, {"1": "river"}), tmp_path / "model"
    shutil.copytree(model, folder)
    opened = open_pipeline(index, "maxp", model=str(folder))
    shutil.rmtree(folder)
    longrank.rerank(index, {"1": "river"}, run, pipeline=opened, evidence=tmp_path / "evidence")
    assert read_header(tmp_path / "evidence")["lineage"] == [TRAINING]


@pytest.mark.parametrize("kind", ["bi-encoder", "cross-encoder"])
def test_a_passage_model_that_is_read_at_another_length_than_in_training_is_noted(kind: str, tmp_path: Path) -> None:
    from longrank.aggregation import make_aggregator
    from longrank.ranking.opening import open_document_scorer
    from longrank.ranking.settings import load_pipeline
    from longrank.types import Notes
    from tiny_models import save_cross_encoder, save_encoder

    folder = (save_encoder if kind == "bi-encoder" else save_cross_encoder)(tmp_path / "model")
    (folder / "training.json").write_text(json.dumps({"run": {"training": {"read": {"max_tokens": 24}}}}))
    for length, is_noted in ((24, False), (20, True)):
        options = f"scorer.options={{max_tokens = {length}}}"
        settings, notes = load_pipeline("maxp", [f"scorer.name={kind}", options]), Notes()
        open_document_scorer(None, settings, str(folder), make_aggregator("maxp"), notes)
        said = f"was trained with max_tokens 24 but reads with {length}: add --set scorer.options.max_tokens=24"
        assert any(said in line for line in notes.lines()) is is_noted
