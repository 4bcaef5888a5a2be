"""What a bi-encoder learns of triplets: losses computed here again from sentence-transformers' own vectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.training.passage_data.examples import Example, group
from longrank.training.settings import PassageTraining, load_training
from longrank.types import Notes
from passage_trainings import check_resumed, losses, samples, settings, trained
from tiny_models import save_encoder

pytestmark = pytest.mark.neural

TRIPLETS = [
    group("what is a river", ["a river is water", "a king in the north"]),
    group("money", ["the bank of a river holds no money", "the dog jumps over a fox"]),
    group("war", ["peace and war", "stone"]),
    group("who was the king", ["a king", "the fox and the dog run over a long river"]),
]
TEXTS = ["a river is water", "stone", "", "the king of a long river in the north of the city " * 3]
TRIPLET = [{"name": "triplet"}]
PROMPTS = {"query": "what is the ", "document": "answer over "}


def normalising(folder: Path, **options: Any) -> Path:
    """Write a tiny bi-encoder that scales its vectors to length 1, as all-MiniLM-L6-v2 does."""
    save_encoder(folder, **options)
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "2_Normalize").mkdir()
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("bi-encoder") / "tiny")


def opened(
    folder: Path,
    found: PassageTraining,
    examples: Sequence[Example] = TRIPLETS,
    dev: Sequence[Example] = (),
    notes: Notes | None = None,
) -> Any:
    from longrank.training.bi_encoder_task import BiEncoderTask

    task = BiEncoderTask(found, samples(folder, examples), dev, notes or Notes())
    task.network.eval()
    return task


def their_vectors(model: Path, texts: Sequence[str], prompt: str = "document") -> np.ndarray:
    """Return what sentence-transformers makes of texts, once its tokenizer's own truncation is off."""
    from sentence_transformers import SentenceTransformer

    network = SentenceTransformer(str(model), device="cpu", local_files_only=True)
    network.tokenizer.backend_tokenizer.no_truncation()
    network.tokenizer.backend_tokenizer.no_padding()
    encode = network.encode_query if prompt == "query" else network.encode_document
    found: np.ndarray = encode(list(texts))
    return found


def triplet_loss(model: Path, example: Example, margin: float) -> float:
    """max(0, |q - d+| - |q - d-| + margin)."""
    (query,) = their_vectors(model, [example.query], "query")
    near, far = np.linalg.norm(their_vectors(model, example.texts) - query, axis=1)
    return max(0.0, float(near - far) + margin)


@pytest.mark.parametrize("prompts", [None, PROMPTS])
@pytest.mark.parametrize("margin", [0.01, 5.0])
def test_the_loss_is_that_of_euclidean_distances_of_the_models_own_vectors(
    tmp_path: Path, margin: float, prompts: dict[str, str] | None
) -> None:
    model = save_encoder(tmp_path / "m", prompts=prompts)
    loss = [{"name": "triplet", "options": {"margin": margin}}]
    task = opened(tmp_path, settings("bi-encoder", model, loss=loss))
    drawn = samples(tmp_path, TRIPLETS)
    expected = [triplet_loss(model, drawn[n], margin) for n in (1, 2, 3, 9)]
    assert len(set(expected)) > 1
    assert float(task.loss([1, 2, 3, 9]).detach()) == pytest.approx(np.mean(expected), abs=1e-5)


def test_only_the_dimensions_that_the_models_files_keep_are_learned_and_validated(tmp_path: Path) -> None:
    model = save_encoder(tmp_path / "m")
    path = model / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"truncate_dim": 3}))
    task = opened(tmp_path, settings("bi-encoder", model, loss=TRIPLET))
    drawn = samples(tmp_path, TRIPLETS)
    expected = np.mean([triplet_loss(model, drawn[n], 5.0) for n in (1, 2, 3)])
    assert float(task.loss([1, 2, 3]).detach()) == pytest.approx(expected, abs=1e-5)
    query, texts = their_vectors(model, ["money"], "query"), their_vectors(model, TEXTS)
    assert query.shape == (1, 3)
    cosines = (texts @ query[0]) / np.linalg.norm(texts, axis=1) / np.linalg.norm(query)
    np.testing.assert_allclose(task._cosines("money", TEXTS), cosines, atol=1e-5)


