"""The stemmer against the examples of Porter's paper, and against Snowball's own implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.text.porter import stem

Stemmer = pytest.importorskip("Stemmer", reason="needs the extra dev")

PAPER = """
caresses caress  ponies poni  ties ti  caress caress  cats cat  feed feed  agreed agre  plastered plaster  bled bled
motoring motor  sing sing  conflated conflat  troubled troubl  sized size  hopping hop  tanned tan  falling fall
hissing hiss  fizzed fizz  failing fail  filing file  happy happi  sky sky  relational relat  conditional condit
rational ration  valenci valenc  hesitanci hesit  digitizer digit  conformabli conform  radicalli radic
differentli differ  vileli vile  analogousli analog  vietnamization vietnam  predication predic  operator oper
feudalism feudal  decisiveness decis  hopefulness hope  callousness callous  formaliti formal  sensitiviti sensit
sensibiliti sensibl  triplicate triplic  formative form  formalize formal  electriciti electr  electrical electr
hopeful hope  goodness good  revival reviv  allowance allow  inference infer  airliner airlin  gyroscopic gyroscop
adjustable adjust  defensible defens  irritant irrit  replacement replac  adjustment adjust  dependent depend
adoption adopt  homologou homolog  communism commun  activate activ  angulariti angular  homologous homolog
effective effect  bowdlerize bowdler  probate probat  rate rate  cease ceas  controll control  roll roll
generalizations gener  oscillators oscil
"""
ELSEWHERE = """
is is  us us  as as  possibly possibl  technology technolog  dying dy  skies ski  news new  eed eed  ion ion  yes ye
xyying xy  naïveté naïveté  3,000.50 3,000.50
"""
ENDINGS = """
ational tional enci izer bli alli entli eli ousli ization ation ator alism iveness fulness aliti biliti icate ative
alize iciti ical ful ness al ance er ic able ant ement ment ent sion tion ion ou ism ate ous ive ize ed ing eed ies
sses s ll e y ss
"""


def pairs(text: str) -> list[tuple[str, ...]]:
    words = text.split()
    return list(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize(("word", "expected"), pairs(PAPER))
def test_examples_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(("word", "expected"), pairs(ELSEWHERE))
def test_words_where_stemmers_part_ways_follow_lucene(word: str, expected: str) -> None:
    assert stem(word) == expected


@settings(max_examples=500)
@given(st.text("abcdeilostwxyz", max_size=7), st.sampled_from(ENDINGS.split()), st.sampled_from(["", *ENDINGS.split()]))
def test_equals_snowball_porter_but_for_the_three_known_differences(head: str, first: str, second: str) -> None:
    word = head + first + second
    known = len(word) <= 2 or "bl" in word or "log" in word or "yy" in word
    if not known:
        assert stem(word) == Stemmer.Stemmer("porter", 0).stemWord(word)
