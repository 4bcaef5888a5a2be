"""What a cross-encoder learns of examples: losses computed here again, from transformers' own outputs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples, group, write_examples
from longrank.training.settings import PassageTraining, load_training
from longrank.types import Notes

pytestmark = pytest.mark.neural

GROUPS = [
    group("what is a river", ["a river is water", "a king in the north", "bread"], [0.9, 0.2, 0.1]),
    group("money", ["the bank of a river holds no money, a house does", "the dog jumps", "a fox"], [0.5, 0.4, 0.3]),
    group("war", ["peace and war", "stone", "light over light"], [0.8, -0.1, 0.0]),
]
ROWS = [
    Example("what is a river", ("a river is water",), (1.0,)),
    Example("what is a river", ("a king in the north",), (0.0,)),
    Example("money", ("the bank of a river holds no money",), (0.0,)),
    Example("money", ("money",), (1.0,)),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    return save_encoder(tmp_path_factory.mktemp("passages") / "encoder")


def settings(model: Path, *losses: dict[str, Any], **sections: Any) -> PassageTraining:
    network = {"name": "cross-encoder", "model": str(model), "dropout": 0.0} | sections.pop("network", {})
    found = {
        "network": network,
        "read": {"max_tokens": 32, "max_query_tokens": 8} | sections.pop("read", {}),
        "loss": list(losses),
        "loop": {"steps": 2, "batch": 2, "optimizer": {"learning_rate": 0.01}},
        **sections,
    }
    return PassageTraining.model_validate(found)


def opened(
    folder: Path,
    found: PassageTraining,
    examples: Sequence[Example],
    dev: Sequence[Example] = (),
    notes: Any = None,
) -> tuple[Any, ExampleSamples]:
    from longrank.training.cross_encoder_task import CrossEncoderTask

    write_examples(examples, folder / "examples.jsonl")
    samples = ExampleSamples(ExampleFile(folder / "examples.jsonl", Notes()), found.loop.seed)
    return CrossEncoderTask(found, samples, dev, Notes() if notes is None else notes), samples


def logits_of(task: Any, model: Path, example: Example) -> Any:
    """Return transformers' outputs for each text of an example, one at a time, [G, C]."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(model))
    rows = [
        task.network(**tokenizer(example.query, text, truncation="only_second", max_length=32, return_tensors="pt"))
        for text in example.texts
    ]
    return torch.cat([row.logits.detach() for row in rows])


def test_groups_are_learned_from_with_their_teacher(encoder: Path, tmp_path: Path) -> None:
    import torch

    losses = {"name": "lce"}, {"name": "kl", "weight": 3.0, "options": {"temperature": 0.1}}
    task, samples = opened(tmp_path, settings(encoder, *losses), GROUPS)
    found = [samples[n] for n in (1, 2, 7)]
    expected = 0.0
    for one in found:
        scores = logits_of(task, encoder, one)[:, 0].log_softmax(0)
        taught = (torch.tensor(one.taught) / 0.1).softmax(0)
        expected += float(-scores[0] + 3 * (taught * (taught.log() - scores)).sum()) / 3
    assert float(task.loss([1, 2, 7]).detach()) == pytest.approx(expected, abs=1e-5)


def test_single_texts_are_learned_from_by_both_outputs(encoder: Path, tmp_path: Path) -> None:
    found = settings(encoder, {"name": "cross-entropy"}, network={"outputs": 2})
    task, samples = opened(tmp_path, found, ROWS)
    some = [samples[n] for n in range(4)]
    expected = [-float(logits_of(task, encoder, one).log_softmax(1)[0, int(one.labels[0])]) for one in some]
    assert float(task.loss(range(4)).detach()) == pytest.approx(sum(expected) / 4, abs=1e-5)


