"""Published checkpoints as safetensors: files that PyTorch and transformers write, and the logits of their classes."""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from longrank.errors import InputError
from longrank.networks.conversion.names import new_names
from longrank.networks.conversion.sources import _adapted
from longrank.networks.model_files import find_model
from longrank.networks.trainings import lineage_of
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from longrank.verbs.convert import converted
from tiny_language_models import PROMPT_WORDS, save_decoder, save_seq2seq
from tiny_models import WORDS, drop_dense, rewrite, save_cross_encoder, save_encoder, save_next_sentence

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
PASSAGES = ["the fox jumped over the dog", "a long river in the north of the city", "money"]
Rename = Callable[[str], str]


def old_names(name: str) -> str:
    """The names of pytorch_pretrained_bert's first versions."""
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def pickled(folder: Path, rename: Rename = lambda name: name, file: str = "pytorch_model.bin") -> Path:
    """Replace the safetensors of a folder by a PyTorch file."""
    import torch
    from safetensors.torch import load_file

    state = {rename(name): values for name, values in load_file(folder / "model.safetensors").items()}
    torch.save(state, folder / file)
    (folder / "model.safetensors").unlink()
    return folder


def logits_of(network: Any, folder: Path) -> np.ndarray:
    """Logits of a network of transformers for the pairs."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    pairs = [(QUERY, passage) for passage in PASSAGES]
    with torch.inference_mode():
        logits: np.ndarray = network(
            **tokenizer(pairs, padding=True, truncation=True, return_tensors="pt")
        ).logits.numpy()
    assert np.ptp(logits, axis=0).min() > 0.01
    return logits


def classifier(folder: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder).eval()


def next_sentence(folder: Path) -> Any:
    from transformers import BertForNextSentencePrediction

    return BertForNextSentencePrediction.from_pretrained(folder).eval()


def converted_logits(folder: Path) -> np.ndarray:
    return CrossEncoder(find_model(str(folder))).logits(QUERY, PASSAGES)


def refused(source: Path, message: str, output: Path, **options: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        longrank.convert(source, output, **options)
    assert "\n" not in str(caught.value)
    assert not output.exists()


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("rename", [str, old_names], ids=["new", "gamma"])
def test_a_monobert_scores_as_its_own_class(tmp_path: Path, n_outputs: int, rename: Rename) -> None:
    folder = save_cross_encoder(tmp_path / "monobert", n_outputs=n_outputs)
    expected = logits_of(classifier(folder), folder)
    made = longrank.convert(pickled(folder, rename), tmp_path / "new")
    assert (made.head, made.notes.lines()) == ("classification", [])
    assert made.n_renamed == (10 if rename is old_names else 0)  # five norms: embeddings, and two in each layer
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_a_network_that_dataparallel_saved_scores_as_its_own_class(tmp_path: Path) -> None:
    import torch

    folder = save_cross_encoder(tmp_path / "monobert")
    network = classifier(folder)
    expected = logits_of(network, folder)
    (folder / "model.safetensors").unlink()
    state = {"epoch": 3, "model_state_dict": torch.nn.DataParallel(network).state_dict(), "optimizer": {"state": {}}}
    torch.save(state, folder / "checkpoint.pt")
    assert longrank.convert(folder, tmp_path / "new").n_renamed == len(network.state_dict())
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_of_a_folder_with_both_kinds_of_weights_safetensors_are_read_as_transformers_does(tmp_path: Path) -> None:
    """transformers leaves an older pytorch_model.bin in a folder into which it saves."""
    import torch

    folder = save_next_sentence(tmp_path / "birch")
    network = next_sentence(folder)
    expected = logits_of(network, folder)
    torch.save({name: -value for name, value in network.state_dict().items()}, folder / "pytorch_model.bin")
    longrank.convert(folder, tmp_path / "new")
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_the_file_of_an_old_pytorch_is_read(tmp_path: Path) -> None:
    """Before version 1.6, torch.save wrote no zip archive; Birch's and monoBERT's files are of that time."""
    import torch

    folder = save_next_sentence(tmp_path / "birch")
    network = next_sentence(folder)
    expected = logits_of(network, folder)
    (folder / "model.safetensors").unlink()
    torch.save(network.state_dict(), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    longrank.convert(folder, tmp_path / "new")
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_a_birch_keeps_its_next_sentence_head_whatever_class_the_configuration_names(tmp_path: Path) -> None:
    folder = save_next_sentence(tmp_path / "birch")
    expected = logits_of(next_sentence(folder), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForSequenceClassification"]}))
    made = longrank.convert(pickled(folder, old_names), tmp_path / "new")
    assert made.head == "next-sentence"
    assert made.notes.lines() == [
        "config.json names BertForSequenceClassification, and the weights hold a next-sentence head, which is kept"
    ]
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_a_bare_file_takes_configuration_and_tokenizer_of_its_base(tmp_path: Path) -> None:
    """As in Birch's archive: weights alone, of a network that began as bert-large-uncased."""
    folder = save_next_sentence(tmp_path / "base")
    expected = logits_of(next_sentence(folder), folder)
    (tmp_path / "models").mkdir()
    pickled(folder, file="saved.mb_3")
    file = (folder / "saved.mb_3").rename(tmp_path / "models" / "saved.mb_3")
    refused(file, r"saved\.mb_3: has no config\.json beside its weights; name the model .*--base", tmp_path / "new")
    longrank.convert(file, tmp_path / "new", base=str(folder))
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)


