"""A result as a table of texts, which all report formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longrank.evaluation.render import p_text
from longrank.reproduction.recipe import Expected, Recipe
from longrank.reproduction.results import VERDICTS, Result, ResultRow, Verdict

_SOURCES = {
    "survey": "the survey of Lin, Nogueira and Yates",
    "journal": "the journal version",
    "readme": "the README of the released code",
    "thesis": "the thesis or article behind the chapter",
    "track": "the official results of the campaign",
    "code": "the released code",
}
_TESTS = {"t": "paired t-test", "randomization": "paired randomization test"}


@dataclass(frozen=True, slots=True)
class Cell:
    """The published and the obtained figure, as texts; empty if there is none."""

    published: str = ""
    obtained: str = ""
    verdict: Verdict | None = None
    significant: bool = False


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of the result.

    Attributes:
        name: name of the row.
        cells: column -> figures.
        remarks: numbers of footnotes, from 1.
        instead: text instead of published figures: ``not recovered``, ``not published`` or empty.
    """

    name: str
    cells: Mapping[str, Cell]
    remarks: Sequence[int] = ()
    instead: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A result in texts.

    Attributes:
        columns: measures and quantities.
        published: columns with published figures; all columns if only lost rows are known.
        rows: rows in the paper's order.
        footnotes: texts of the remarks, from number 1.
        verdicts: verdict -> number of figures.
        p: row -> column -> p of the paper's test.
    """

    columns: Sequence[str]
    published: frozenset[str]
    rows: Sequence[ReportRow]
    footnotes: Sequence[str]
    verdicts: Mapping[Verdict, int]
    p: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def table_of(result: Result) -> ReportTable:
    """Return a result as a table of texts."""
    recipe, footnotes = result.recipe, dict[str, int]()
    digits = _digits(recipe)
    rows = []
    for line in result.lines:
        remarks = [footnotes.setdefault(remark, len(footnotes) + 1) for remark in _remarks(line)]
        cells = {column: _cell(recipe, line, column, digits) for column in recipe.columns}
        instead = line.expected.expected or "" if line.expected is not None else ""
        rows.append(ReportRow(line.name, cells, remarks, instead))
    published = frozenset(column for line in result.lines for column in line.published)
    if not published and any(row.instead for row in rows):  # the text then stands in every column
        published = frozenset(recipe.columns)
    p = {line.name: {column: p_text(value) for column, value in line.p.items()} for line in result.lines if line.p}
    return ReportTable(recipe.columns, published, rows, list(footnotes), verdict_counts(result), p)


def verdict_counts(result: Result) -> dict[Verdict, int]:
    """Return verdict -> number of figures, without zeros."""
    counts = Counter(verdict for line in result.lines for verdict in line.verdicts.values())
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def title(result: Result) -> str:
    """Return ``PARADE, Table 2``."""
    return f"{result.recipe.paper}, {result.recipe.item}"


def in_words(counts: Mapping[Verdict, int]) -> str:
    """Return ``Of 12 published figures, 9 match, 3 are lower.``."""
    total = sum(counts.values())
    if not total:
        return "No figures were published, or none is known."
    verbs = {"match": ("matches", "match")}
    parts = [f"{n} {verbs.get(verdict, ('is ' + verdict, 'are ' + verdict))[n != 1]}" for verdict, n in counts.items()]
    return f"Of {total} published figure{'s' * (total != 1)}, {', '.join(parts)}."


def how_matched(recipe: Recipe) -> str:
    """Return a sentence about tolerances."""
    rows = sorted({row.tolerance for row in recipe.expected if row.tolerance is not None})
    tolerances = [f"{off:g} of {column}" for column, off in recipe.tolerances.items()]
    tolerances += [f"{', '.join(f'{off:g}' for off in rows)} where a row says so"] if rows else []
    if recipe.quantities and not set(recipe.quantities) <= recipe.tolerances.keys():
        tolerances.append(f"{recipe.tolerance:.1%} of other quantities, or it rounds to the published one")
    return f"A figure matches if it is at most {recipe.tolerance:g} off{''.join(f'; {each}' for each in tolerances)}."


def how_tested(result: Result) -> str:
    """Return a sentence about the asterisk; empty if the paper has no test."""
    test = result.recipe.significance
    if test is None:
        return ""
    n_compared = sum(bool(line.p) for line in result.lines)
    if not n_compared:
        return f"The paper's test compares rows with {test.baseline}; not both were obtained."
    name = test.correction.capitalize()
    correction = "not corrected" if test.correction == "none" else f"{name}, {n_compared} comparisons"
    return (
        f"* differs from {test.baseline} with p < {test.alpha:g} ({_TESTS[test.test]}, {correction}), on these queries."
    )


def _cell(recipe: Recipe, line: ResultRow, column: str, digits: int) -> Cell:
    published, obtained, p, test = line.published.get(column), line.obtained.get(column), None, recipe.significance
    p = line.p.get(column)
    return Cell(
        "" if published is None else _figure(recipe, column, published, digits),
        "" if obtained is None else _figure(recipe, column, obtained, 4),
        line.verdicts.get(column),
        test is not None and p is not None and p < test.alpha,
    )


def _figure(recipe: Recipe, column: str, value: float, digits: int) -> str:
    if column in recipe.measures:
        return f"{value:.{digits}f}"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def _digits(recipe: Recipe) -> int:
    """Return the number of decimals of published measures: the most of all figures, since floats lose final zeros."""
    figures = [row.values[measure] for row in recipe.expected for measure in recipe.measures if measure in row.values]
    return min(4, max((len(repr(figure).partition(".")[2]) for figure in figures), default=4))


def _remarks(line: ResultRow) -> list[str]:
    expected = line.expected
    if expected is None:
        return ["a row that the paper does not have"]
    return [text for text in (_reason(expected, line), expected.note, _source(expected)) if text]


def _reason(expected: Expected, line: ResultRow) -> str:
    if expected.expected is not None:
        return f"{expected.expected}: {expected.reason}"
    if line.row is None and not expected.reason:
        return "not obtained: the settings leave it out"
    return f"not obtained: {expected.reason}" if expected.reason and not line.obtained else expected.reason


def _source(expected: Expected) -> str:
    return f"figures as in {_SOURCES[expected.source]}" if expected.values and expected.source in _SOURCES else ""
