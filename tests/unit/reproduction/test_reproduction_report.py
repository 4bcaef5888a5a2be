"""Reports: what they say of figures, that any text is only text, and that equal results give equal bytes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from longrank.errors import IntegrityError, MissingExtra
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.report import as_markdown, as_text
from longrank.reproduction.report_html import as_html
from longrank.reproduction.report_plots import plots_of
from longrank.reproduction.results import Result, lines
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.selection import SelectedRecipe
from longrank.reproduction.summary import RecipeOutcome, finished_before, no_outcome, summary_text, write_summary
from longrank.reproduction.table import table_of

NASTY = "<script>alert(1)</script> & \"x\" 'y' `z` | $a_b$ [l](u) \x1b[31m ]]>"
MADE_BY = {"longrank": "1", "processor": NASTY}
VOID = {"meta", "br"}

RECIPE: dict[str, Any] = {
    "paper": "SANTOS",
    "item": "Table 9",
    "about": "made up",
    "collection": "time",
    "measures": ["AP", "P@10"],
    "quantities": ["ms"],
    "significance": {"compare_with": "base", "correction": "bonferroni"},
    "expected": [
        {"row": "base", "values": {"AP": 0.198, "P@10": 0.2, "ms": 1.5}},
        {"row": "lost", "expected": "not recovered", "reason": "in no source"},
        {"row": "quoted", "source": "survey", "values": {"AP": 0.3}, "reason": "from elsewhere"},
        {"row": "better", "values": {"AP": 0.25}, "note": "hard to read"},
        {"row": "noted", "values": {"AP": 0.25}, "note": "hard to read"},
    ],
}

PER_QUERY = {
    "base": {"AP": {"q1": 0.2, "q2": 0.2, "q3": 0.2}, "P@10": {"q1": 0.1, "q2": 0.2, "q3": 0.3}},
    "better": {"AP": {"q1": 0.3, "q2": 0.3001, "q3": 0.3}, "P@10": {"q1": 0.1, "q2": 0.2, "q3": 0.4}},
}


def rows() -> list[ObtainedRow]:
    return [
        ObtainedRow("base", {"AP": 0.2, "P@10": 0.2, "ms": 1.4961}, Path("x"), PER_QUERY["base"]),
        ObtainedRow("better", {"AP": 0.3, "P@10": 0.7 / 3}, Path("y"), PER_QUERY["better"]),
        ObtainedRow("ours", {"ms": 12345.6}),
    ]


def result(departures: tuple[str, ...] = (), got: list[ObtainedRow] | None = None, **more: Any) -> Result:
    recipe = Recipe.model_validate({**RECIPE, **more})
    found = lines(recipe, rows() if got is None else got, not departures)
    return Result("santos/table9", recipe, "time", 3, {"encoder": "hub/name"}, departures, found)


def cells(of: Result, row: str) -> Mapping[str, tuple[str, str, str | None, bool]]:
    found = next(one for one in table_of(of).rows if one.name == row)
    return {
        column: (cell.published, cell.obtained, cell.verdict, cell.significant) for column, cell in found.cells.items()
    }


def test_figures_have_the_digits_with_which_they_were_published() -> None:
    assert cells(result(), "base") == {
        "AP": ("0.198", "0.2000", "match", False),
        "P@10": ("0.200", "0.2000", "match", False),
        "ms": ("1.5", "1.496", "match", False),
    }
    assert cells(result(), "ours")["ms"] == ("", "12,346", None, False)


def test_what_is_significant_after_the_papers_correction_is_marked() -> None:
    found = cells(result(), "better")
    assert found["AP"] == ("0.250", "0.3000", "higher", True)
    assert found["P@10"] == ("", "0.2333", None, False)
    assert "0.3000*" in as_markdown(result(), "", {}).replace("\\*", "*")
    assert "* differs from base with p < 0.05 (paired t-test, Bonferroni, 1 comparisons)" in as_text(result())


def test_remarks_are_footnotes_and_equal_ones_are_one() -> None:
    table = table_of(result())
    assert table.footnotes == [
        "not recovered: in no source",
        "not obtained: from elsewhere",
        "figures as in the survey of Lin, Nogueira and Yates",
        "hard to read",
        "not obtained: the settings leave it out",
        "a row that the paper does not have",
    ]
    assert [list(row.remarks) for row in table.rows] == [[], [1], [2, 3], [4], [5, 4], [6]]
    assert table.rows[1].instead == "not recovered"


def test_where_all_figures_are_lost_each_column_says_so() -> None:
    assert table_of(result()).published == {"AP", "P@10", "ms"}
    of = result((), [ObtainedRow("lost", {"AP": 0.5})], expected=[RECIPE["expected"][1]], quantities=[])
    assert "| lost [1] | not recovered | 0.5000 | not recovered |  |" in as_markdown(of, "", {}).replace("\\", "")


def test_verdicts_are_counted() -> None:
    assert "Of 6 published figures, 3 match, 1 is higher, 2 are not obtained." in as_text(result())
    assert "Of 6 published figures, 4 are not comparable here, 2 are not obtained." in as_text(
        result(("k 2, paper 3",))
    )
    assert "No figures were published, or none is known." in as_text(result(expected=[RECIPE["expected"][1]]))


class Page(HTMLParser):
    """Checks that tags close in order; collects them, the classes of cells, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.said = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def page(of: Result, plots: Mapping[str, str] | str = "No plots.") -> str:
    return as_html(of, "longrank index a\nlongrank retrieve b\n", MADE_BY, plots)


