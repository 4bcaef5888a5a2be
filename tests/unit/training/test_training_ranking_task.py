"""What is learned of samples: losses computed here again, from the network's outputs on texts that the test cuts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.index import Index
from longrank.types import Notes, Qrels, Query, Run
from tiny_models import save_cross_encoder
from training_collections import documents, write_collection, write_teacher

pytestmark = pytest.mark.neural

TEXTS = {document.doc_id: document.text for document in documents()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = write_collection(tmp_path_factory.mktemp("task"))
    save_encoder(folder / "encoder")
    return folder


@pytest.fixture(scope="module")
def data(folder: Path) -> Any:
    return read_data(folder)


def read_data(folder: Path) -> Any:
    from longrank.formats.queries import read_queries
    from longrank.formats.trec import read_qrels, read_run
    from longrank.training.ranking_data import Data

    notes = Notes()
    queries = {query.query_id: query for query in read_queries(folder / "queries.jsonl", notes)}
    qrels: Qrels = read_qrels(folder / "qrels.txt", notes)
    run: Run = read_run(folder / "first.run", notes)
    return Data(Index.open(folder / "index"), queries, qrels, run, [f"q{n:02d}" for n in range(8)], ["q08", "q09"])


def settings(folder: Path, losses: Sequence[dict[str, Any]], **sections: Any) -> Any:
    from longrank.training.settings import DocumentTraining

    network = {"name": "parade-max", "model": str(folder / "encoder")} | sections.pop("network", {})
    read = {"passages": "windows", "options": {"length": 12, "stride": 8}, "max_tokens": 32}
    found = {
        "network": network,
        "read": read | sections.pop("read", {}),
        "loss": list(losses),
        "loop": {"steps": 2, "batch": 2, "optimizer": {"learning_rate": 0.01}},
        **sections,
    }
    return DocumentTraining.model_validate(found)


def opened(folder: Path, data: Any, *losses: str | dict[str, Any], notes: Notes | None = None, **sections: Any) -> Any:
    """Return a task; its network's weights are drawn again, large enough for the scores of documents to differ."""
    from document_networks import scaled_up
    from longrank.training.ranking_data import make_material
    from longrank.training.ranking_task import RankingTask

    found = settings(folder, [{"name": one} if isinstance(one, str) else one for one in losses], **sections)
    task = RankingTask(found, data, make_material(found, data), Notes() if notes is None else notes)
    scaled_up(task.network)
    return task


def drawn(data: Any, n: int, kind: str = "pairs", n_negatives: int | None = None) -> Any:
    from longrank.training.candidates import CandidateOptions, Sources
    from longrank.training.samples import make_samples

    sources, options = Sources(data.qrels, data.run), CandidateOptions()
    made = make_samples(kind, data.train, sources, options, seed=0, notes=Notes(), n_negatives=n_negatives)
    return made[n]


def windows(doc_id: str) -> list[str]:
    """Return what is read of a document: 12 words, and 12 more every 8 words while there are words not yet read."""
    words = TEXTS[doc_id].split()
    starts = [0]
    while starts[-1] + 12 < len(words):
        starts.append(starts[-1] + 8)
    return [" ".join(words[start : start + 12]) for start in starts]


