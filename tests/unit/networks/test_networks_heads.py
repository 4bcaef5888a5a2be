"""Which head a model's files hold, and that it scores as its makers compute it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks.checks import tensor_shapes
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from tiny_language_models import save_decoder
from tiny_models import (
    FAMILIES,
    MORE_FAMILIES,
    drop_dense,
    rewrite,
    save_cross_encoder,
    save_document_network,
    save_next_sentence,
    task,
)

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
PASSAGES = ["the fox jumped over the dog", "a long river in the north of the city", "money", ""]


def features_of(folder: Path) -> object:
    from transformers import AutoTokenizer

    pairs = [(QUERY, passage) for passage in PASSAGES]
    return AutoTokenizer.from_pretrained(folder)(pairs, padding=True, truncation=True, return_tensors="pt")


def scorer(folder: Path, **options: object) -> CrossEncoder:
    return CrossEncoder(find_model(str(folder)), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", FAMILIES + MORE_FAMILIES)
def test_logits_are_those_of_sentence_transformers(tmp_path: Path, family: str) -> None:
    from sentence_transformers import CrossEncoder as Peer
    from torch.nn import Identity

    folder = save_cross_encoder(tmp_path / family, family, 1)
    peer = Peer(str(folder), activation_fn=Identity(), device="cpu")
    expected = peer.predict([(QUERY, passage) for passage in PASSAGES])
    found = scorer(folder).logits(QUERY, PASSAGES)[:, 0]
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_next_sentence_logits_are_those_of_transformers(tmp_path: Path) -> None:
    import torch
    from transformers import BertForNextSentencePrediction

    folder = save_next_sentence(tmp_path / "nsp")
    network = BertForNextSentencePrediction.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = network(**features_of(folder)).logits.numpy()
    assert np.ptp(expected, axis=0).min() > 0.01
    np.testing.assert_allclose(scorer(folder).logits(QUERY, PASSAGES), expected, atol=1e-5)


def test_of_a_next_sentence_head_the_second_output_means_relevant_as_birch_trained_it(tmp_path: Path) -> None:
    folder = save_next_sentence(tmp_path / "nsp")
    logits = scorer(folder).logits(QUERY, PASSAGES)
    notes = Notes()
    scorer(folder, notes=notes)
    assert "output 1 means relevant, as Birch trained it" in notes.lines()[0]
    for options, column in (({"score": "logit"}, 1), ({"score": "logit", "relevant": 0}, 0)):
        (found,) = scorer(folder, **options).score([task(QUERY, PASSAGES)])
        np.testing.assert_array_equal(found.scores, logits[:, column])


def cls_only_logits(folder: Path) -> np.ndarray:
    """One linear layer on the vector of [CLS], by numpy from transformers' own encoder."""
    import torch
    from safetensors.torch import load_file
    from transformers import ElectraModel

    with torch.inference_mode():
        hidden = ElectraModel.from_pretrained(folder).eval()(**features_of(folder)).last_hidden_state.numpy()
    tensors = load_file(folder / "model.safetensors")
    weight, bias = (tensors[f"classifier.out_proj.{name}"].numpy() for name in ("weight", "bias"))
    return hidden[:, 0] @ weight.T + bias


def test_an_electra_head_without_a_dense_layer_reads_cls_alone(tmp_path: Path) -> None:
    """As Capreolus/electra-base-msmarco was trained."""
    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_dense)
    notes = Notes()
    found = scorer(folder, notes=notes).logits(QUERY, PASSAGES)
    np.testing.assert_allclose(found, cls_only_logits(folder), atol=1e-5)
    assert notes.lines()[0] == "the head of 'electra' is one layer on [CLS], as Capreolus trained ELECTRA"