def test_the_page_says_verdicts_in_words_and_by_class() -> None:
    html = page(result())
    assert '<td class="higher">0.3000<span class="star">*</span><span class="verdict">higher</span></td>' in html
    assert '<td class="match">0.2000<span class="verdict">match</span></td>' in html
    assert '<td class="not-obtained"><span class="verdict">not obtained</span></td>' in html
    assert '<td class="not-comparable-here">0.3000' in page(result(("k 2, paper 3",)))
    assert "k 2, paper 3" in Page(page(result(("k 2, paper 3",)))).said


def nasty() -> Result:
    expected = [{"row": NASTY, "values": {"AP": 0.1}, "note": NASTY}]
    decision = [{"about": NASTY, "text": NASTY, "choice": NASTY}]
    got = [
        ObtainedRow(NASTY, {"AP": 0.1}, Path("x"), PER_QUERY["base"]),
        ObtainedRow(f"{NASTY}2", {"AP": 0.2}, None, PER_QUERY["better"]),
    ]
    more = {"about": NASTY, "item": NASTY, "settings": {"s": NASTY}, "significance": {"compare_with": NASTY}}
    return result((NASTY,), got, expected=expected, decision=decision, **more)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_any_text_is_only_text_in_a_page_that_loads_and_runs_nothing() -> None:
    of = nasty()
    read = Page(as_html(of, f"longrank {NASTY}\n", MADE_BY, plots_of(of)))
    assert "script" not in read.tags
    assert read.said.count("<script>alert(1)</script>") > 10
    assert "\x1b" not in read.said
    loaded = [value for name, value in read.attributes if name in ("src", "href", "xlink:href", "srcset", "style")]
    assert [one for one in loaded if one and re.search(r"https?:|//|url\((?!#)|javascript", one)] == []
    assert not any(name.startswith("on") for name, _ in read.attributes)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in read.attributes


