"""Of a long text only a beginning is tokenised; what is read is what tokenising it whole would give."""

from __future__ import annotations

import random
from typing import Any

import pytest

from longrank.text import packing, prompts
from longrank.text.packing import MAX_CHARACTERS_PER_TOKEN, Packer, at_once, beginning
from longrank.text.prompts import PromptPacker

pytest.importorskip("tokenizers", reason="needs the extra neural")

from small_tokenizers import HAN, KINDS, words

TEXTS = {
    "prose": " ".join(words(4000, 1)),
    "lines that end in signs": " ".join(f"{word}.\n\n" for word in words(4000, 2)),
    "blanks": " ".join(word + " " * (n % 40) for n, word in enumerate(words(3000, 3))),
    "no blank": "".join(words(4000, 4)),
    "one endless word after many": " ".join(words(30, 5)) + " " + "".join(words(4000, 5)),
    "Chinese": "".join(random.Random(6).choices(HAN, k=9000)),
    "Chinese with blanks": " ".join("".join(random.Random(n).choices(HAN, k=9)) for n in range(900)),
    "blanks alone": " " * 30_000,
    "signs": " ".join("=" * (n % 300) for n in range(400)),
}


@pytest.fixture(scope="module", params=KINDS, ids=lambda make: make.__name__)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("max_tokens", [24, 100])
def test_a_text_is_read_as_if_it_were_tokenised_whole(tokenizer: Any, text: str, max_tokens: int) -> None:
    (packed,) = Packer(tokenizer, max_tokens).texts([text])
    limit = MAX_CHARACTERS_PER_TOKEN * max_tokens
    whole = tokenizer.encode(text[:limit], add_special_tokens=False).ids
    assert packed.ids.tolist()[1:-1] == whole[: max_tokens - 2]
    assert packed.truncated == (len(whole) > max_tokens - 2 or len(text) > limit)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("query", ["ba de ki", " ".join(words(900, 8))], ids=["short query", "long query"])
def test_a_prompt_is_read_as_if_it_were_tokenised_whole(
    tokenizer: Any, text: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [text, text + ".", "ba " + text + "\n", text[:500]]
    packer = PromptPacker(tokenizer, "est: {query} sol: {passage}\nving:", 100, 20)
    found = list(packer.prompts(query, given))
    monkeypatch.setattr(prompts, "beginning", lambda text, n: len(text))
    for one, whole in zip(found, packer.prompts(query, given), strict=True):
        assert one.ids.tolist() == whole.ids.tolist()
        assert one.truncated == whole.truncated


def test_only_a_beginning_is_tokenised_where_that_is_enough() -> None:
    text = TEXTS["prose"]
    end = beginning(text, 50)
    assert end < 16 * (50 + packing.SLACK)
    assert text[end] == " "
    assert beginning(text[:1000], 50) == 1000
    assert beginning(TEXTS["no blank"], 50) == len(TEXTS["no blank"])


def test_texts_tokenised_at_once_are_bounded_in_number_and_characters() -> None:
    many, long = ["a"] * 600, ["b" * 50_000] * 3
    assert [len(run) for run in at_once(many, len)] == [256, 256, 88]
    assert [len(run) for run in at_once([*long, "c", "d"], len)] == [1, 1, 3]
    assert list(at_once([], len)) == []