def test_pairs_of_two_outputs_differ_by_the_difference_of_the_outputs(encoder: Path, tmp_path: Path) -> None:
    pairs = [one._replace(texts=one.texts[:2], labels=one.labels[:2], taught=None) for one in GROUPS]
    task, samples = opened(tmp_path, settings(encoder, {"name": "hinge"}, network={"outputs": 2}), pairs)
    logits = logits_of(task, encoder, samples[0])
    scores = logits[:, 1] - logits[:, 0]
    assert float(task.loss([0]).detach()) == pytest.approx(max(0.0, float(1 - scores[0] + scores[1])), abs=1e-5)


def test_development_queries_are_ranked_by_the_scores_of_the_saved_model(encoder: Path, tmp_path: Path) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.cross_encoder import CrossEncoder
    from tiny_models import task as scoring_task

    found = settings(encoder, {"name": "cross-entropy"}, network={"outputs": 2}, validation={"measure": "RR"})
    task, _ = opened(tmp_path, found, ROWS, GROUPS)
    task.save(tmp_path / "model", {"steps": 3})
    scorer = CrossEncoder(find_model(str(tmp_path / "model")), max_tokens=32)
    ranks = []
    for one in GROUPS:
        scores = scorer.score([scoring_task(one.query, list(one.texts))])[0].scores.tolist()
        ranks.append(1 + sum(other > scores[0] for other in scores[1:]))
    task.network.eval()
    assert task.validate() == pytest.approx(sum(1 / rank for rank in ranks) / 3)
    assert json.loads((tmp_path / "model" / "training.json").read_text()) == {"steps": 3}


def test_what_is_saved_begins_another_training_with_its_head(encoder: Path, tmp_path: Path) -> None:
    import torch

    first, _ = opened(tmp_path, settings(encoder, {"name": "lce"}), GROUPS)
    first.save(tmp_path / "model", {})
    again, _ = opened(tmp_path, settings(tmp_path / "model", {"name": "lce"}, loop=_other_seed()), GROUPS)
    assert again.fingerprint != first.fingerprint
    for name, values in first.network.state_dict().items():
        assert torch.equal(values, again.network.state_dict()[name])


