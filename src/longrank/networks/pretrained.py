"""Load a transformers network and its tokenizer from local files.

Every parameter of the network comes from the file, and every parameter of the file must be in the network, since
transformers leaves out others without a warning. Exceptions: outputs of pre-training, which no scorer reads; the pooler
of a network without one; and constants that older versions stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.networks.loading import own_weights
from longrank.networks.model_files import Model
from longrank.types import Notes

_NEVER_READ = re.compile(
    r"(^|\.)pooler\."
    # pre-training: BERT, FNet; RoBERTa, MPNet and decoders; DistilBERT; ELECTRA; ALBERT; DeBERTa; ModernBERT
    r"|^(cls\.(predictions|seq_relationship)|lm_head|vocab_(transform|layer_norm|projector)|(generator|discriminator)_predictions|generator_lm_head"
    r"|predictions|sop_classifier|(lm|mask)_predictions|head\.(dense|norm)|decoder)\."
    # constants: positions, segments, rotations, causal masks
    r"|(^|\.)(position_ids|token_type_ids|inv_freq|(attn|attention)\.(masked_)?bias)$"
)


class Pretrained(NamedTuple):
    """A network in evaluation mode, on the CPU; its tokenizer; the parameters that the file lacks."""

    network: Any
    tokenizer: Any
    missing: list[str]


def load_pretrained(model: Model, family: str, dtype: str = "float32", *, apart: Collection[str] = ()) -> Pretrained:
    """Load a model's folder with a class of transformers.

    The caller checks the missing parameters (`longrank.networks.checks.check_weights`).
    Some heads lack parameters on purpose.

    Args:
        model: the model's files.
        family: the class, such as ``AutoModelForSequenceClassification``.
        dtype: ``float32`` or ``bf16``. With bf16, weights that are bf16 in the file stay bf16, in half the memory;
            others are loaded as float32, and the caller rounds them.
        apart: parameters of the file that the caller reads itself.

    Raises:
        InputError: as `check_unexpected`.
    """
    import torch
    import transformers

    options = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model.network), **options)
    network, info = getattr(transformers, family).from_pretrained(
        str(model.network),
        dtype=torch.bfloat16 if dtype == "bf16" and _is_bf16(model) else torch.float32,
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )
    check_unexpected(model, set(info["unexpected_keys"]) - set(apart))
    own_weights(network)
    return Pretrained(network.eval(), tokenizer, sorted(info["missing_keys"]))


def load_sequence_classifier(model: Model, notes: Notes) -> Pretrained:
    """Load an encoder with the stock head, or with Capreolus' head for ELECTRA (`longrank.networks.cls_head`).

    Args:
        model: the model's files.
        notes: tells if the head is not the stock one.

    Raises:
        InputError: as `load_pretrained`.
    """
    loaded = load_pretrained(model, "AutoModelForSequenceClassification")
    from longrank.networks.cls_head import keep_head

    missing = keep_head(loaded.network, loaded.missing)
    if missing is None:
        return loaded
    notes.say(f"the head of '{model.name}' is one layer on [CLS], as Capreolus trained ELECTRA")
    return loaded._replace(missing=missing)


def load_next_sentence(model: Model, notes: Notes) -> Pretrained:
    """Load a model with a next-sentence head as a sequence classifier of two outputs with that head.

    The two compute the same in BERT and its kin: one linear layer on the pooled vector.

    Args:
        model: the model's files.
        notes: tells the meaning of the outputs.

    Raises:
        InputError: as `load_pretrained`, or the head is not one linear layer on the pooled vector.
    """
    import torch
    import transformers

    network, tokenizer, missing = load_pretrained(model, "AutoModelForNextSentencePrediction")
    head = getattr(getattr(network, "cls", None), "seq_relationship", None)
    network.config.num_labels = 2
    classifier = transformers.AutoModelForSequenceClassification.from_config(network.config).eval()
    if not isinstance(head, torch.nn.Linear) or not isinstance(
        getattr(classifier, "classifier", None), torch.nn.Linear
    ):
        raise InputError("the next-sentence head is no linear layer on the pooled vector", path=model.path)
    classifier.base_model.load_state_dict(network.base_model.state_dict())
    classifier.classifier.load_state_dict(head.state_dict())
    notes.say(f"'{model.name}' keeps its next-sentence head: output 1 means relevant, as Birch trained it")
    lost = [name.replace("cls.seq_relationship", "classifier") for name in missing]
    return Pretrained(classifier, tokenizer, lost)


def _is_bf16(model: Model) -> bool:
    """Say whether all weights in the model's files are bf16."""
    from safetensors import safe_open

    for path in model.network.glob("*.safetensors"):
        with safe_open(path, "pt") as tensors:
            if any(tensors.get_slice(name).get_dtype() != "BF16" for name in tensors.keys()):  # noqa: SIM118
                return False
    return True


def check_unexpected(model: Model, names: Iterable[str]) -> None:
    """Refuse a file with parameters that the network would leave out.

    Args:
        model: the model's files, for the message.
        names: the parameters left out.

    Raises:
        InputError: a scorer may need some of them; names the first.
    """
    lost = sorted(name for name in names if not _NEVER_READ.search(name))
    if lost:
        raise InputError(
            f"the weights hold {len(lost)} parameters that the network would leave out",
            path=model.network,
            got=lost[0],
            fix="use a model trained for this task, with its scorer; a cross-encoder is read by the pipeline maxp",
        )