def test_of_a_model_that_normalises_the_vectors_before_are_learned_and_those_saved_are_normalised(
    tmp_path: Path, encoder: Path
) -> None:
    plain, scaled = (
        opened(tmp_path, settings("bi-encoder", model, loss=TRIPLET))
        for model in (encoder, normalising(tmp_path / "m"))
    )
    assert float(scaled.loss([0, 1]).detach()) == pytest.approx(float(plain.loss([0, 1]).detach()), abs=1e-6)
    scaled.save(tmp_path / "saved", {})
    np.testing.assert_allclose(np.linalg.norm(their_vectors(tmp_path / "saved", TEXTS), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "roberta", "normalising", "prompts"])
def test_what_is_saved_gives_sentence_transformers_and_the_scorer_the_trained_networks_vectors(
    tmp_path: Path, kind: str
) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.bi_encoder import BiEncoder

    made = {
        "normalising": lambda: normalising(tmp_path / "m"),
        "prompts": lambda: save_encoder(tmp_path / "m", prompts=PROMPTS),
    }
    model = made[kind]() if kind in made else save_encoder(tmp_path / "m", kind)
    task = opened(tmp_path, settings("bi-encoder", model, loss=TRIPLET))
    before = their_vectors(model, TEXTS)
    task.network.train()
    task.loss([0, 1]).backward()
    for values in task.network.parameters():
        if values.grad is not None:
            values.data -= 0.05 * values.grad.sign()
    task.network.eval()
    task.save(tmp_path / "saved", {"steps": 1})
    task.network.tokenizer.backend_tokenizer.no_truncation()
    trained_vectors = task.network.encode_document(TEXTS)
    found = their_vectors(tmp_path / "saved", TEXTS)
    np.testing.assert_allclose(found, trained_vectors, atol=1e-5)
    assert np.abs(found - before).max() > 1e-2
    (ours,) = BiEncoder(find_model(str(tmp_path / "saved"))).encode({"d": TEXTS})
    units = found / np.linalg.norm(found, axis=1, keepdims=True)
    units[TEXTS.index("")] = 0  # examples are never empty, passages can be
    np.testing.assert_allclose(ours.vectors, units, atol=1e-5)
    assert json.loads((tmp_path / "saved" / "training.json").read_text()) == {"steps": 1}
    weights, others = (tmp_path / "saved" / "model.safetensors"), (tmp_path / "saved" / "config.json")
    assert weights.stat().st_mode == others.stat().st_mode


def test_development_texts_are_ranked_as_the_scorer_ranks_them(tmp_path: Path, encoder: Path) -> None:
    from longrank.networks.model_files import find_model
    from longrank.scoring.bi_encoder import BiEncoder
    from tiny_models import task as scoring_task

    dev = [group(one.query, [*one.texts, "water", "under the bank of a river"]) for one in TRIPLETS]
    found = settings("bi-encoder", encoder, loss=TRIPLET, validation={"measure": "RR"})
    scorer, expected = BiEncoder(find_model(str(encoder)), max_tokens=32), []
    for one in dev:
        scores = scorer.score([scoring_task(one.query, list(one.texts))])[0].scores.tolist()
        expected.append(1 / (1 + sum(other > scores[0] for other in scores[1:])))
    assert 0.25 < np.mean(expected) < 1
    assert opened(tmp_path, found, dev=dev).validate() == pytest.approx(np.mean(expected))


def test_what_can_be_learned_is_learned(tmp_path: Path, encoder: Path) -> None:
    """Texts with "water" are relevant to every query; those of other examples, too."""
    words = ["river", "bank", "money", "war", "peace", "north", "fox", "dog"]
    made = [group(f"the {word}", [f"{word} water", f"{word} stone"]) for word in words]
    loop = {"steps": 40, "batch": 4, "validate_every": 20, "optimizer": {"learning_rate": 0.003}}
    record = trained(
        settings("bi-encoder", encoder, loss=TRIPLET, loop=loop, validation={"measure": "P@1"}),
        tmp_path,
        made[:6],
        [group(one.query, one.texts[::-1]) for one in made[6:]],  # the other way round: learned, it is always wrong
    )
    assert record["losses"][-1] < 0.2 * record["losses"][0]
    assert record["validations"][-1][1] == 0


