"""Model folders that are unsafe, damaged or not what they should be: one line, exit 2, nothing written."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import documents, index_of
from late_models import save_colbert
from longrank.cli.main import main
from tiny_language_models import SHORT_PROMPT, save_decoder, save_seq2seq
from tiny_models import save_cross_encoder, save_encoder, save_next_sentence

pytestmark = pytest.mark.neural

MODELS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "bi-encoder": ("bi-encoder", save_encoder),
    "cross-encoder": ("cross-encoder", save_cross_encoder),
    "next-sentence": ("cross-encoder", save_next_sentence),
    "longformer": ("cross-encoder", lambda folder: save_cross_encoder(folder, "longformer")),
    "colbert": ("colbert", save_colbert),
    "monot5": ("monot5", save_seq2seq),
    "decoder": ("decoder", save_decoder),
}


def pickle_alone(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def cut_off(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])


def giant_header(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 200 << 20) + b"{}")


def custom_code(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "modeling.Evil"}}))


def custom_module(folder: Path) -> None:
    (folder / "modules.json").write_text(json.dumps([{"path": "", "type": "evil.Module"}]))


def _change_tensors(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def not_a_number(folder: Path) -> None:
    def poison(tensors: dict[str, object]) -> None:
        tensors[max(name for name in tensors if "pooler" not in name)].view(-1)[0] = float("nan")  # type: ignore

    _change_tensors(folder, poison)


def missing_weights(folder: Path) -> None:
    def drop(tensors: dict[str, object]) -> None:
        del tensors[max(name for name in tensors if "pooler" not in name)]

    _change_tensors(folder, drop)


def large_vocabulary(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, list):
        vocabulary += [[f"beyond{n}", -9.0] for n in range(100)]
    else:
        vocabulary |= {f"beyond{n}": len(vocabulary) + n for n in range(100)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def adapter_beside(folder: Path) -> None:
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    (folder / "adapter_model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())


def adapter_alone(folder: Path) -> None:
    adapter_beside(folder)
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()


DAMAGES: dict[Callable[[Path], None], str] = {
    pickle_alone: "only pickled weights",
    cut_off: "is damaged",
    giant_header: "not a safetensors file, or cut off",
    custom_code: "code of its own",
    custom_module: "names a module other than sentence-transformers'",
    not_a_number: "NaN or an infinity",
    missing_weights: "of the network, which would be random",
    large_vocabulary: "token ids reach",
    no_weights: "holds no model.safetensors",
    no_config: "holds no config.json",
    adapter_beside: "is an adapter, not a model",
    adapter_alone: "is an adapter, not a model",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models-index") / "index"
    index_of(documents(3), folder)
    return folder


def rerank(index: Path, folder: Path, scorer: str, model: Path) -> int:
    """Rerank one query by `model`; its run would be ``new.run``."""
    (folder / "queries.jsonl").write_text('{"query_id": "q1", "text": "river"}\n')
    (folder / "bm25.run").write_text("q1 Q0 d000 1 2.0 x\nq1 Q0 d001 2 1.0 x\n")
    prompt = f'options = {{ prompt = "{SHORT_PROMPT}" }}\n' if scorer == "decoder" else ""
    (folder / "pipeline.toml").write_text(f'[scorer]\nname = "{scorer}"\n{prompt}')
    files = [str(folder / name) for name in ("queries.jsonl", "bm25.run")]
    output = ["-o", str(folder / "new.run"), "--pipeline", str(folder / "pipeline.toml"), "--model", str(model)]
    return main(["rerank", str(index), *files, *output])


@pytest.mark.parametrize("kind", MODELS)
def test_a_sound_model_reranks(kind: str, index: Path, tmp_path: Path) -> None:
    scorer, save = MODELS[kind]
    assert rerank(index, tmp_path, scorer, save(tmp_path / "model")) == 0
    assert len((tmp_path / "new.run").read_text().splitlines()) == 2


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_cannot_be_trusted_is_one_line_and_exit_2(
    kind: str, damage: Callable[[Path], None], index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scorer, save = MODELS[kind]
    model = save(tmp_path / "model")
    damage(model)
    capsys.readouterr()
    assert rerank(index, tmp_path, scorer, model) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("longrank: error: ")
    assert str(model) in lines[0]
    assert DAMAGES[damage] in lines[0]
    assert not (tmp_path / "new.run").exists()
    assert not (tmp_path / "new.run.evidence").exists()
