from __future__ import annotations

import csv
import io
import json

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import PerQuery
from longrank.evaluation.render import PER_QUERY_RENDERERS, RENDERERS
from longrank.evaluation.report import compare
from longrank.evaluation.significance import differences, t_test
from longrank.types import Notes


def system(*average_precisions: float, returned: int = 10) -> PerQuery:
    query_ids = [f"q{n}" for n in range(len(average_precisions))]
    return {
        "AP": dict(zip(query_ids, average_precisions, strict=True)),
        "NumRet": dict.fromkeys(query_ids, float(returned)),
    }


RESULTS = {"bm25": system(0.1, 0.2, 0.3, 0.4), "maxp": system(0.4, 0.5, 0.55, 0.75), "same": system(0.1, 0.2, 0.3, 0.4)}


def test_a_table_without_a_baseline_compares_nothing() -> None:
    table = compare(RESULTS)
    assert table.comparisons == 0
    assert [row.comparisons for row in table.rows] == [(None, None)] * 3
    assert [row.values[1] for row in table.rows] == [40.0] * 3


def test_comparisons_are_of_other_systems_and_never_of_counts() -> None:
    table = compare(RESULTS, baseline="bm25", correction="bonferroni")
    assert table.comparisons == 2
    bm25, maxp, same = table.rows
    assert bm25.comparisons == (None, None)
    assert maxp.comparisons[1] is None
    found = maxp.comparisons[0]
    p = t_test(differences(RESULTS["maxp"]["AP"], RESULTS["bm25"]["AP"]))
    assert found is not None and p is not None
    assert found.delta == pytest.approx(0.3)
    assert (found.p, found.p_corrected, found.significant) == (p, 2 * p, True)
    assert same.comparisons[0] is not None
    assert (same.comparisons[0].delta, same.comparisons[0].p) == (0.0, 1.0)


def test_significance_is_judged_after_the_correction() -> None:
    p = t_test(differences(RESULTS["maxp"]["AP"], RESULTS["bm25"]["AP"]))
    assert p is not None
    for correction, marked in ((None, True), ("bonferroni", False), ("holm", False)):
        comparison = compare(RESULTS, baseline="bm25", correction=correction, threshold=1.5 * p).rows[1].comparisons[0]
        assert comparison is not None and comparison.significant is marked


def test_comparisons_are_systems_times_measures() -> None:
    two = {name: {"AP": values["AP"], "RR": values["AP"]} for name, values in RESULTS.items()}
    table = compare(two, baseline="bm25", correction="bonferroni")
    assert table.comparisons == 4
    p = t_test(differences(two["maxp"]["AP"], two["bm25"]["AP"]))
    assert p is not None
    assert [c.p_corrected for c in table.rows[1].comparisons if c] == [4 * p, 4 * p]


def test_a_p_at_the_threshold_is_not_significant() -> None:
    """Differences of 3 and 2 have p 1/2 in the randomization test."""
    results = {"a": system(0.0, 0.0), "b": system(3.0, 2.0)}
    found = [
        compare(results, baseline="a", test="randomization", threshold=t).rows[1].comparisons[0] for t in (0.5, 0.6)
    ]
    assert [(c.p, c.significant) for c in found if c] == [(0.5, False), (0.5, True)]


def test_one_query_gives_no_p_and_no_mark() -> None:
    table = compare({"a": system(0.1), "b": system(0.9)}, baseline="a", correction="holm")
    comparison = table.rows[1].comparisons[0]
    assert comparison is not None
    assert (comparison.p, comparison.p_corrected, comparison.significant) == (None, None, False)
    assert "  -" in RENDERERS["table"](table)
    assert json.loads(RENDERERS["json"](table))["systems"][1]["comparisons"]["AP"]["p"] is None


def test_a_baseline_that_is_not_there_and_a_threshold_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="the baseline is not among the systems"):
        compare(RESULTS, baseline="dph")
    with pytest.raises(InputError, match="threshold must be between 0 and 1"):
        compare(RESULTS, threshold=1.0)


def test_plain_text_is_aligned_and_explains_its_marks() -> None:
    text = RENDERERS["table"](compare(RESULTS, baseline="bm25", correction="holm"))
    assert text == (
        "system      AP    NumRet\n"
        "bm25    0.2500        40\n"
        "maxp    0.5500^*      40\n"
        "same    0.2500        40\n"
        "\n"
        "against bm25  measure    delta       p  p holm\n"
        "maxp          AP       +0.3000  0.0007  0.0014\n"
        "same          AP       +0.0000  1.0000  1.0000\n"
        "\n"
        "^ best of the column\n"
        "* differs from bm25 with p < 0.05 (paired t-test, holm, 2 comparisons)\n"
    )


def test_a_mark_that_is_not_used_is_not_explained() -> None:
    assert RENDERERS["table"](compare({"a": system(0.5), "b": system(0.5)})).splitlines()[-1].startswith("b ")


def test_markdown_marks_the_best_and_the_significant() -> None:
    assert RENDERERS["markdown"](compare(RESULTS, baseline="bm25")) == (
        "| system | AP | NumRet |\n"
        "| --- | ---: | ---: |\n"
        "| bm25 | 0.2500 | 40 |\n"
        "| maxp | **0.5500**\\* | 40 |\n"
        "| same | 0.2500 | 40 |\n"
        "\n"
        "| against bm25 | measure | delta | p |\n"
        "| --- | --- | ---: | ---: |\n"
        "| maxp | AP | +0.3000 | 0.0007 |\n"
        "| same | AP | +0.0000 | 1.0000 |\n"
        "\n"
        "\\* differs from bm25 with p \\< 0.05 (paired t-test, not corrected, 2 comparisons)\n"
    )


