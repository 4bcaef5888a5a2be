from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear_time
from longrank.errors import InputError, MissingExtra
from longrank.text import sentences as module
from longrank.text.pretokenized import split
from longrank.text.segment import make_segmenter
from longrank.text.sentences import SPLITTERS, make_splitter, splitter_in

GOLD = json.loads(Path(__file__).with_name("time_sentences.json").read_text())
"""TIME: doc_id -> [start, end] of every sentence, fifteen whole documents, checked by reading them."""

WITH_MODELS = {"spacy", "punkt"}  # data of their own
INSTALLED = [name for name in SPLITTERS if name not in WITH_MODELS and (name != "spacy-rules" or find_spec("spacy"))]

WITH_FAULTS = {"17", "250", "300"}
"""A quotation mark that was never closed, or a unit at the end of a sentence: what the rule gets wrong."""


def sentences(text: str, splitter: str = "sentencex", max_words: int = 512) -> list[str]:
    units = make_splitter(splitter).sentences(text, max_words)
    return [text[a:b] for a, b in zip(units.starts, units.ends, strict=True)]


def test_sentencex_offsets_count_code_points_and_blanks_are_left_out() -> None:
    text = "  One 😀𝒳 here.  Then Dr. Smith said so!\n\n\nA new paragraph \n"
    assert sentences(text) == ["One 😀𝒳 here.", "Then Dr. Smith said so!", "A new paragraph"]


@pytest.mark.parametrize("splitter", ["sentencex", "pretokenized"])
def test_a_long_text_is_split_as_its_parts_are(splitter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The first one is short . Was the second one asked ? It was, says the third one ! " * 60
    whole = sentences(text, splitter)
    assert len(whole) == 180
    for piece in (100, 333, 1000):
        monkeypatch.setattr(module, "_PIECE", piece)
        assert sentences(text, splitter) == whole


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u2009", "\u3000", "\u2028"])
def test_a_letter_a_wide_blank_and_a_period_are_split(blank: str) -> None:
    """What sentencex itself fails on; offsets are of the text as it is."""
    assert "It rains." in sentences(f"Of group G{blank}. Then so. It rains.")


@pytest.mark.parametrize("part", [".", ".)", '."', "(", "(a. ", "[1]", "« ", "«a. ", "?!", "{", "1. "])
def test_long_runs_of_marks_take_linear_time(part: str) -> None:
    splitter = make_splitter("sentencex")
    assert_linear_time(lambda text: splitter.sentences(text, 512), lambda n: part * (n // len(part)), 1 << 16)


def test_half_a_surrogate_pair_is_a_letter_like_others() -> None:
    assert sentences("One \ud800 here. Two.") == ["One \ud800 here.", "Two."]


HARD_TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            ["a", "B.", ".", '"', "/", "?", "\n\n", "U.S", "Mr.", " ", "THE", "1.", "- ", "(", ")", "«", "”", "'s", "…"]
        ),
        st.sampled_from(["\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0c", "\u00a0", "\u2009", "\u3000", "\u200b"]),
        st.sampled_from(["\ud800", "\udc00", "😀", "𝒳", "e\u0301", "\u0301", "ß", "。", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]),
        st.text(max_size=3),
        st.text(alphabet="Ab. ", min_size=40, max_size=80),
    ),
    max_size=60,
)


@pytest.mark.parametrize("splitter", INSTALLED)
@given(parts=HARD_TEXT, blank=st.sampled_from(["", " "]))
@settings(max_examples=300, deadline=None)
def test_sentences_follow_each_other_and_leave_out_nothing_but_blanks(
    splitter: str, parts: list[str], blank: str
) -> None:
    text = blank.join(parts)
    units = make_splitter(splitter).sentences(text, 512)
    at = 0
    for start, end in zip(units.starts, units.ends, strict=True):
        assert text[at:start].strip() == ""
        assert text[start:end] == text[start:end].strip() != ""
        at = end
    assert text[at:].strip() == ""


