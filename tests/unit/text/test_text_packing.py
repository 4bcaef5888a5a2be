from __future__ import annotations

import pytest

from longrank.text.packing import MAX_CHARACTERS_PER_TOKEN, Packed, Packer

tokenizers = pytest.importorskip("tokenizers", reason="needs the extra neural")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e"]
A, B, C, D, E = range(4, 9)
CLS, SEP = 2, 3


def tokenizer() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    made.enable_truncation(3)
    made.enable_padding(length=20)
    return made


def texts(max_tokens: int, *given: str) -> list[Packed]:
    return list(Packer(tokenizer(), max_tokens).texts(given))


def pairs(max_tokens: int, max_query_tokens: int, query: str, *passages: str) -> list[Packed]:
    return list(Packer(tokenizer(), max_tokens, max_query_tokens).pairs(query, passages))


def test_truncation_and_padding_of_the_tokenizers_own_file_are_switched_off() -> None:
    (packed,) = texts(10, "a b c d")
    assert packed.ids.tolist() == [CLS, A, B, C, D, SEP]
    assert not packed.truncated


def test_a_text_that_just_fits_is_whole_and_one_token_more_is_cut_at_the_end() -> None:
    fits, longer = texts(6, "a b c d", "a b c d e")
    assert fits.ids.tolist() == longer.ids.tolist() == [CLS, A, B, C, D, SEP]
    assert (fits.truncated, longer.truncated) == (False, True)


def test_a_pair_has_the_special_tokens_and_segments_of_the_model() -> None:
    (packed,) = pairs(10, 5, "a b", "c d e")
    assert packed.ids.tolist() == [CLS, A, B, SEP, C, D, E, SEP]
    assert packed.type_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_passage_is_cut_never_the_query() -> None:
    (packed,) = pairs(8, 5, "a b", "c d e c d e")
    assert packed.ids.tolist() == [CLS, A, B, SEP, C, D, E, SEP]
    assert packed.truncated


def test_the_query_is_cut_at_its_own_limit_which_does_not_count_against_the_passage() -> None:
    packer = Packer(tokenizer(), 8, 2)
    (packed,) = packer.pairs("a b c d e", ["c d e"])
    assert packed.ids.tolist() == [CLS, A, B, SEP, C, D, E, SEP]
    assert not packed.truncated
    assert packer.cuts_query("a b c")
    assert not packer.cuts_query("a b")


def test_a_query_never_takes_the_last_token_of_the_passage() -> None:
    (packed,) = pairs(6, 99, "a b c d e", "d e")
    assert packed.ids.tolist() == [CLS, A, B, SEP, D, SEP]


def test_a_pair_tells_where_its_query_ends_though_the_query_holds_a_separator() -> None:
    made = tokenizer()
    made.add_special_tokens(["[SEP]"])
    packer, passages = Packer(made, 10, 4), ["c", "d [SEP] e d e d e d e"]
    queries = ("a b", "a [SEP] b", "[SEP] a", "a b [SEP]", "", "a b c d e")
    ends = [packed.query_end for query in queries for packed in packer.pairs(query, passages)]
    assert ends == [3, 3, 4, 4, 3, 3, 4, 4, 1, 1, 5, 5]
    assert [packed.query_end for packed in texts(6, "a b")] == [0]


def test_empty_texts_are_packed_too() -> None:
    assert texts(6, "")[0].ids.tolist() == [CLS, SEP]
    assert pairs(8, 2, "", "")[0].ids.tolist() == [CLS, SEP, SEP]
    assert pairs(8, 2, "a", "")[0].ids.tolist() == [CLS, A, SEP, SEP]


def test_a_text_far_longer_than_can_be_read_is_cut_before_it_is_tokenised() -> None:
    blanks = " " * (MAX_CHARACTERS_PER_TOKEN * 8)
    within, beyond = texts(8, f"a{blanks}"[: len(blanks)], f"a{blanks}b")
    assert within.ids.tolist() == beyond.ids.tolist() == [CLS, A, SEP]
    assert (within.truncated, beyond.truncated) == (False, True)


def test_leading_tokens_count_the_prompt_and_what_stands_before_it() -> None:
    assert Packer(tokenizer(), 10).leading_tokens("a b") == 3


def test_many_texts_keep_their_order() -> None:
    many = ["a", "b c", "d"] * 200
    assert [len(one.ids) - 2 for one in texts(9, *many)] == [1, 2, 1] * 200


@pytest.mark.parametrize(("max_tokens", "max_query_tokens"), [(4, 5), (0, 5), (10, 0)])
def test_too_few_tokens_are_refused(max_tokens: int, max_query_tokens: int) -> None:
    with pytest.raises(ValueError, match="too few"):
        Packer(tokenizer(), max_tokens, max_query_tokens)