def test_latex_is_a_booktabs_tabular() -> None:
    assert RENDERERS["latex"](compare(RESULTS, baseline="bm25")) == (
        "% * differs from bm25 with p < 0.05 (paired t-test, not corrected, 2 comparisons)\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "system & AP & NumRet \\\\\n"
        "\\midrule\n"
        "bm25 & 0.2500 & 40 \\\\\n"
        "maxp & \\textbf{0.5500}$^{*}$ & 40 \\\\\n"
        "same & 0.2500 & 40 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\n"
        "\\begin{tabular}{llrr}\n"
        "\\toprule\n"
        "against bm25 & measure & delta & p \\\\\n"
        "\\midrule\n"
        "maxp & AP & +0.3000 & 0.0007 \\\\\n"
        "same & AP & +0.0000 & 1.0000 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_json_and_csv_keep_full_precision() -> None:
    table = compare({"a": system(0.1, 0.2), "b": system(1 / 3, 2 / 3)}, baseline="a", test="randomization")
    read = json.loads(RENDERERS["json"](table))
    assert read["systems"][1]["values"]["AP"] == table.rows[1].values[0]
    assert (read["baseline"], read["test"], read["comparisons"]) == ("a", "randomization", 1)
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](table))))
    assert [(row["system"], row["measure"]) for row in rows] == [
        *(("a", "AP"), ("a", "NumRet"), ("b", "AP"), ("b", "NumRet"))
    ]
    assert float(rows[2]["value"]) == table.rows[1].values[0]
    assert float(rows[2]["p"]) == 0.5
    assert rows[0]["p"] == rows[3]["p"] == ""


HOSTILE = ["=cmd()", "+1", "-1", "@x", "a&b_c%d$e#f{g}h~i^j\\k", "x|y*z`<b>", "\x1b[31mred", "tab\there", 'q"uo,te']


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_in_every_format(name: str) -> None:
    results = {"plain": system(0.1, 0.2), name: system(0.3, 0.4)}
    table = compare(results, baseline="plain")
    for render in (RENDERERS["table"], RENDERERS["markdown"], RENDERERS["latex"]):
        assert "\x1b" not in render(table) and "\t" not in render(table)
    assert json.loads(RENDERERS["json"](table))["systems"][1]["name"] == name
    for text in (RENDERERS["csv"](table), PER_QUERY_RENDERERS["csv"](results)):
        cells = [row["system"] for row in csv.DictReader(io.StringIO(text))]
        assert cells[-1] == (f"'{name}" if name[0] in "=+-@" else name)


@pytest.mark.parametrize("name", ["[s]", "*s"])
def test_a_name_is_no_option_of_the_line_end_before(name: str) -> None:
    latex = RENDERERS["latex"](compare({name: RESULTS["bm25"]}))
    assert f"\\midrule\n{{}}{name} &" in latex


def test_latex_and_markdown_escape_their_own_characters() -> None:
    results = {"a&b_c%d$e#f{g}h~i^j\\k": system(0.1, 0.2), "x|y*z`<b>": system(0.3, 0.4)}
    latex = RENDERERS["latex"](compare(results))
    assert r"a\&b\_c\%d\$e\#f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k &" in latex
    assert r"| x\|y\*z\`\<b\> |" in RENDERERS["markdown"](compare(results))


def test_values_per_query_have_trec_evals_shape() -> None:
    results = {
        "bm25": {"AP": {"q1": 0.5, "q2": 0.25}, "NumQ": {"q1": 1.0, "q2": 1.0}, "NumRet": {"q1": 3.0, "q2": 4.0}}
    }
    assert PER_QUERY_RENDERERS["table"](results) == (
        "runid                 \tall\tbm25\n"
        "AP                    \tq1\t0.5000\n"
        "NumRet                \tq1\t3\n"
        "AP                    \tq2\t0.2500\n"
        "NumRet                \tq2\t4\n"
        "AP                    \tall\t0.3750\n"
        "NumQ                  \tall\t2\n"
        "NumRet                \tall\t7\n"
    )
    read = json.loads(PER_QUERY_RENDERERS["json"](results))
    assert read["bm25"]["queries"]["AP"] == {"q1": 0.5, "q2": 0.25}
    assert read["bm25"]["all"] == {"AP": 0.375, "NumQ": 2.0, "NumRet": 7.0}
    assert PER_QUERY_RENDERERS["csv"](results).splitlines()[:2] == ["system,measure,query_id,value", "bm25,AP,q1,0.5"]


def test_a_table_of_one_system_has_nothing_to_mark() -> None:
    assert RENDERERS["table"](compare({"bm25": system(0.1)})) == ("system      AP  NumRet\nbm25    0.1000      10\n")


def test_systems_are_compared_on_the_topics_of_both_and_the_others_are_noted() -> None:
    notes, results = Notes(), {"bm25": system(0.1, 0.2, 0.9), "fold": system(0.2, 0.4)}
    found = compare(results, baseline="bm25", notes=notes).rows[1].comparisons[0]
    assert found is not None and found.delta == pytest.approx(0.15)
    assert found.p == t_test(differences({"a": 0.2, "b": 0.4}, {"a": 0.1, "b": 0.2}))
    assert notes.lines() == ["1 topics that only fold or bm25 has are left out where the two are compared"]
    with pytest.raises(InputError, match="fold has no topic in common with bm25"):
        compare({"bm25": {"AP": {"a": 1.0}}, "fold": {"AP": {"b": 1.0}}}, baseline="bm25")
