from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from longrank.errors import InputError
from longrank.text.prompts import PromptPacker, Template


class Encoding(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]


class Words:
    """A tokenizer whose tokens are words, each with the spaces before it, and signs; </s> (id 0) ends a text.

    ``vocabulary[id]`` is the token.
    """

    def __init__(self) -> None:
        self.vocabulary = ["</s>"]

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Encoding:
        found = list(re.finditer(r"\s*(?:\w+|[^\w\s])", sequence))
        for token in (one.group() for one in found):
            if token not in self.vocabulary:
                self.vocabulary.append(token)
        ids, offsets = [self.vocabulary.index(one.group()) for one in found], [one.span() for one in found]
        return Encoding([*ids, 0], [*offsets, (0, 0)]) if add_special_tokens else Encoding(ids, offsets)

    def encode_batch(self, input: list[str], *, add_special_tokens: bool) -> list[Encoding]:
        return [self.encode(text, add_special_tokens=add_special_tokens) for text in input]


def texts(packer: PromptPacker, words: Words, query: str, passages: list[str]) -> list[tuple[str, bool]]:
    packed = packer.prompts(query, passages)
    return [("".join(words.vocabulary[n] for n in one.ids), one.truncated) for one in packed]


def test_the_end_of_the_passage_is_cut_and_the_prompt_stays() -> None:
    words = Words()
    packer = PromptPacker(words, "Q: {query} D: {passage} R:", 12, 3)  # 7 of the prompt and </s>, 1 left for the query
    assert packer.max_query_tokens == 1
    assert texts(packer, words, "fish", ["a b c d", "a b c d e", "", "a b, c d"]) == [
        ("Q: fish D: a b c d R:</s>", False),
        ("Q: fish D: a b c d R:</s>", True),
        ("Q: fish D:  R:</s>", False),
        ("Q: fish D: a b, c R:</s>", True),
    ]


def test_the_passage_may_come_first() -> None:
    words = Words()
    packer = PromptPacker(words, "{passage}! Is this about {query}?", 12, 3)
    assert texts(packer, words, "big fish", ["a b c", "a b c d e f g"]) == [
        ("a b c! Is this about big fish?</s>", False),
        ("a b c d! Is this about big fish?</s>", True),
    ]


def test_a_query_beyond_its_share_is_cut_first() -> None:
    words = Words()
    packer = PromptPacker(words, "Q: {query} D: {passage}", 20, 2)
    assert texts(packer, words, "one two three", ["a"]) == [("Q: one two D: a</s>", False)]
    assert packer.cuts_query("one two three")
    assert not packer.cuts_query("one two")


def test_text_beyond_a_hundred_characters_per_token_is_not_read_but_reported() -> None:
    words = Words()
    packer = PromptPacker(words, "{query} {passage}", 8, 2)
    ((text, truncated),) = texts(packer, words, "q", ["a" * 2000])
    assert (text, truncated) == ("q " + "a" * 800 + "</s>", True)


def test_slots_in_the_texts_are_left_alone() -> None:
    template = Template.of("<{query}|{passage}>")
    text, start, end = template.filled("{passage}", "{query}")
    assert text == "<{passage}|{query}>"
    assert text[start:end] == "{query}"


@pytest.mark.parametrize("prompt", ["", "{query}", "{passage}", "{query}{query}{passage}", "{query}{passage}{passage}"])
def test_a_prompt_has_each_slot_once(prompt: str) -> None:
    with pytest.raises(InputError, match="once each"):
        Template.of(prompt)


def test_a_prompt_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(InputError, match="beside the prompt of 7 tokens"):
        PromptPacker(Words(), "Q: {query} D: {passage} R:", 11, 3)
