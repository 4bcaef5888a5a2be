from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.text.segment import make_segmenter
from longrank.text.windows import sampled, windows_over
from longrank.types import Document


class Letters:
    fingerprint = "letters"

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if not c.isspace()]


def words(n: int) -> Document:
    return Document("d", "", " ".join(f"w{i}" for i in range(n)))


def extents(n: int, **options: object) -> list[tuple[int, int]]:
    """First and last word of every window over n words."""
    passages = make_segmenter("windows", options).segment(words(n)).passages
    return [(int(p.text.split()[0][1:]), int(p.text.split()[-1][1:])) for p in passages]


@pytest.mark.parametrize(
    ("n", "keep", "drop"),
    [
        (1, [(0, 0)], [(0, 0)]),
        (2, [(0, 1)], [(0, 1)]),  # the stride
        (3, [(0, 2), (2, 2)], [(0, 2)]),
        (4, [(0, 3), (2, 3)], [(0, 3)]),  # the window
        (5, [(0, 3), (2, 4), (4, 4)], [(0, 3), (2, 4)]),
        (6, [(0, 3), (2, 5), (4, 5)], [(0, 3), (2, 5)]),
        (7, [(0, 3), (2, 5), (4, 6), (6, 6)], [(0, 3), (2, 5), (4, 6)]),
    ],
)
def test_windows_of_four_words_every_two(n: int, keep: list[tuple[int, int]], drop: list[tuple[int, int]]) -> None:
    assert extents(n, length=4, stride=2, tail="keep") == keep
    assert extents(n, length=4, stride=2, tail="drop_contained") == drop


def test_windows_without_overlap_end_with_what_remains() -> None:
    assert extents(5, length=2, stride=2) == [(0, 1), (2, 3), (4, 4)]
    assert extents(4, length=2, stride=2) == [(0, 1), (2, 3)]


@given(n=st.integers(0, 400), length=st.integers(1, 60), data=st.data())
def test_windows_cover_all_units_and_only_the_last_kept_one_may_be_contained(
    n: int, length: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, length))
    for drop in (True, False):
        firsts = windows_over(n, length, stride, drop_contained=drop)
        assert {unit for first in firsts for unit in range(first, min(first + length, n))} == set(range(n))
        contained = [b for a, b in pairwise(firsts) if n <= a + length]
        assert not (drop and contained)


def test_parade_standalone_drops_a_last_window_not_longer_than_the_overlap_of_50() -> None:
    """PARADE's code: windows of 150 words that share 50; a last one of at most 50 words is dropped."""
    assert make_segmenter("parade-standalone").segment(words(250)).n_passages == 2
    assert make_segmenter("parade-standalone").segment(words(251)).n_passages == 3
    assert make_segmenter("parade-standalone").segment(words(40)).n_passages == 1


def test_dai_keeps_a_tail_that_the_window_before_holds_too() -> None:
    assert [len(p.text.split()) for p in make_segmenter("dai").segment(words(151)).passages] == [150, 76, 1]


def test_capreolus_takes_the_first_sixteen_windows() -> None:
    document = Document("d", "", "x " * 5000)
    result = make_segmenter("capreolus", tokenizer=Letters()).segment(document)
    assert [p.index for p in result.passages] == list(range(16))
    assert result.n_passages == 50


def test_sixteen_windows_of_the_parade_paper_cover_3225_tokens() -> None:
    segmenter = make_segmenter("parade-paper", tokenizer=Letters())
    result = segmenter.segment(Document("d", "", "x" * 3225))
    assert (result.n_passages, result.passages[-1].end) == (16, 3225)
    assert segmenter.segment(Document("d", "", "x" * 3226)).n_passages == 17


