"""A loaded network is of the files of its fingerprint, and keeps its weights while they are overwritten in place."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from late_models import save_colbert
from longrank.errors import InputError
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.colbert import Colbert
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.scoring.monot5 import MonoT5
from longrank.types import Notes
from sparse_models import save_inference_free, save_splade
from tiny_language_models import save_seq2seq
from tiny_models import save_cross_encoder, save_document_network, save_encoder, task

pytestmark = pytest.mark.neural


def document_network(model: Any) -> DocumentNetworkScorer:
    return DocumentNetworkScorer(model, allow_untrained=True)


def sparse(model: Any) -> SparseModel:
    return SparseModel(model, notes=Notes())


def pylate(folder: Path) -> Path:
    return save_colbert(folder, "PyLate")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("save", "load"),
    [
        (save_cross_encoder, CrossEncoder),
        (save_encoder, BiEncoder),
        (save_colbert, Colbert),
        (pylate, Colbert),
        (save_seq2seq, MonoT5),
        (save_document_network, document_network),
        (save_splade, sparse),
        (save_inference_free, sparse),
    ],
)
def test_no_file_of_a_loaded_model_is_mapped(
    tmp_path: Path, save: Callable[[Path], Any], load: Callable[[Any], Any]
) -> None:
    save(tmp_path / "model")
    loaded = load(find_model(str(tmp_path / "model")))
    assert f"{tmp_path / 'model'}/" not in Path("/proc/self/maps").read_text()
    del loaded


def test_scores_stay_while_the_file_is_overwritten(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "model")
    scorer, asked = CrossEncoder(find_model(str(folder))), task("where is the river", ["the river bank", "money"])
    (before,) = scorer.score([asked])
    weights = folder / "model.safetensors"
    with weights.open("r+b") as stream:  # as cp does
        stream.write(b"?" * weights.stat().st_size)
    (after,) = scorer.score([asked])
    np.testing.assert_array_equal(before.scores, after.scores)


def test_files_that_are_replaced_after_their_digest_was_computed_are_refused(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "model")
    model = find_model(str(folder))
    Path(shutil.copy(folder / "model.safetensors", tmp_path / "new")).replace(folder / "model.safetensors")
    with pytest.raises(InputError, match=r"model.safetensors: changed while the model was read"):
        CrossEncoder(model)
    CrossEncoder(model := find_model(str(folder)))
    (folder / "added_tokens.json").write_text("{}")
    with pytest.raises(InputError, match=r"added_tokens.json: changed while the model was read"):
        CrossEncoder(model)
