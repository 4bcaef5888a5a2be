"""Files of a model by its Hugging Face name: from the cache without using the network, else downloaded.

``name`` is ``main`` of the cache: the newest version when it was first fetched. ``name@revision`` is a branch, a tag or
a commit (40 hexadecimal digits); only a commit always names the same files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from longrank.errors import InputError, MissingExtra
from longrank.networks.checks import modules_of, read_json
from longrank.networks.trainings import DESCRIPTION, LINEAGE_FILE, TRAINED
from longrank.types import Notes

_UNWANTED = ("onnx/*", "openvino/*")
_SETTINGS = ("config_sentence_transformers.json", "sentence_bert_config.json", "tokenizer_config.json")
"""Files of prompts and lengths, which a model may lack and other programs leave out of the cache. The cache names files
that a model lacks in its folder ``.no_exist``."""
_RECORDS = (DESCRIPTION, TRAINED, LINEAGE_FILE)
"""Files of trainings of the weights, which other programs leave out, too. Only a training asks for them, which may not
learn from queries that it tests: without them, notes of scorers and the headers of evidence name no trainings."""
_SECONDS = 10.0  # to wait for the list of a model's files, without a second try
_ASKING, _ASKED = Lock(), set[tuple[Path | str, ...]]()
"""Snapshots and files that this process has asked the hub for; one thread asks, and others wait for its answer."""
os.register_at_fork(after_in_child=_ASKING._at_fork_reinit)  # type: ignore[attr-defined]  # as the standard library does
_VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")


def find_on_hub(
    name: str,
    revision: str | None,
    suffixes: tuple[str, ...],
    whole: Callable[[Path], bool] | None = None,
    *,
    records: bool = False,
) -> Path:
    """Return the folder of a model in the cache of Hugging Face; its last part is the commit.

    Args:
        name: ``owner/model``, or the name of an old model without owner.
        revision: a branch, a tag or a commit; None: main.
        suffixes: suffixes of the files to fetch.
        whole: says whether a snapshot in the cache holds all files; None: those of a scorer.
        records: fetch the records of trainings, too, if another program left them out.

    Raises:
        InputError: the model is not in the cache and cannot be downloaded.
        MissingExtra: the hub's client is not installed.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra(f"the model '{name}'", "neural") from None
    patterns = [f"*{suffix}" for suffix in suffixes]
    fetch: Callable[..., str] = partial(
        snapshot_download, name, revision=revision, allow_patterns=patterns, ignore_patterns=list(_UNWANTED)
    )
    cached: Path | None = None
    with suppress(Exception):  # the client's errors: files are missing
        cached = Path(fetch(local_files_only=True))
    if cached is not None and (whole or _is_whole)(cached):
        return cached if whole else _with_settings(name, cached, fetch, records)
    try:
        fetched = Path(fetch())
        return fetched if whole else _with_settings(name, fetched, fetch, records)
    except Exception as error:  # errors of the client, the network and the system
        if cached is not None:
            return cached  # the checks of its files name what is missing
        reason = str(error).strip().splitlines()[0].removeprefix("Got: ") if str(error).strip() else ""
        raise InputError(
            f"model is not in the cache and cannot be downloaded from the Hugging Face hub: "
            f"{type(error).__name__}: {reason[:200]}",
            got=name if revision is None else f"{name}@{revision}",
            fix="name a folder with its files, the alias 'minilm', or check name, revision and network",
        ) from None


def unfetched(folder: Path, *, records: bool = False) -> list[str]:
    """Return files that a model may have, although its snapshot in the cache lacks them; else none."""
    if folder.parent.name != "snapshots":
        return []
    lacked, names = folder.parents[1] / ".no_exist" / folder.name, (*_optional(folder), *(_RECORDS if records else ()))
    return [name for name in names if not any(folder.rglob(name)) and not (lacked / name).is_file()]


def _optional(folder: Path) -> list[str]:
    """Return the names of files of settings that a model of this kind may have."""
    with suppress(InputError, OSError):
        config = read_json(folder / "config.json")
        late = ["artifact.metadata"] if "HF_ColBERT" in str(config.get("architectures")) else []
        decodes = "num_key_value_heads" in str(config)  # of decoders, which may have chat templates
        return [*_SETTINGS, *late, *(["chat_template.jinja"] if decodes else [])]
    return [*_SETTINGS]


def _with_settings(name: str, folder: Path, fetch: Callable[..., str], records: bool) -> Path:
    """Return a snapshot with the files of settings and records that its model has; the cache names the others."""
    from huggingface_hub import HfApi

    if not (names := unfetched(folder, records=records)):
        return folder
    with _ASKING, suppress(Exception):
        if (folder, *names) in _ASKED:
            return folder
        _ASKED.add((folder, *names))  # without an answer, or in a cache that is read-only, the next process asks again
        listed = HfApi().model_info(name, revision=folder.name, timeout=_SECONDS).siblings or ()
        paths = [Path(file.rfilename) for file in listed]
        files = {path.name for path in paths if not any(map(path.match, _UNWANTED))}
        if not files.isdisjoint(names):
            fetch(revision=folder.name)
        for lacked in (folder.parents[1] / ".no_exist" / folder.name / name for name in names if name not in files):
            lacked.parent.mkdir(parents=True, exist_ok=True)
            lacked.touch()
    return folder


def note_unfetched(name: str, folder: Path, notes: Notes) -> None:
    """Note files of settings that a model in the cache may have, and that could not be fetched."""
    if files := unfetched(folder):
        listed = ", ".join(files)
        notes.say(
            f"'{name}': the cache may lack files with its prompts and lengths, and the hub did not answer: {listed}"
        )


def note_unfetched_records(name: str, folder: Path, notes: Notes) -> None:
    """Note that a model in the cache may have learned from queries that a training tests, which nobody checks."""
    if set(unfetched(folder, records=True)) - set(unfetched(folder)):
        what = "the cache may lack the records of its training, and the hub did not answer"
        notes.say(f"'{name}': {what}: whether it has learned from queries of these tests is not checked")


def _is_whole(folder: Path) -> bool:
    """Say whether a snapshot holds all files that a scorer reads; other programs may have fetched a part.

    A configuration without a head, such as a bi-encoder's, needs modules.json, which names its pooling, or belongs to
    a document network.
    """
    try:
        modules = modules_of(folder)
        network = next((place for kind, place in modules if kind == "Transformer"), folder)
        config = json.loads((network / "config.json").read_text(encoding="utf-8"))
        return (
            (bool(modules) or (folder / DESCRIPTION).is_file() or names_head(config))
            and _has_weights(network)
            and any(path.is_file() for pattern in _VOCABULARIES for path in network.glob(pattern))  # no dead link
            and all((place / "config.json").is_file() for kind, place in modules if kind != "Normalize")
        )
    except FileNotFoundError:
        return False
    except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return True  # the checks of its files name the fault


def names_head(config: Mapping[str, Any]) -> bool:
    """Tell whether a configuration names a network with a head: a network without a head needs modules.json."""
    architectures = config.get("architectures") or []
    encoders = ("Model", "ForMaskedLM", "ForPreTraining")
    return any(name.endswith("LMHeadModel") or not name.endswith(encoders) for name in architectures)


def _has_weights(folder: Path) -> bool:
    if (folder / "model.safetensors").is_file():
        return True
    index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
    return all((folder / shard).is_file() for shard in index["weight_map"].values())
