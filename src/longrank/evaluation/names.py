"""Names of measures, as ir_measures (``nDCG@10``, ``AP(rel=2)@100``) and trec_eval (``map``, ``P.5,10``) spell them.

Both become ir_measures' objects. All parameters are checked here, since ir_measures' providers do not check them: a
cutoff of 0 aborts the process inside pytrec_eval.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from longrank.errors import InputError
from longrank.evaluation.own import OWN, Measure
from longrank.evaluation.trec_names import TREC_CUT, TREC_GROUPS, TREC_NOT_COVERED, TREC_PLAIN

PROVIDERS = ("pytrec_eval", "compat", "judged", "msmarco", "gdeval")
"""Providers of ir_measures for the values that are not `OWN`, by preference. The list is fixed, so that no value
depends on other installed packages."""

_IR_MEASURES_SHAPE = re.compile(r"(?P<base>\w+)(?:\((?P<params>.*)\))?(?:@(?P<at>[^@()]+))?", re.DOTALL)
_TREC_SHAPE = re.compile(r"(?P<base>\w+?)[._](?P<values>[0-9.]+(?:,[0-9.]+)*)", re.ASCII)


def parse_measure(name: str | Measure, level: int | None = None) -> Measure:
    """Return the measure of a name.

    Args:
        name: a name of ir_measures or trec_eval, or an object of ir_measures.
        level: lowest relevant grade, for binary measures without ``rel=``; default 1.

    Raises:
        InputError: no such measure (suggests the nearest), an unknown parameter, a value out of range, or a name
            of several measures.
    """
    measures = parse_measures([name], level)
    if len(measures) != 1:
        raise InputError(f"a single measure is needed, not {len(measures)}", got=name)
    return measures[0]


def parse_measures(names: Iterable[str | Measure], level: int | None = None) -> list[Measure]:
    """Return the measures of several names, groups and families expanded, each once, in order.

    Objects of ir_measures stand for themselves.

    Raises:
        InputError: as `parse_measure`, or no measure is named.
    """
    measures: dict[str, Measure] = {}
    for name in names:
        if not isinstance(name, str) and not hasattr(name, "SUPPORTED_PARAMS"):
            raise InputError("a measure is a name, such as nDCG@10", got=name)
        for measure in _expanded(name, level) if isinstance(name, str) else [checked(at_level(name, level))]:
            measures.setdefault(str(measure), measure)
    if not measures:
        raise InputError("no measure is named", fix="name a measure, such as nDCG@10")
    return list(measures.values())


def at_level(measure: Measure, level: int | None) -> Measure:
    """Return a measure with its lowest relevant grade set, if it takes one and names none.

    Raises:
        InputError: the level is not between 1 and 127.
    """
    rel = measure.SUPPORTED_PARAMS.get("rel")
    if level is None or rel is None or rel.default != 1 or "rel" in measure.params:
        return measure
    return checked(measure(rel=level))


def checked(measure: Measure) -> Measure:
    """Return a measure after checking that a provider computes it with these parameters.

    Raises:
        InputError: a parameter is missing, of the wrong type or out of range, or none of `PROVIDERS` computes the
            measure.
    """
    name = measure.NAME
    for key, info in measure.SUPPORTED_PARAMS.items():
        if key not in measure.params:
            if info.required:
                example = f"@{_EXAMPLE[key]}" if key in _EXAMPLE else f"({key}=...)"
                raise InputError(f"{name} needs a {key}", got=str(measure), fix=f"e.g. {name}{example}")
            continue
        value = measure.params[key]
        if not info.validate(value) or (isinstance(value, bool) and info.dtype is not bool):
            kind = info.dtype.__name__ if info.dtype else ""
            raise InputError(f"{key} of {name} cannot be {value!r}", fix=f"its type is {kind}")
        _check_range(name, key, value)
    _check_provided(measure)
    return measure


_EXAMPLE = {"cutoff": 10, "recall": 0.1}
_RANGES = {"cutoff": (1, 2**31 - 1), "rel": (1, 127), "recall": (0, 1), "p": (0, 1), "beta": (0, 1000), "top": (1, 127)}
_MAX_GAIN = 1000  # pytrec_eval's time grows with the square of the largest gain


def _check_range(name: str, key: str, value: Any) -> None:
    low, high = _RANGES.get(key, (None, None))
    if low is not None and not low <= value <= high:
        raise InputError(f"{key} of {name} must be between {low} and {high}", got=value)
    if key == "gains":
        for number in (*value, *value.values()):
            if type(number) is not int or abs(number) > _MAX_GAIN:
                raise InputError(f"gains of {name} map whole numbers up to {_MAX_GAIN}", got=number)


def _check_provided(measure: Measure) -> None:
    import ir_measures

    if measure.NAME in OWN:
        return
    providers = [getattr(ir_measures, name) for name in PROVIDERS]
    providers = [provider for provider in providers if provider.supports(measure)]
    if not providers:
        raise InputError("measure is not supported", got=str(measure), fix="docs/evaluation.md lists all measures")
    if not any(provider.is_available() for provider in providers):
        raise InputError("measure cannot be computed here", got=str(measure), fix=providers[0].install_instructions())


def _expanded(name: str, level: int | None) -> list[Measure]:
    if name in TREC_GROUPS:
        return [measure for member in TREC_GROUPS[name] for measure in _expanded(member, level)]
    if name in TREC_PLAIN:
        return [_from_ir_measures(TREC_PLAIN[name], level)]
    if name in TREC_CUT:
        base, values = TREC_CUT[name]
        return [_from_ir_measures(f"{base}@{value}", level) for value in values]
    shape = _TREC_SHAPE.fullmatch(name)
    if shape is not None and shape["base"] in TREC_CUT:
        base = TREC_CUT[shape["base"]][0]
        return [_from_ir_measures(f"{base}@{value}", level) for value in shape["values"].split(",")]
    for uncovered in (name, shape["base"] if shape else name):
        if uncovered in TREC_NOT_COVERED:
            raise InputError(f"trec_eval's {uncovered} is not computed: {TREC_NOT_COVERED[uncovered]}", got=name)
    return [_from_ir_measures(name, level)]


def _from_ir_measures(name: str, level: int | None) -> Measure:
    from ir_measures.measures import registry as of_ir_measures

    from longrank.evaluation.ntcir import NTCIR

    registry = {**of_ir_measures, **NTCIR}
    shape = _IR_MEASURES_SHAPE.fullmatch(name.strip())
    if shape is None or shape["base"] not in registry:
        raise InputError("unknown measure", got=name, fix=_nearest(name, registry))
    measure = registry[shape["base"]]
    params = _params(shape["params"] or "", name)
    if shape["at"] is not None:
        params[measure.AT_PARAM] = _value(shape["at"], name)
    for key, value in params.items():
        known = measure.SUPPORTED_PARAMS.get(key)
        if known is None:
            takes = ", ".join(measure.SUPPORTED_PARAMS) or "no parameter"
            raise InputError(f"{measure.NAME} has no {key}", got=name, fix=f"it takes {takes}")
        if known.dtype is float and type(value) is int:
            params[key] = float(value)
    if shape["base"] == "NumRelRet" and level is not None:
        params.setdefault("rel", level)
    return at_level(checked(measure(**params)), level)


def _params(text: str, name: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise InputError(
            "parameters of a measure cannot be read", got=name, fix="write (rel=2, judged_only=True)"
        ) from None


def _value(text: str, name: str) -> Any:
    try:
        return int(text) if re.fullmatch(r"-?[0-9]+", text) else float(text)
    except ValueError:
        raise InputError("a measure needs a number after its @", got=name) from None


def _nearest(name: str, known: Mapping[str, Measure]) -> str:
    """Suggest the nearest name with the same parameters: ndcg@10 -> nDCG@10."""
    base = re.split(r"[(@.]", name.strip(), maxsplit=1)[0]
    folded = {other.lower(): other for other in (*TREC_GROUPS, *TREC_CUT, *TREC_PLAIN)}
    folded |= {other.lower(): measure.NAME for other, measure in known.items()}
    near = difflib.get_close_matches(base.lower(), folded, n=1)
    better = f"{folded[near[0]]}{name.strip()[len(base) :]}" if near else name
    return (
        f"did you mean '{better}'?" if better != name else "e.g. AP, nDCG@10, P@20, RR, R@1000, or a name of trec_eval"
    )
