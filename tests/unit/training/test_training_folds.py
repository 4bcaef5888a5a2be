"""A training over folds, or once: what is written where, what is not done twice, what is refused in advance."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra neural")

from longrank.errors import InputError, IntegrityError
from longrank.formats.folds import Fold
from longrank.formats.trec import read_run
from longrank.index import Index
from longrank.storage import read_header
from longrank.training.folds import folds_of
from longrank.types import Notes, Query, Run, ScoredDoc
from training_collections import N_QUERIES, write_collection

pytestmark = pytest.mark.neural

IDS = [f"q{n:02d}" for n in range(N_QUERIES)]
FOLDS = {
    "s1": Fold(tuple(IDS[4:]), tuple(IDS[2:4]), tuple(IDS[:2])),
    "s2": Fold((*IDS[:2], *IDS[6:]), tuple(IDS[4:6]), tuple(IDS[2:4])),
}


IRRELEVANT_DEV = {"q00": {"d00": 1}, "q02": {"d00": 0, "d01": 0}, "q04": {"d00": 1}, "q05": {"d01": 1}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = write_collection(tmp_path_factory.mktemp("folds"))
    save_encoder(folder / "encoder")
    return folder


def experiment(
    folder: Path, folds: Mapping[str, Fold] | None = FOLDS, notes: Notes | None = None, **changes: Any
) -> Any:
    from longrank.formats.queries import read_queries
    from longrank.formats.trec import read_qrels
    from longrank.training.experiment import open_experiment
    from longrank.training.settings import DocumentTraining

    loop = {"steps": 2, "batch": 2, "validate_every": 1, "optimizer": {"learning_rate": 0.01}}
    found: dict[str, Any] = {
        "network": {"name": "parade-max", "model": str(folder / "encoder")},
        "read": {"passages": "windows", "options": {"length": 12, "stride": 8}, "max_tokens": 32},
        "loss": [{"name": "hinge"}],
        "validation": {"depth": 6},
        **changes.pop("sections", {}),
    }
    found["loop"] = loop | changes.pop("loop", {})
    queries = {query.query_id: query for query in read_queries(folder / "queries.jsonl", Notes())}
    qrels, run = read_qrels(folder / "qrels.txt", Notes()), read_run(folder / "first.run", Notes())
    given = {"queries": queries, "qrels": qrels, "run": run} | changes
    settings, index = DocumentTraining.model_validate(found), Index.open(folder / "index")
    return open_experiment(settings, index, folds=folds, notes=Notes() if notes is None else notes, **given)


def no_progress(name: str, steps: int) -> Callable[[int], object]:
    return lambda n: None


def validated(of: Any, output: Path, notes: Notes | None = None, **more: Any) -> Run | None:
    from longrank.training.folds import cross_validate

    options = {"progress": no_progress, "tensorboard": False} | more
    return cross_validate(of, output, notes=Notes() if notes is None else notes, **options)


def rows(run: Run) -> list[ScoredDoc]:
    return list(run.rows())


def test_each_fold_is_a_training_and_the_pooled_run_is_their_test_runs_together(folder: Path, tmp_path: Path) -> None:
    from training_tasks import contents

    pooled = validated(experiment(folder), tmp_path / "t")
    assert pooled is not None
    assert set(contents(tmp_path / "t")) >= {
        "folds.json",
        "test.run",
        *(f"{s}/{f}" for s in FOLDS for f in ("record.json", "test.run", "test.run.evidence", "model/longrank.json")),
    }
    parts = [read_run(tmp_path / "t" / name / "test.run", Notes()) for name in FOLDS]
    assert [set(part) for part in parts] == [set(fold.test) for fold in FOLDS.values()]
    assert rows(read_run(tmp_path / "t" / "test.run", Notes())) == rows(pooled) == [r for p in parts for r in rows(p)]


def test_folds_may_be_done_one_at_a_time_in_any_order(folder: Path, tmp_path: Path) -> None:
    from training_tasks import contents

    validated(experiment(folder), tmp_path / "a")
    notes = Notes()
    assert validated(experiment(folder), tmp_path / "b", notes, only=["s2", "s2"]) is None
    assert "folds left to train: s1" in notes.lines()
    assert validated(experiment(folder), tmp_path / "b", only=["s1"]) is not None
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def other_folds() -> dict[str, Fold]:
    """Return the folds, of which the first trains on fewer queries."""
    first, *others = FOLDS
    return {first: FOLDS[first]._replace(train=FOLDS[first].train[:1]), **{name: FOLDS[name] for name in others}}


def test_a_folder_that_another_command_begins_meanwhile_with_other_folds_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.formats.folds import read_folds, write_folds
    from longrank.training.experiment import Experiment

    real = Experiment.check

    def check(self: Any, names: Any) -> Any:
        (tmp_path / "t").mkdir()
        write_folds(other_folds(), tmp_path / "t" / "folds.json")
        return real(self, names)

    monkeypatch.setattr(Experiment, "check", check)
    with pytest.raises(InputError, match="was begun with other folds; give the same folds, or choose a new folder"):
        validated(experiment(folder), tmp_path / "t")
    assert read_folds(tmp_path / "t" / "folds.json", Notes()) == other_folds()
    assert not (tmp_path / "t" / "s1").exists()


def test_folds_that_were_trained_with_other_folds_or_settings_are_not_joined(folder: Path, tmp_path: Path) -> None:
    from longrank.formats.folds import write_folds

    validated(experiment(folder), tmp_path / "t", only=["s1"])
    write_folds(other_folds(), tmp_path / "t" / "folds.json")
    with pytest.raises(InputError, match=r"s1/run.json: was begun with other fold: .*; delete .*s1 to train it again"):
        validated(experiment(folder, other_folds()), tmp_path / "t", only=["s2"])
    assert not (tmp_path / "t" / "test.run").exists()


def test_what_is_finished_is_not_done_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.training.ranking_task import RankingTask
    from training_tasks import contents

    validated(experiment(folder), tmp_path / "t")
    before = contents(tmp_path / "t")

    def never(self: Any, *args: Any) -> Any:
        raise AssertionError("a step was done")

    monkeypatch.setattr(RankingTask, "loss", never)
    monkeypatch.setattr("longrank.models.network_reader.NetworkReader.score", never)
    assert validated(experiment(folder), tmp_path / "t") is not None
    assert contents(tmp_path / "t") == before


def test_weights_need_not_be_kept_once_the_test_queries_are_reranked(folder: Path, tmp_path: Path) -> None:
    pooled = validated(experiment(folder), tmp_path / "t")
    for name in FOLDS:
        (tmp_path / "t" / name / "model" / "model.safetensors").unlink()
    assert list(validated(experiment(folder), tmp_path / "t").rows()) == list(pooled.rows())
    (tmp_path / "t" / "s2" / "test.run").unlink()
    with pytest.raises(
        InputError, match=r"t/s2: the weights of a finished training are missing; delete the folder to train"
    ):
        validated(experiment(folder), tmp_path / "t")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_interruption_while_test_queries_are_reranked_changes_no_byte(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    from longrank.scoring.document_network import DocumentNetworkScorer
    from training_tasks import contents

    real, calls = DocumentNetworkScorer.score, []

    def interrupted(self: Any, tasks: Any) -> Any:
        calls.append(1)
        if len(calls) == n:
            raise KeyboardInterrupt
        return real(self, tasks)

    validated(experiment(folder), tmp_path / "a")
    monkeypatch.setattr(DocumentNetworkScorer, "score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        validated(experiment(folder), tmp_path / "b")
    validated(experiment(folder), tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_test_queries_are_reranked_to_their_own_depth_judged_or_not(folder: Path, tmp_path: Path) -> None:
    from longrank.formats.evidence import read_evidence

    whole = experiment(folder)
    unjudged = {query_id: judged for query_id, judged in whole.qrels.items() if query_id != "q00"}
    deep = experiment(
        folder, {"s1": FOLDS["s1"]}, qrels=unjudged, sections={"validation": {"depth": 3}, "test": {"depth": 7}}
    )
    validated(deep, tmp_path / "t")
    found = [one.query_id for one in read_evidence(tmp_path / "t" / "s1" / "test.run.evidence")[1]]
    assert {query_id: found.count(query_id) for query_id in found} == {"q00": 7, "q01": 7}


def test_a_training_without_folds_is_on_all_judged_queries(folder: Path, tmp_path: Path) -> None:
    import json

    from longrank.training.folds import train_once

    once = experiment(folder, None, loop={"validate_every": None})
    train_once(once, tmp_path / "t", progress=no_progress, notes=Notes(), tensorboard=False)
    record = json.loads((tmp_path / "t" / "record.json").read_text())
    assert (record["steps"], record["best_step"]) == (2, None)
    assert json.loads((tmp_path / "t" / "model" / "longrank.json").read_text())["record"] == record
    assert not (tmp_path / "t" / "test.run").exists()


def fold(train: str = "q04 q05", dev: str = "q02", test: str = "q00") -> dict[str, Fold]:
    return {"s1": Fold(*(tuple(part.split()) for part in (train, dev, test)))}


@pytest.mark.parametrize(
    ("folds", "changes", "said"),
    [
        (fold(train="q04 q99"), {}, r"fold 's1' names 1 queries that the query file lacks \(got 'q99'\)"),
        (fold(test="q99"), {}, "names 1 queries that the query file lacks"),
        (fold(dev=""), {}, "validation needs dev queries that are judged and in the run .*fold 's1' has none"),
        (fold(train=""), {}, "fold 's1' has no queries to train on"),
        (fold(dev="q04"), {}, "fold 's1' validates on 1 of the queries that it trains on"),
        (fold(), {"qrels": IRRELEVANT_DEV}, "no dev query of fold 's1' has a relevant document"),
        ({"../s1": FOLDS["s1"]}, {}, "a fold's name must be usable as a folder's name"),
        ({"..": FOLDS["s1"]}, {}, "a fold's name must be usable as a folder's name"),
        ({"test.run": FOLDS["s1"]}, {}, "a fold's name must be usable as a folder's name"),
        (
            {"a": FOLDS["s1"], "b": FOLDS["s1"]},
            {},
            r"folds share test queries, so there is no joint test run \(got 'q00'\)",
        ),
        (FOLDS, {"only": ["s3"]}, r"no such fold \(got 's3'\); one of s1, s2"),
        (FOLDS, {"loop": {"schedule": {"name": "maxp"}}}, "epoch_steps"),
        (FOLDS, {"loop": {"schedule": {"name": "liner"}}}, "did you mean 'linear'"),
        (FOLDS, {"sections": {"samples": {"kind": "pointwise"}}}, "the loss hinge learns from groups of 2 documents"),
        (FOLDS, {"sections": {"samples": {"depth": 1}}}, "none of 8 judged queries has a relevant document"),
        (FOLDS, {"sections": {"network": {"name": "parade-max", "model": "./nowhere"}}}, "no such model folder"),
    ],
)
def test_what_would_fail_later_is_refused_now_and_nothing_is_written(
    folder: Path, tmp_path: Path, folds: dict[str, Fold], changes: dict[str, Any], said: str
) -> None:
    only = changes.pop("only", ())
    with pytest.raises(InputError, match=said):
        validated(experiment(folder, folds, **changes), tmp_path / "t", only=only)
    assert list(tmp_path.iterdir()) == []


def test_the_last_fold_is_checked_before_the_first_is_trained(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fold 's2' names 1 queries"):
        validated(experiment(folder, {**FOLDS, "s2": fold(test="q99")["s1"]}), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_another_index_and_test_queries_without_candidates_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = experiment(folder).run
    other = Run("r", (ScoredDoc("q00", "gone", 1.0), *(row for row in whole.rows() if row.query_id != "q00")))
    with pytest.raises(InputError, match=r"documents of the run that are not in the index: 1 \(gone\)"):
        validated(experiment(folder, run=other), tmp_path / "t")
    untested = Run("r", (row for row in whole.rows() if row.query_id not in FOLDS["s1"].test))
    with pytest.raises(InputError, match="the run has none of the test queries of fold 's1'"):
        validated(experiment(folder, run=untested), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_folds_that_test_a_query_twice_are_trained_by_name_and_never_pooled(folder: Path, tmp_path: Path) -> None:
    twice = {"a": FOLDS["s1"], "b": FOLDS["s1"]}
    assert validated(experiment(folder, twice), tmp_path / "t", only=["a", "b"]) is None
    assert (tmp_path / "t" / "b" / "test.run").exists()
    assert not (tmp_path / "t" / "test.run").exists()


def test_a_folder_of_other_folds_settings_or_things_is_refused_and_left_alone(folder: Path, tmp_path: Path) -> None:
    from training_tasks import contents

    validated(experiment(folder), tmp_path / "t", only=["s1"])
    before = contents(tmp_path / "t")
    with pytest.raises(InputError, match="was begun with other folds"):
        validated(experiment(folder, {"s1": FOLDS["s1"]}), tmp_path / "t")
    with pytest.raises(InputError, match=r"was begun with other validation.depth: 6 then, 5 now"):
        validated(experiment(folder, sections={"validation": {"depth": 5}}), tmp_path / "t")
    with pytest.raises(InputError, match=r"was begun with other loop.steps: 2 then, 3 now"):
        validated(experiment(folder, loop={"steps": 3}), tmp_path / "t")
    with pytest.raises(InputError, match=r"s1/run.json: was begun with other validation.depth: 6 then, 5"):
        validated(experiment(folder, sections={"validation": {"depth": 5}}), tmp_path / "t", only=["s2"])
    with pytest.raises(InputError, match=r"s1/run.json: was begun with other loop.steps: 2 then, 3 now"):
        validated(experiment(folder, loop={"steps": 3}), tmp_path / "t", only=["s2"])
    assert contents(tmp_path / "t") == before
    with pytest.raises(InputError, match="is not empty and holds no training over folds"):
        validated(experiment(folder), tmp_path / "t" / "s1")
    (tmp_path / "killed" / "s1").mkdir(parents=True)  # before the first file of the fold
    (tmp_path / "killed" / "folds.json").write_bytes((tmp_path / "t" / "folds.json").read_bytes())
    validated(experiment(folder), tmp_path / "killed", only=["s1"])
    (tmp_path / "mine").mkdir()
    for name in ("folds.json", "test.run"):
        (tmp_path / "mine" / name).write_bytes((tmp_path / "t" / "folds.json").read_bytes())
    with pytest.raises(InputError, match="is not empty and holds no training over folds"):
        validated(experiment(folder), tmp_path / "mine")
    (tmp_path / "file").write_text("dear")
    with pytest.raises(InputError, match="is a file; a folder is needed"):
        validated(experiment(folder), tmp_path / "file")
    with pytest.raises(InputError, match="its folder does not exist"):
        validated(experiment(folder), tmp_path / "no" / "t")


def test_what_is_counted_is_counted_for_each_fold(folder: Path, tmp_path: Path) -> None:
    notes, read = Notes(), {"passages": "windows", "options": {"length": 12, "stride": 8}, "max_query_tokens": 1}
    validated(experiment(folder, sections={"read": read | {"max_tokens": 32}}), tmp_path / "t", notes)
    assert [notes[f"{name}: queries cut at 1 tokens"] for name in FOLDS] == [10, 10]  # of train and dev


def test_a_network_that_may_know_what_a_fold_tests_is_not_gone_on_with(folder: Path, tmp_path: Path) -> None:
    validated(experiment(folder), tmp_path / "first", only=["s1"])
    on = {"network": {"name": "parade-max", "model": str(tmp_path / "first" / "s1" / "model")}}
    with pytest.raises(InputError, match=r"network learned from 2 of the 2 test queries of fold 's2'.*--fold s2"):
        validated(experiment(folder, sections=on), tmp_path / "t")
    assert not (tmp_path / "t").exists()
    validated(experiment(folder, sections=on), tmp_path / "t", only=["s1"])
    whole = experiment(folder)
    more = {**whole.qrels, IDS[2]: {**whole.qrels[IDS[2]], "d0": 0}}  # the queries count, not the judgments
    with pytest.raises(InputError, match=r"learned from 2 of the 2 test queries of fold 's2'.*got 'q02'"):
        validated(experiment(folder, sections=on, qrels=more), tmp_path / "u", only=["s2"])
    moved = {"s1": Fold(tuple(reversed(IDS[5:])), tuple(IDS[2:5]), tuple(reversed(IDS[:2])))}
    validated(experiment(folder, moved, sections=on), tmp_path / "v")
    renamed = {key: replace(query, text=f"new {query.text}") for key, query in whole.queries.items()}
    with pytest.raises(InputError, match=r"learned from 2 of the 2 test queries of fold 's2'"):
        validated(
            experiment(folder, sections=on, queries=renamed), tmp_path / "w", only=["s2"]
        )  # other fields, perhaps
    validated(experiment(folder, sections=on, queries=renamed, qrels=more), tmp_path / "w", only=["s2"])


def test_a_passage_model_that_began_with_such_a_network_is_not_gone_on_with(folder: Path, tmp_path: Path) -> None:
    from longrank.networks.trainings import lineage_of
    from tiny_models import save_encoder

    validated(experiment(folder), tmp_path / "first", only=["s1"])
    lineage = lineage_of(tmp_path / "first" / "s1" / "model")
    save_encoder(tmp_path / "passages")
    for training in lineage:
        del training["learned"]  # as by earlier versions
    (tmp_path / "passages" / "training.json").write_text(json.dumps({"run": {"lineage": lineage}}))
    on = {"network": {"name": "parade-max", "model": str(tmp_path / "passages")}}
    with pytest.raises(InputError, match=r"was trained on another fold of these judgments.* fold 's2'.*--fold s2"):
        validated(experiment(folder, sections=on), tmp_path / "t")
    validated(experiment(folder, sections=on), tmp_path / "t", only=["s1"])
    assert [training["fold"] for training in lineage_of(tmp_path / "t" / "s1" / "model")] == [lineage[0]["fold"]] * 2


def test_other_sampled_judgments_or_another_models_run_are_not_resumed_with(folder: Path, tmp_path: Path) -> None:
    from longrank.formats.trec import write_run

    of: dict[str, Any] = {"judgments": {"scheme": "shallow", "rate": 0.5}, "samples": {"dropped": False}}
    validated(experiment(folder, sections=of), tmp_path / "t", only=["s1"])
    for key, value, said in (
        ("judgments", {"scheme": "shallow", "rate": 0.6}, "judgments.rate: 0.5 then, 0.6 now"),
        ("judgments", {"scheme": "shallow", "rate": 0.5, "seed": 1}, "judgments.seed: 0 then, 1 now"),
        ("samples", {"dropped": True}, "samples.dropped: false then, true now"),
    ):
        with pytest.raises(InputError, match=f"was begun with other {said}"):
            validated(experiment(folder, sections=of | {key: value}), tmp_path / "t", only=["s1"])
    hard = {"samples": {"negatives": "model", "model_run": str(tmp_path / "m.run")}}
    first = experiment(folder).run
    for scale in (1.0, -1.0):
        write_run(Run("m", (row._replace(score=scale * row.score) for row in first.rows())), tmp_path / "m.run")
        if scale > 0:
            validated(experiment(folder, sections=hard), tmp_path / "h", only=["s1"])
    with pytest.raises(InputError, match=r"was begun with other run\.model_run"):
        validated(experiment(folder, sections=hard), tmp_path / "h", only=["s1"])


def test_another_sentence_splitter_is_not_resumed_with_and_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = {"read": {"passages": "sentences", "options": {"max_passages": 4}, "max_tokens": 32}}
    validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])
    monkeypatch.setattr("longrank.text.sentences.RULE", "lines-0")
    with pytest.raises(
        InputError, match=r'other run.splitter: "sentencex-\S+ \S+ lines-1" then, "sentencex-\S+ \S+ lines-0"'
    ):
        validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])


def test_another_teacher_under_the_same_name_is_not_resumed_with(folder: Path, tmp_path: Path) -> None:
    from training_collections import write_teacher

    ranked = list(experiment(folder).run.rows())
    sections = {"loss": [{"name": "margin-mse"}], "teacher": {"evidence": str(tmp_path / "e")}}
    for score, refused in ((1.0, False), (1.0, False), (2.0, True)):
        (tmp_path / "e").unlink(missing_ok=True)
        write_teacher(
            tmp_path / "e", {(row.query_id, row.doc_id): score for row in ranked}, Index.open(folder / "index")
        )
        if refused:
            with pytest.raises(InputError, match=r"was begun with other run.teacher"):
                validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])
        else:
            validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])


def test_evidence_of_a_teacher_that_is_replaced_after_its_scores_were_read_changes_no_record(
    folder: Path, tmp_path: Path
) -> None:
    from training_collections import write_teacher

    ranked, index = list(experiment(folder).run.rows()), Index.open(folder / "index")
    sections = {"loss": [{"name": "margin-mse"}], "teacher": {"evidence": str(tmp_path / "e")}}

    def taught(score: float) -> None:
        new = write_teacher(tmp_path / "new", {(row.query_id, row.doc_id): score for row in ranked}, index)
        new.replace(tmp_path / "e")

    taught(1.0)
    begun = experiment(folder, sections=sections)
    begun.check(["s1"])
    taught(2.0)
    validated(begun, tmp_path / "t", only=["s1"])
    with pytest.raises(InputError, match=r"was begun with other run.teacher"):
        validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])
    taught(1.0)
    validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])


def test_evidence_of_a_teacher_that_changes_while_it_is_read_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.training import teacher_evidence as module
    from training_collections import write_teacher

    scores = {(row.query_id, row.doc_id): 1.0 for row in experiment(folder).run.rows()}
    write_teacher(tmp_path / "e", scores, Index.open(folder / "index"))
    real = module.read_evidence

    def meanwhile(*given: Any) -> Any:
        read = real(*given)
        (tmp_path / "new").write_bytes((tmp_path / "e").read_bytes())
        (tmp_path / "new").replace(tmp_path / "e")
        return read

    monkeypatch.setattr(module, "read_evidence", meanwhile)
    sections = {"loss": [{"name": "margin-mse"}], "teacher": {"evidence": str(tmp_path / "e")}}
    with pytest.raises(InputError, match=r"e: has changed since it was opened"):
        validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])


def test_an_initial_network_that_is_replaced_while_it_is_loaded_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.training import initial_network as module
    from tiny_models import save_document_network

    network = save_document_network(tmp_path / "n", "parade-max")
    real = module.load_network

    def meanwhile(place: Path) -> Any:
        weights = place / "model.safetensors"
        (tmp_path / "new").write_bytes(weights.read_bytes())
        (tmp_path / "new").replace(weights)
        return real(place)

    monkeypatch.setattr(module, "load_network", meanwhile)
    sections = {"network": {"name": "parade-max", "model": str(network)}}
    with pytest.raises(InputError, match=r"model\.safetensors: changed while the model was read"):
        validated(experiment(folder, sections=sections), tmp_path / "t", only=["s1"])


def test_a_flipped_bit_in_a_finished_training_is_noticed(folder: Path, tmp_path: Path) -> None:
    import longrank

    validated(experiment(folder), tmp_path / "t")
    n = longrank.check(tmp_path / "t")
    for name in ("test.run", "s1/test.run", "s1/record.json", "s1/model/model.safetensors", "s1/model/tokenizer.json"):
        path = tmp_path / "t" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
        with pytest.raises(IntegrityError, match=f"{name.rpartition('/')[2]}: checksum differs"):
            longrank.check(tmp_path / "t")
        if name != "test.run":  # which is made again
            with pytest.raises(IntegrityError, match="checksum differs"):
                validated(experiment(folder), tmp_path / "t")
        path.write_bytes(whole)
    (tmp_path / "t" / "s1" / "model" / "model.safetensors").unlink()  # which a finished training may lack
    validated(experiment(folder), tmp_path / "t")
    with pytest.raises(IntegrityError, match=r"model\.safetensors: missing"):
        longrank.check(tmp_path / "t")
    assert n > 10


def test_a_teacher_that_may_know_what_a_fold_tests_is_not_learned_from(folder: Path, tmp_path: Path) -> None:
    import longrank
    from longrank.networks.trainings import lineage_of

    first = experiment(folder)
    validated(first, tmp_path / "first", only=["s1"])
    longrank.rerank(
        folder / "index",
        {query_id: query.text for query_id, query in first.queries.items()},
        first.run,
        pipeline="parade-max",
        model=str(tmp_path / "first" / "s1" / "model"),
        evidence=tmp_path / "e",
        assignments={"passages.preset": "windows", "passages.options": {"length": 12, "stride": 8}}
        | {"scorer.options.max_tokens": 32},
    )
    (training,) = read_header(tmp_path / "e")["lineage"]
    assert training["fold"] == first.identity("s1", first.task("s1", Notes()))["fold"]
    by_teacher = {"loss": [{"name": "margin-mse"}], "teacher": {"evidence": str(tmp_path / "e")}}
    with pytest.raises(
        InputError, match=r"e: the teacher learned from 2 of the 2 test queries of fold 's2'.*--fold s2"
    ):
        validated(experiment(folder, sections=by_teacher), tmp_path / "t", only=["s2"])
    validated(experiment(folder, sections=by_teacher), tmp_path / "t", only=["s1"])
    start = {"network": {"name": "parade-max", "model": str(tmp_path / "start")}}
    shutil.copytree(tmp_path / "first" / "s1" / "model", tmp_path / "start")
    with pytest.raises(InputError, match=r"start: the initial network learned from 2 of the 2 test queries of fold"):
        experiment(folder, sections=start).task("s2", Notes())  # replaced after all folds were checked
    by_network = by_teacher | {"teacher": {"model": str(tmp_path / "first" / "s1" / "model")}}
    validated(experiment(folder, sections=by_network), tmp_path / "n", only=["s1"])
    for student in ("t", "n"):  # which learned from its own judgments and from its teacher's
        assert lineage_of(tmp_path / student / "s1" / "model") == [training] * 2


def test_a_training_that_began_without_its_teachers_lineage_goes_on(tmp_path: Path) -> None:
    """Earlier versions did not write it; fingerprints tell whether the teacher is the same."""
    from longrank.training.run_folder import begun, check_begun

    of, lineage = {"settings": {"steps": 2}, "processes": 1}, [{"qrels": "q", "fold": "f"}]
    with begun(tmp_path / "t", of | {"run": {"model": "a", "teacher": "b"}}):
        pass
    check_begun(tmp_path / "t", of | {"run": {"lineage": lineage, "learned": "AA==", "model": "a", "teacher": "b"}})
    with pytest.raises(InputError, match=r"was begun with other run\.teacher"):
        check_begun(tmp_path / "t", of | {"run": {"lineage": lineage, "model": "a", "teacher": "c"}})


def test_dev_queries_that_choose_nothing_are_counted(folder: Path, tmp_path: Path) -> None:
    notes = Notes()
    whole = experiment(folder)
    qrels = {query_id: dict.fromkeys(judged, 0) for query_id, judged in whole.qrels.items() if query_id == "q03"}
    validated(experiment(folder, qrels={**whole.qrels, **qrels}), tmp_path / "t", notes, only=["s1"])
    said = "s1: dev queries without a relevant document among the first 6, which choose nothing"
    assert notes[said] >= 1


def test_without_validation_dev_queries_are_said_to_be_of_no_use(folder: Path, tmp_path: Path) -> None:
    notes, without = Notes(), {"loop": {"validate_every": None}}
    validated(experiment(folder, **without), tmp_path / "t", notes, only=["s1"])
    assert any("so dev queries are not used" in line for line in notes.lines())
    notes, folds = Notes(), {"s1": Fold(tuple(IDS[2:]), (), tuple(IDS[:2]))}
    validated(experiment(folder, folds, **without), tmp_path / "u", notes)
    assert not any("dev queries" in line for line in notes.lines())


@pytest.mark.parametrize("changes", [{"samples": {"keep": 0.5}}, {"loop": {"precision": "fp16"}}, {}])
def test_a_refused_training_makes_no_score_cache(folder: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    frozen = {"network": {"name": "parade-max", "model": str(folder / "encoder"), "frozen": True}}
    sections = {**frozen, "samples": changes.get("samples", {})}
    cache = tmp_path / "rows.cache"
    of = experiment(folder, sections=sections, loop=changes.get("loop", {}), score_cache=cache)
    output = tmp_path / "t" if changes else tmp_path / "no" / "t"
    with pytest.raises(InputError):
        validated(of, output)
    assert list(tmp_path.iterdir()) == []


def test_a_training_without_folds_in_a_folder_of_something_else_makes_no_score_cache(
    folder: Path, tmp_path: Path
) -> None:
    from longrank.training.folds import train_once

    frozen = {"network": {"name": "parade-max", "model": str(folder / "encoder"), "frozen": True}}
    cache, output = tmp_path / "rows.cache", tmp_path / "t"
    of = experiment(folder, None, sections=frozen, loop={"validate_every": None}, score_cache=cache)
    output.mkdir()
    (output / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is not empty and holds no training"):
        train_once(of, output, progress=no_progress, notes=Notes(), tensorboard=False)
    assert not cache.exists() and [path.name for path in output.iterdir()] == ["letter.txt"]


def test_a_score_cache_of_what_is_trained_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a score cache is for encoders that are not trained"):
        validated(experiment(folder, score_cache=tmp_path / "rows.cache"), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_halves_of_a_test_run_that_a_kill_left_are_removed(folder: Path, tmp_path: Path) -> None:
    validated(experiment(folder), tmp_path / "t", only=["s1"])
    (tmp_path / "t" / "s1" / ".test.run.abc.tmp").write_text("half")
    validated(experiment(folder), tmp_path / "t", only=["s1"])
    assert not list((tmp_path / "t" / "s1").glob("*.tmp")) and (tmp_path / "t" / "s1" / "test.run").exists()


def test_a_folder_that_was_begun_with_folds_is_called_so(folder: Path, tmp_path: Path) -> None:
    from longrank.training.folds import train_once

    validated(experiment(folder), tmp_path / "t", only=["s1"])
    of = experiment(folder, None, loop={"validate_every": None})
    with pytest.raises(InputError, match=r"was begun with folds.*give the folds, or"):
        train_once(of, tmp_path / "t", progress=no_progress, notes=Notes(), tensorboard=False)


def test_a_run_of_another_index_is_named_as_that_even_if_it_leaves_nothing_to_learn_from(
    folder: Path, tmp_path: Path
) -> None:
    other = Run("r", (row._replace(doc_id=f"z{row.doc_id}") for row in experiment(folder).run.rows()))
    with pytest.raises(InputError, match="documents of the run that are not in the index"):
        validated(experiment(folder, run=other), tmp_path / "t")


def test_a_query_limit_without_room_for_a_passage_is_refused(folder: Path, tmp_path: Path) -> None:
    read = {"passages": "windows", "options": {"length": 12, "stride": 8}, "max_tokens": 32, "max_query_tokens": 40}
    with pytest.raises(InputError, match=r"read.max_query_tokens leaves no room for a passage \(got 40\); at most 28"):
        validated(experiment(folder, sections={"read": read}), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_ends_in_its_warm_up_says_so(folder: Path, tmp_path: Path) -> None:
    notes = Notes()
    slow = {"schedule": {"name": "capreolus", "options": {"epoch_steps": 10}}}
    validated(experiment(folder, loop=slow), tmp_path / "t", notes, only=["s1"])
    assert any("the learning rate reaches only 2.5% of its setting" in line for line in notes.lines())
    validated(experiment(folder), tmp_path / "u", notes := Notes(), only=["s1"])
    assert not any("learning rate" in line for line in notes.lines())


def test_a_worker_that_does_not_see_the_folder_says_so(folder: Path, tmp_path: Path) -> None:
    from longrank.training.one_fold import FoldTraining

    training = pickle.loads(pickle.dumps(FoldTraining(experiment(folder), tmp_path / "elsewhere", False, ("", None))))
    with pytest.raises(InputError, match=r"elsewhere: the node \S+ does not see the folder of the training"):
        training("s1")


def test_a_training_with_a_teacher_network_resumes_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """The teacher keeps what it has read; a resumed training keeps other documents than an undisturbed one."""
    import json

    from longrank.training.folds import train_once
    from tiny_models import save_document_network
    from training_tasks import contents

    save_document_network(tmp_path / "teacher", "parade-max")
    path = tmp_path / "teacher" / "longrank.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "untrained": False, "record": {"steps": 1}}))
    sections = {"teacher": {"model": str(tmp_path / "teacher")}, "loss": [{"name": "margin-mse"}]}
    loop = {"steps": 30, "batch": 3, "validate_every": None, "checkpoint_every": 10}

    class Killed(Exception):
        pass

    def train(output: Path, last: int = 30) -> None:
        def progress(name: str, steps: int) -> Callable[[int], object]:
            done: list[int] = []

            def advance(n: int) -> None:
                done.append(n)
                if sum(done) > last:
                    raise Killed

            return advance

        of = experiment(folder, folds=None, sections=sections, loop=loop)
        train_once(of, output, progress=progress, notes=Notes(), tensorboard=False)

    train(tmp_path / "whole")
    with pytest.raises(Killed):
        train(tmp_path / "cut", last=24)
    train(tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_a_fold_with_another_first_stage_is_noted(folder: Path, tmp_path: Path) -> None:
    whole, notes = experiment(folder), Notes()
    validated(whole, tmp_path / "t", only=["s1"])
    other = Run("m", (row._replace(score=-row.score) for row in whole.run.rows()))
    validated(experiment(folder, run=other), tmp_path / "t", notes, only=["s2"])
    assert "s2: folds with another first stage: 1 (first: s1)" in notes.lines()


@pytest.mark.parametrize("part", ["network", "teacher"])
def test_a_network_that_is_replaced_between_two_folds_is_refused(folder: Path, tmp_path: Path, part: str) -> None:
    from tiny_models import save_document_network
    from training_tasks import contents

    for name in ("network", "teacher"):
        save_document_network(tmp_path / name, "parade-max")
    path = tmp_path / "teacher" / "longrank.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "untrained": False, "record": {"steps": 1}}))
    sections: dict[str, Any] = {
        "network": {"name": "parade-max", "model": str(tmp_path / "network")},
        "teacher": {"model": str(tmp_path / "teacher")},
        "loss": [{"name": "margin-mse"}],
    }

    def replaced(fold: str, steps: int) -> Any:
        if fold == "s1, test":
            other = save_document_network(tmp_path / "other", "parade-max", encoder_seed=7)
            (other / "model.safetensors").replace(tmp_path / part / "model.safetensors")
        return lambda n: None

    with pytest.raises(InputError, match="changed since this command opened it"):
        validated(experiment(folder, sections=sections), tmp_path / "t", progress=replaced)
    assert "s1/test.run" in contents(tmp_path / "t")
    assert not {"s2/run.json", "test.run"} & contents(tmp_path / "t").keys()
    notes = Notes()
    validated(experiment(folder, sections=sections), tmp_path / "t", notes, only=["s2"])
    noun = "initial network" if part == "network" else part
    assert f"s2: folds with another {noun}: 1 (first: s1)" in notes.lines()


def test_judged_queries_in_no_list_of_the_folds_are_counted() -> None:
    queries = {query_id: Query(query_id, "fox") for query_id in ("q1", "q2", "q3", "q4")}
    folds, notes = {"s1": Fold(("q1",), (), ("q2",))}, Notes()
    judged = {query_id: {"d": 1} for query_id in ("q1", "q2", "q3", "q5")}
    assert folds_of(queries, judged, folds, group_by=None, seed=None, notes=notes) == folds
    assert notes.lines() == [
        "judged topics that are not among the queries, left out: 1 (first: q5)",
        "judged queries in no list of the folds, left out: 1 (first: q3)",
    ]
