"""Write a converted checkpoint: safetensors, configuration, tokenizer and a model card."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

from longrank.errors import InputError
from longrank.networks.checks import check_weights, read_json
from longrank.networks.conversion.heads import AGGREGATOR, FAMILIES, choose_head, n_labels
from longrank.networks.conversion.modules import carry_modules
from longrank.networks.conversion.names import new_names
from longrank.networks.conversion.reading import read_tensors
from longrank.networks.conversion.sources import Source
from longrank.networks.heads import load_classifier
from longrank.networks.model_card import CARD, card, code, rerank_command
from longrank.networks.model_files import find_model
from longrank.networks.pretrained import load_pretrained
from longrank.networks.sentence_encoder import load_sentence_encoder
from longrank.networks.trainings import LINEAGE_FILE
from longrank.networks.weights_file import save_weights
from longrank.storage import sha256_of
from longrank.storage.folders import atomic_folder
from longrank.types import Notes

_LOCAL = {"local_files_only": True, "trust_remote_code": False}
_UNREAD = ("pooler",)  # parameters that an encoder may lack

_USES = {
    "classification": rerank_command("maxp"),
    "next-sentence": rerank_command("birch"),
    "seq2seq": rerank_command("monot5"),
    "decoder": rerank_command("decoder"),
    "parade-transformer": rerank_command("parade-transformer"),
    "parade-attn": rerank_command("parade-attn"),
    "encoder": "longrank create parade-transformer --model FOLDER -o start",
}


class Checkpoint(NamedTuple):
    """A checkpoint in memory.

    Attributes:
        config: a configuration of transformers.
        tensors: by the names of transformers.
        head: a key of `FAMILIES`; or ``parade``, a network for `longrank.models.converted`.
        names: name in the file -> new name.
    """

    config: Any
    tensors: Mapping[str, torch.Tensor]
    head: str
    names: Mapping[str, str]


class Written(NamedTuple):
    """Head, number of tensors, and number of tensors with new names of a converted checkpoint."""

    head: str
    n_tensors: int
    n_renamed: int


def read_checkpoint(source: Source, head: str | None, notes: Notes) -> Checkpoint:
    """Read the tensors of a checkpoint, with names of today.

    Args:
        source: the checkpoint's files.
        head: a key of `FAMILIES`; None: the head that the tensors hold.
        notes: remarks on names and heads.

    Raises:
        InputError: a file is damaged, holds objects other than tensors or needs code; or a classifier has no head.
    """
    config = read_configuration(source.config)
    tensors = read_tensors(source.weights)
    with torch.device("meta"):
        base = transformers.AutoModel.from_config(config).base_model_prefix
    if any(name.startswith(AGGREGATOR) for name in tensors):
        return Checkpoint(config, tensors, "parade", {name: name for name in tensors})
    with naming(source):
        new = new_names(tensors, base)
        architecture = str((config.architectures or [""])[0])
        head = head or choose_head(list(new.values()), architecture, config.is_encoder_decoder, notes)
    renamed = {new[name]: values for name, values in tensors.items()}
    labels = n_labels({name: tuple(values.shape) for name, values in renamed.items()})
    if head == "classification" and labels is not None and labels != config.num_labels:
        config.num_labels = labels
    return Checkpoint(config, renamed, head, new)


def write_checkpoint(
    source: Source, checkpoint: Checkpoint, folder: Path, notes: Notes, lineage: Sequence[Mapping[str, str]] = ()
) -> Written:
    """Write a checkpoint as safetensors; every parameter of the network must come from it.

    Args:
        source: the checkpoint's files.
        checkpoint: its content.
        folder: the new folder.
        notes: names modules of sentence-transformers that stay behind.
        lineage: earlier trainings of the weights, for `LINEAGE_FILE`.

    Raises:
        InputError: tensors of the network are missing, so its head would be random; or tensors have no place in it.
    """
    config, tensors, head, names = checkpoint
    with torch.device("meta"):
        config.architectures = [type(_family(head).from_config(config)).__name__]
    tokenizer = read_tokenizer(source, config)
    written = Written(head, len(tensors), sum(old != name for old, name in names.items()))
    with atomic_folder(folder, replace=False) as place:
        config.save_pretrained(place)
        tokenizer.save_pretrained(place)
        save_weights(_distinct(tensors), place / "model.safetensors", place / "config.json")
        carry_modules(source, head, place, notes)
        if lineage:
            text = json.dumps({"lineage": list(lineage)}, indent=1)
            (place / LINEAGE_FILE).write_text(text + "\n", encoding="utf-8")
        (place / CARD).write_text(model_card(source, written, names), encoding="utf-8")
        with naming(source):
            _check(place, head)
    return written


def read_tokenizer(source: Source, config: Any) -> Any:
    """Return the tokenizer of a checkpoint; a bare ``vocab.txt`` with upper case is read as cased.

    BERT's first program had the case as an option of its command, and transformers lower-cases texts where no file
    tells.
    """
    folder = source.tokenizer
    told = any((folder / name).exists() for name in ("tokenizer.json", "tokenizer_config.json"))
    cased = {} if told or not _has_upper_case(folder / "vocab.txt") else {"do_lower_case": False}
    return transformers.AutoTokenizer.from_pretrained(str(folder), config=config, **cased, **_LOCAL)


def _has_upper_case(vocabulary: Path) -> bool:
    """Tell whether more than a hundredth of the wordpieces cannot be found in lower-cased texts."""
    if not vocabulary.is_file():
        return False
    words = vocabulary.read_text(encoding="utf-8").split()
    return sum(word != word.lower() for word in words if word[0] != "[") > len(words) / 100


def read_configuration(path: Path) -> Any:
    """Return the configuration; files older than ``model_type`` are BERT's.

    Raises:
        InputError: the file is not a configuration, or the model needs code of its own.
    """
    values = read_json(path)
    if "auto_map" in values:
        raise InputError("the model needs code of its own (auto_map), and LongRank never runs such code", path=path)
    kind = values.get("model_type", "bert" if "type_vocab_size" in values else None)
    if not isinstance(kind, str):
        raise InputError("names no model_type", path=path, fix='add it, such as "model_type": "t5"')
    try:
        return transformers.AutoConfig.for_model(**{**values, "model_type": kind})
    except (ValueError, TypeError) as error:
        raise InputError(f"is no configuration that transformers knows: {str(error)[:200]}", path=path) from None


def _family(head: str) -> Any:
    return getattr(transformers, FAMILIES[head])


def _distinct(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors, each stored once: tied weights, such as T5's embeddings, keep their first name."""
    kept: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], str] = {}
    for name, values in tensors.items():
        place = (values.untyped_storage().data_ptr(), values.storage_offset(), tuple(values.shape), values.stride())
        kept.setdefault(place, name)
    return {name: tensors[name].detach().contiguous().clone() for name in kept.values()}