def test_any_text_keeps_its_row_of_the_markdown_table() -> None:
    text = as_markdown(nasty(), "longrank `x` ```\n", MADE_BY)
    table = [line for line in text.splitlines() if (line.startswith("| ") and "published" in line) or "0.1000" in line]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert "\n````sh\nlongrank `x` ```\n````\n" in text
    assert "<script>" not in re.sub(r"\\<", "", text)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_plots_are_well_formed_and_the_same_for_equal_results() -> None:
    first = plots_of(result())
    assert first == plots_of(result())
    assert set(first) == {"figures", "queries"}
    for svg in first.values():
        ElementTree.fromstring(svg)
    texts = "".join(ElementTree.fromstring(first["queries"]).itertext())
    assert "AP of each query, less that of base" in texts
    assert "3 better, 0 worse, 0 equal" in texts
    assert page(result(), first) == page(result(), plots_of(result()))


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_lines_are_drawn_over_x_and_need_no_published_figure() -> None:
    expected = [{"row": f"{n}", "expected": "not recovered", "reason": "graphical"} for n in range(3)]
    got = [ObtainedRow(f"{n}", {"AP": n / 10}, series="Max", x=n) for n in range(3)] + [
        ObtainedRow("level", {"AP": 0.2})
    ]
    more: dict[str, Any] = {"significance": None, "plot": "lines"}
    texts = "".join(ElementTree.fromstring(plots_of(result((), got, expected=expected, **more))["figures"]).itertext())
    assert "Max, obtained" in texts
    assert "level, obtained" in texts
    assert "published" not in texts


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_figures_that_are_not_comparable_are_drawn_apart() -> None:
    def legend(of: Result) -> str:
        return "".join(ElementTree.fromstring(plots_of(of)["figures"]).itertext())

    assert "not comparable" not in legend(result())
    assert "obtained, not comparable" in legend(result(("another collection",)))


def test_long_commands_wrap_on_the_screen() -> None:
    rules = page(result(), {}).split("@media print")[0]
    assert re.search(r"^pre \{ white-space: pre-wrap;", rules, re.MULTILINE)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_nothing_is_drawn_of_nothing() -> None:
    assert plots_of(result((), [], expected=[RECIPE["expected"][1]])) == {}


def test_without_matplotlib_plots_are_refused_and_the_page_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra):
        plots_of(result())
    assert "No plots: x" in Page(page(result(), "No plots: x")).said


# --- several recipes ----------------------------------------------------------------------------


def test_a_summary_leads_to_reports_and_says_what_failed(tmp_path: Path) -> None:
    recipe = Recipe.model_validate(RECIPE)
    outcomes = [
        RecipeOutcome(
            "santos/table9", Path("santos/table9"), "SANTOS, Table 9", "pears", {"match": 3, "not obtained": 1}
        ),
        no_outcome(SelectedRecipe(f"{NASTY}.toml", recipe, {}, {}), f"failed: {NASTY}"),
    ]
    write_summary(outcomes, NASTY, tmp_path)
    html, markdown = (tmp_path / "index.html").read_text(), (tmp_path / "summary.md").read_text()
    read = Page(html)
    assert "script" not in read.tags
    assert [value for name, value in read.attributes if name == "href"] == ["santos/table9/report.html"]
    assert '<td class="match">3</td>' in html
    assert "[santos/table9](santos/table9/report.md)" in markdown
    assert "failed: <script>" in read.said
    assert "failed: <script>" in summary_text(outcomes)


def test_a_summary_has_recipes_that_were_run_before(tmp_path: Path) -> None:
    for place, rows in (("parade/table2", [{"verdicts": {"AP": "match", "P@20": "lower"}}, {}]), ("mine", [])):
        (tmp_path / place).mkdir(parents=True)
        known = {"recipe": place, "paper": "PARADE", "item": "Table 2", "about": "titles", "rows": rows}
        (tmp_path / place / "results.json").write_text(json.dumps(known))
    mine, table = finished_before(tmp_path, [])
    assert (table.name, table.place, table.shows) == ("parade/table2", Path("parade/table2"), "PARADE, Table 2")
    assert (dict(table.counts), dict(mine.counts)) == ({"match": 1, "lower": 1}, {})
    assert finished_before(tmp_path, [Path("mine")]) == [table]
    write_summary([table], "time", tmp_path)
    assert "[parade/table2](parade/table2/report.md)" in (tmp_path / "summary.md").read_text()
    (tmp_path / "mine/results.json").write_text("[1]")
    with pytest.raises(IntegrityError, match=r"mine/results\.json"):
        finished_before(tmp_path, [])


def test_inputs_that_were_given_are_listed_and_figures_are_judged() -> None:
    of = replace(result(), inputs=["heldout '<b>'"])
    assert "## Inputs that the recipe leaves open\n\n- heldout '" in as_markdown(of, "", {})
    page = as_html(of, "", {}, {})
    assert "<li>heldout &#x27;&lt;b&gt;&#x27;</li>" in page
    assert '<td class="match">' in page
