"""Settings in a model's files that sentence-transformers or transformers follow: followed here too, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.networks.wordpieces import wordpiece_counter
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import save_cross_encoder, save_encoder, task

pytestmark = pytest.mark.neural

QUERY, TEXTS = "water [SEP] bank", ["the river [CLS] bank", "fish [SEP] [SEP] boat", "city"]


def edited(path: Path, values: Mapping[str, Any]) -> Path:
    """Set keys of a JSON file, which may be absent; return its folder."""
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | dict(values)))
    return path.parent


@pytest.mark.parametrize("split", [False, True])
def test_special_tokens_named_in_texts_are_read_as_the_tokenizers_files_say(split: bool, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder as Peer
    from sentence_transformers import SentenceTransformer

    setting = {"split_special_tokens": split}
    folder = edited(save_cross_encoder(tmp_path / "ce", n_outputs=1) / "tokenizer_config.json", setting)
    logits = CrossEncoder(find_model(str(folder))).logits(QUERY, TEXTS)
    peer = Peer(str(folder), local_files_only=True, device="cpu")
    assert np.allclose(peer.predict([(QUERY, text) for text in TEXTS], activation_fn=_same), logits[:, 0], atol=1e-5)
    assert wordpiece_counter(str(folder))("[SEP]") == (5 if split else 1)

    folder = edited(save_encoder(tmp_path / "bi") / "tokenizer_config.json", setting)
    scorer, encoder = BiEncoder(find_model(str(folder))), SentenceTransformer(str(folder), device="cpu")
    cosines = encoder.encode(TEXTS, normalize_embeddings=True) @ encoder.encode(QUERY, normalize_embeddings=True)
    assert np.allclose(scorer.score([task(QUERY, TEXTS)])[0].scores, cosines, atol=1e-5)


def test_how_special_tokens_in_texts_are_read_is_a_part_of_the_identity_of_passages(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "m")
    plain = BiEncoder(find_model(str(folder))).offset_tokenizer.fingerprint
    edited(folder / "tokenizer_config.json", {"split_special_tokens": True})
    assert BiEncoder(find_model(str(folder))).offset_tokenizer.fingerprint != plain


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder"])
def test_a_tokenizer_that_cuts_the_beginning_of_a_text_is_refused(kind: str, tmp_path: Path) -> None:
    make, save = (CrossEncoder, save_cross_encoder) if kind == "cross-encoder" else (BiEncoder, save_encoder)
    folder = save(tmp_path / "m")
    edited(folder / "tokenizer_config.json", {"truncation_side": "left"})
    with pytest.raises(InputError, match=r"m: the model's tokenizer cuts a long text at its beginning.*=left"):
        make(find_model(str(folder)))


def _same(values: Any) -> Any:
    return values
