"""convert by its documented command line, and reranking with the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.formats.trec import read_run
from longrank.types import Notes
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A cross-encoder with pickled weights only."""
    import torch
    from safetensors.torch import load_file

    folder = save_cross_encoder(tmp_path / "monobert")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_a_checkpoint_is_converted_and_reranks(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index_of(documents(10, words=60), tmp_path / "index")
    rows = [{"query_id": q.query_id, "text": q.text} for q in queries(2)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    inputs = [str(tmp_path / name) for name in ("index", "queries.jsonl")]
    assert main(["retrieve", *inputs, "-o", str(tmp_path / "bm25.run")]) == 0
    rerank = ["rerank", *inputs, str(tmp_path / "bm25.run"), "-o", str(tmp_path / "maxp.run"), "--pipeline", "maxp"]
    capsys.readouterr()
    assert main([*rerank, "--model", str(checkpoint)]) == 2
    message = capsys.readouterr().err
    assert f"longrank convert {checkpoint} -o ./monobert-safetensors" in message
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main([*rerank, "--set", f"scorer.model={checkpoint}", "--convert"]) == 2
    assert "--convert is of --model; give --model, or convert" in capsys.readouterr().err
    assert main([*rerank, "--model", str(checkpoint), "--convert"]) == 0
    run = (tmp_path / "maxp.run").read_bytes()
    assert main(["convert", str(checkpoint), "-o", str(tmp_path / "new")]) == 0
    assert "tensors, head: classification" in capsys.readouterr().err
    (tmp_path / "maxp.run.evidence").unlink()
    assert main([*rerank, "--model", str(tmp_path / "new")]) == 0
    assert (tmp_path / "maxp.run").read_bytes() == run
    assert len(read_run(tmp_path / "maxp.run", Notes())) == 2


def test_a_fault_of_the_checkpoint_ends_with_exit_code_2_and_writes_nothing(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoint / "pytorch_model.bin").write_bytes(b"PK\3\4 cut off")
    assert main(["convert", str(checkpoint), "-o", str(tmp_path / "new")]) == 2
    assert "pytorch_model.bin: is no PyTorch file, or damaged" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["monobert"]