def outputs(task: Any, folder: Path, query: str, doc_id: str, places: Sequence[int] | None = None) -> Any:
    """Return the outputs [C] of PARADE-Max for a document, or for some of its passages, by transformers' own calls."""
    import torch
    import transformers

    texts = windows(doc_id) if places is None else [windows(doc_id)[n] for n in places]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "encoder")
    features = tokenizer([query] * len(texts), texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        vectors = task.network.encoder(**features).last_hidden_state[:, 0]
        return task.network.head(vectors.amax(0))


def scores(task: Any, folder: Path, data: Any, group: Any) -> list[float]:
    query = data.queries[group.query_id].text
    return [outputs(task, folder, query, doc_id).item() for doc_id in group.doc_ids]


def loss_of(task: Any, instances: Sequence[int]) -> float:
    return float(task.loss(instances).detach())


def hinge(positive: float, negative: float) -> float:
    return max(0.0, 1 - positive + negative)


def test_the_hinge_loss_is_that_of_whole_documents_averaged_over_the_instances(folder: Path, data: Any) -> None:
    task = opened(folder, data, "hinge")
    expected = [hinge(*scores(task, folder, data, drawn(data, n))) for n in range(5)]
    assert max(expected) > 0.1
    assert loss_of(task, range(5)) == pytest.approx(sum(expected) / 5, abs=1e-5)
    assert loss_of(task, [3]) == pytest.approx(expected[3], abs=1e-5)


def test_a_teacher_network_teaches_its_own_logits(folder: Path, data: Any, tmp_path: Path) -> None:
    """The student is its teacher, with biases 1 and 2 larger: the squared distance is 1 + 4."""
    import torch

    from longrank.training.ranking_data import make_material
    from longrank.training.ranking_task import RankingTask

    network = {"name": "parade-transformer", "options": {"outputs": 2}}
    more = {"read": {"options": {"length": 12, "stride": 8, "max_passages": 16}}, "samples": {"kind": "pointwise"}}
    opened(folder, data, "cross-entropy", network=network, **more).save(tmp_path / "t", {"steps": 1})
    taught = {"teacher": {"model": str(tmp_path / "t")}, "network": {**network, "model": str(tmp_path / "t")}, **more}
    found = settings(folder, [{"name": "squared-distance"}], **taught)
    task = RankingTask(found, data, make_material(found, data), Notes())
    assert loss_of(task, range(4)) == pytest.approx(0, abs=1e-9)
    with torch.no_grad():
        task.network.head.bias += torch.tensor([1.0, 2.0])
    assert loss_of(task, range(4)) == pytest.approx(5, abs=1e-4)
    one = settings(folder, [{"name": "mse"}], **{**taught, "network": {"name": "parade-max"}})
    with pytest.raises(InputError, match="the teacher's output is a logprob, the student's a logit"):
        RankingTask(one, data, make_material(one, data), Notes())


def test_a_teacher_that_reads_otherwise_than_in_its_training_is_noted(folder: Path, data: Any, tmp_path: Path) -> None:
    notes, then = Notes(), {"passages": "windows", "title": True, "max_tokens": 32, "max_query_tokens": 5}
    pointwise = {"samples": {"kind": "pointwise"}}
    opened(folder, data, "cross-entropy", **pointwise).save(tmp_path / "t", {"run": {"training": {"read": then}}})
    opened(folder, data, "mse", teacher={"model": str(tmp_path / "t")}, notes=notes, **pointwise)
    said = "the teacher 't' was trained with read.title true but reads with false, as its student"
    title, query = [line for line in notes.lines() if "was trained with" in line]
    assert title == said
    assert query.startswith("the teacher 't' was trained with read.max_query_tokens 5 but reads with ")


def test_own_logits_are_not_in_evidence(folder: Path, data: Any) -> None:
    network = {"options": {"outputs": 2}}
    with pytest.raises(InputError, match=r"squared-distance needs the teacher's own logits.*set teacher.model"):
        opened(
            folder,
            data,
            "squared-distance",
            network=network,
            samples={"kind": "pointwise"},
            teacher={"evidence": "e"},
        )


@pytest.mark.parametrize("loss", ["listnet", "lambdarank"])
def test_list_losses_read_the_labels_of_the_group(folder: Path, data: Any, loss: str) -> None:
    import torch

    from longrank.training.loss_terms import LossTerm, weighted_loss

    task = opened(folder, data, loss, samples={"kind": "groups", "n_negatives": 3})
    group = drawn(data, 0, "groups", 3)
    found = torch.tensor([scores(task, folder, data, group)])
    expected = weighted_loss([LossTerm(name=loss)])(found, labels=torch.tensor([group.labels]))
    assert loss_of(task, [0]) == pytest.approx(float(expected), rel=1e-4)


def test_lce_is_the_cross_entropy_of_the_relevant_document_in_its_group(folder: Path, data: Any) -> None:
    task = opened(folder, data, "lce", samples={"kind": "groups", "n_negatives": 3})
    found = [scores(task, folder, data, drawn(data, n, "groups", 3)) for n in range(4)]
    expected = [math.log(sum(map(math.exp, group))) - group[0] for group in found]
    assert loss_of(task, range(4)) == pytest.approx(sum(expected) / 4, abs=1e-5)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_pointwise_cross_entropy_is_of_single_documents_and_their_labels(
    folder: Path, data: Any, n_outputs: int
) -> None:
    network = {"options": {"outputs": n_outputs}}
    task = opened(folder, data, "cross-entropy", samples={"kind": "pointwise"}, network=network)
    expected, labels = [], set()
    for n in range(8):
        query_id, (doc_id,), (label,) = drawn(data, n, "pointwise")
        found = outputs(task, folder, data.queries[query_id].text, doc_id).tolist()
        odds = found[0] if n_outputs == 1 else found[1] - found[0]
        expected.append(math.log1p(math.exp(-odds if label else odds)))
        labels.add(label)
    assert labels == {0.0, 1.0}
    assert loss_of(task, range(8)) == pytest.approx(sum(expected) / 8, abs=1e-5)


@pytest.mark.parametrize("keep", [0.0, 1.0])
def test_aligned_passages_are_read_in_pairs_and_an_instance_counts_once(folder: Path, data: Any, keep: float) -> None:
    task = opened(folder, data, "hinge", samples={"passages": "aligned", "keep": keep})
    expected, most = [], 0
    for n in range(6):
        query_id, doc_ids, _ = drawn(data, n)
        query = data.queries[query_id].text
        read = min(len(windows(doc_id)) for doc_id in doc_ids) if keep else 1
        pairs = [[outputs(task, folder, query, doc_id, [i]).item() for doc_id in doc_ids] for i in range(read)]
        expected.append(sum(hinge(*pair) for pair in pairs) / len(pairs))
        most = max(most, read)
    assert (most > 1) == bool(keep)
    assert loss_of(task, range(6)) == pytest.approx(sum(expected) / 6, abs=1e-5)


def test_one_random_passage_of_each_document_is_one_of_its_own(folder: Path, data: Any) -> None:
    task = opened(folder, data, "hinge", samples={"passages": "random"})
    query_id, (positive, negative), _ = drawn(data, 1)
    query = data.queries[query_id].text
    possible = [
        hinge(outputs(task, folder, query, positive, [i]).item(), outputs(task, folder, query, negative, [j]).item())
        for i in range(len(windows(positive)))
        for j in range(len(windows(negative)))
    ]
    assert min(abs(loss_of(task, [1]) - one) for one in possible) < 1e-5
    assert loss_of(task, [1]) == loss_of(task, [1])


def test_losses_are_added_up_by_their_weights(folder: Path, data: Any) -> None:
    both = opened(folder, data, {"name": "hinge", "weight": 0.75}, {"name": "pair-softmax", "weight": 2.0})
    one, other = (loss_of(opened(folder, data, name), [0, 1]) for name in ("hinge", "pair-softmax"))
    assert loss_of(both, [0, 1]) == pytest.approx(0.75 * one + 2 * other, abs=1e-5)


# --- teachers -----------------------------------------------------------------------------------


def taught_scores(data: Any) -> dict[tuple[str, str], float]:
    """Return a made-up score of each document of the run."""
    return {(row.query_id, row.doc_id): len(TEXTS[row.doc_id]) % 7 - 3.0 for row in data.run.rows()}


def teacher_of(data: Any, path: Path) -> dict[str, Any]:
    return {"evidence": str(write_teacher(path, taught_scores(data), data.index))}


def test_soft_cross_entropy_learns_both_outputs_from_the_log_probability_in_evidence(
    folder: Path, data: Any, tmp_path: Path
) -> None:
    import torch

    taught = {key: math.log(1 / (1 + math.exp(-score))) for key, score in taught_scores(data).items()}
    teacher = {"evidence": str(write_teacher(tmp_path / "e", taught, data.index, unit="logprob"))}
    how = {"samples": {"kind": "pointwise"}, "network": {"options": {"outputs": 2}}}
    task = opened(folder, data, {"name": "soft-cross-entropy", "options": {"temperature": 2.0}}, teacher=teacher, **how)
    expected = []
    for n in range(3):
        group = task._samples[n]
        wanted = torch.tensor([0.0, taught_scores(data)[group.query_id, group.doc_ids[0]]]).div(2).softmax(0)
        (reading,) = task._readings(n)
        rows, _ = task._represented([(reading.query, text) for text in reading.texts[0]])
        logits = task._outputs(rows[None], torch.ones(1, len(rows), dtype=torch.bool))[0].detach()
        expected.append(-4 * (wanted * logits.div(2).log_softmax(0)).sum().item())
    assert loss_of(task, range(3)) == pytest.approx(sum(expected) / 3, abs=1e-4)


@pytest.mark.parametrize("same", [True, False])
def test_a_teacher_that_has_read_another_index_is_said(folder: Path, data: Any, tmp_path: Path, same: bool) -> None:
    teacher = {"evidence": str(write_teacher(tmp_path / "e", taught_scores(data), data.index if same else None))}
    notes = Notes()
    opened(folder, data, "mse", samples={"kind": "pointwise"}, teacher=teacher, notes=notes)
    assert ("the teacher has read another index" in "".join(notes.lines())) is not same


@pytest.mark.parametrize("changed", ["", "?"])
def test_a_teacher_that_has_read_other_queries_is_said(folder: Path, data: Any, tmp_path: Path, changed: str) -> None:
    texts = {query_id: query.text + changed for query_id, query in data.queries.items()}
    path = write_teacher(tmp_path / "e", taught_scores(data), data.index, queries=texts)
    notes = Notes()
    opened(folder, data, "mse", samples={"kind": "pointwise"}, teacher={"evidence": str(path)}, notes=notes)
    assert ("the teacher has read other queries" in "".join(notes.lines())) is bool(changed)


def test_mse_is_the_squared_distance_to_the_score_in_the_teachers_evidence(
    folder: Path, data: Any, tmp_path: Path
) -> None:
    teacher = teacher_of(data, tmp_path / "e")
    task = opened(folder, data, "mse", samples={"kind": "pointwise"}, teacher=teacher)
    expected = []
    for n in range(5):
        group = drawn(data, n, "pointwise")
        expected.append((scores(task, folder, data, group)[0] - taught_scores(data)[group[0], group[1][0]]) ** 2)
    assert loss_of(task, range(5)) == pytest.approx(sum(expected) / 5, rel=1e-5)


def test_margin_mse_is_the_squared_difference_of_the_margins(folder: Path, data: Any, tmp_path: Path) -> None:
    task = opened(folder, data, "margin-mse", teacher=teacher_of(data, tmp_path / "e"))
    expected = []
    for n in range(5):
        group = drawn(data, n)
        positive, negative = scores(task, folder, data, group)
        taught = [taught_scores(data)[group.query_id, doc_id] for doc_id in group.doc_ids]
        expected.append((positive - negative - taught[0] + taught[1]) ** 2)
    assert loss_of(task, range(5)) == pytest.approx(sum(expected) / 5, rel=1e-5)


def test_kl_is_of_the_distributions_over_a_group(folder: Path, data: Any, tmp_path: Path) -> None:
    teacher, samples = teacher_of(data, tmp_path / "e"), {"kind": "groups", "n_negatives": 3}
    task = opened(folder, data, "kl", samples=samples, teacher=teacher)
    expected = []
    for n in range(4):
        group = drawn(data, n, "groups", 3)
        taught = shares([taught_scores(data)[group.query_id, doc_id] for doc_id in group.doc_ids])
        learned = shares(scores(task, folder, data, group))
        expected.append(sum(t * math.log(t / s) for t, s in zip(taught, learned, strict=True)))
    assert loss_of(task, range(4)) == pytest.approx(sum(expected) / 4, rel=1e-4)


def shares(values: Sequence[float]) -> list[float]:
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


def test_a_teacher_may_aggregate_the_scores_of_passages(folder: Path, data: Any, tmp_path: Path) -> None:
    teacher = teacher_of(data, tmp_path / "e") | {"aggregator": "maxp"}
    task = opened(folder, data, "mse", samples={"kind": "pointwise"}, teacher=teacher)
    group = drawn(data, 0, "pointwise")
    assert loss_of(task, [0]) == pytest.approx(scores(task, folder, data, group)[0] ** 2, rel=1e-5)


def test_a_teacher_needs_to_have_read_what_may_be_drawn_and_no_more(folder: Path, data: Any, tmp_path: Path) -> None:
    from longrank.formats.folds import Fold
    from longrank.training.experiment import open_experiment

    def check(taught: dict[tuple[str, str], float], **samples: int) -> None:
        path = tmp_path / f"{len(taught)}"
        teacher = {"evidence": str(path if path.exists() else write_teacher(path, taught, data.index))}
        found = settings(folder, [{"name": "margin-mse"}], teacher=teacher, samples=samples)
        folds, given = {"s1": Fold(tuple(data.train), tuple(data.dev), ())}, (data.index, data.queries, data.qrels)
        open_experiment(found, *given, data.run, folds=folds, notes=Notes()).check(["s1"])

    whole = {key: score for key, score in taught_scores(data).items() if key[0] in data.train}
    check(whole)
    last = "q03", data.run["q03"][-1].doc_id
    with pytest.raises(InputError, match=f"the teacher lacks document '{last[1]}' of query 'q03', which may be drawn"):
        check({key: score for key, score in whole.items() if key != last})
    first = {(row.query_id, row.doc_id): 0.0 for query_id in data.train for row in data.run[query_id][:10]}
    check(first, depth=10)
    with pytest.raises(InputError, match="lacks document"):
        check(first, depth=11)


# --- what does not fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "sections", "said"),
    [
        (["hinge"], {"samples": {"kind": "pointwise"}}, "the loss hinge learns from groups of 2 documents"),
        (
            ["hinge"],
            {"samples": {"kind": "groups", "n_negatives": 2}},
            "the loss hinge learns from groups of 2 documents",
        ),
        (["cross-entropy"], {}, "the loss cross-entropy learns from single documents"),
        (["lce"], {"samples": {"kind": "pointwise"}}, "the loss lce learns from groups of documents"),
        (["triplet"], {"samples": {"kind": "groups", "n_negatives": 2}}, "the loss triplet reads vectors"),
        (["mse"], {"samples": {"kind": "pointwise"}}, "the loss mse needs a teacher; set teacher.evidence"),
        (["hinge"], {"teacher": {"evidence": "e"}}, "no loss learns from the teacher"),
        (["hinge", "mse"], {"teacher": {"evidence": "e"}}, "losses that read different outputs cannot be added"),
        (["hnige"], {}, "unknown loss (got 'hnige'); did you mean 'hinge'?"),
        ([{"name": "hinge", "options": {"margn": 1.0}}], {}, "did you mean 'margin'?"),
        (["hinge"], {"samples": {"kind": "piars"}}, "unknown kind of samples"),
        (["hinge"], {"samples": {"passages": "alinged"}}, "did you mean 'aligned'?"),
        (["hinge"], {"samples": {"keep": 0.5}}, "takes no keep-probability"),
        (["hinge"], {"samples": {"ranks": [5, 2]}}, "ranks are a first and a last rank"),
        (["hinge"], {"samples": {"n_negatives": 2}}, "take no number of negatives"),
        (["hinge"], {"validation": {"measure": "nDGC@10"}}, "nDGC@10"),
        (["hinge"], {"read": {"max_tokens": 64}}, "max_tokens must be between 8 and 48"),
        (["hinge"], {"read": {"passages": "windwos"}}, "did you mean 'windows'?"),
        (["hinge"], {"network": {"name": "parade-mx"}}, "unknown document network"),
        (["hinge"], {"network": {"options": {"outputs": 3}}}, "unknown outputs (got 3)"),
        (["hinge"], {"network": {"model": "./nowhere"}}, "no such model folder"),
        (
            ["hinge"],
            {"network": {"name": "parade-cnn"}},
            "reads at most 16 passages of a document (got 'no max_passages",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_line(
    folder: Path, data: Any, losses: list[Any], sections: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as raised:
        opened(folder, data, *losses, **sections)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("loss", "n_outputs", "unit", "said"),
    [
        ("mse", 2, "logit", "needs a network of one output"),
        ("soft-cross-entropy", 1, "logprob", "needs a network of two outputs"),
        (
            "soft-cross-entropy",
            2,
            "logit",
            r"learns two outputs of the teacher.*\(got .unit logit, aggregator document",
        ),
    ],
)
def test_one_score_of_the_teacher_is_never_taken_for_two_outputs(
    folder: Path, data: Any, tmp_path: Path, loss: str, n_outputs: int, unit: str, said: str
) -> None:
    network = {"options": {"outputs": n_outputs}}
    teacher = {"evidence": str(write_teacher(tmp_path / "e", taught_scores(data), data.index, unit=unit))}
    with pytest.raises(InputError, match=said):
        opened(folder, data, loss, samples={"kind": "pointwise"}, teacher=teacher, network=network)


def test_a_cnn_reads_passages_that_are_capped_at_what_it_takes(folder: Path, data: Any) -> None:
    options = {"length": 12, "stride": 8, "max_passages": 16}
    task = opened(folder, data, "hinge", network={"name": "parade-cnn"}, read={"options": options})
    assert math.isfinite(loss_of(task, [0, 1]))


# --- what is trained ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert", "modernbert", "longformer", "albert"])
def test_dropout_replaces_every_dropout_of_the_encoder(folder: Path, data: Any, tmp_path: Path, family: str) -> None:
    """A training without dropout draws nothing; one with half of everything dropped is another each time."""
    import torch

    from tiny_models import save_encoder

    model = str(save_encoder(tmp_path / "m", family))
    read = {"max_tokens": 48}
    losses = {}
    for dropout in (0.0, 0.5):
        network = {"model": model, "dropout": dropout, "options": {"dropout": 0.0}}
        task = opened(folder, data, "hinge", network=network, read=read)
        task.network.train()
        losses[dropout] = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            losses[dropout].append(loss_of(task, range(3)))
    assert losses[0.0][0] == losses[0.0][1]
    assert losses[0.5][0] != losses[0.5][1]


@pytest.mark.parametrize(
    "network",
    [
        {"name": "maxp"},
        {"name": "birch-passage"},
        {"name": "vanilla-bert"},
        {"name": "parade-max", "preset": "standalone"},
        {"name": "parade-transformer", "preset": "unordered"},
    ],
)
def test_a_network_without_dropout_has_none_in_its_head_either(folder: Path, data: Any, network: Any) -> None:
    import torch

    task = opened(folder, data, "hinge", network={**network, "dropout": 0.0})
    assert not [one for one in task.network.modules() if isinstance(one, torch.nn.Dropout) and one.p]


@pytest.mark.parametrize(("dropout", "same"), [(0.0, True), (0.5, False), (None, False)])
def test_dropout_is_that_of_parades_own_transformer_too(
    folder: Path, data: Any, dropout: float | None, same: bool
) -> None:
    """The model's configuration has .1; what its encoder drops is none of it, since that is frozen."""
    import torch

    network = {"name": "parade-transformer", "preset": "unordered", "frozen": True, "dropout": dropout}
    task = opened(folder, data, "hinge", network=network)
    task.network.train()
    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        losses.append(loss_of(task, range(3)))
    assert (losses[0] == losses[1]) is same


def test_a_document_network_is_trained_on_from_its_weights(folder: Path, data: Any, tmp_path: Path) -> None:
    import torch

    first = opened(folder, data, "hinge", network={"options": {"outputs": 2}})
    first.save(tmp_path / "a", {"steps": 1})
    from longrank.training.ranking_data import make_material
    from longrank.training.ranking_task import RankingTask

    for options in ({"outputs": 2}, {}):  # as it was, or not said
        network = {"model": str(tmp_path / "a"), "options": options}
        found = settings(folder, [{"name": "hinge"}], network=network)
        again = RankingTask(found, data, make_material(found, data), Notes())
        assert torch.equal(again.network.head.weight, first.network.head.weight)
    for network, said in [
        ({"options": {"outputs": 1}}, "is a network whose outputs is 2"),
        ({"name": "parade-avg"}, "is the document network parade-max, the training is of parade-avg"),
    ]:
        with pytest.raises(InputError, match=said):
            opened(folder, data, "hinge", network=network | {"model": str(tmp_path / "a")})


@pytest.mark.parametrize("outputs", [0, 2])
def test_a_network_whose_classifier_decided_its_outputs_is_trained_on(
    folder: Path, data: Any, tmp_path: Path, outputs: int
) -> None:
    model = save_cross_encoder(tmp_path / "c")
    first = opened(folder, data, "hinge", network={"name": "maxp", "model": str(model)})
    assert first.network.options["outputs"] == 2
    first.save(tmp_path / "a", {"steps": 1})
    network = {"name": "maxp", "model": str(tmp_path / "a")}
    assert opened(folder, data, "hinge", network=network | {"options": {"outputs": outputs}}).network.unit == "logit"
    with pytest.raises(InputError, match="is a network whose outputs is 2"):
        opened(folder, data, "hinge", network=network | {"options": {"outputs": 1}})


def test_cut_queries_and_documents_are_counted_once_each(folder: Path, data: Any) -> None:
    from dataclasses import replace

    notes = Notes()
    queries = dict(data.queries) | {"q08": Query("q08", "the river " * 10), "q01": Query("q01", "the bank " * 10)}
    read = {"max_tokens": 16, "max_query_tokens": 8}
    task = opened(folder, replace(data, queries=queries), "hinge", notes=notes, read=read)
    for _ in range(2):
        task.loss(range(30))
        task.validate()
    assert notes["queries cut at 8 tokens"] == 2
    assert 0 < notes["documents with passages cut at 16 tokens"] <= len(TEXTS)


def test_judged_documents_that_the_index_lacks_are_left_out_and_counted(folder: Path, data: Any) -> None:
    from dataclasses import replace

    notes, qrels = Notes(), {query_id: {**judged, "gone": 1} for query_id, judged in data.qrels.items()}
    task = opened(folder, replace(data, qrels=qrels), "hinge", notes=notes, samples={"in_run": False})
    assert math.isfinite(loss_of(task, range(40)))
    assert notes["judged documents that the index lacks, left out"] == 8


def test_random_negatives_come_from_the_whole_collection(folder: Path, data: Any) -> None:
    from dataclasses import replace

    whole = replace(data, doc_ids=sorted(TEXTS))
    task = opened(folder, whole, "hinge", samples={"negatives": "random"})
    ranked = {row.doc_id for row in data.run["q00"]}
    seen = {doc_id for n in range(200) for doc_id in task._samples[n].doc_ids if task._samples[n].query_id == "q00"}
    assert seen - ranked


def test_what_a_frozen_encoder_makes_of_passages_is_kept_and_is_what_it_was(
    folder: Path, data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from longrank.training.ranking_data import make_material
    from longrank.training.ranking_task import RankingTask

    found = settings(folder, [{"name": "hinge"}], network={"frozen": True})
    cached, fresh = (RankingTask(found, data, make_material(found, data), Notes()) for _ in range(2))
    cached.reader.use_cache(tmp_path / "rows.cache", "float32")
    cached.reader.keep_in_memory({})
    packed, read = cached.reader.packed, list[int]()

    def counted(pairs: Sequence[tuple[str, str]]) -> Any:
        read.append(len(pairs))
        return packed(pairs)

    monkeypatch.setattr(cached.reader, "packed", counted)
    with torch.no_grad():
        expected = [float(fresh.loss([n])) for n in range(6)]
        assert [float(cached.loss([n])) for n in range(6)] == pytest.approx(expected, abs=1e-6)
        n_read = len(read)
        assert n_read and all(read)
        assert [float(cached.loss([n])) for n in range(6)] == pytest.approx(expected, abs=1e-6)
        assert len(read) == n_read
        assert cached.validate() == fresh.validate()


def test_of_several_processes_cuts_are_said_to_be_those_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from longrank.training import cuts

    monkeypatch.setattr(cuts, "Ranks", lambda: SimpleNamespace(n=2))
    notes = Notes()
    cuts.Cuts(notes).add("texts cut at 8 tokens", "long", True)
    assert notes.lines() == ["texts cut at 8 tokens (where the first of 2 processes read): 1 (first: long)"]


def test_dropout_replaces_numbers_that_are_whole_too(folder: Path, data: Any) -> None:
    """Of a configuration that says 0 rather than 0.0, attention holds the integer."""
    import torch

    from longrank.training.dropout import set_dropout

    attention = torch.nn.MultiheadAttention(4, 2, dropout=0)
    assert type(attention.dropout) is int
    set_dropout(attention, 0.1)
    assert attention.dropout == 0.1