@pytest.mark.parametrize(
    ("tokens", "sizes", "n_passages"),
    [
        (1, [1], 1),
        (489, [489], 1),
        (490, [245, 245], 2),
        (799, [400, 399], 2),
        (800, [400, 400], 2),
        (801, [400, 400], 3),
    ],
)
def test_cedr_splits_the_first_800_tokens_evenly(tokens: int, sizes: list[int], n_passages: int) -> None:
    result = make_segmenter("cedr", tokenizer=Letters()).segment(Document("d", "", "x" * tokens))
    assert [p.end - p.start for p in result.passages] == sizes
    assert result.n_passages == n_passages


@pytest.mark.parametrize("preset", ["dai", "parade-standalone"])
def test_too_many_windows_keep_the_first_the_last_and_a_sample_that_depends_on_the_document(preset: str) -> None:
    segmenter = make_segmenter(preset)
    text = words(20_000).text
    one, other = (segmenter.segment(Document(doc_id, "", text)) for doc_id in ("a", "b"))
    most = len(one.passages)
    assert most == {"dai": 30, "parade-standalone": 16}[preset]
    for result in (one, other):
        indices = [p.index for p in result.passages]
        assert indices == sorted(indices)
        assert (indices[0], indices[-1]) == (0, result.n_passages - 1)
    assert [p.index for p in one.passages] != [p.index for p in other.passages]


def test_the_sample_is_a_known_function_of_seed_and_document() -> None:
    """Fixed values: files written today must be understood by every later version."""
    assert sampled(10, 5, 0, "doc") == [0, 2, 4, 5, 9]
    assert sampled(10, 5, 1, "doc") == [0, 3, 5, 6, 9]


def test_the_sample_is_the_same_under_another_hash_seed() -> None:
    code = "from longrank.text.windows import sampled; print(sampled(500, 30, 7, 'x'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{sampled(500, 30, 7, 'x')}\n"}


def test_every_middle_window_is_drawn_about_equally_often() -> None:
    counts = [0] * 20
    for doc in range(2000):
        for index in sampled(20, 8, 0, f"d{doc}"):
            counts[index] += 1
    assert counts[0] == counts[19] == 2000
    assert all(abs(count - 2000 * 6 / 18) < 100 for count in counts[1:-1])  # five standard deviations