@pytest.mark.parametrize("splitter", INSTALLED)
def test_a_segmenters_fingerprint_tells_its_splitter(splitter: str) -> None:
    segmenter = make_segmenter("birch", {"splitter": splitter})
    assert splitter_in(f"model | {segmenter.fingerprint} | all()") == make_splitter(splitter).fingerprint
    assert splitter_in(make_segmenter("windows").fingerprint) is None


@pytest.mark.parametrize("splitter", INSTALLED)
def test_a_blank_line_ends_a_sentence_in_every_splitter(splitter: str) -> None:
    assert sentences("a heading\n\nand (text\n \nwithout) a period", splitter) == [
        "a heading",
        "and (text",
        "without) a period",
    ]


@pytest.mark.parametrize("pair", ["()", "[]", "{}", '""', "“”", "‘’", "''", "«»", "„“", "「」", "(]", "<>"])
def test_sentences_between_a_long_pair_of_marks_are_split(pair: str) -> None:
    inner = [f"This is sentence {word} of them." for word in ["one", "two", "three"] * 4]
    first, *others, last = inner
    assert sentences(f"{pair[0]}{' '.join(inner)}{pair[1]} It was long.") == [
        f"{pair[0]}{first}",
        *others,
        f"{last}{pair[1]}",
        "It was long.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'He asked: "Why? | Tell me." | Then he left.',
        '"Why not?" he asked. | "Because!" | She left.',
        "He came. | (She did not. | Nobody knew.) | «Viens. | Bien», dit-il. | “Dr. Hill came.” | So?",
        "It fell (Hill et al. 2010; cf. Fig. 3 and St. Mary). | It rose (p < 0.05). | So did others.[3] | Who?",
        'It was there. | ("The end is near.") | \'Tis so.',
    ],
)
def test_marks_stand_beside_the_words_that_they_enclose(text: str) -> None:
    assert sentences(text.replace(" | ", " ")) == text.split(" | ")


def test_the_number_of_a_heading_is_no_sentence() -> None:
    assert sentences("2.1. The method\nIt works.\nIV. Results") == ["2.1. The method", "It works.", "IV. Results"]


@pytest.mark.parametrize(("n", "sizes"), [(511, [511]), (512, [512]), (513, [512, 1]), (1024, [512, 512])])
def test_chunks_of_an_over_long_sentence_hold_all_its_words(n: int, sizes: list[int]) -> None:
    text = " ".join(f"word{i}" for i in range(n))
    chunks = sentences(text)
    assert [len(chunk.split()) for chunk in chunks] == sizes
    assert " ".join(chunks) == text


@pytest.mark.parametrize(
    ("splitter", "language"), [("sentencex", "English"), ("sentencex", ""), ("pretokenized", "de")]
)
def test_a_language_that_cannot_be_split_is_refused(splitter: str, language: str) -> None:
    with pytest.raises(InputError):
        make_splitter(splitter, language)


def test_without_spacy_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    for name in ("spacy", "spacy-rules"):
        with pytest.raises(MissingExtra, match=r"pip install '\.\[spacy\]'"):
            make_splitter(name)


def a_spacy(load: Callable[..., Any]) -> ModuleType:
    """Return a stand-in for spaCy, whose pipelines `load` opens."""
    module = ModuleType("spacy")
    module.__version__, module.load = "3.9", load  # type: ignore[attr-defined]
    return module


