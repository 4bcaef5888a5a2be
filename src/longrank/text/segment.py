"""From a document to its passages: sliding windows, sentences, an even split, the source's own spans, or all of it.

`make_segmenter` takes a preset of `PRESETS` and options that replace its own:

    unit          word | wordpiece | sentence: what is counted
    length        units in a window
    stride        units from the beginning of one window to the beginning of the next
    tail          keep: a window begins at every multiple of `stride`
                  drop_contained: not if the one before holds all of it
    max_passages  most windows of a document; 0: no cap
    overflow      which ones when there are more: head | first_last_random
    seed          of that sample, which depends on (seed, doc_id) alone
    splitter, language, max_words   how sentences are found and where over-long ones are cut

Passages are always in order of appearance, also where released code leaves a sample shuffled: no
published score depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longrank.config import lookup, suggestion
from longrank.errors import InputError
from longrank.protocols import Segmenter
from longrank.text.segmenters import Cap, EvenSplit, GivenPassages, SlidingWindows, UnitFinder, WholeDocument
from longrank.text.sentences import make_splitter
from longrank.text.windows import OffsetTokenizer, whitespace_words, wordpieces

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
    "birch": {"unit": "sentence", "length": 1, "stride": 1, "max_words": 512},
    # Santos et al.: sentences. The paper splits with spaCy: splitter = "spacy".
    "santos": {"unit": "sentence", "length": 1, "stride": 1},
    # docTTTTTquery and monoT5 on documents (they read the first 10,000 characters; here all is read).
    "doct5query": {"unit": "sentence", "length": 10, "stride": 5},
    # The spans the collection itself names.
    "given": {"rule": "given"},
    # The whole document as one passage, for models that read it in one pass; what they cannot read they cut and count.
    "whole": {"rule": "whole"},
}


_DEFAULTS: dict[str, Any] = {
    "rule": "windows",
    "unit": "word",
    "length": 150,
    "stride": 75,
    "tail": "drop_contained",
    "max_units": 800,
    "splitter": "sentencex",
    "language": "en",
    "max_words": 512,
    "max_passages": 0,
    "overflow": "head",
    "seed": 0,
}
_CHOICES = {
    "rule": ("windows", "even", "given", "whole"),
    "unit": ("word", "wordpiece", "sentence"),
    "tail": ("keep", "drop_contained"),
    "overflow": ("head", "first_last_random"),
}
_FROM_ZERO = ("max_passages", "seed")
_CAP = ("max_passages", "overflow", "seed")
_OF_RULE = {
    "windows": ("unit", "length", "stride", "tail", *_CAP),
    "even": ("unit", "length", "max_units"),
    "given": _CAP,
    "whole": (),
}
_OF_SENTENCES = ("splitter", "language", "max_words")


def make_segmenter(
    name: str, options: Mapping[str, Any] | None = None, tokenizer: OffsetTokenizer | None = None
) -> Segmenter:
    """Return the segmenter of a preset, with `options` replacing the preset's own.

    Args:
        name: one of `PRESETS`.
        options: see the head of this module.
        tokenizer: needed where the unit is the wordpiece.

    Raises:
        InputError: unknown preset, option or word; a number out of range; options that contradict
            each other or mean nothing here; no tokenizer.
        MissingExtra: the sentence splitter's package is not installed.
    """
    preset = lookup(PRESETS, name, "passage preset")
    settings = {**_DEFAULTS, **preset, **(options or {})}
    used = _used(settings)
    for option in options or {}:
        if option not in used:
            raise InputError(f"passages '{name}' have no such option here", got=option, fix=suggestion(option, used))
    for option in used:
        _check(option, settings[option])
    _check_together(settings)
    return _build(settings, used, tokenizer)


def _used(settings: Mapping[str, Any]) -> tuple[str, ...]:
    rule, unit = settings["rule"], settings["unit"]
    _check("rule", rule)
    of_rule = _OF_RULE[rule]
    return (*of_rule, *_OF_SENTENCES) if "unit" in of_rule and unit == "sentence" else of_rule


def _check(option: str, value: Any) -> None:
    if option in _CHOICES:
        if value not in _CHOICES[option]:
            raise InputError(f"unknown {option} of passages", got=value, fix=suggestion(str(value), _CHOICES[option]))
    elif isinstance(_DEFAULTS[option], str):
        if not isinstance(value, str):
            raise InputError(f"passage option {option} is a word", got=value)
    else:
        least = 0 if option in _FROM_ZERO else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"passage option {option} is a whole number from {least}", got=value)


def _check_together(settings: Mapping[str, Any]) -> None:
    length, stride = settings["length"], settings["stride"]
    if settings["rule"] == "windows" and stride > length:
        raise InputError(
            f"stride {stride} is longer than the window of {length}: text between windows would never be read",
            fix="give a stride of at most the length",
        )
    if settings["overflow"] == "first_last_random" and settings["max_passages"] == 1:
        raise InputError("overflow first_last_random keeps two passages or more", got=1, fix="set overflow = head")


def _build(settings: Mapping[str, Any], used: tuple[str, ...], tokenizer: OffsetTokenizer | None) -> Segmenter:
    cap = Cap(settings["max_passages"], settings["overflow"], settings["seed"])
    named = {option: settings[option] for option in used if cap.most or option not in _CAP}
    if settings["rule"] == "given":
        return GivenPassages(_fingerprint("given", named), cap)
    if settings["rule"] == "whole":
        return WholeDocument(_fingerprint("whole", named))
    units, detail = _unit_finder(settings, tokenizer)
    fingerprint = _fingerprint(settings["rule"], named | detail)
    length = settings["length"]
    if settings["rule"] == "even":
        return EvenSplit(fingerprint, units, length, settings["max_units"])
    return SlidingWindows(fingerprint, units, length, settings["stride"], settings["tail"] == "drop_contained", cap)


def _unit_finder(settings: Mapping[str, Any], tokenizer: OffsetTokenizer | None) -> tuple[UnitFinder, dict[str, str]]:
    """Return the unit finder, and what it adds to the fingerprint."""
    if settings["unit"] == "word":
        return whitespace_words, {}
    if settings["unit"] == "sentence":
        splitter = make_splitter(settings["splitter"], settings["language"])
        max_words = settings["max_words"]
        return lambda text: splitter.sentences(text, max_words), {"splitter": splitter.fingerprint}
    if tokenizer is None:
        raise InputError(
            "passages of wordpieces need the tokenizer of a model",
            fix="use a scorer that has one, or passages that count words",
        )
    return lambda text: wordpieces(text, tokenizer), {"tokenizer": tokenizer.fingerprint}


def _fingerprint(rule: str, options: Mapping[str, Any]) -> str:
    return f"{rule}({','.join(f'{name}={value}' for name, value in options.items())})"
