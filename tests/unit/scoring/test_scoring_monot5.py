from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks.acceleration import multiplies_bf16
from longrank.networks.model_files import find_model
from longrank.scoring.monot5 import MonoT5
from tiny_language_models import save_seq2seq
from tiny_models import MAX_TOKENS, task

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
PASSAGES = ["the fox jump over the dog", "", "a long river in the north of the city and a boat", "money"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_seq2seq(tmp_path_factory.mktemp("monot5") / "t5")


def scorer(folder: Path, **options: object) -> MonoT5:
    return MonoT5(find_model(str(folder)), **options)  # type: ignore[arg-type]


def first_step(folder: Path, texts: list[str]) -> np.ndarray:
    """Log-softmax of (false, true) at the first step of Hugging Face's own generation, text by text."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    words = tokenizer.convert_tokens_to_ids(["▁false", "▁true"])
    rows = []
    for text in texts:
        features = tokenizer(text, return_tensors="pt")
        step = network.generate(**features, max_new_tokens=1, output_logits=True, return_dict_in_generate=True)
        rows.append(torch.log_softmax(step.logits[0][0, words], dim=0).numpy())
    return np.stack(rows)


@pytest.mark.parametrize("family", ["T5", "MT5", "Bart"])
def test_scores_are_the_log_softmax_over_true_and_false_of_the_first_step(tmp_path: Path, family: str) -> None:
    folder = save_seq2seq(tmp_path / family, family)
    expected = first_step(folder, [f"Query: {QUERY} Document: {passage} Relevant:" for passage in PASSAGES])
    one = scorer(folder)
    (found,) = one.score([task(QUERY, PASSAGES)])
    assert one.unit == "logprob"
    assert np.ptp(expected[:, 1]) > 0.01
    np.testing.assert_allclose(found.scores, expected[:, 1], atol=1e-5)
    assert not found.truncated.any()


def test_bf16_scores_are_close_to_float32_and_are_not_themselves_rounded(folder: Path) -> None:
    if not multiplies_bf16("cpu"):
        pytest.skip("this processor has no bf16 instructions")
    exact, rounded = scorer(folder), scorer(folder, dtype="bf16")
    (expected,), (found,) = (one.score([task(QUERY, PASSAGES)]) for one in (exact, rounded))
    assert 0 < np.abs(found.scores - expected.scores).max() < 0.3 * np.ptp(expected.scores)
    assert (rounded.logits(QUERY, PASSAGES).view(np.uint32) & 0xFFFF).any()  # a bf16 number ends in 16 zero bits
    assert rounded.fingerprint == exact.fingerprint.replace("float32", "bf16")


def test_a_passage_that_does_not_fit_is_cut_before_relevant(folder: Path) -> None:
    """Query : Document : Relevant : </s> are 7 tokens, the query is 1: 40 of the 48 are left for the passage."""
    (found,) = scorer(folder).score([task("fish", ["king " * 40, "king " * 41, "king " * 5000])])
    expected = first_step(folder, ["Query: fish Document: " + "king " * 40 + "Relevant:"])[0, 1]
    assert found.truncated.tolist() == [False, True, True]
    np.testing.assert_allclose(found.scores, [expected] * 3, atol=1e-5)


def test_other_words_and_scores_can_be_asked_for(folder: Path) -> None:
    one = scorer(folder, positive="yes", negative="▁no", score="logit_diff")
    logits = one.logits(QUERY, PASSAGES)
    (found,) = one.score([task(QUERY, PASSAGES)])
    np.testing.assert_array_equal(found.scores, logits[:, 1] - logits[:, 0])
    assert one.unit == "logit_diff"
    assert "words=▁no/yes" in one.fingerprint
    assert np.abs(logits - scorer(folder).logits(QUERY, PASSAGES)).max() > 0.01


def test_a_prompt_of_ones_own_replaces_monot5s(folder: Path) -> None:
    found = scorer(folder, prompt="Document: {passage} Query: {query} Relevant:").score([task("fish", ["king war"])])
    expected = first_step(folder, ["Document: king war Query: fish Relevant:"])
    np.testing.assert_allclose(found[0].scores, expected[:, 1], atol=1e-5)


def test_a_long_query_is_cut_first(folder: Path) -> None:
    one = scorer(folder, max_query_tokens=3)
    long, short = one.score([task("what is the long query", ["fish"], "q1"), task("what is the", ["fish"], "q2")])
    np.testing.assert_allclose(long.scores, short.scores, atol=1e-6)
    assert one.cuts_query("what is the long query")


def test_options_out_of_range_are_refused(folder: Path) -> None:
    for options, message in [
        ({"positive": "truth"}, r"'truth' is not one token for 't5'.*got '▁ t r u t h'"),
        ({"negative": "é"}, "'é' is not one token"),
        ({"positive": "false"}, "the same"),
        ({"prompt": "Query: {query}"}, r"needs \{query\} and \{passage\}"),
        ({"prompt": "{query} {passage} {passage}"}, "once each"),
        ({"prompt": "mono"}, r"unknown prompt \(got 'mono'\); did you mean 'monot5'"),
        ({"score": "log"}, "unknown score"),
        ({"max_tokens": 49}, "between 8 and 48"),
        ({"max_tokens": 8}, "leaves no room for query and passage beside the prompt of 7 tokens"),
        ({"dtype": "fp8"}, "dtype must be one of float32, bf16"),
        ({"max_query_tokens": 0}, "max_query_tokens must be 1 or more"),
    ]:
        with pytest.raises(InputError, match=message):
            scorer(folder, **options)


def test_an_encoder_is_no_monot5(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    with pytest.raises(InputError, match="the model cannot be loaded"):
        scorer(save_cross_encoder(tmp_path / "bert"))


def test_its_limit_is_the_tokenizers(folder: Path) -> None:
    assert scorer(folder).max_tokens == MAX_TOKENS
