"""Model folders from strangers: one clear line, within limits of processor time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.networks.checks import tensor_shapes
from longrank.networks.model_files import find_model
from tiny_models import save_cross_encoder, task

pytestmark = pytest.mark.neural


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_cross_encoder(tmp_path / "model")


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def cast(folder: Path, dtype: str, *names: str) -> None:
    """Give the named tensors, or all, another dtype."""
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    for name in names or [*weights]:
        weights[name] = weights[name].to(getattr(torch, dtype))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def add(folder: Path, **tensors: Any) -> None:
    from safetensors.torch import load_file, save_file

    save_file(load_file(folder / "model.safetensors") | tensors, folder / "model.safetensors", {"format": "pt"})


def scores(folder: Path) -> list[float]:
    from longrank.scoring.cross_encoder import CrossEncoder

    return CrossEncoder(find_model(str(folder))).score([task("river bank", ["money", "fish"])])[0].scores.tolist()


def bomb(rule: str) -> Callable[[Path], None]:
    """Return what puts an exponential pattern into tokenizer.json, its key written with an escape."""

    def put(folder: Path) -> None:
        replace = {"type": "Replace", "content": "x"}
        split = {"type": "Split", "behavior": "Isolated", "invert": False}
        one = {**(replace if rule == "normalizer" else split), "pattern": {"Regex": "(a|aa)+$"}}
        change(folder / "tokenizer.json", **{rule: {"type": "Sequence", rule + "s": [one]}})
        text = (folder / "tokenizer.json").read_text()
        (folder / "tokenizer.json").write_text(text.replace('"Regex"', r'"\u0052egex"'))

    return put


def linked(name: str) -> Callable[[Path], None]:
    def link(folder: Path) -> None:
        (folder / name).rename(folder.parent / "private")
        (folder / name).symlink_to(folder.parent / "private")

    return link


def no_name(folder: Path) -> None:
    change(folder / "tokenizer_config.json", tokenizer_class=["os.system"])


def device(folder: Path) -> None:
    (folder / "vocab.txt").symlink_to("/dev/zero")


def pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def linked_module(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / "1_Pooling").symlink_to(folder.parent / "elsewhere")


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (lambda folder: cast(folder, "float8_e4m3fn"), r"model\.safetensors: holds weights other than .*got '.* F8_E4M3'"),
    (lambda folder: cast(folder, "int64"), r"model\.safetensors: holds weights other than .*got '.* I64'"),
    (lambda folder: cast(folder, "int8", "classifier.weight"), r"got 'classifier\.weight I8'"),
    (bomb("normalizer"), r"tokenizer\.json: a regular expression could take exponential time \(got '\(a\|aa\)\+\$'\)"),
    (bomb("pre_tokenizer"), r"tokenizer\.json: a regular expression could take exponential time"),
    (no_name, r"tokenizer_config\.json: 'tokenizer_class' is no name"),
    (linked("tokenizer.json"), r"tokenizer\.json: is a link out of the model's folder \(got '/.*'\)"),
    (linked("config.json"), r"config\.json: is a link out of the model's folder"),
    (device, r"vocab\.txt: is a link out of the model's folder \(got '/dev/zero'\)"),
    (pipe, r"config\.json: is a pipe or a device"),
    (linked_module, r"1_Pooling: is a link out of the model's folder"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_strangers_folder_is_refused_in_one_line(damage: Callable[[Path], None], message: str, folder: Path) -> None:
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        find_model(str(folder))
    assert "\n" not in str(caught.value)


_LIMITED = """
import resource, sys
from longrank.errors import InputError
from longrank.networks.model_files import find_model
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
for folder in sys.argv[1:]:
    try:
        find_model(folder)
    except InputError as error:
        print(error)
"""


def test_they_are_refused_within_a_gibibyte_and_20_seconds_of_processor_time(tmp_path: Path) -> None:
    folders = [save_cross_encoder(tmp_path / f"{n}" / "model") for n in range(len(DAMAGES))]
    for folder, (damage, _) in zip(folders, DAMAGES, strict=True):
        damage(folder)
    done = subprocess.run([sys.executable, "-c", _LIMITED, *folders], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(DAMAGES)


@pytest.mark.parametrize("kind", ["Evil", "os.system", "modeling.Evil"])
def test_a_tokenizer_class_of_another_name_is_not_imported_and_changes_no_score(kind: str, folder: Path) -> None:
    before = scores(folder)
    (folder / "modeling.py").write_text("raise SystemExit('was run')")
    change(folder / "tokenizer_config.json", tokenizer_class=kind)
    assert scores(folder) == before


def test_links_within_the_folder_and_of_weights_and_in_the_hubs_cache_are_read(folder: Path, tmp_path: Path) -> None:
    before = scores(folder)
    (folder / "tokenizer.json").rename(folder / "of-tokenizer")
    (folder / "tokenizer.json").symlink_to("of-tokenizer")
    linked("model.safetensors")(folder)
    assert scores(folder) == before
    snapshot, blobs = tmp_path / "models--o--m" / "snapshots" / "c0ffee", tmp_path / "models--o--m" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in save_cross_encoder(tmp_path / "again").iterdir():
        (blobs / path.name).write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
    assert scores(snapshot) == scores(tmp_path / "again")


def test_half_floats_and_constants_of_integers_are_weights(folder: Path) -> None:
    import torch

    add(folder, **{"bert.embeddings.position_ids": torch.arange(8)[None]})
    assert "bert.embeddings.position_ids" in tensor_shapes(folder / "model.safetensors")
    for dtype in ("bfloat16", "float16", "float32"):
        cast(folder, dtype, "classifier.weight")
        assert len(scores(folder)) == 2


def test_a_document_network_is_refused_alike(tmp_path: Path) -> None:
    from longrank.models.folders import load_network
    from tiny_models import save_document_network

    folder = save_document_network(tmp_path / "m")
    bomb("normalizer")(folder)
    with pytest.raises(InputError, match="exponential time"):
        load_network(folder)
    linked("tokenizer.json")(folder)
    with pytest.raises(InputError, match="is a link out of"):
        load_network(folder)
