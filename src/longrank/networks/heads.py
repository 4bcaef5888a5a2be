"""Classification heads of cross-encoders.

sequence classification   any encoder of transformers; one output or two
next sentence             ``...ForNextSentencePrediction``, as the released Birch models; two outputs.
                          Pre-training calls output 0 "is next"; Birch fine-tuned output 1 to mean relevant
                          and scores by it, as Capreolus does with the same weights.
ELECTRA, [CLS] only       Capreolus/electra-base-msmarco and its kin: one linear layer on [CLS], where the
                          stock head of ELECTRA has a dense layer before it
"""

from __future__ import annotations

from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import check_weights, read_json
from longrank.networks.hub import note_unfetched
from longrank.networks.model_files import Model
from longrank.networks.module_settings import check_texts_and_loading, own_settings
from longrank.networks.padding import check_padding
from longrank.networks.pretrained import load_pretrained, load_sequence_classifier
from longrank.types import Notes

_NEXT_SENTENCE = "ForNextSentencePrediction"


def load_classifier(model: Model, notes: Notes) -> tuple[Any, Any]:
    """Load a cross-encoder with the head its files hold, on the CPU: (network, tokenizer).

    Args:
        model: the model's files.
        notes: names heads other than the stock one.

    Raises:
        InputError: as `check_weights`, `check_pairs` and `check_padding`; or texts of pairs would be changed.
    """
    note_unfetched(model.name, model.path, notes)
    if _made_for(model, _NEXT_SENTENCE):
        loaded = load_pretrained(model, "AutoModelForNextSentencePrediction")
        notes.say(
            f"'{model.name}' has a next-sentence head: output 1 means relevant, as Birch trained it, "
            "unless the option relevant = 0 says otherwise"
        )
    else:
        loaded = load_sequence_classifier(model, notes)
    network, tokenizer, missing = loaded
    check_pairs(model, tokenizer)
    _check_texts(model, tokenizer)
    check_weights(model.path, network, tokenizer, missing)
    check_padding(model, network, tokenizer, lambda features: network(**features).logits, "a", "b")
    return network, tokenizer


def n_outputs(network: Any) -> int:
    """Return the number of logits of the head."""
    return 2 if type(network).__name__.endswith(_NEXT_SENTENCE) else int(network.config.num_labels)


def _made_for(model: Model, task: str) -> bool:
    """Say whether config.json names a class that ends in `task`."""
    architectures = read_json(model.network / "config.json").get("architectures") or []
    return any(str(name).endswith(task) for name in architectures)


def check_pairs(model: Model, tokenizer: Any) -> None:
    """Refuse tokenizers that put no token between query and passage, as tokenizers of decoders do.

    Raises:
        InputError: the tokenizer is refused.
    """
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        return  # refused by `check_weights`
    joined = tokenizer.backend_tokenizer.encode("a", "a").sequence_ids
    if joined[joined.index(1) - 1] == 0:
        decoder = _made_for(model, "ForCausalLM")
        raise InputError(
            "the model's tokenizer puts no mark between query and passage",
            path=model.path,
            fix="a decoder reranker needs a prompt: use the scorer 'decoder'"
            if decoder
            else "decoders with a classification head are not supported: use an encoder, or a decoder that answers yes",
        )


def stated_tokens(model: Model) -> int | None:
    """Return the longest pair by the files of sentence-transformers; None: they state no length."""
    length = own_settings(model.network)[1].get("max_seq_length")
    return length if isinstance(length, int) else None


def _check_texts(model: Model, tokenizer: Any) -> None:
    """Refuse settings of sentence-transformers' CrossEncoder that change the texts of a pair.

    Raises:
        InputError: a default prompt; lower case, and a tokenizer that keeps upper case; or as
            `check_texts_and_loading`.
    """
    top = model.path / "config_sentence_transformers.json"
    settings = read_json(top) if top.is_file() else {}
    prompts, name = settings.get("prompts"), settings.get("default_prompt_name")
    prompt = prompts.get(name) if isinstance(prompts, dict) else None
    if prompt:
        fix = "a cross-encoder here reads query and passage alone: use a model without a prompt"
        raise InputError("the model has a default prompt", path=top, got=prompt, fix=fix)
    templated = getattr(tokenizer, "chat_template", None) is not None
    renders = templated and not (model.path / "modules.json").is_file()
    check_texts_and_loading(model.network, tokenizer, renders=renders)  # pairs have no task