def _check(folder: Path, head: str) -> None:
    """Load the new folder as a scorer does.

    Raises:
        InputError: a parameter is missing, not finite or without a place, or the tokenizer does not fit.
    """
    model = find_model(str(folder))
    if head in ("classification", "next-sentence"):
        load_classifier(model, Notes())
        return
    if head == "encoder" and (folder / "modules.json").is_file():
        load_sentence_encoder(model, "cpu", Notes())
        return
    network, tokenizer, missing = load_pretrained(model, FAMILIES[head])
    if head == "encoder":
        missing = [name for name in missing if not set(_UNREAD) & set(name.split("."))]
    check_weights(folder, network, tokenizer, missing)


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """Let errors name the checkpoint, not the folder that is being written."""
    try:
        yield
    except InputError as error:
        raise InputError(error.what, path=source.weights[0], got=error.got, fix=error.fix) from None


def model_card(source: Source, written: Written, names: Mapping[str, str]) -> str:
    """Return the model card: source, checksums, head, changes and the command that uses it."""
    digests = "".join(f"- `{path.name}`, SHA-256 {sha256_of(path)}\n" for path in source.weights)
    adapted = f"- Merged into: {source.base}.\n" if source.base else ""
    first = next((f", such as `{old}` -> `{new}`" for old, new in names.items() if old != new), "")
    return card(
        {"library_name": "transformers"},
        f"{source.name}, as safetensors",
        f"Written by `longrank convert`, LongRank {version('longrank')}. The values are those of the source:\n",
        f"{digests}{adapted}",
        f"- Head: {written.head}.\n- Tensors: {written.n_tensors}; renamed: {written.n_renamed}{first}.\n",
        code("sh", _USES[written.head]),
    )
