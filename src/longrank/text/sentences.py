"""Sentence splitters by name; offsets are exact code points.

    sentencex      Wikimedia's rule-based splitter, more than 200 languages, without its pairs (see below)
    spacy          spaCy's English parser, the pipeline en_core_web_sm (extra ``spacy``, and the pipeline)
    spacy-rules    spaCy's rule-based sentencizer (extra ``spacy``)
    punkt          NLTK's Punkt with its English parameters (extra ``nltk``, and NLTK's punkt_tab)
    pretokenized   text whose sentences end with `` . ``, see `longrank.text.pretokenized`

Lines and paragraphs bound sentences in every splitter, except where prose is hard-wrapped: see `longrank.text.lines`.

sentencex does not split between paired quotation marks or brackets, however long the pair. It therefore reads blanks in
their place, and in place of the periods in brackets that hold part of a sentence: at most 200 code points, the last of
them no period, ``?`` or ``!``.

A splitter reads a long text in pieces, to limit memory. The last sentence of a piece may continue in the next piece, so
the next piece begins with it; only a sentence longer than a piece is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from longrank.errors import InputError, MissingExtra
from longrank.registries import lookup
from longrank.storage import digest_of
from longrank.text.lines import RULE, blocks
from longrank.text.windows import Units, piece_end, trimmed, whitespace_words
from longrank.text.words import readable
from longrank.types import Span

Split = Callable[[str], list[Span]]
"""Text -> offsets of its sentences; white space at their ends is trimmed later."""

_PIPELINE = "en_core_web_sm"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]+)*")
_PIECE = 1 << 16  # code points per call of a splitter
_LINE_ENDS = dict.fromkeys(map(ord, "\x85\u2028\u2029"), "\n")
_BLANKS = re.compile(r"[^\S\x00-\x7f]")
_NUMBER = re.compile(r"\A(\s*(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]+))\.(?=\s)")
# References [3]; a mark that does not end a sentence, as in "Why?" he asked; quotation marks and rare brackets.
_MARKS = re.compile(
    r"""\[\d+\]|(?<![.?!])[.?!]++(?=["”’»“'`)\]]{1,4}\W{0,4}[a-zß-ÿа-я])"""
    r"""|["`“”‘«»„‚‹›{}<>（）「」《》]|(?<!\w)['’]|['’](?!\w)"""
)
_BRACKETS = re.compile(r"[(\[][^()\[\]]{0,200}[^()\[\].?!\s]\s*[)\]]|[()\[\]]")
_NO_BRACKETS = dict.fromkeys(map(ord, "()[].?!"), " ")
_OPENING = re.compile(r"""(?<!\S)(?:["'“‘«„‚‹(\[{<`]+|[«“„]\s)\Z""")


class SentenceSplitter:
    """A splitter with a fingerprint.

    Args:
        fingerprint: names the rule and its version; the version of the rule for lines is added.
        split: the rule.
    """

    def __init__(self, fingerprint: str, split: Split) -> None:
        self.fingerprint, self._split = f"{fingerprint} {RULE}", split

    def sentences(self, text: str, max_words: int) -> Units:
        """Return the trimmed sentences of a text, without blank sentences.

        A sentence of more than `max_words` words is cut into chunks of `max_words` words; the last chunk may be shorter
        (Birch's released code drops it).
        """
        spans = (span for start, end in blocks(text) for span in self._spans(text[start:end], start))
        return Units.of(chunk for span in spans for chunk in _chunks(text, span, max_words))

    def _spans(self, text: str, offset: int) -> Iterator[Span]:
        """Yield the trimmed sentences of a block, which begins at `offset`."""
        start = 0
        while start < len(text):
            end = piece_end(text, start, _PIECE)
            spans = [span for a, b in self._split(text[start:end]) if (span := trimmed(text, start + a, start + b))]
            if end < len(text) and len(spans) > 1:
                end = spans.pop()[0]
            yield from ((offset + a, offset + b) for a, b in spans)
            start = end


def _chunks(text: str, span: Span, max_words: int) -> Iterator[Span]:
    start, end = span
    if end - start < 2 * max_words:  # too short for more words
        yield span
        return
    units = whitespace_words(text[start:end])
    for first in range(0, len(units), max_words):
        a, b = units.span(first, first + max_words)
        yield start + a, start + b


def make_splitter(name: str, language: str = "en") -> SentenceSplitter:
    """Return a splitter by name.

    Args:
        name: one of `SPLITTERS`.
        language: ISO 639 code. Sentencex falls back to a related language, finally to English; spacy, punkt and
            pretokenized support English only.

    Raises:
        InputError: unknown name, a language that the splitter does not support, or its data are not installed.
        MissingExtra: the splitter's package is not installed.
    """
    return lookup(SPLITTERS, name, "sentence splitter")(language)


def splitter_in(fingerprint: str) -> str | None:
    """Return the fingerprint of the splitter that a segmenter's fingerprint names; None if it names none."""
    match = re.search(r"\bsplitter=([^,()]*)", fingerprint)
    return match[1] if match else None


def _sentencex(language: str) -> SentenceSplitter:
    from sentencex import get_sentence_boundaries

    if not _LANGUAGE.fullmatch(language):
        raise InputError("language must be an ISO 639 code, e.g. en", got=language)

    def split(text: str) -> list[Span]:
        found = [(b["start_index"], b["end_index"]) for b in get_sentence_boundaries(language, _plain(text))]
        ends = (_before_opening_marks(text, *span) for span in found[:-1])
        return list(pairwise([0, *ends, len(text)]))

    return SentenceSplitter(f"sentencex-{version('sentencex')} pairs-1", split)


def _plain(text: str) -> str:
    """Return a text of the same length that sentencex can read.

    It fails on ``A``, a non-ASCII blank and a period, does not split between paired marks, and takes the number of a
    heading for a sentence.
    """
    if not text.isascii():
        text = readable(_BLANKS.sub(" ", text.translate(_LINE_ENDS)))
    text = _MARKS.sub(lambda match: " " * len(match[0]), _NUMBER.sub(r"\1 ", text))
    return _BRACKETS.sub(lambda match: match[0].translate(_NO_BRACKETS), text)


def _before_opening_marks(text: str, start: int, end: int) -> int:
    """Return the end of a sentence without opening marks at its end: they belong to the next sentence."""
    opening = _OPENING.search(text, start, end)
    return opening.start() if opening else end


def _spacy(language: str) -> SentenceSplitter:
    """Return the splitter by spaCy's English parser, as Santos et al. split.

    Sentence ends come from the parser; components that do not change them are left out.
    """
    spacy = _imported_spacy()
    _check_english("spacy", language)
    try:
        pipe = spacy.load(_PIPELINE, exclude=["tagger", "attribute_ruler", "lemmatizer", "ner"])
    except OSError:
        raise InputError(
            f"spaCy's English pipeline {_PIPELINE} is not installed",
            fix=f"python -m spacy download {_PIPELINE}, or splitter = spacy-rules",
        ) from None
    return SentenceSplitter(f"spacy-{spacy.__version__} {_PIPELINE}-{pipe.meta['version']}", _by_spacy(pipe))


def _spacy_rules(language: str) -> SentenceSplitter:
    spacy = _imported_spacy()
    try:
        pipe = spacy.blank(language)
    except ImportError:
        raise InputError("spaCy does not support the language", got=language) from None
    pipe.add_pipe("sentencizer")
    return SentenceSplitter(f"spacy-{spacy.__version__}", _by_spacy(pipe))


def _imported_spacy() -> Any:
    try:
        import spacy
    except ImportError:
        raise MissingExtra("spaCy's sentence splitter", "spacy") from None
    return spacy


def _by_spacy(pipe: Any) -> Split:
    def split(text: str) -> list[Span]:
        return [(sentence.start_char, sentence.end_char) for sentence in pipe(readable(text)).sents]

    return split


def _punkt(language: str) -> SentenceSplitter:
    """Return the splitter by NLTK's Punkt, which Birch's released code calls (``tokenizers/punkt/english``)."""
    try:
        import nltk
        from nltk.tokenize import PunktTokenizer
    except ImportError:
        raise MissingExtra("NLTK's Punkt", "nltk") from None
    _check_english("punkt", language)
    try:
        punkt = PunktTokenizer("english")
    except LookupError:
        raise InputError(
            "NLTK's punkt_tab, the parameters of Punkt, is not installed", fix="python -m nltk.downloader punkt_tab"
        ) from None
    known = punkt._params  # no public name
    parameters = digest_of([sorted(known.abbrev_types), sorted(known.sent_starters), sorted(known.collocations)])

    def split(text: str) -> list[Span]:
        return list(punkt.span_tokenize(readable(text)))

    return SentenceSplitter(f"punkt-{nltk.__version__} english-{parameters[:8]}", split)


def _pretokenized(language: str) -> SentenceSplitter:
    from longrank.text.pretokenized import split

    _check_english("pretokenized", language)
    return SentenceSplitter("pretokenized-1", split)


def _check_english(name: str, language: str) -> None:
    if language != "en":
        raise InputError(f"the {name} splitter supports English only", got=language)


SPLITTERS: dict[str, Callable[[str], SentenceSplitter]] = {
    "sentencex": _sentencex,
    "spacy": _spacy,
    "spacy-rules": _spacy_rules,
    "punkt": _punkt,
    "pretokenized": _pretokenized,
}
