"""Find the files of a published checkpoint: its weights, its configuration and its tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.networks.checks import modules_of, read_json
from longrank.networks.hub import find_on_hub, names_head

PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".model")
"""Suffixes of PyTorch files; files without a suffix are read, too, if they are named."""

_SETTINGS = (".json", ".txt", ".model", ".jinja")
_VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")
_NO_WEIGHTS = ("training_args.bin", "optimizer", "scheduler", "rng_state", "spiece.model", "sentencepiece")
_CONFIGURATIONS = ("config.json", "bert_config.json")
ADAPTER = "adapter_config.json"
_FETCHED = (*_SETTINGS, ".bin", ".pt", "adapter_model.safetensors", "_Dense/model.safetensors")


class Source(NamedTuple):
    """The files of a checkpoint.

    Attributes:
        name: for the model card: a Hugging Face name with its commit, or the name of a file or folder.
        weights: files with tensors.
        config: the configuration, a JSON file; of an adapter, its base model's.
        tokenizer: the folder with the tokenizer's files.
        base: of an adapter, the name or folder of its base model; else empty.
    """

    name: str
    weights: tuple[Path, ...]
    config: Path
    tokenizer: Path
    base: str = ""


def find_source(name: str, base: str | None = None) -> Source:
    """Find the files of a checkpoint; download files that the cache of Hugging Face lacks.

    Args:
        name: a file, a folder, or a Hugging Face name, ``owner/model`` or ``owner/model@revision``.
        base: a folder or a Hugging Face name; its configuration and tokenizer are taken where the checkpoint has none.

    Raises:
        InputError: no such checkpoint, or its weights, configuration or tokenizer are missing.
        MissingExtra: the hub's client is not installed.
    """
    shown, place = _place(name, _FETCHED, has_weights)
    place = _network_of(place) if place.is_dir() else place
    folder = place if place.is_dir() else place.parent
    weights = weights_in(place) if place.is_dir() else (place,)
    if place.suffix == ".index":
        weights = _variables(folder, [place])
    adapts = _adapted(place, base) if place.is_dir() and (place / ADAPTER).is_file() else ""
    base, folders = adapts or base, [] if adapts else [folder]
    if base is not None:
        folders.append(_place(base, _SETTINGS, has_settings)[1])
    config = next((path for each in folders for path in _present(each, _CONFIGURATIONS)), None)
    if adapts:
        folders.insert(0, folder)
    tokenizer = next((each for each in folders if _present(each, _VOCABULARIES)), None)
    for kind, found in (("config.json", config), ("tokenizer", tokenizer)):
        if found is None:
            raise InputError(
                f"has no {kind} beside its weights",
                path=place,
                fix="name the model that it was trained from, such as --base google-bert/bert-large-uncased",
            )
    assert config is not None
    assert tokenizer is not None
    return Source(shown, weights, config, tokenizer, adapts)


def _adapted(folder: Path, base: str | None) -> str:
    """Return the base model of an adapter: `base`, or the model and the revision that its configuration names."""
    settings = read_json(folder / ADAPTER)
    named = base or settings.get("base_model_name_or_path")
    if not isinstance(named, str) or not named:
        raise InputError("names no base model (base_model_name_or_path)", path=folder / ADAPTER, fix="name it: --base")
    revision = settings.get("revision")
    is_of_hub = not base and "@" not in named and not Path(named).expanduser().exists()
    return f"{named}@{revision}" if is_of_hub and isinstance(revision, str) and revision else named


def weights_in(folder: Path) -> tuple[Path, ...]:
    """Return the files with the tensors of a folder: safetensors, as transformers reads them, else PyTorch's.

    Raises:
        InputError: there are none, several that do not belong together, or a shard is missing.
    """
    if (folder / ADAPTER).is_file():
        files = [folder / "adapter_model.safetensors", folder / "adapter_model.bin"]
        if not any(path.is_file() for path in files):
            raise InputError("holds no weights of its adapter", path=folder, got=files[0].name)
        return tuple(path for path in files if path.is_file())[:1]
    for file in ("model.safetensors", "pytorch_model.bin"):
        if (folder / file).is_file():
            return (folder / file,)
        if (index := folder / f"{file}.index.json").is_file():
            return _shards(index)
    others = [
        path for path in sorted(folder.iterdir()) if path.suffix in PICKLED and not path.name.startswith(_NO_WEIGHTS)
    ]
    if not others and (indexes := sorted(folder.glob("*.index"))):
        return _variables(folder, indexes)
    if len(others) > 1:
        raise InputError(
            f"holds {len(others)} files of weights", path=folder, got=others[0].name, fix="name the file to convert"
        )
    if not others:
        raise InputError("holds no PyTorch weights (pytorch_model.bin)", path=folder)
    return (others[0],)


def _variables(folder: Path, indexes: list[Path]) -> tuple[Path, ...]:
    """Return the files of the only TensorFlow checkpoint of a folder, its index first."""
    if len(indexes) > 1:
        what = f"holds {len(indexes)} TensorFlow checkpoints"
        raise InputError(
            what, path=folder, got=indexes[0].stem, fix="name the .index file of the checkpoint to convert"
        )
    data = sorted(folder.glob(f"{indexes[0].stem}.data-*"))
    if not data:
        raise InputError("has no data beside it", path=indexes[0], got=f"{indexes[0].stem}.data-00000-of-00001")
    return (indexes[0], *data)


def has_weights(folder: Path) -> bool:
    """Say whether a folder of the cache holds weights, a configuration and, without a head, the file of its modules."""
    try:
        network = _network_of(folder)
        configured = _present(network, (*_CONFIGURATIONS, ADAPTER))
        named = [read_json(path) for path in configured]
        whole = (folder / "modules.json").is_file() or any(
            names_head(config) or not config.get("architectures") for config in named
        )
        return bool(weights_in(network)) and bool(configured) and whole
    except (InputError, OSError):
        return False


def _network_of(folder: Path) -> Path:
    """Return the folder of a model's network: of older models of sentence-transformers, a folder within."""
    inner = [place for kind, place in modules_of(folder) if kind == "Transformer" and place.parent == folder]
    return inner[0] if inner and inner[0].is_dir() else folder


def has_settings(folder: Path) -> bool:
    """Say whether a folder holds a configuration and a tokenizer."""
    return bool(_present(folder, _CONFIGURATIONS)) and bool(_present(folder, _VOCABULARIES))


def _place(name: str, suffixes: tuple[str, ...], whole: Callable[[Path], bool]) -> tuple[str, Path]:
    """Return the name to show, and the file or folder of a checkpoint."""
    path = Path(name).expanduser()
    if not path.exists() and (index := path.with_name(path.name + ".index")).is_file():
        path = index  # TensorFlow names a checkpoint by the beginning of its files' names
    if path.exists():
        return path.resolve().name, path.resolve()
    owner, _, revision = name.partition("@")
    if name.startswith((".", "/", "~")) or owner.count("/") > 1:
        raise InputError("no such file or folder", path=path)
    folder = find_on_hub(owner, revision or None, suffixes, whole)
    return f"{owner}@{folder.name}", folder


def _shards(index: Path) -> tuple[Path, ...]:
    places = read_json(index).get("weight_map")
    names = sorted({str(name) for name in places.values()}) if isinstance(places, dict) else []
    for name in names:
        if Path(name).name != name or not (index.parent / name).is_file():
            raise InputError("names a shard that the folder lacks", path=index, got=name)
    if not names:
        raise InputError("names no shards (weight_map)", path=index)
    return tuple(index.parent / name for name in names)


def _present(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]