def test_an_electra_of_capreolus_without_its_dense_layer_stays_so(tmp_path: Path) -> None:
    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_dense)
    expected = converted_logits(folder)
    longrank.convert(pickled(folder), tmp_path / "new")
    np.testing.assert_array_equal(converted_logits(tmp_path / "new"), expected)


def test_a_pickled_network_is_refused_by_the_name_of_its_class(tmp_path: Path) -> None:
    """Birch's archive holds whole networks, as objects."""
    import torch

    folder = save_next_sentence(tmp_path / "birch")
    network = next_sentence(folder)
    for new in (True, False):
        torch.save({"epoch": 1, "model": network}, tmp_path / "saved.mb_1", _use_new_zipfile_serialization=new)
        message = (
            r"saved\.mb_1: holds an object.*got 'transformers\.models\.bert\.modeling_bert\.Bert.*birch-bert-large"
        )
        refused(tmp_path / "saved.mb_1", message, tmp_path / "new", base=str(folder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "no PyTorch file, or damaged"),
        (b"", "no PyTorch file, or damaged"),
        ({"epoch": 3}, "holds no tensors by name .*got 'epoch: int'"),
        ([1], "holds no tensors by name .*got 'list'"),
        ({}, "holds no tensors by name .*got 'an empty dict'"),
    ],
)
def test_files_without_tensors_are_refused(tmp_path: Path, content: object, message: str) -> None:
    import torch

    folder = save_encoder(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    refused(folder, rf"pytorch_model\.bin: .*{message}", tmp_path / "new")


def test_a_classifier_whose_head_would_be_random_is_refused(tmp_path: Path) -> None:
    """As transformers' class would load an encoder, with a warning only."""
    folder = save_cross_encoder(tmp_path / "model")
    rewrite(folder, lambda tensors: [tensors.pop(name) for name in ("classifier.weight", "classifier.bias")])
    refused(pickled(folder), "hold no head of BertForSequenceClassification, which would be random", tmp_path / "new")
    made = longrank.convert(folder, tmp_path / "encoder", head="encoder")
    assert made.head == "encoder"


def test_a_part_of_a_head_that_would_be_random_is_refused_with_the_tensor(tmp_path: Path) -> None:
    folder = rewrite(save_cross_encoder(tmp_path / "model"), lambda tensors: tensors.pop("classifier.bias"))
    message = r"pytorch_model\.bin: .*lack 1 parameters.*would be random \(got 'classifier\.bias'\)"
    refused(pickled(folder), message, tmp_path / "new")


def test_tensors_without_a_place_in_the_network_are_refused(tmp_path: Path) -> None:
    import torch

    folder = rewrite(save_cross_encoder(tmp_path / "model"), lambda tensors: tensors.update({"extra.w": torch.ones(2)}))
    refused(pickled(folder), r"hold 1 parameters that .* leave out \(got 'extra\.w'\)", tmp_path / "new")


def test_a_head_of_another_library_is_not_left_out_of_an_encoder(tmp_path: Path) -> None:
    """CEDR's Vanilla BERT ranks by a layer ``cls`` on the output of [CLS]."""
    import torch

    head = {"cls.weight": torch.ones(1, 32), "cls.bias": torch.ones(1)}
    folder = rewrite(save_encoder(tmp_path / "model"), lambda tensors: tensors.update(head))
    refused(pickled(folder), r"hold 2 parameters that .* leave out \(got 'cls\.bias'\)", tmp_path / "new")


@pytest.mark.parametrize(("words", "expected"), [("The Tide the tide", ["The", "Tide"]), ("the tide", ["the", "tide"])])
def test_a_bare_vocabulary_with_upper_case_is_read_as_cased(tmp_path: Path, words: str, expected: list[str]) -> None:
    """Checkpoints of BERT's first program say nowhere that they are cased."""
    from transformers import AutoTokenizer

    folder = save_cross_encoder(tmp_path / "model")
    n = json.loads((folder / "config.json").read_text())["vocab_size"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    named = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words.split()]
    (folder / "vocab.txt").write_text("\n".join([*named, *map(str, range(n - len(named)))]) + "\n")
    longrank.convert(pickled(folder), tmp_path / "new")
    assert AutoTokenizer.from_pretrained(tmp_path / "new").tokenize("The Tide") == expected


def test_a_pretrained_bert_becomes_an_encoder_since_its_next_sentence_head_ranks_nothing(tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForPreTraining

    folder = save_next_sentence(tmp_path / "nsp")
    network = BertForPreTraining(BertConfig.from_pretrained(folder))
    for kept in (network.config, AutoTokenizer.from_pretrained(folder)):
        kept.save_pretrained(tmp_path / "bert")
    torch.save(network.state_dict(), tmp_path / "bert" / "pytorch_model.bin")
    made = longrank.convert(tmp_path / "bert", tmp_path / "new")
    assert made.head == "encoder"
    assert "its heads are not rankers" in made.notes.lines()[0]


def test_shards_are_joined(tmp_path: Path) -> None:
    import torch

    folder = save_cross_encoder(tmp_path / "model")
    network = classifier(folder)
    expected = logits_of(network, folder)
    (folder / "model.safetensors").unlink()
    items = list(network.state_dict().items())
    parts = {"pytorch_model-00001-of-00002.bin": items[:9], "pytorch_model-00002-of-00002.bin": items[9:]}
    for file, part in parts.items():
        torch.save(dict(part), folder / file)
    index = {"weight_map": {name: file for file, part in parts.items() for name, _ in part}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    longrank.convert(folder, tmp_path / "new")
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-5)
    (folder / "pytorch_model-00002-of-00002.bin").unlink()
    refused(folder, "shard that the folder lacks.*00002-of-00002", tmp_path / "other")


def save_castorini(folder: Path, **options: Any) -> Any:
    """Write a tiny T5 as Castorini's are: pytorch_model.bin, spiece.model, and the class by its name of 2019."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    trainer = pytest.importorskip("sentencepiece", reason="needs the extra convert").SentencePieceTrainer
    folder.mkdir()
    text = folder / "text"
    words = [*PROMPT_WORDS.split(), *WORDS.split()]
    draw = random.Random(3)
    text.write_text("".join(" ".join(draw.choices(words, k=8)) + "\n" for _ in range(300)))
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    trainer.train(
        input=str(text),
        model_prefix=str(folder / "spiece"),
        vocab_size=200,
        hard_vocab_limit=False,
        minloglevel=2,
        **ids,
    )
    text.unlink()
    torch.manual_seed(5)
    config = T5Config(vocab_size=400, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    network = T5ForConditionalGeneration(config).eval()
    torch.save(network.state_dict(), folder / "pytorch_model.bin")
    config.architectures = ["T5WithLMHeadModel"]
    config.save_pretrained(folder)
    return network


def test_a_monot5_of_castorini_scores_as_its_own_class_with_sentencepieces_own_tokens(tmp_path: Path) -> None:
    import torch

    from longrank.scoring.monot5 import MonoT5

    network = save_castorini(tmp_path / "monot5")
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_file=str(tmp_path / "monot5" / "spiece.model"))
    made = longrank.convert(tmp_path / "monot5", tmp_path / "new")
    assert made.head == "seq2seq"
    scorer = MonoT5(find_model(str(tmp_path / "new")))
    answers = [pieces.encode(word)[0] for word in ("false", "true")]
    for passage in PASSAGES:
        prompt = [*pieces.encode(f"Query: {QUERY} Document: {passage} Relevant:"), 1]
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        np.testing.assert_allclose(scorer.logits(QUERY, [passage])[0], logits[answers], atol=1e-5)


def test_tied_weights_are_stored_once(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    network = save_castorini(tmp_path / "t5")
    longrank.convert(tmp_path / "t5", tmp_path / "new")
    stored = sum(values.numel() for values in load_file(tmp_path / "new" / "model.safetensors").values())
    assert stored == sum(values.numel() for values in network.parameters())


def test_the_folder_has_a_card_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    folder = pickled(save_cross_encoder(tmp_path / "monobert"), old_names)
    for name in ("new", "again"):
        longrank.convert(folder, tmp_path / name)
    files = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    card = files["README.md"].decode()
    assert "Head: classification" in card
    assert "renamed: 10, such as `bert.embeddings.LayerNorm.beta` -> `bert.embeddings.LayerNorm.bias`" in card
    assert str(tmp_path) not in card


def test_an_output_that_holds_files_and_an_unknown_head_are_refused(tmp_path: Path) -> None:
    folder = pickled(save_cross_encoder(tmp_path / "monobert"))
    with pytest.raises(InputError, match="is not empty"):
        longrank.convert(folder, folder)
    with pytest.raises(InputError, match=r"unknown head.*clasification"):
        longrank.convert(folder, tmp_path / "new", head="clasification")
    with pytest.raises(InputError, match="no such file or folder"):
        longrank.convert("./nowhere", tmp_path / "new")


def test_code_of_a_model_is_refused(tmp_path: Path) -> None:
    folder = pickled(save_cross_encoder(tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "code.Network"}}))
    refused(folder, "needs code of its own", tmp_path / "new")


def test_a_checkpoint_on_the_hub_is_named_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    cache, commit = tmp_path / "models--someone--old", "c" * 40
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text(commit)
    shutil.copytree(pickled(save_cross_encoder(tmp_path / "made")), cache / "snapshots" / commit)
    with pytest.raises(InputError, match=f"longrank convert someone/old@{commit} -o ./old-safetensors"):
        find_model("someone/old")
    longrank.convert(f"someone/old@{commit}", tmp_path / "new")
    assert (tmp_path / "new" / "README.md").read_text().count(f"# someone/old@{commit}, as safetensors") == 1
    assert converted_logits(tmp_path / "new").shape == (3, 2)


def test_names_lose_their_wrappers_but_not_the_encoders_own_prefix() -> None:
    names = ["model.bert.bert.a.LayerNorm.gamma", "model.bert.classifier.bias"]
    assert list(new_names(names, "bert").values()) == ["bert.a.LayerNorm.weight", "classifier.bias"]
    assert list(new_names(["bert.a", "bert.b"], "bert").values()) == ["bert.a", "bert.b"]
    assert list(new_names(["model.layers.0.a", "model.norm.gamma"], "model").values()) == [
        "model.layers.0.a",
        "model.norm.weight",
    ]
    with pytest.raises(InputError, match="two tensors have the name"):
        new_names(["a.LayerNorm.gamma", "b", "a.LayerNorm.weight"], "bert")


def lora(folder: Path, base: Path, **more: Any) -> Any:
    """Write a LoRA adapter of a classifier with peft; return peft's own network."""
    import torch

    peft = pytest.importorskip("peft", reason="needs the extra convert")
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(2)
    network = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    options = {"task_type": "SEQ_CLS", "r": 4, "lora_alpha": 8, "target_modules": ["query", "value"]} | more
    with warnings.catch_warnings():  # peft calls names that transformers deprecates
        warnings.simplefilter("ignore", FutureWarning)
        adapted = peft.get_peft_model(network, peft.LoraConfig(**options)).eval()
    with torch.no_grad():
        for name, values in adapted.named_parameters():
            if "lora" in name or "modules_to_save" in name:
                values.normal_(0, 0.5)
    adapted.save_pretrained(folder)
    return adapted


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"use_rslora": True, "modules_to_save": ["classifier", "pooler"]},
        {"init_lora_weights": "Gaussian"},
        {"init_lora_weights": "pissa"},
        {"init_lora_weights": "olora"},
    ],
)
def test_an_adapter_merged_into_its_base_scores_as_pefts_own_network(tmp_path: Path, more: dict[str, Any]) -> None:
    base = save_encoder(tmp_path / "base")
    adapted = lora(tmp_path / "adapter", base, **more)
    with pytest.raises(InputError, match=r"adapter_config\.json: is an adapter, not a model.*longrank convert"):
        find_model(str(tmp_path / "adapter"))
    made = longrank.convert(tmp_path / "adapter", tmp_path / "new")
    assert made.head == "classification"
    expected = logits_of(adapted, base)
    np.testing.assert_allclose(converted_logits(tmp_path / "new"), expected, atol=1e-4)
    assert f"Merged into: {base}" in (tmp_path / "new" / "README.md").read_text()


