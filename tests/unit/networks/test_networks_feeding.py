"""Models that load, and would score without a word, but wrongly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError, MissingExtra
from longrank.networks.feeding import Feeder
from longrank.networks.loading import choose_device, choose_max_tokens
from longrank.networks.model_files import Model, find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural


def test_an_encoder_without_a_head_is_no_cross_encoder(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "m")
    with pytest.raises(InputError, match=r"the weights lack 2 parameters.*would be random.*got 'classifier\.bias'"):
        CrossEncoder(find_model(str(folder)))


def test_an_encoder_whose_weights_have_other_names_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_encoder(tmp_path / "m") / "model.safetensors"
    save_file({f"other.{name}": values for name, values in load_file(weights).items()}, weights, {"format": "pt"})
    with pytest.raises(InputError, match=r"the weights lack .* would be random"):
        BiEncoder(find_model(str(tmp_path / "m")))


def test_an_encoder_without_a_pooler_is_whole_since_nothing_reads_it(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_encoder(tmp_path / "m") / "model.safetensors"
    kept = {name: values for name, values in load_file(weights).items() if "pooler" not in name}
    assert len(kept) < len(load_file(weights))
    save_file(kept, weights, {"format": "pt"})
    assert BiEncoder(find_model(str(tmp_path / "m"))).dimension == 16


def test_weights_that_are_not_numbers_are_refused_by_name(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_cross_encoder(tmp_path / "m") / "model.safetensors"
    tensors = load_file(weights)
    tensors["bert.encoder.layer.1.output.dense.bias"][3] = float("nan")
    save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(InputError, match=r"NaN or an infinity.*layer\.1\.output\.dense\.bias"):
        CrossEncoder(find_model(str(tmp_path / "m")))


def test_a_vocabulary_larger_than_the_embeddings_is_refused(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["beyond"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"token ids reach 5000, the network knows \d+ tokens"):
        CrossEncoder(find_model(str(folder)))


def test_a_model_the_library_cannot_load_is_one_line(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    (folder / "config.json").write_text('{"model_type": "unheard-of"}')
    with pytest.raises(InputError, match="the model cannot be loaded") as caught:
        CrossEncoder(find_model(str(folder)))
    assert "\n" not in str(caught.value)


def test_without_the_packages_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = find_model(str(save_encoder(tmp_path / "m")))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"the model 'm' needs the extra 'neural'"):
        BiEncoder(encoder)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"the model 'm' needs the extra 'neural'"):
        CrossEncoder(encoder)


def test_loading_writes_nothing_to_stderr_and_a_pooling_chosen_for_the_user_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = save_encoder(tmp_path / "m")
    (folder / "modules.json").unlink()
    found, notes = find_model(str(folder)), Notes()
    capfd.readouterr()
    BiEncoder(found, notes=notes)
    assert capfd.readouterr() == ("", "")
    assert notes.lines() == [
        "models without modules.json, which names the pooling (folder or cache may lack it): "
        "the mean of all tokens is used: 1 (first: m)"
    ]


@pytest.mark.parametrize(
    ("limits", "read"),
    [
        ((512, 256), 256),  # the least of tokenizer and position embeddings
        ((int(1e30), 514), 514),  # a tokenizer that names no limit says 1e30
        ((None, 384), 384),
        ((int(1e30), None), 512),  # nothing names a limit, as in models with relative positions
        ((), 512),
        ((64.5, 514), 64),  # as some files write it
    ],
)
def test_a_model_reads_as_much_as_its_least_limit_and_512_tokens_if_it_has_none(
    limits: tuple[Any, ...], read: int
) -> None:
    model = Model("m", Path("m"), Path("m"), "m")
    assert isinstance(choose_max_tokens(model, None, *limits), int)
    assert choose_max_tokens(model, None, *limits) == choose_max_tokens(model, read, *limits) == read
    with pytest.raises(InputError, match=f"between 8 and {read} for "):
        choose_max_tokens(model, read + 1, *limits)


def test_importing_the_scorers_loads_no_torch() -> None:
    modules = ("scoring", "scoring.lexical", "scoring.bi_encoder", "scoring.cross_encoder", "ranking.build")
    code = f"import sys, {', '.join(f'longrank.{m}' for m in modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("kind", "save"), [(CrossEncoder, save_cross_encoder), (BiEncoder, save_encoder)])
def test_a_network_that_mixes_padding_into_its_output_is_refused(tmp_path: Path, kind: type, save: Callable) -> None:
    """FNet's Fourier transform runs over the padding, so a score would depend on the longest text of the batch."""
    model = find_model(str(save(tmp_path / "fnet", "fnet")))
    with pytest.raises(InputError, match="output changes with the padding beside a text"):
        kind(model)


def test_a_model_that_reads_hardly_anything_is_refused() -> None:
    with pytest.raises(InputError, match="the model reads 4 tokens at most, too few"):
        choose_max_tokens(Model("m", Path("m"), Path("m"), "m"), None, 4, 512)


@pytest.mark.parametrize("device", ["meta", "meta:0", "tpu", ""])
def test_a_device_that_computes_nothing_is_refused(device: str) -> None:
    with pytest.raises(InputError, match="device must be auto, or one of cpu, cuda, mps, xpu"):
        choose_device(device)


@pytest.mark.parametrize(
    ("chosen", "device", "tokens"),
    [(None, "cpu", 2048), (None, "cuda:1", 16_384), (None, "mps:0", 16_384), (300, "cpu", 300), (300, "cuda:0", 300)],
)
def test_accelerators_read_more_at_once_unless_it_is_chosen(
    chosen: int | None, device: str, tokens: int, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(save_encoder(tmp_path))
    feeder = Feeder(tokenizer, 64, max_query_tokens=8, batch_tokens=chosen, device=device, notes=Notes())
    assert feeder.batch_tokens == tokens


def test_a_batch_holds_a_token(tmp_path: Path) -> None:
    save_encoder(tmp_path)
    with pytest.raises(InputError, match="batch_tokens must be 1 or more"):
        BiEncoder(find_model(str(tmp_path)), batch_tokens=0)
    assert "batch_tokens=2048" in BiEncoder(find_model(str(tmp_path)), device="cpu").fingerprint
