"""How queries are written: transformers' own search, its probabilities, and draws that depend on nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.expansion.decoding import METHODS, Decoding, TextKey, _Drawn, end_tokens, written
from longrank.networks.loading import forget_habits
from tiny_language_models import save_seq2seq

pytestmark = pytest.mark.neural

TEXTS = ["the king of the river", "money", "what is the long war in the north and the dog"]
KEYS = [TextKey("d1", 0), TextKey("d1", 1), TextKey("d2", 0)]


@pytest.fixture(scope="module", params=["T5", "Bart"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folder = save_seq2seq(tmp_path_factory.mktemp("decoding") / "tiny", request.param)
    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def features(tokenizer: Any, texts: list[str] = TEXTS) -> dict[str, Any]:
    return dict(tokenizer(texts, return_tensors="pt", padding=True))


def until_end(network: Any, rows: list[list[list[int]]]) -> list[list[list[int]]]:
    """Leave out what comes after the end of a query: padding, which depends on the longest beside it."""
    ends = end_tokens(network)
    cut = []
    for queries in rows:
        places = [[n for n, token in enumerate(row) if n and token in ends] for row in queries]
        cut.append([row[: found[0]] if found else row for row, found in zip(queries, places, strict=True)])
    return cut


def test_beam_search_is_transformers_own(opened: tuple[Any, Any]) -> None:
    network, tokenizer = opened
    rows = written(network, features(tokenizer), KEYS, Decoding("beam", n=4, max_query_tokens=12))
    theirs = network.generate(
        **features(tokenizer), num_beams=4, num_return_sequences=4, max_new_tokens=12, do_sample=False
    ).tolist()
    assert [row for queries in rows for row in queries] == theirs
    assert [len(queries) for queries in rows] == [4, 4, 4]


def test_of_one_token_sampling_is_greedy(opened: tuple[Any, Any]) -> None:
    network, tokenizer = opened
    rows = written(network, features(tokenizer), KEYS, Decoding(n=2, k=1, max_query_tokens=12))
    theirs = network.generate(**features(tokenizer), max_new_tokens=12, do_sample=False).tolist()
    assert [queries[0] for queries in rows] == theirs
    assert [queries[1] for queries in rows] == theirs


def test_every_token_drawn_is_one_of_the_k_likeliest_after_those_before(opened: tuple[Any, Any]) -> None:
    import torch

    network, tokenizer = opened
    rows = written(network, features(tokenizer), KEYS, Decoding(n=5, k=3, max_query_tokens=8))
    ranks = []
    for n, queries in enumerate(until_end(network, rows)):
        for row in queries:
            with torch.no_grad():
                logits = network(
                    **features(tokenizer, [TEXTS[n]]), decoder_input_ids=torch.tensor([row]), use_cache=False
                ).logits[0]
            order = logits.argsort(dim=1, descending=True).tolist()
            ranks += [order[place].index(token) for place, token in enumerate(row[1:])]
    assert set(ranks) == {0, 1, 2}


def test_draws_have_the_probabilities_of_the_k_likeliest() -> None:
    import torch

    probabilities = torch.tensor([0.1, 0.4, 0.05, 0.2, 0.25])
    keys = [TextKey(f"d{n}", 0) for n in range(4000)]
    drawn = _Drawn(keys, Decoding(n=1, k=3))
    scores = drawn(torch.zeros(4000, 1, dtype=torch.long), probabilities.log().repeat(4000, 1))
    assert (scores > -torch.inf).sum(1).tolist() == [1] * 4000
    shares = (scores.argmax(1).bincount(minlength=5) / 4000).tolist()
    assert shares == pytest.approx([0, 0.4 / 0.85, 0, 0.2 / 0.85, 0.25 / 0.85], abs=0.02)


def test_a_draw_is_a_function_of_seed_document_passage_query_and_place(opened: tuple[Any, Any]) -> None:
    network, tokenizer = opened
    decoding = Decoding(n=4, max_query_tokens=10)
    rows = until_end(network, written(network, features(tokenizer), KEYS, decoding))
    turned = until_end(network, written(network, features(tokenizer, TEXTS[::-1]), KEYS[::-1], decoding))
    assert turned[::-1] == rows
    for n, text in enumerate(TEXTS):
        alone = written(network, features(tokenizer, [text]), [KEYS[n]], decoding._replace(n=2))
        assert until_end(network, alone)[0] == rows[n][:2]
    same = [TEXTS[0]] * 4
    keys = [TextKey("d", 0), TextKey("d", 1), TextKey("e", 0), TextKey("d", 0)]
    first, second, third, again = until_end(network, written(network, features(tokenizer, same), keys, decoding))
    assert first == again and first != second and first != third
    (other,) = written(network, features(tokenizer, same[:1]), keys[:1], decoding._replace(seed=1))
    assert until_end(network, [other])[0] != first
    assert len({tuple(row) for row in first}) > 1


def test_habits_of_the_models_folder_are_forgotten(opened: tuple[Any, Any], tmp_path: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM

    network, tokenizer = opened
    decodings = [Decoding(method, n=3, max_query_tokens=10) for method in METHODS]
    expected = [written(network, features(tokenizer), KEYS, one) for one in decodings]
    habits = {"no_repeat_ngram_size": 2, "min_length": 9, "temperature": 3.0, "top_p": 0.3, "top_k": 2}
    habits |= {"repetition_penalty": 2.0, "length_penalty": 5.0, "early_stopping": True}
    network.save_pretrained(tmp_path)
    path = tmp_path / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | habits))
    other = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    assert [written(other, features(tokenizer), KEYS, one) for one in decodings] != expected
    forget_habits(other)
    assert [written(other, features(tokenizer), KEYS, one) for one in decodings] == expected


@pytest.mark.parametrize(
    ("decoding", "said"),
    [
        (Decoding("nucleus"), r"method must be one of topk, beam \(got 'nucleus'\)"),
        (Decoding(n=0), "n must be 1 or more"),
        (Decoding(k=0), "k must be 1 or more"),
        (Decoding(max_query_tokens=7), "max_query_tokens must be 8 or more"),
    ],
)
def test_settings_out_of_range_are_refused(decoding: Decoding, said: str) -> None:
    with pytest.raises(InputError, match=said):
        decoding.check()
