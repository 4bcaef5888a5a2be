"""Documents read in one pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import save_cross_encoder, task

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
SENTENCE = "a long river in the north of the city and a boat "
DOCUMENTS = [SENTENCE * 9 + "fox", "money " + SENTENCE * 4, "the king"]
LONG = 700


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("long")
    families = ("longformer", "modernbert")
    return {one: save_cross_encoder(root / one, one, 1, max_tokens=LONG) for one in families}


def scorer(folder: Path, **options: object) -> CrossEncoder:
    return CrossEncoder(find_model(str(folder)), **options)  # type: ignore[arg-type]


def logits_of_transformers(folder: Path, query_attends: bool = False, query: str = QUERY) -> np.ndarray:
    """One pair at a time; with `query_attends`, <s> and the query attend globally, else what transformers chooses."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    for document in DOCUMENTS:
        features = tokenizer(query, document, return_tensors="pt")
        if query_attends:
            n_query = len(tokenizer(query, add_special_tokens=False)["input_ids"])
            mask = torch.zeros_like(features["input_ids"])
            mask[0, : 1 + n_query] = 1
            features["global_attention_mask"] = mask
        with torch.inference_mode():
            rows.append(network(**features).logits[0].numpy())
    return np.stack(rows)


@pytest.mark.parametrize("family", ["longformer", "modernbert"])
def test_a_document_of_hundreds_of_tokens_is_read_whole_as_transformers_reads_it(
    folders: dict[str, Path], family: str
) -> None:
    one = scorer(folders[family])
    (found,) = one.score([task(QUERY, DOCUMENTS)])
    expected = logits_of_transformers(folders[family])[:, 0]
    assert one.max_tokens == LONG
    assert not found.truncated.any()
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)


def test_the_end_of_a_long_document_counts(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        (found,) = scorer(folder).score([task(QUERY, [SENTENCE * 9 + "fox", SENTENCE * 9 + "king"])])
        assert abs(found.scores[0] - found.scores[1]) > 1e-4


def test_the_querys_tokens_can_attend_globally(folders: dict[str, Path]) -> None:
    one = scorer(folders["longformer"], global_attention="query")
    (found,) = one.score([task(QUERY, DOCUMENTS)])
    expected = logits_of_transformers(folders["longformer"], query_attends=True)[:, 0]
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    assert np.abs(expected - logits_of_transformers(folders["longformer"])[:, 0]).max() > 0.01
    assert " global_attention=query " in one.fingerprint


@pytest.mark.parametrize("attending", ["cls", "query"])
@pytest.mark.parametrize("query", ["river </s> bank", "</s> river bank", "river bank </s>", "</s>"])
def test_a_query_may_hold_the_text_of_a_separator(folders: dict[str, Path], query: str, attending: str) -> None:
    found = scorer(folders["longformer"], global_attention=attending).logits(query, DOCUMENTS)
    expected = logits_of_transformers(folders["longformer"], attending == "query", query)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_queries_of_different_lengths_attend_in_one_batch(folders: dict[str, Path]) -> None:
    one = scorer(folders["longformer"], global_attention="query", batch_tokens=100_000)
    tasks = [task("fish", DOCUMENTS[:2], "q1"), task("what is the long answer", DOCUMENTS[:2], "q2")]
    together = np.concatenate([result.scores for result in one.score(tasks)])
    alone = np.concatenate([one.score([single])[0].scores for single in tasks])
    assert np.abs(together - alone).max() <= 1e-4 * together.std()


def test_global_attention_is_an_option_of_longformer_alone(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"option of Longformer models.*got 'modernbert'"):
        scorer(folders["modernbert"], global_attention="query")
    with pytest.raises(InputError, match=r"unknown global_attention \(got 'querry'\); did you mean 'query'"):
        scorer(folders["longformer"], global_attention="querry")