def tied_adapter(folder: Path, base: Path, kind: str, targets: list[str]) -> Any:
    """Write a base model whose head has its embeddings' weights, and an adapter of it; return peft's own network."""
    import torch
    import transformers

    peft = pytest.importorskip("peft", reason="needs the extra convert")
    network = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(base)
    network.config.tie_word_embeddings = True
    network.tie_weights()
    network.save_pretrained(base)
    task = "CAUSAL_LM" if kind == "CausalLM" else "SEQ_2_SEQ_LM"
    torch.manual_seed(2)
    with warnings.catch_warnings():  # peft warns of a merge, which it does not do here
        warnings.simplefilter("ignore")
        adapted = peft.get_peft_model(network, peft.LoraConfig(task_type=task, r=4, target_modules=targets)).eval()
        with torch.no_grad():
            for name, values in adapted.named_parameters():
                if "lora" in name:
                    values.normal_(0, 0.5)
        adapted.save_pretrained(folder)
    return adapted


@pytest.mark.parametrize("targets", [["lm_head"], ["embed_tokens"], ["q_proj"]])
def test_an_adapter_of_embeddings_or_head_changes_these_alone(tmp_path: Path, targets: list[str]) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    base = save_decoder(tmp_path / "base")
    adapted = tied_adapter(tmp_path / "adapter", base, "CausalLM", targets)
    longrank.convert(tmp_path / "adapter", tmp_path / "new")
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        merged = AutoModelForCausalLM.from_pretrained(tmp_path / "new").eval()(ids).logits.numpy()
        np.testing.assert_allclose(merged, adapted(ids).logits.numpy(), atol=1e-4)


