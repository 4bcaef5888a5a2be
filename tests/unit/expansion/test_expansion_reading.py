"""What a model reads of a document."""

from __future__ import annotations

import pytest

from longrank.errors import InputError
from longrank.expansion.reading import Reading
from longrank.types import Document


def document(n_sentences: int, title: str = "The title", **others: object) -> Document:
    text = " ".join(f"Sentence number {n} is here." for n in range(n_sentences))
    return Document("d", title, text, **others)  # type: ignore[arg-type]


def test_doct5query_reads_windows_of_ten_sentences_one_every_five_after_the_title() -> None:
    read = Reading("doct5query", ()).read(document(21))
    numbers = [[int(word) for word in text.split() if word.isdigit()] for text in read.texts]
    # As its code does, no window begins where the one before has reached the last sentence.
    assert numbers == [list(range(0, 10)), list(range(5, 15)), list(range(10, 20)), list(range(15, 21))]
    assert all(text.startswith("The title Sentence number") for text in read.texts)
    assert (read.passages, read.remarks) == ((0, 1, 2, 3), {})


def test_doct5query_reads_ten_thousand_characters_and_what_is_beyond_is_said() -> None:
    long = document(600)
    read = Reading("doct5query", ("title=false",)).read(long)
    assert long.text[:10_000].endswith(read.texts[-1].strip())
    assert read.remarks == {"documents read to character 10,000": 1}
    whole = Reading("doct5query", ("max_characters=0",)).read(long)
    assert len(whole.texts) > len(read.texts) and whole.remarks == {}


def test_whole_reads_all_in_one_piece() -> None:
    long = document(600)
    assert Reading("whole", ()).read(long).texts == (f"The title {long.text}",)
    assert Reading("whole", ()).read(Document("d", "", " a b ")).texts == ("a b",)


@pytest.mark.parametrize("preset", ["doct5query", "whole"])
@pytest.mark.parametrize("text", ["", " \n "])
def test_without_text_nothing_is_read_even_if_there_is_a_title(preset: str, text: str) -> None:
    assert Reading(preset, ()).read(Document("d", "A title", text)).texts == ("",)


def test_own_passages_are_read_as_far_as_the_text_is() -> None:
    settings = ["passages.preset=given", "max_characters=10", "title=false"]
    read = Reading("doct5query", settings).read(Document("d", "t", "abc defghijkl mno", ((0, 3), (4, 13), (14, 17))))
    assert (read.texts, read.passages) == (("abc", "defghi"), (0, 1))


def test_passages_over_the_cap_are_counted_and_keep_their_numbers() -> None:
    settings = ["passages.preset=windows", "passages.options.length=2", "passages.options.stride=2"]
    settings += ["passages.options.max_passages=2", "passages.options.overflow=first_last_random"]
    read = Reading("whole", settings).read(Document("d", "", "a b c d e f"))
    assert (read.texts, read.passages, read.remarks) == (("a b", "e f"), (0, 2), {"passages left out": 1})


def test_all_that_is_read_is_in_the_fingerprint() -> None:
    prints = {
        Reading(preset, settings).fingerprint
        for preset in ("doct5query", "whole")
        for settings in ((), ("title=false",), ("max_characters=9",))
    }
    assert len(prints) == 6


@pytest.mark.parametrize(
    ("preset", "assignment", "said"),
    [
        ("doc2query", "title=true", r"unknown reading preset \(got 'doc2query'\); did you mean 'doct5query'\?"),
        ("whole", "titel=true", r"whole: unknown key \(got 'titel'\); did you mean 'title'\?"),
        ("whole", "max_characters=-1", "whole: max_characters: "),
        ("whole", "passages.preset=wordz", "unknown passage preset"),
        ("whole", "passages.options.length=3", "passage preset 'whole' has no option 'length'"),
        ("whole", "passages.preset=ecir21", "passages of wordpieces need the tokenizer of a model"),
    ],
)
def test_what_cannot_be_read_is_refused(preset: str, assignment: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Reading(preset, [assignment])