def test_micro_batches_do_not_change_the_loss(tmp_path: Path, encoder: Path) -> None:
    task = opened(tmp_path, settings("bi-encoder", encoder, loss=TRIPLET))
    parts = [float(task.loss([n]).detach()) for n in range(4)]
    assert float(task.loss(range(4)).detach()) == pytest.approx(np.mean(parts), abs=1e-5)


def test_what_is_cut_is_counted_once(tmp_path: Path, encoder: Path) -> None:
    notes = Notes()
    long = [group("river " * 40, ["king " * 40, "stone"])]
    task = opened(tmp_path, settings("bi-encoder", encoder, loss=TRIPLET), long, notes=notes)
    for _ in range(2):
        task.loss(range(3))
    assert (notes["texts cut at 32 tokens"], notes["queries cut at 32 tokens"]) == (1, 1)


def test_writing_that_fails_costs_no_byte_even_of_a_pooler_that_the_model_lacks(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    model = save_encoder(tmp_path / "m")
    weights = load_file(model / "model.safetensors")
    save_file(
        {name: values for name, values in weights.items() if not name.startswith("pooler.")},
        model / "model.safetensors",
        {"format": "pt"},
    )
    loop = {"steps": 4, "validate_every": 2, "checkpoint_every": 1}
    found = settings("bi-encoder", model, loss=TRIPLET, loop=loop, network={"dropout": 0.1})

    def train(folder: Path) -> None:
        torch.seed()  # as another process would be
        trained(found, folder, TRIPLETS, TRIPLETS)

    check_resumed(tmp_path, train, [3, 9, 20, 30])


@pytest.mark.parametrize(
    ("sections", "examples", "said"),
    [
        ({"loss": []}, TRIPLETS, "a training needs a loss"),
        (
            {"loss": [{"name": "hinge"}]},
            TRIPLETS,
            r"the loss hinge reads scores, which a bi-encoder does not compute; use triplet",
        ),
        (
            {"loss": TRIPLET * 2},
            [group("q", ["a", "b", "c"])],
            r"examples.jsonl:1: the loss triplet learns from groups of 2 texts",
        ),
        ({}, [TRIPLETS[0], Example("q", ("a",), (1.0,))], r"examples.jsonl:2: examples of different sizes"),
        ({"network": {"outputs": 2}}, TRIPLETS, "has no outputs to choose"),
        ({"read": {"max_query_tokens": 8}}, TRIPLETS, "reads queries as it reads texts"),
        ({"read": {"max_tokens": 64}}, TRIPLETS, "max_tokens must be between 8 and 32"),
        ({"network": {"model": "nowhere"}}, TRIPLETS, "nowhere"),
    ],
)
def test_what_a_bi_encoder_cannot_learn_from_is_refused(
    tmp_path: Path, encoder: Path, sections: dict[str, Any], examples: list[Example], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        opened(tmp_path, settings("bi-encoder", encoder, **{"loss": TRIPLET, **sections}), examples)


def test_a_cross_encoders_classifier_is_refused(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    model = save_cross_encoder(tmp_path / "m")
    with pytest.raises(InputError, match="the weights hold 2 parameters that the network would leave out"):
        opened(tmp_path, settings("bi-encoder", model, loss=TRIPLET))


def test_santos_numbers_follow_from_the_papers() -> None:
    found = load_training("santos")
    assert found.loop.steps == 2 * (25_200 * 9 // 10) // 8
    assert (found.loop.validate_every, found.loop.batch) == (found.loop.steps // 2, 8)
    assert (found.loop.optimizer.name, found.loop.optimizer.learning_rate) == ("adam", 3e-5)


def test_santos_keeps_its_trajectory(tmp_path: Path, encoder: Path) -> None:
    small = [f"network.model={encoder}", "network.dropout=0.0", "read.max_tokens=32", "loop.steps=4", "loop.batch=4"]
    found = load_training("santos", [*small, "loop.optimizer.learning_rate=0.01"])
    trained(found, tmp_path, TRIPLETS, TRIPLETS)
    assert losses(tmp_path) == pytest.approx([6.28157, 6.28157, 4.17775, 3.81252], abs=1e-4)