def test_an_adapter_of_a_t5s_shared_weights_is_refused(tmp_path: Path) -> None:
    base = save_seq2seq(tmp_path / "base")
    tied_adapter(tmp_path / "adapter", base, "Seq2SeqLM", ["lm_head", "q"])
    refused(tmp_path / "adapter", r"adapts weights that the base model shares .*\(got 'lm_head'\)", tmp_path / "new")


@pytest.mark.parametrize("home", [False, True])
def test_an_adapter_is_converted_again_if_its_base_has_changed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, home: bool
) -> None:
    from safetensors.torch import load_file, save_file

    base = save_encoder(tmp_path / "base")
    lora(tmp_path / "adapter", base)
    for path in base.iterdir():  # the adapter has a tokenizer of its own
        if path.is_file() and path.name not in ("config.json", "model.safetensors"):
            shutil.copy(path, tmp_path / "adapter")
    if home:
        monkeypatch.setenv("HOME", str(tmp_path))
        settings = tmp_path / "adapter" / "adapter_config.json"
        settings.write_text(settings.read_text().replace(str(base), "~/base"))
    first = converted(str(tmp_path / "adapter"), Notes())
    assert converted(str(tmp_path / "adapter"), Notes()) == first
    weights = load_file(base / "model.safetensors")
    save_file({name: -values for name, values in weights.items()}, base / "model.safetensors", {"format": "pt"})
    assert converted(str(tmp_path / "adapter"), Notes()) != first


