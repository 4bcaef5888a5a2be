from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks.acceleration import multiplies_bf16
from longrank.networks.model_files import find_model
from longrank.scoring.decoder import PROMPTS, Decoder
from longrank.types import Notes
from tiny_language_models import SHORT_PROMPT, save_decoder
from tiny_models import task

pytestmark = pytest.mark.neural

FAMILIES = ("Qwen2", "Llama", "GPT2")
QUERY = "where is the river bank"
PASSAGES = ["the fox jumped over the dog.", "", "a long river in the north of the city, and a boat", "money"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("decoders")
    return {family: save_decoder(root / family, family, max_tokens=400) for family in FAMILIES}


def scorer(folder: Path, **options: object) -> Decoder:
    return Decoder(find_model(str(folder)), **options)  # type: ignore[arg-type]


def next_word(folder: Path, texts: list[str], words: list[str]) -> np.ndarray:
    """The logits of `words` at the last position of each text alone, by Hugging Face's own model."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer.convert_tokens_to_ids(words)
    with torch.inference_mode():
        rows = [network(**tokenizer(text, return_tensors="pt")).logits[0, -1, ids].numpy() for text in texts]
    return np.stack(rows)


def log_softmax_of_second(logits: np.ndarray) -> np.ndarray:
    z = logits.astype(np.float64)
    return z[:, 1] - np.log(np.exp(z).sum(axis=1))


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_the_log_softmax_over_yes_and_no_after_the_last_token(folders: dict[str, Path], family: str) -> None:
    """Prompts of different lengths go into one batch; the reference reads them one by one, unpadded."""
    texts = [PROMPTS["qwen3"].template.format(query=QUERY, passage=passage) for passage in PASSAGES]
    expected = log_softmax_of_second(next_word(folders[family], texts, ["no", "yes"]))
    one = scorer(folders[family])
    (found,) = one.score([task(QUERY, PASSAGES)])
    assert one.unit == "logprob"
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    assert not found.truncated.any()


def test_the_prompt_of_bge_scores_by_the_logit_of_yes(folders: dict[str, Path]) -> None:
    texts = [PROMPTS["bge"].template.format(query=QUERY, passage=passage) for passage in PASSAGES]
    expected = next_word(folders["Llama"], texts, ["Yes"])[:, 0]
    one = scorer(folders["Llama"], prompt="bge")
    (found,) = one.score([task(QUERY, PASSAGES)])
    assert one.unit == "logit"
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)


def test_a_passage_that_does_not_fit_is_cut_and_the_question_after_it_stays(folders: dict[str, Path]) -> None:
    """Every word of the passage is one token, so the texts that just fit can be written down."""
    one = scorer(folders["Qwen2"], prompt="fish | {passage} {query} ?", max_tokens=16)
    (found,) = one.score([task("river", [" the the the", " the" * 30, " the" * 29 + " king"])])
    fitting = next(n for n in range(16, 0, -1) if _length(folders["Qwen2"], f"fish | {' the' * n} river ?") <= 16)
    expected = next_word(folders["Qwen2"], [f"fish | {' the' * fitting} river ?"], ["no", "yes"])
    assert found.truncated.tolist() == [False, True, True]
    np.testing.assert_allclose(found.scores[1:], [log_softmax_of_second(expected)[0]] * 2, atol=1e-5)


def _length(folder: Path, text: str) -> int:
    from transformers import AutoTokenizer

    return len(AutoTokenizer.from_pretrained(folder)(text)["input_ids"])


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
def test_batches_change_nothing_beyond_float_noise(folders: dict[str, Path], batch_tokens: int) -> None:
    for family in FAMILIES:
        (usual,) = scorer(folders[family]).score([task(QUERY, PASSAGES)])
        (other,) = scorer(folders[family], batch_tokens=batch_tokens).score([task(QUERY, PASSAGES)])
        assert np.abs(usual.scores - other.scores).max() <= max(2e-6, 1e-4 * usual.scores.std())


@pytest.mark.parametrize("family", FAMILIES)
def test_bf16_scores_are_close_to_float32_and_are_not_themselves_rounded(folders: dict[str, Path], family: str) -> None:
    if not multiplies_bf16("cpu"):
        pytest.skip("this processor has no bf16 instructions")
    exact, rounded = scorer(folders[family]), scorer(folders[family], dtype="bf16")
    rotary = [one.dtype for name, one in rounded._network.named_buffers() if "inv_freq" in name]
    assert all(str(dtype) == "torch.float32" for dtype in rotary)
    assert rotary or family == "GPT2"
    (expected,), (found,) = (one.score([task(QUERY, PASSAGES)]) for one in (exact, rounded))
    assert 0 < np.abs(found.scores - expected.scores).max() < 0.3 * np.ptp(expected.scores)
    assert (rounded.logits(QUERY, PASSAGES).view(np.uint32) & 0xFFFF).any()  # a bf16 number ends in 16 zero bits


def test_slots_in_query_and_passage_are_only_text(folders: dict[str, Path]) -> None:
    expected = next_word(folders["Qwen2"], ["the {passage} | a {query} ?"], ["no", "yes"])
    (found,) = scorer(folders["Qwen2"], prompt=SHORT_PROMPT).score([task("the {passage}", ["a {query}"])])
    np.testing.assert_allclose(found.scores, log_softmax_of_second(expected), atol=1e-5)


def test_a_prompt_longer_than_the_model_reads_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="leaves no room for query and passage beside the prompt"):
        scorer(folders["Qwen2"], max_tokens=64)


def test_a_word_of_several_tokens_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="'certainly' is not one token"):
        scorer(folders["Qwen2"], positive="certainly")


def test_an_empty_word_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="'' is not one token"):
        scorer(folders["Qwen2"], positive="")


def test_words_other_than_those_in_the_files_of_sentence_transformers_are_chosen_by_options_only(
    tmp_path: Path,
) -> None:
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore
    from transformers import AutoTokenizer

    base = save_decoder(tmp_path / "base", "Qwen2", max_tokens=400)
    ids = AutoTokenizer.from_pretrained(base).convert_tokens_to_ids
    reader = Transformer(str(base), transformer_task="text-generation")
    for true, false, said in (("yes", "no", False), ("yes", None, False), ("true", "false", True), ("no", "yes", True)):
        answer = LogitScore(true_token_id=ids(true), false_token_id=None if false is None else ids(false))
        folder = tmp_path / f"{true}-{false}"
        CrossEncoder(modules=[reader, answer]).save_pretrained(str(folder))
        notes = Notes()
        score = "logit" if false is None else None
        with pytest.raises(InputError, match=f"in the model's files are '{true}' and") if said else nullcontext():
            scorer(folder, score=score)
        scorer(folder, positive="yes", negative="no", score=score, notes=notes)
        assert any("others were chosen" in line for line in notes.lines()) == said
        assert any("the model's files have no prompt" in line for line in notes.lines())


def test_a_score_and_a_prompt_in_the_files_of_sentence_transformers_are_to_be_set_by_options(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore
    from transformers import AutoTokenizer

    base, folder = save_decoder(tmp_path / "base", "Qwen2", max_tokens=400), tmp_path / "m"
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}water ?"
    tokenizer.save_pretrained(base)
    reader = Transformer(str(base), transformer_task="text-generation")
    peer = CrossEncoder(modules=[reader, LogitScore(tokenizer.convert_tokens_to_ids("yes"))], device="cpu")
    peer.save_pretrained(str(folder))
    prompt = "query : {query} document : {passage} water ?"
    with pytest.raises(
        InputError, match=r"m: the model's files have a chat template.*set the option prompt .* qwen3 or bge"
    ):
        scorer(folder, score="logit")
    with pytest.raises(InputError, match=r"the logit of the word for relevant alone.*score=logprob.*score=logit"):
        scorer(folder, prompt=prompt)
    texts = ["the river bank", "money of a boat"]
    (found,) = scorer(folder, prompt=prompt, score="logit").score([task("where is water", texts)])
    expected = peer.predict([("where is water", text) for text in texts], activation_fn=lambda logits: logits)
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)

    known = PROMPTS["qwen3"].template.format(query="{{ messages[0].content }}", passage="{{ messages[1].content }}")
    tokenizer.chat_template = known.replace("\n", "{{ '\\n' }}")  # Jinja takes a line end away at the end
    tokenizer.save_pretrained(folder)
    assert scorer(folder, score="logit").fingerprint.startswith("decoder ")

    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"default_prompt_name": "q", "prompts": {"q": "city"}}))
    with pytest.raises(InputError, match="the default prompt 'q'"):
        scorer(folder, score="logit")