def test_spacy_is_the_english_parser_and_says_if_the_pipeline_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, **_: Any) -> None:
        raise OSError(name)

    monkeypatch.setitem(sys.modules, "spacy", a_spacy(missing))
    with pytest.raises(InputError, match=r"en_core_web_sm is not installed; python -m spacy download en_core_web_sm"):
        make_splitter("spacy")
    with pytest.raises(InputError, match="supports English only"):
        make_splitter("spacy", "de")

    def parsed(text: str) -> SimpleNamespace:
        return SimpleNamespace(sents=[SimpleNamespace(start_char=0, end_char=len(text))])

    parsed.meta = {"version": "3.8.0"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", a_spacy(lambda name, exclude: parsed))
    assert make_splitter("spacy").fingerprint.startswith("spacy-3.9 en_core_web_sm-3.8.0 ")
    assert sentences("Mr. X came. She left.", "spacy") == ["Mr. X came. She left."]


def test_punkt_splits_as_nltk_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters are in NLTK's own files: an abbreviation, and no other knowledge."""
    nltk = pytest.importorskip("nltk", reason="needs the extra nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(InputError, match=r"punkt_tab.*is not installed; python -m nltk.downloader punkt_tab"):
        make_splitter("punkt")
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (folder / name).write_text("")
    (folder / "abbrev_types.txt").write_text("dr\n")
    text = "  One 😀 Dr. smith here. And two? Yes!\n\nThree."
    assert sentences(text, "punkt") == ["One 😀 Dr. smith here.", "And two?", "Yes!", "Three."]
    with pytest.raises(InputError, match="supports English only"):
        make_splitter("punkt", "de")


def test_spacys_rules_split_with_exact_offsets_and_refuses_an_unknown_language() -> None:
    pytest.importorskip("spacy", reason="needs the extra spacy")
    with pytest.raises(InputError, match="does not support"):
        make_splitter("spacy-rules", "zz")
    assert sentences("One 😀 here. And two? Yes!\n\nThree.", "spacy-rules") == [
        "One 😀 here.",
        "And two?",
        "Yes!",
        "Three.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "THE U.S . OFFERED IT (TIME, DEC . 28) . | BRITAIN TOOK IT .",
        "IT TIED THEM TO THE U.S . | THE REST WAS EASY .",
        "MR . AND MRS . JOHN F . KENNEDY CAME . | NO . 2 WAS LATE .",
        "WAS THERE A DEAL ? | NO . | THEY LEFT IN DEC . | IT WAS COLD .",
        'HE SAID : " IT IS LATE . | WE MUST GO . " | THEY WENT .',
        '" BROTHERS ! " CRIED ONE . | " COME IN ! " | THE DOOR FELL SHUT .',
        '" WHY NOT ? " A VISITOR ASKED . | " WHO KNOWS ? / | HE LEFT .',
        '" WE WILL . . . PERHAPS . . . " | THEN HE SLEPT .',
        "IT WEIGHED 155 LBS . OF POTATOES . | IT FELL 30 FT . BELOW .",
        "HE HAD NO REASONS. | SHE SAW DR. WARD AT 9 : 30 P.M . ON FRIDAY .",
        'THEY SPOKE OF " A FARCE . " | ; SO IT ENDED .'.replace(" | ;", " ;"),
    ],
)
def test_pretokenized_sentences_end_where_the_bars_are(text: str) -> None:
    plain = text.replace(" | ", " ")
    assert [plain[a:b] for a, b in split(plain)] == text.split(" | ")


def test_time_sentences_are_those_found_by_reading(shared_data: Path) -> None:
    texts = time_texts(shared_data)
    right = found = 0
    for doc_id, spans in GOLD.items():
        units = make_splitter("pretokenized").sentences(texts[doc_id], 512)
        ours = list(zip(units.starts, units.ends, strict=True))
        wanted = [(start, end) for start, end in spans]
        if doc_id not in WITH_FAULTS:
            assert ours == wanted, f"document {doc_id}"
        right += len(set(ours) & set(wanted))
        found += len(ours)
    total = sum(map(len, GOLD.values()))
    assert total == 366
    assert min(right / total, right / found) >= 0.97


def time_texts(shared_data: Path) -> dict[str, str]:
    import gzip

    with gzip.open(shared_data / "time" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {document["doc_id"]: document["text"] for document in map(json.loads, lines)}