def test_an_electra_head_whose_dense_layer_was_never_trained_reads_cls_alone(tmp_path: Path) -> None:
    """As such a checkpoint becomes when the stock class loads and saves it: the dense layer is as initialised."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    def keep_trained_output_alone(tensors: dict[str, object]) -> None:
        drop_dense(tensors)
        tensors["classifier.out_proj.bias"] += 0.25  # type: ignore[operator]

    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), keep_trained_output_alone)
    for kind in (AutoModelForSequenceClassification, AutoTokenizer):
        kind.from_pretrained(folder).save_pretrained(tmp_path / "again")
    assert (
        len(tensor_shapes(tmp_path / "again" / "model.safetensors"))
        == len(tensor_shapes(folder / "model.safetensors")) + 2
    )
    found = scorer(tmp_path / "again").logits(QUERY, PASSAGES)
    np.testing.assert_allclose(found, cls_only_logits(folder), atol=1e-5)


@pytest.mark.parametrize("name", ["maxp", "birch-passage"])
def test_a_document_network_keeps_that_head_when_it_is_made_saved_and_read(tmp_path: Path, name: str) -> None:
    """As Zhang, Yates and Lin go on from a pre-fine-tuned ELECTRA."""
    from longrank.models.folders import load_network
    from longrank.models.new import create_folder

    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_dense)
    create_folder(name, find_model(str(folder)), tmp_path / "network", Notes(), options={})
    another = find_model(str(tmp_path / "network"))
    create_folder(name, another, tmp_path / "again", Notes(), options={})
    for made in (tmp_path / "network", tmp_path / "again"):
        features = {key: values for key, values in features_of(folder).items()}  # type: ignore[attr-defined]
        found = load_network(made).network.encode(features).detach().numpy()
        np.testing.assert_allclose(found, cls_only_logits(folder)[:, -1], atol=1e-5)
        scored = scorer(made, allow_untrained=True).logits(QUERY, PASSAGES)
        np.testing.assert_allclose(scored, cls_only_logits(folder), atol=1e-5)


def test_an_electra_head_with_a_trained_dense_layer_is_the_stock_one(tmp_path: Path) -> None:
    import torch
    from transformers import ElectraForSequenceClassification

    def train_all(tensors: dict[str, object]) -> None:
        tensors["classifier.dense.bias"] += 0.5  # type: ignore[operator]
        tensors["classifier.out_proj.bias"] += 0.25  # type: ignore[operator]

    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), train_all)
    network = ElectraForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = network(**features_of(folder)).logits.numpy()
    found = scorer(folder).logits(QUERY, PASSAGES)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found - cls_only_logits(folder)).max() > 0.01


def test_an_electra_without_any_head_is_refused(tmp_path: Path) -> None:
    def drop_head(tensors: dict[str, object]) -> None:
        for name in [name for name in tensors if name.startswith("classifier")]:
            del tensors[name]

    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_head)
    with pytest.raises(InputError, match="the weights lack 4 parameters"):
        scorer(folder)


def test_a_next_sentence_model_without_its_head_is_refused(tmp_path: Path) -> None:
    def drop_head(tensors: dict[str, object]) -> None:
        for name in [name for name in tensors if name.startswith("cls")]:
            del tensors[name]

    folder = rewrite(save_next_sentence(tmp_path / "nsp"), drop_head)
    with pytest.raises(InputError, match=r"the weights lack 2 parameters.*cls\.seq_relationship"):
        scorer(folder)


@pytest.mark.parametrize(
    ("kind", "fix"),
    [("BertForSequenceClassification", "classification head are not supported"), ("AForCausalLM", "scorer 'decoder'")],
)
def test_a_tokenizer_that_puts_nothing_between_query_and_passage_is_refused(
    tmp_path: Path, kind: str, fix: str
) -> None:
    """That of a decoder: its query and passage would run into each other; only those that answer have a scorer."""
    folder = save_cross_encoder(tmp_path / "m")
    for file, changed in (("tokenizer.json", {"post_processor": None}), ("config.json", {"architectures": [kind]})):
        (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | changed))
    with pytest.raises(InputError, match=f"no mark between query and passage.*{fix}"):
        scorer(folder)


def test_the_length_in_the_files_of_sentence_transformers_is_the_models_limit(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    before = scorer(folder).max_tokens
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20}))
    assert scorer(folder).max_tokens == 20 < before
    with pytest.raises(InputError, match="max_tokens must be between 8 and 20"):
        scorer(folder, max_tokens=30)


def test_texts_that_sentence_transformers_would_change_are_refused_unless_the_tokenizer_changes_them(
    tmp_path: Path,
) -> None:
    import sentence_transformers

    plain, cased = save_cross_encoder(tmp_path / "bert"), save_cross_encoder(tmp_path / "roberta", "roberta")
    prompts: dict[str, Any] = {"prompts": {"q": "query: "}, "default_prompt_name": "q"}
    for folder, options, said in (
        (plain, {}, None),
        (plain, {**prompts, "default_prompt_name": None}, None),
        (plain, prompts, r"config_sentence_transformers.json: the model has a default prompt \(got 'query: '\)"),
    ):
        saved = tmp_path / f"{len(options)}{said is None}"
        sentence_transformers.CrossEncoder(str(folder), **options).save_pretrained(str(saved))
        with nullcontext() if said is None else pytest.raises(InputError, match=said):
            CrossEncoder(find_model(str(saved)))
    settings = json.dumps({"do_lower_case": True})
    (plain / "sentence_bert_config.json").write_text(settings)  # its tokenizer does so itself
    CrossEncoder(find_model(str(plain)))
    (cased / "sentence_bert_config.json").write_text(settings)
    with pytest.raises(InputError, match=r"sentence_bert_config.json: the model's texts are to be made lower case"):
        CrossEncoder(find_model(str(cased)))


def test_a_decoder_that_answers_is_sent_to_its_scorer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no mark between query and passage.*use the scorer 'decoder'"):
        scorer(save_decoder(tmp_path / "m"))


def test_a_model_trained_by_the_difference_says_so_where_one_output_alone_is_read(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "two")
    (folder / "training.json").write_text("{}")
    for score, said in (("logit", True), ("logit_diff", False), ("logprob", False), (None, False)):
        notes = Notes()
        scorer(folder, score=score, notes=notes)
        assert (
            any("was trained with score = logit_diff, and passages are scored by logit" in s for s in notes.lines())
            is said
        )
    one = save_cross_encoder(tmp_path / "one", n_outputs=1)
    (one / "training.json").write_text("{}")
    notes = Notes()
    scorer(one, notes=notes)
    assert notes.lines() == []


@pytest.mark.parametrize("trained", ["logit", "logit_diff"])
def test_a_document_network_says_so_where_its_passages_are_scored_by_another_number(
    tmp_path: Path, trained: str
) -> None:
    folder = save_document_network(tmp_path / "maxp", "maxp", outputs=2, score=trained)
    for score in ("logit", "logit_diff"):
        notes = Notes()
        scorer(folder, score=score, allow_untrained=True, notes=notes)
        assert any("was trained with score" in line for line in notes.lines()) is (score != trained)
