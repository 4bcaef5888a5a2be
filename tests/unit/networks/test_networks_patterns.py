from __future__ import annotations

import pytest

from longrank.networks.patterns import may_explode

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
THREES = r"\p{N}{1,3}(?=(?:\p{N}{3})*\b)"


@pytest.mark.parametrize(
    "pattern", ["", r"\s+", " {2,}", GPT2, CL100K, LLAMA3, O200K, BLOOM, THREES, r"[]*+)(|]+", r"\(\+\)+"]
)
def test_patterns_of_published_tokenizers_pass(pattern: str) -> None:
    assert not may_explode(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a*)*b",
        r"(a|a)*b",
        r"(a|aa){2,}b",
        r"(?:x(?:a|b))+",
        r"(a?a?)*b",
        r"(a{1,3})+b",
        r"((a?){9}){9}b",
        r"a{2,}+b",
        r"([[a-z]&&[a]]+)+b",
        r"(?<n>a+)\g<n>*b",
        r"(a+)\1b",
        "(?x)(a+ #)\n)+",
        r"(?#)(a+)+b",
        r"a)+",
    ],
)
def test_a_repeated_group_that_can_match_in_several_ways_is_found(pattern: str) -> None:
    assert may_explode(pattern)