def test_a_conversion_keeps_the_trainings_of_its_source_and_its_base(tmp_path: Path) -> None:
    first, second = ({"qrels": "q", "fold": fold} for fold in ("s1", "s2"))
    base = save_encoder(tmp_path / "base")
    (base / "lineage.json").write_text(json.dumps({"lineage": [first]}))
    lora(tmp_path / "adapter", base)
    (tmp_path / "adapter" / "training.json").write_text(json.dumps({"run": {"lineage": [second, first]}}))
    longrank.convert(tmp_path / "adapter", tmp_path / "merged")
    assert lineage_of(tmp_path / "merged") == [second, first]
    longrank.convert(tmp_path / "merged", tmp_path / "again")
    assert lineage_of(tmp_path / "again") == [second, first]
    (base / "lineage.json").unlink()
    longrank.convert(base, tmp_path / "plain", head="encoder")
    assert not (tmp_path / "plain" / "lineage.json").exists()


def test_an_adapter_names_the_revision_of_its_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for named, revision, base in (
        ("owner/model", "f00d", "owner/model@f00d"),
        ("owner/model", None, "owner/model"),
        ("owner/model@abc", "f00d", "owner/model@abc"),
        (".", "f00d", "."),
    ):
        settings = {"base_model_name_or_path": named, "revision": revision}
        (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
        assert _adapted(tmp_path, None) == base
        assert _adapted(tmp_path, "other/model") == "other/model"


def test_an_adapter_without_the_head_of_its_task_is_refused(tmp_path: Path) -> None:
    base = save_encoder(tmp_path / "base")
    lora(tmp_path / "adapter", base, task_type="FEATURE_EXTRACTION")
    message = r"neither the adapter nor its base model has a parameter.*'classifier\.bias'"
    refused(tmp_path / "adapter", message, tmp_path / "new", head="classification")


def test_adapters_of_other_kinds_and_parts_are_refused(tmp_path: Path) -> None:
    base = save_encoder(tmp_path / "base")
    lora(tmp_path / "adapter", base)
    path = tmp_path / "adapter" / "adapter_config.json"
    settings = json.loads(path.read_text())
    for change, message in (
        ({"peft_type": "IA3"}, "only LoRA adapters are merged .*'IA3'"),
        ({"megatron_config": {"a": 1}}, "setting of the adapter is not supported .*'megatron_config'"),
        ({"target_modules": ["query"]}, "tensor of the adapter has no place"),
        ({"target_modules": ["query", "value", "key"]}, "tensor of the adapter is missing"),
        ({"task_type": None}, "names no task"),
        (
            {"init_lora_weights": "pissa_niter_4"},
            r"may have changed the base weights \(init_lora_weights\) .*'pissa_niter_4'",
        ),
        ({"base_model_name_or_path": None}, "names no base model"),
    ):
        path.write_text(json.dumps(settings | change))
        refused(tmp_path / "adapter", message, tmp_path / "new")


def test_a_conversion_in_the_cache_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    from longrank.types import Notes

    verb = import_module("longrank.verbs.convert")
    monkeypatch.setattr(verb, "cache_folder", lambda: tmp_path / "cache")
    folder = pickled(save_cross_encoder(tmp_path / "monobert"))
    notes = Notes()
    made = Path(verb.converted(str(folder), notes))
    assert made.parent == tmp_path / "cache" / "models"
    assert notes.lines() == [f"'{folder}' is read from its conversion, {made}"]
    before = (made / "model.safetensors").stat()
    assert verb.converted(str(folder), Notes()) == str(made)
    assert (made / "model.safetensors").stat() == before
    assert verb.converted(str(made), Notes()) == str(made)  # safetensors stay where they are
    assert converted_logits(made).shape == (3, 2)
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace('"the"', '"teh"'))
    assert verb.converted(str(folder), Notes()) != str(made)  # another tokenizer is another model


def test_a_seq2seq_of_another_family_is_converted(tmp_path: Path) -> None:
    made = longrank.convert(pickled(save_seq2seq(tmp_path / "bart", "Bart")), tmp_path / "new")
    assert made.head == "seq2seq"