def test_a_model_that_is_replaced_after_its_lineage_was_read_is_refused(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.networks import model_files

    model, real = tmp_path / "model", model_files.lineage_of
    shutil.copytree(encoder, model)

    def replaced(folder: Path) -> Any:
        lineage = real(folder)
        (model / "training.json").write_text('{"run": {"qrels": "a", "fold": "b"}}')
        return lineage

    monkeypatch.setattr(model_files, "lineage_of", replaced)
    with pytest.raises(InputError, match=r"training\.json: changed while the model was read"):
        opened(tmp_path, settings(model, {"name": "lce"}), GROUPS)


def _other_seed() -> dict[str, Any]:
    return {"seed": 9, "steps": 2, "batch": 2, "optimizer": {"learning_rate": 0.01}}


def test_what_is_cut_is_counted_once(encoder: Path, tmp_path: Path) -> None:
    notes = Notes()
    rows = [Example("river river river river", ("king " * 40,), (1.0,)), Example("money", ("war",), (0.0,))]
    found = settings(encoder, {"name": "cross-entropy"}, read={"max_query_tokens": 2})
    task, _ = opened(tmp_path, found, rows, notes=notes)
    for _ in range(2):
        task.loss(range(4))
    lines = notes.lines()
    assert any(line.startswith("texts cut, with their queries, at 32 tokens: 1 ") for line in lines)
    assert any(line.startswith("queries cut at 2 tokens: 1 ") for line in lines)


@pytest.mark.parametrize(
    ("losses", "examples", "what"),
    [
        ([], ROWS, "a training needs a loss"),
        ([{"name": "triplet"}], GROUPS, "the loss triplet reads vectors"),
        ([{"name": "lce"}], ROWS, "examples.jsonl:1: the loss lce learns from groups of texts"),
        ([{"name": "hinge"}], GROUPS, "examples.jsonl:1: the loss hinge learns from groups of 2 texts"),
        ([{"name": "cross-entropy"}], GROUPS, "the loss cross-entropy learns from single texts"),
        ([{"name": "lce"}], [GROUPS[0], ROWS[0]], "examples.jsonl:2: examples of different sizes: the first has 3"),
        (
            [{"name": "kl"}],
            [GROUPS[0], GROUPS[1]._replace(taught=None)],
            "examples.jsonl:2: the loss kl learns from a teacher's scores",
        ),
        ([{"name": "mse"}], ROWS, "the loss mse is of single texts, which have no teacher here; use groups"),
        ([{"name": "mse"}], GROUPS, "the loss mse is of single texts, which have no teacher here; use groups"),
        ([{"name": "lce"}, {"name": "cross-entropy"}], GROUPS, "losses that read different outputs"),
    ],
)
def test_losses_that_cannot_learn_from_the_examples_are_refused(
    encoder: Path, tmp_path: Path, losses: list[dict[str, Any]], examples: list[Example], what: str
) -> None:
    with pytest.raises(InputError, match=what):
        opened(tmp_path, settings(encoder, *losses), examples)


def test_development_examples_without_a_relevant_text_are_refused(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="have no relevant text"):
        opened(tmp_path, settings(encoder, {"name": "lce"}), GROUPS, ROWS[1:3])


@pytest.mark.parametrize(
    ("name", "losses"),
    [("monobert", [0.6884, 0.6884, 0.6655, 0.6323]), ("monobert-msmarco", [0.6875, 0.6565, 0.6013, 0.5478])],
)
def test_the_protocols_keep_their_trajectories(encoder: Path, tmp_path: Path, name: str, losses: list[float]) -> None:
    from longrank.training.passage_training import train_passages

    small = [f"network.model={encoder}", "network.dropout=0.0", "read.max_tokens=32", "loop.steps=4", "loop.batch=4"]
    small += ["loop.optimizer.learning_rate=0.01"]
    found = load_training(name, small)
    write_examples(ROWS, tmp_path / "rows.jsonl")
    write_examples(ROWS[::-1], tmp_path / "dev.jsonl")
    dev = None if found.loop.validate_every is None else tmp_path / "dev.jsonl"
    train_passages(found, tmp_path / "rows.jsonl", dev, tmp_path / "out", progress=lambda n: None, notes=Notes())
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines if "loss" in line] == pytest.approx(losses, abs=1e-4)


def test_what_no_scorer_would_read_is_not_trained(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    model = save_cross_encoder(tmp_path / "fnet", "fnet")
    with pytest.raises(InputError, match="the network's output changes with the padding"):
        opened(tmp_path, settings(model, {"name": "cross-entropy"}), ROWS)
    model = save_cross_encoder(tmp_path / "unmarked")
    file = model / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    with pytest.raises(InputError, match="puts no mark between query and passage"):
        opened(tmp_path, settings(model, {"name": "cross-entropy"}), ROWS)


def test_a_default_prompt_of_the_initial_encoder_is_no_part_of_the_pairs(tmp_path: Path) -> None:
    from tiny_models import save_encoder

    folder = save_encoder(tmp_path / "encoder")
    prompts = {"prompts": {"q": "query: "}, "default_prompt_name": "q"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    opened(tmp_path, settings(folder, {"name": "cross-entropy"}), ROWS)


def test_a_next_sentence_head_is_kept(tmp_path: Path) -> None:
    import torch
    from transformers import BertForNextSentencePrediction

    from tiny_models import save_next_sentence

    folder, notes = save_next_sentence(tmp_path / "nsp"), Notes()
    task, _ = opened(tmp_path, settings(folder, {"name": "cross-entropy"}), ROWS, notes=notes)
    head = BertForNextSentencePrediction.from_pretrained(folder).eval()
    ids = torch.tensor([[2, 7, 8, 3, 9, 3]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1]])
    with torch.inference_mode():
        expected = head(input_ids=ids, token_type_ids=types).logits
        assert torch.allclose(task.network(input_ids=ids, token_type_ids=types).logits, expected, atol=1e-6)
    assert expected.std() > 0.01
    assert any("keeps its next-sentence head" in line for line in notes.lines())