def test_wordpieces_of_a_long_text_are_those_of_the_whole_though_no_tokenizer_reads_it_whole() -> None:
    class FourLetters:
        fingerprint = "four"

        def offsets(self, text: str) -> list[tuple[int, int]]:
            assert len(text) <= 1 << 16
            return four_letters(text)

    def four_letters(text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S{1,4}", text)]

    text = "abcdefg 😀 hi " * 12_000
    options = {"unit": "wordpiece", "length": 7, "stride": 7}
    passages = make_segmenter("windows", options, FourLetters()).segment(Document("d", "", text)).passages
    whole = four_letters(text)
    assert [(p.start, p.end) for p in passages] == [
        (whole[i][0], whole[min(i + 7, len(whole)) - 1][1]) for i in range(0, len(whole), 7)
    ]


def test_thirty_windows_of_a_long_document_take_little_memory() -> None:
    document = Document("d", "", "nine char " * 200_000)
    segmenter = make_segmenter("dai")
    tracemalloc.start()
    try:
        assert len(segmenter.segment(document).passages) == 30
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(document.text)  # 400,000 words as tuples would take 45 MB


def test_ten_sentences_every_five() -> None:
    text = " ".join(f"This is sentence number {i} here." for i in range(17))
    passages = make_segmenter("doct5query").segment(Document("d", "", text)).passages
    assert [p.text.count("sentence") for p in passages] == [10, 10, 7]


def test_a_sentence_of_more_than_512_words_is_cut_and_its_remainder_kept() -> None:
    text = "It " + "goes on " * 600 + "for ever. Short one."
    passages = make_segmenter("birch").segment(Document("d", "", text)).passages
    assert [len(p.text.split()) for p in passages] == [512, 512, 179, 2]
    assert passages[3].text == "Short one."


def test_given_passages_are_the_sources_spans() -> None:
    result = make_segmenter("given").segment(Document("d", "", "one two three", ((0, 3), (8, 13))))
    assert [(p.text, p.index) for p in result.passages] == [("one", 0), ("three", 1)]


def test_a_document_that_names_no_passages_is_one_given_passage_without_the_blanks_around_it() -> None:
    (passage,) = make_segmenter("given").segment(Document("d", "", "  one two\n")).passages
    assert (passage.text, passage.start, passage.end) == ("one two", 2, 9)


def test_a_whole_document_is_one_passage_without_the_blanks_around_it() -> None:
    text = "  one two\n" * 5000
    (passage,), n_passages, _ = make_segmenter("whole").segment(Document("d", "title", text, ((0, 3),)))
    assert (passage.start, passage.end, n_passages) == (2, len(text) - 1, 1)
    assert make_segmenter("whole").segment(Document("e", "title", " \n")).passages[0].text == ""
    with pytest.raises(InputError, match="has no option 'length'"):
        make_segmenter("whole", {"length": 3})


@pytest.mark.parametrize("span", [(0, 14), (-1, 3), (5, 4)])
def test_a_given_span_outside_the_text_is_refused_by_document(span: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"'d7'.*outside"):
        make_segmenter("given").segment(Document("d7", "", "one two three", (span,)))


@pytest.mark.parametrize(
    ("preset", "options", "message"),
    [
        ("windows", {"stride": 0}, "stride"),  # overlap equal to the window
        ("windows", {"stride": -5}, "stride"),  # overlap above the window
        ("windows", {"length": 0}, "length"),
        ("windows", {"length": 100, "stride": 101}, "never be read"),
        ("windows", {"length": "150"}, "length of passage preset 'windows' should be a valid integer"),
        ("windows", {"length": 150.0}, "valid integer"),
        ("windows", {"length": True}, "valid integer"),
        ("windows", {"unit": "letter"}, "should be 'word', 'wordpiece' or 'sentence'"),
        ("windows", {"tail": "cut"}, "should be 'keep' or 'drop_contained'"),
        ("windows", {"overflow": "tail"}, "overflow of passage preset"),
        ("windows", {"overflow": "first_last_random"}, "overflow of passages has no effect without max_passages"),
        ("dai", {"max_passages": 0, "seed": 3}, r"seed of passages has no effect without max_passages \(got 3\)"),
        ("windows", {"max_passages": -1}, "max_passages"),
        ("dai", {"max_passages": 1}, "two passages or more"),
        (
            "dai",
            {"splitter": "sentencex"},
            "an option of sentences, not of passages that count words",
        ),  # means nothing for words
        ("given", {"length": 3}, "has no option 'length'"),
        ("dai", {"rule": "evn"}, "unknown passage rule.*'even'"),
        ("sentences", {"splitter": "nltk"}, "unknown sentence splitter"),
        ("sentences", {"splitter": 3}, "valid string"),
        ("sentences", {"max_words": 0}, "max_words"),
        ("window", {}, "did you mean 'windows'"),
        ("ecir21", {}, "need the tokenizer"),
    ],
)
def test_what_contradicts_itself_is_refused(preset: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_segmenter(preset, options)


def test_options_replace_the_presets_own_and_show_in_the_fingerprint() -> None:
    assert make_segmenter("windows").fingerprint == "windows(unit=word,length=150,stride=75,tail=drop_contained)"
    assert (
        make_segmenter("dai", {"seed": 3}).fingerprint
        == "windows(unit=word,length=150,stride=75,tail=keep,max_passages=30,overflow=first_last_random,seed=3)"
    )
    assert make_segmenter("dai", {"max_passages": 0}).fingerprint.endswith("tail=keep)")


def test_a_cap_of_zero_is_no_cap() -> None:
    assert len(make_segmenter("dai", {"max_passages": 0}).segment(words(20_000)).passages) > 30
