"""The shipped pipelines of models other than the usual passage cross-encoder, from index to document scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fakes import index_of
from longrank.index import Index
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.types import Document, Notes, Query
from tiny_language_models import SHORT_PROMPT, save_decoder, save_seq2seq
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural

QUERY = "river bank"
TEXTS = {
    "long": "a long river. " * 40 + "the king of the fish",
    "short": " the bank of the river in the north. ",
    "other": "where is the river? a fox and a dog. money and war.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = [Document(doc_id, "", text) for doc_id, text in TEXTS.items()]
    return index_of(made, tmp_path_factory.mktemp("models") / "index")


def ranked(index: Index, pipeline: str, model: Path, *assignments: str) -> tuple[dict[str, float], dict[str, object]]:
    """Return the document scores of the one query, and the evidence of each document."""
    opened = open_pipeline(index, pipeline, model=str(model), assignments=assignments, notes=Notes())
    run, _, evidence = rank_one(opened, Query("q", QUERY), 3)
    return {row.doc_id: row.score for row in run["q"]}, {one.doc_id: one for one in evidence}


@pytest.mark.parametrize(("limit", "tokens"), [("model", 32), ("positions", 48)])
def test_full_text_is_the_cosine_of_the_document_cut_at_the_limit(
    limit: str, tokens: int, index: Index, tmp_path: Path
) -> None:
    """The encoder has 48 positions, sentence-transformers cuts at 32 tokens; the cut is in the evidence."""
    from sentence_transformers import SentenceTransformer

    folder = save_encoder(tmp_path / "encoder")
    chosen = [f"scorer.options.limit={limit}"] if limit == "model" else []  # positions: the pipeline's
    scores, evidence = ranked(index, "full-text", folder, *chosen)
    peer = SentenceTransformer(str(folder), device="cpu")
    peer.max_seq_length = tokens
    query, *vectors = peer.encode([QUERY, *TEXTS.values()], normalize_embeddings=True)
    assert scores == pytest.approx(dict(zip(TEXTS, np.stack(vectors) @ query, strict=True)), abs=1e-5)
    assert {doc_id: (one.n_passages, one.n_truncated) for doc_id, one in evidence.items()} == {
        "long": (1, 1),
        "short": (1, 0),
        "other": (1, 0),
    }


def test_long_is_the_logit_of_query_and_whole_document(index: Index, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = save_cross_encoder(tmp_path / "modernbert", "modernbert", 1, max_tokens=400)
    scores, evidence = ranked(index, "long", folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = {n: network(**tokenizer(QUERY, t, return_tensors="pt")).logits.item() for n, t in TEXTS.items()}
    assert scores == pytest.approx(expected, abs=1e-5)
    assert all((one.n_passages, one.n_truncated) == (1, 0) for one in evidence.values())


def test_monot5_takes_the_best_window_of_ten_sentences(index: Index, tmp_path: Path) -> None:
    scores, evidence = ranked(index, "monot5", save_seq2seq(tmp_path / "t5", max_tokens=128))
    assert evidence["long"].n_passages == 8  # 41 sentences; windows begin at 0, 5, ..., 35
    assert scores == {doc_id: float(one.passage_score.max()) for doc_id, one in evidence.items()}
    assert all(score < 0 for score in scores.values())


def test_decoder_takes_the_best_window(index: Index, tmp_path: Path) -> None:
    model = save_decoder(tmp_path / "decoder", max_tokens=512)
    scores, evidence = ranked(index, "decoder", model, f"scorer.options.prompt={SHORT_PROMPT}")
    assert scores == {doc_id: float(one.passage_score.max()) for doc_id, one in evidence.items()}
    assert all(score < 0 for score in scores.values())
