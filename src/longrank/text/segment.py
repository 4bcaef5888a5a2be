"""From a document to its passages.

`make_segmenter` takes a preset of `PRESETS` and options that replace its own. A preset is a rule of `RULES` with
values for its options. Passages are always in order of appearance, also where released code leaves a sample shuffled:
no published score depends on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge

from longrank.errors import InputError
from longrank.protocols import Segmenter
from longrank.registries import checked_options, keyword_options, lookup
from longrank.text.fitted import FittedWindows
from longrank.text.packing import SLACK
from longrank.text.sections import Sections
from longrank.text.segmenters import Cap, EvenSplit, GivenPassages, SlidingWindows, UnitFinder, WholeDocument
from longrank.text.sentences import make_splitter
from longrank.text.windows import OffsetTokenizer, whitespace_words, wordpieces

Unit = Literal["word", "wordpiece", "sentence"]
Overflow = Literal["head", "first_last_random"]
Count = Annotated[int, Ge(1)]
CountOrZero = Annotated[int, Ge(0)]


def windows(
    *,
    unit: Unit = "word",
    length: Count = 150,
    stride: Count = 75,
    tail: Literal["keep", "drop_contained"] = "drop_contained",
    max_passages: CountOrZero = 0,
    overflow: Overflow = "head",
    seed: CountOrZero = 0,
    splitter: str | None = None,
    language: str | None = None,
    max_words: Count | None = None,
    tokenizer: OffsetTokenizer | None = None,
) -> Segmenter:
    """Split into sliding windows.

    Args:
        unit: the units that windows count.
        length: units in a window.
        stride: units from the beginning of one window to the beginning of the next.
        tail: ``keep``: a window begins at every multiple of `stride`; ``drop_contained``: not if the window before
            holds all of it.
        max_passages: largest number of windows of a document; 0: no limit.
        overflow: the windows to keep if there are more.
        seed: of the sample ``first_last_random``, which depends on (seed, doc_id) alone.
        splitter: sentence splitter, a key of `longrank.text.sentences.SPLITTERS`. Default: ``sentencex``.
        language: of the sentences. Default: ``en``.
        max_words: longer sentences are cut. Default: 512.
        tokenizer: needed for wordpieces.

    Raises:
        InputError: options that contradict each other, or no tokenizer.
        MissingExtra: the sentence splitter's package is not installed.
    """
    _check_stride(stride, length)
    units, unit_options = _units(unit, splitter, language, max_words, tokenizer)
    cap, cap_options = _cap(max_passages, overflow, seed)
    options = {"unit": unit, "length": length, "stride": stride, "tail": tail, **cap_options, **unit_options}
    return SlidingWindows(_fingerprint("windows", options), units, length, stride, tail == "drop_contained", cap)


def tokens(
    *,
    length: Count = 128,
    stride: Count = 64,
    border: Literal["sentence", "word"] = "sentence",
    max_passages: CountOrZero = 0,
    overflow: Overflow = "head",
    seed: CountOrZero = 0,
    splitter: str | None = None,
    language: str | None = None,
    tokenizer: OffsetTokenizer | None = None,
    title: bool = False,
) -> Segmenter:
    """Split into windows that fit the scorer's input, so that nothing is cut.

    Args:
        length: wordpieces in a window at most; the scorer's room if that is less.
        stride: a window begins at the last border within `stride` wordpieces of the beginning of the window before, or
            where that window ends.
        border: windows begin and end at sentences or at words. A sentence longer than a window is split at words, a
            word longer than a window at wordpieces.
        max_passages: as in `windows`, as are `overflow`, `seed`, `splitter` and `language`.
        tokenizer: the scorer's; names its room.
        title: true if the scorer reads the title before each passage.

    Raises:
        InputError, MissingExtra: as `windows`.
    """
    _check_stride(stride, length)
    if tokenizer is None:
        raise _no_tokenizer()
    borders, border_options = _units(border, splitter, language, None, None)
    cap, cap_options = _cap(max_passages, overflow, seed)
    options = {"length": length, "stride": stride, "border": border, **cap_options, **border_options}
    if title or length + SLACK > tokenizer.room:
        options |= {"room": tokenizer.room, "title": title}
    fingerprint = _fingerprint("tokens", {**options, "tokenizer": tokenizer.fingerprint})
    return FittedWindows(fingerprint, tokenizer, borders, length, stride, title, cap)


def even(
    *,
    unit: Unit = "word",
    length: Count = 150,
    max_units: Count = 800,
    splitter: str | None = None,
    language: str | None = None,
    max_words: Count | None = None,
    tokenizer: OffsetTokenizer | None = None,
) -> Segmenter:
    """Split into the fewest parts of equal size, of at most `length` units each (CEDR).

    Args:
        unit: as in `windows`, as are `splitter`, `language`, `max_words` and `tokenizer`.
        length: largest number of units in a part.
        max_units: units to read of a document.

    Raises:
        InputError, MissingExtra: as `windows`.
    """
    units, unit_options = _units(unit, splitter, language, max_words, tokenizer)
    options = {"unit": unit, "length": length, "max_units": max_units, **unit_options}
    return EvenSplit(_fingerprint("even", options), units, length, max_units)


def given(*, max_passages: CountOrZero = 0, overflow: Overflow = "head", seed: CountOrZero = 0) -> Segmenter:
    """Split into the passages that the collection defines; options as in `windows`."""
    cap, options = _cap(max_passages, overflow, seed)
    return GivenPassages(_fingerprint("given", options), cap)


def sections(
    *,
    length: Count = 150,
    stride: Count = 75,
    shortest: CountOrZero = 30,
    max_passages: CountOrZero = 0,
    overflow: Overflow = "head",
    seed: CountOrZero = 0,
) -> Segmenter:
    """Split at headings, then into windows of words inside the sections.

    Args:
        length: words in a window.
        stride: words from the beginning of one window to the beginning of the next.
        shortest: a section of fewer words is joined with the next section.
        max_passages: as in `windows`, as are `overflow` and `seed`.

    Raises:
        InputError: options that contradict each other.
    """
    _check_stride(stride, length)
    cap, cap_options = _cap(max_passages, overflow, seed)
    options = {"length": length, "stride": stride, "shortest": shortest, **cap_options}
    return Sections(_fingerprint("sections", options), length, stride, shortest, cap)


def whole() -> Segmenter:
    """Keep the document as one passage; models truncate it, and count truncated documents."""
    return WholeDocument(_fingerprint("whole", {}))


RULES: dict[str, Callable[..., Segmenter]] = {
    "windows": windows,
    "tokens": tokens,
    "even": even,
    "given": given,
    "sections": sections,
    "whole": whole,
}
"""Functions or classes that make a segmenter; their keyword-only parameters are the options of passages."""

PRESETS: dict[str, dict[str, Any]] = {
    # 150 words, half overlapping, all of them.
    "windows": {"unit": "word", "length": 150, "stride": 75},
    # Dai and Callan 2019, their released code: tails are kept however short.
    "dai": {
        "unit": "word",
        "length": 150,
        "stride": 75,
        "tail": "keep",
        "max_passages": 30,
        "overflow": "first_last_random",
    },
    # Zhang, Yates and Lin 2021 (MaxP reproduction): Capreolus at d7d2631.
    "ecir21": {
        "unit": "wordpiece",
        "length": 150,
        "stride": 75,
        "tail": "keep",
        "max_passages": 30,
        "overflow": "first_last_random",
    },
    # PARADE, the text: 16 windows cover 225 + 15 * 200 = 3225 tokens.
    "parade-paper": {
        "unit": "wordpiece",
        "length": 225,
        "stride": 200,
        "max_passages": 16,
        "overflow": "first_last_random",
    },
    # PARADE, the authors' own code: overlap 50.
    "parade-standalone": {
        "unit": "word",
        "length": 150,
        "stride": 100,
        "max_passages": 16,
        "overflow": "first_last_random",
        "seed": 118,
    },
    # PARADE, tables 7 and 8 and figure 3: the code's windows, counted in tokens as the text says.
    "parade-efficiency": {
        "unit": "wordpiece",
        "length": 150,
        "stride": 100,
        "max_passages": 16,
        "overflow": "first_last_random",
        "seed": 118,
    },
    # Capreolus' later default.
    "capreolus": {
        "unit": "wordpiece",
        "length": 150,
        "stride": 100,
        "tail": "keep",
        "max_passages": 16,
        "overflow": "head",
    },
    # CEDR: the first 800 wordpieces in equal parts that fit beside a query of 20 in 512.
    "cedr": {"rule": "even", "unit": "wordpiece", "max_units": 800, "length": 512 - 20 - 3},
    "sentences": {"unit": "sentence", "length": 1, "stride": 1},
    # Birch: sentences, over-long ones cut at 512 words. The remainder is kept, released code loses it.
    "birch": {"unit": "sentence", "length": 1, "stride": 1},
    # Santos et al.: sentences. The paper splits with spaCy's English model: splitter = "spacy".
    "santos": {"unit": "sentence", "length": 1, "stride": 1},
    # docTTTTTquery and monoT5 on documents (they read the first 10,000 characters; here all is read).
    "doct5query": {"unit": "sentence", "length": 10, "stride": 5},
}
PRESETS |= {name: {"rule": name} for name in RULES if name not in PRESETS}
"""Rules by name with their options; each rule is a preset, too."""


def make_segmenter(
    name: str,
    options: Mapping[str, Any] | None = None,
    tokenizer: OffsetTokenizer | None = None,
    *,
    title: bool = False,
) -> Segmenter:
    """Return the segmenter of a preset, with `options` replacing the preset's own.

    Args:
        name: one of `PRESETS`.
        options: options of the preset's rule, or ``rule`` and its options.
        tokenizer: needed where the unit is the wordpiece.
        title: true if the scorer reads the title before each passage.

    Raises:
        InputError: unknown preset, rule or option; a value of a wrong type or out of range; options that contradict
            each other; no tokenizer.
        MissingExtra: the sentence splitter's package is not installed.
    """
    preset, options = lookup(PRESETS, name, "passage preset"), dict(options or {})
    rule = lookup(RULES, options.pop("rule", preset.get("rule", "windows")), "passage rule")
    declared = keyword_options(rule)
    named = sorted({"overflow", "seed"} & options.keys())
    options = {option: value for option, value in preset.items() if option in declared} | options
    options = checked_options(rule, f"passage preset '{name}'", options)
    if named and not options.get("max_passages"):
        fix = "set max_passages"
        raise InputError(f"{named[0]} of passages has no effect without max_passages", got=options[named[0]], fix=fix)
    from_code = {"tokenizer": tokenizer, "title": title}
    parameters = inspect.signature(rule).parameters
    return rule(**options, **{name: value for name, value in from_code.items() if name in parameters})


def _check_stride(stride: int, length: int) -> None:
    if stride > length:
        raise InputError(
            f"stride {stride} is longer than the window of {length}: text between windows would never be read",
            fix="give a stride of at most the length",
        )


def _cap(max_passages: int, overflow: str, seed: int) -> tuple[Cap, dict[str, Any]]:
    """Return the cap, and its part of the fingerprint."""
    if overflow == "first_last_random" and max_passages == 1:
        raise InputError("overflow first_last_random keeps two passages or more", got=1, fix="set overflow = head")
    options = {"max_passages": max_passages, "overflow": overflow, "seed": seed}
    return Cap(max_passages, overflow, seed), options if max_passages else {}


def _units(
    unit: str, splitter: str | None, language: str | None, max_words: int | None, tokenizer: OffsetTokenizer | None
) -> tuple[UnitFinder, dict[str, Any]]:
    """Return the unit finder, and its part of the fingerprint."""
    if unit == "sentence":
        language, n_words = "en" if language is None else language, 512 if max_words is None else max_words
        rule = make_splitter("sentencex" if splitter is None else splitter, language)
        options = {"splitter": rule.fingerprint, "language": language, "max_words": n_words}
        return lambda text: rule.sentences(text, n_words), options
    for name, value in (("splitter", splitter), ("language", language), ("max_words", max_words)):
        if value is not None:
            raise InputError(f"{name} is an option of sentences, not of passages that count {unit}s", got=value)
    if unit == "word":
        return whitespace_words, {}
    if tokenizer is None:
        raise _no_tokenizer()
    return lambda text: wordpieces(text, tokenizer), {"tokenizer": tokenizer.fingerprint}


def _no_tokenizer() -> InputError:
    return InputError(
        "passages of wordpieces need the tokenizer of a model",
        fix="use a scorer with a model, or passages that count words",
    )


def _fingerprint(rule: str, options: Mapping[str, Any]) -> str:
    return f"{rule}({','.join(f'{name}={value}' for name, value in options.items())})"
