"""Recipes: those that come with the package, and what a recipe must and must not say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import main
from longrank.collections.catalogue import catalogue
from longrank.config import read_toml
from longrank.errors import InputError
from longrank.evaluation.names import parse_measures
from longrank.registries import lookup
from longrank.reproduction.papers import PROGRAMS
from longrank.reproduction.recipe_files import RECIPES, load_recipe, named, recipe_names
from longrank.reproduction.selection import for_collection, select_recipes

NAMES = recipe_names()

PUBLISHED = {
    "MAXP": ["Table 1a", "Table 1b", "Table 2", "Table 3a", "Table 3b", "Figure 1"],
    "H2OLOO": ["Table 1", "Table 2"],
    "SANTOS": [*(f"Table {n}" for n in range(1, 7)), "Figure 1", "Figure 2", "Figure 3"],
    "PARADE": [*(f"Table {n}" for n in range(1, 13)), "Figure 1", "Figure 2", "Figure 3"],
    "BIRCH": ["Table 1.1", "Table 1.2", "Table 1.3"],
}
"""The papers' tables and figures."""

CONDITIONS = {  # of a table that has several: what the recipes' names end in
    ("MAXP", "Table 1b"): {"robust04-title", "robust04-description", "gov2-title", "gov2-description"},
    ("MAXP", "Table 2"): {"robust04-title", "robust04-description", "gov2-title", "gov2-description"},
    ("PARADE", "Table 2"): {"robust04-title", "robust04-description", "gov2-title", "gov2-description"},
    ("PARADE", "Table 4"): {"dl19", "dl20"},
    ("SANTOS", "Table 1"): {"2002", "2003", "2004"},
}


@cache
def items() -> dict[tuple[str, str], list[str]]:
    """Return (paper, table or figure) -> names of its recipes."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in NAMES:
        recipe, _ = load_recipe(name)
        found.setdefault((recipe.paper, recipe.item), []).append(name)
    return found


@pytest.mark.parametrize(("paper", "item"), [(paper, item) for paper, items in PUBLISHED.items() for item in items])
def test_every_table_and_figure_has_a_recipe(paper: str, item: str) -> None:
    own = items().get((paper, item))
    assert own
    ends = CONDITIONS.get((paper, item), set())
    assert {end for end in ends if any(name.endswith(end) for name in own)} == ends


def test_birchs_results_have_a_recipe_for_each_of_its_collections() -> None:
    assert {"birch/results-robust04", "birch/results-core17", "birch/results-core18"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_recipe_says_what_is_to_be_said(name: str) -> None:
    recipe, changes = load_recipe(name)
    assert changes == {}
    assert name.split("/")[0] == recipe.paper.lower()
    assert recipe.collection in catalogue()
    assert recipe.open is None or catalogue()[recipe.open].licence == "open"
    assert recipe.measures == [] or parse_measures(recipe.measures)
    head = (RECIPES / f"{name}.toml").read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("# ") and head.split()[1] not in ("How", "What", "Whether", "Which")
    if recipe.program is None:
        assert all(row.reason for row in recipe.expected)
        return
    assert callable(lookup(PROGRAMS, recipe.program, "program"))
    assert recipe.open is not None or catalogue()[recipe.collection].licence == "open"
    assert recipe.query_field is None or recipe.query_field in catalogue()[recipe.collection].query_fields


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_recipes_test_compares_with_one_of_its_rows(name: str) -> None:
    recipe, _ = load_recipe(name)
    rows = {row.row for row in recipe.expected}
    if recipe.significance is not None:
        compared = recipe.significance.compare_with
        assert {compared} <= rows if isinstance(compared, str) else {*compared, *compared.values()} <= rows


def test_tables_are_in_the_order_of_their_numbers() -> None:
    tables = [name for name in NAMES if name.startswith("parade/table")]
    numbers = [int(name.removeprefix("parade/table").split("-")[0]) for name in tables]
    assert numbers == sorted(numbers)


# --- what the tables of a paper share -----------------------------------------------------------


@pytest.mark.parametrize("folder", sorted({name.split("/")[0] for name in NAMES}))
def test_all_that_a_paper_shares_is_used_and_each_decision_stands_once(folder: str) -> None:
    paper = read_toml(RECIPES / folder / "paper.toml")
    tables = [read_toml(path) for path in (RECIPES / folder).glob("*.toml") if path.name != "paper.toml"]
    assert {table["shared"] for table in tables if "shared" in table} == set(paper["shared"])
    assert {name for table in tables for name in table.get("decisions", [])} == set(paper["decisions"])
    texts = [(decision["text"], decision["choice"]) for decision in paper["decisions"].values()]
    assert len(texts) == len(set(texts)) or folder in ("birch", "parade")  # the same words about two things
    assert not any("paper" in table or "decision" in table for table in tables)


SHARED = """
paper = "OWN"
[shared.both]
collection = "tiny"
measures = ["AP"]
item = "Table 1"
[shared.both.settings]
depth = 10
train = { loop = { steps = 5 } }
[decisions."folds (tiny)"]
text = "Not said."
choice = "five"
"""
TABLE = """
shared = "both"
about = "made up"
item = "Table 2"
decisions = ["folds (tiny)"]
expected = [{ row = "x", values = { AP = 0.1 } }]
[settings]
train = { loop = { batch = 2 } }
"""


def test_a_table_takes_what_its_paper_shares_below_its_own_keys(tmp_path: Path) -> None:
    (tmp_path / "paper.toml").write_text(SHARED)
    (tmp_path / "table.toml").write_text(TABLE)
    recipe, _ = load_recipe(str(tmp_path / "table.toml"), ["depth=3"])
    assert (recipe.paper, recipe.item, recipe.collection) == ("OWN", "Table 2", "tiny")
    assert recipe.settings == {"depth": 3, "train": {"loop": {"steps": 5, "batch": 2}}}
    assert [(one.about, one.choice) for one in recipe.decision] == [("folds", "five")]


def test_a_table_keeps_its_own_decisions_beside_those_of_its_paper(tmp_path: Path) -> None:
    (tmp_path / "paper.toml").write_text(SHARED)
    own = '[[decision]]\nabout = "stop words"\ntext = "Not named."\nchoice = "33"\n'
    (tmp_path / "table.toml").write_text(TABLE + own)
    recipe, _ = load_recipe(str(tmp_path / "table.toml"))
    assert [decision.about for decision in recipe.decision] == ["folds", "stop words"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('shared = "both"', 'shared = "bth"', "did you mean 'both'?"),
        ("folds (tiny)", "folds (tin)", "did you mean 'folds (tiny)'?"),
        ('["folds (tiny)"]', "3", "decisions"),
        ('shared = "both"', 'paper = "OWN"', "unknown key (got 'decisions')"),
    ],
)
def test_a_fault_in_what_is_shared_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    (tmp_path / "paper.toml").write_text(SHARED)
    (tmp_path / "table.toml").write_text(TABLE.replace(before, after))
    with pytest.raises(InputError) as error:
        load_recipe(str(tmp_path / "table.toml"))
    assert said in str(error.value)


# --- asking for recipes -------------------------------------------------------------------------


def test_a_paper_stands_for_its_recipes_and_each_is_named_once() -> None:
    birch = [name for name in NAMES if name.startswith("birch/")]
    assert named(["birch"]) == named(["BIRCH/", birch[0]]) == birch
    assert named(["own.toml", birch[0]]) == ["own.toml", birch[0]]


def test_a_table_stands_for_its_conditions() -> None:
    assert set(named(["parade/table2"])) == {
        f"parade/table2-{collection}-{field}"
        for collection in ("robust04", "gov2")
        for field in ("title", "description")
    }
    assert "birch/results-core17" in named(["birch/results"])
    assert named(["parade/table9-dl19"]) == ["parade/table9-dl19"]  # though there is parade/table9-dl19-fira


def test_an_unknown_name_is_answered_with_names_like_it() -> None:
    with pytest.raises(InputError, match=r"did you mean .*santos/table2-2002"):
        named(["santos/tabel2-2002"])
    with pytest.raises(InputError, match="no recipe has a similar name; longrank reproduce --list"):
        named(["qqqqqqqqqqqqq"])


def test_of_a_paper_the_recipes_of_a_collection_are_run_and_others_only_by_name() -> None:
    asked = select_recipes(named(["parade"]), (), {})
    of_it = {one.recipe.collection for one in for_collection(asked, ["parade"], "genomics")}
    assert of_it == {"genomics"}
    by_name = ["parade", "parade/table2-gov2-title"]
    assert {one.recipe.collection for one in for_collection(asked, by_name, "genomics")} == {"genomics", "gov2"}
    assert {one.recipe.open for one in for_collection(asked, ["parade"], "qmsum")} == {"qmsum"}
    assert for_collection(asked, ["parade"], "mine") == asked


# --- what a recipe may say ----------------------------------------------------------------------

PLAIN: dict[str, Any] = {
    "paper": "PARADE",
    "item": "Table 0",
    "about": "made up",
    "collection": "tiny",
    "measures": ["AP"],
    "expected": [{"row": "x", "values": {"AP": 0.1}}],
}


def written(folder: Path, **more: Any) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in {**PLAIN, **more}.items() if value is not None]
    (folder / "own.toml").write_text("\n".join(lines))
    return str(folder / "own.toml")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value).lower() if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"expected": [{"row": "x"}]}, "a row has either values or expected"),
        ({"expected": [{"row": "x", "expected": "not recovered"}]}, "a row without figures has a reason"),
        ({"expected": [{"row": "x", "values": {"RR": 0.1}}]}, "row 'x' has RR, which is not among measures"),
        ({"expected": []}, "expected"),
        ({"measures": []}, "there are neither measures nor quantities"),
        ({"tolerances": {"ms": 1}}, "tolerances has ms, which is not among measures and quantities"),
        ({"paper": ""}, "paper"),
        ({"program": "santos:__loader__"}, "own.toml: program: unknown program; "),
        ({"program": "santos:tabel_1"}, "did you mean 'santos:table_1'?"),
        ({"colection": "x"}, "unknown key (got 'colection'); did you mean 'collection'?"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_a_fault_in_a_recipe_is_named(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        load_recipe(written(tmp_path, **more))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("setting", "assignment", "value"),
    [
        (3, "s=4", 4),
        (0.5, "s=1", 1),
        ("x", "s=a/b", "a/b"),
        ([1], "s=[2, 3]", [2, 3]),
        ([], "s=[2]", [2]),
        (True, "s=false", False),
        ({"a": {"b": 1}}, "s.a.b=2", {"a": {"b": 2}}),
        ({}, "s.a.b=2", {"a": {"b": 2}}),
    ],
)
def test_a_setting_is_changed_and_the_change_is_known(
    tmp_path: Path, setting: object, assignment: str, value: object
) -> None:
    path = written(tmp_path, settings={"s": setting})
    recipe, changes = load_recipe(path, [assignment])
    assert recipe.settings == {"s": value}
    assert changes == {"s": (setting, value)}


@pytest.mark.parametrize(
    ("setting", "assignment"),
    [
        (3, "s=x"),
        (3, "s=0.5"),
        (3, "s=true"),
        (0.5, "s=true"),
        (0.5, "s="),
        ("x", "s=1"),
        ([1], "s=1"),
        (True, "s=1"),
    ],
)
def test_a_setting_of_another_kind_is_refused(tmp_path: Path, setting: object, assignment: str) -> None:
    with pytest.raises(InputError, match="setting s is "):
        load_recipe(written(tmp_path, settings={"s": setting}), [assignment])


@pytest.mark.parametrize(
    ("setting", "assignment"),
    [([1], "s=[]"), ([1], 's=["a"]'), ({"a": {"b": 1}}, "s.a=3"), ({"a": {"b": 1}}, "s={c=3}"), ({"a": [1]}, "s.a=3")],
)
def test_values_of_another_kind_are_refused(tmp_path: Path, setting: object, assignment: str) -> None:
    with pytest.raises(InputError, match="values of setting s are of another type"):
        load_recipe(written(tmp_path, settings={"s": setting}), [assignment])


@pytest.mark.parametrize(
    ("setting", "assignment"),
    [(["a"], "s=[]"), ({"k1": "0.1,0.7"}, "s.k1=0.7"), ({"a": {"b": "x"}}, "s.a={}"), ([0.5], "s=[1]")],
)
def test_values_that_say_the_same_in_another_way_or_less_are_taken(
    tmp_path: Path, setting: object, assignment: str
) -> None:
    assert load_recipe(written(tmp_path, settings={"s": setting}), [assignment])[1].keys() == {"s"}


@pytest.mark.parametrize(
    ("setting", "assignment"),
    [(1000, "s=0"), (1000, "s=-1"), ([10, 20], "s=[10, 0]")],
)
def test_a_count_below_one_is_refused_at_once(tmp_path: Path, setting: object, assignment: str) -> None:
    with pytest.raises(InputError, match=r"setting s is a count \(got .*\); give 1 or more"):
        load_recipe(written(tmp_path, settings={"s": setting}), [assignment])


def test_a_number_that_counts_nothing_may_be_zero(tmp_path: Path) -> None:
    settings = {"queries": 0, "seed": 42, "seeds": [0, 1], "weight": 0.5, "rm3": True}
    given = ["queries=0", "seed=0", "seeds=[0]", "weight=0.0", "rm3=false"]
    assert load_recipe(written(tmp_path, settings=settings), given)[0].settings["seed"] == 0


def test_a_system_that_the_recipe_does_not_have_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, settings={"systems": ["FirstP", "MaxP"]})
    assert load_recipe(path, ['systems=["MaxP"]'])[0].settings == {"systems": ["MaxP"]}
    with pytest.raises(InputError, match=r"no such system \(got 'MaxPP'\); did you mean 'MaxP'\?"):
        load_recipe(path, ['systems=["MaxPP"]'])


NAMED = {
    "first_stages": {"BM25+RM3": {"b": 0.6}},
    "rm3_grid": {"k1": "0.1,0.2"},
    "weights": {"marco": [0.1]},
    "runs": {"r1": {"systems": ["x"], "first_stage": "question"}, "r2": {"systems": ["x"]}},
}


def test_a_setting_of_a_run_that_the_recipe_does_not_use_is_read() -> None:
    recipe, _ = load_recipe("parade/table11-covid-round3", ["runs.mpiid5_run1.first_stage='question'"])
    assert recipe.settings["runs"]["mpiid5_run1"]["first_stage"] == "question"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ('first_stages."BM25-RM3".k1=0.3', r"setting first_stages has no such entry \(got 'BM25-RM3'\)"),
        ("weights.marko=[0.2]", r"setting weights has no such entry .*did you mean 'marco'"),
        ('runs.r2.frist_stage="question"', r"runs.r2 has no such option .*did you mean 'first_stage'"),
        ('first_stages."BM25+RM3".k1=0.3', r"first_stages.BM25\+RM3.k1 has no effect: rm3_grid tries its values"),
    ],
)
def test_a_setting_that_no_program_reads_is_refused(tmp_path: Path, assignment: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_recipe(written(tmp_path, settings=NAMED), [assignment])


@pytest.mark.parametrize(
    "assignment",
    [
        'first_stages."BM25+RM3".b=0.3',
        "first_stages.BM25.b=0.3",
        "weights.marco=[0.2]",
        'runs.r2.first_stage="question"',
        'runs.r3={systems=["x"]}',
        'rm3_grid={b="0.1,0.2"}',
    ],
)
def test_a_setting_that_programs_read_is_taken(tmp_path: Path, assignment: str) -> None:
    assert load_recipe(written(tmp_path, settings=NAMED), [assignment])[1]


def test_the_same_value_is_no_change(tmp_path: Path) -> None:
    assert load_recipe(written(tmp_path, settings={"s": 3}), ["s=3"])[1] == {}


def test_the_recipe_on_the_page_is_one(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "reproduction.md"
    (block,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "own.toml").write_text(block)
    recipe, _ = load_recipe(str(tmp_path / "own.toml"), ["candidates=10"])
    assert [row.row for row in recipe.expected] == ["BM25", "Bennett et al. 2008", "BM25+Porter"]


@pytest.mark.parametrize("name", ["parade/table9-msmarco-dev", "birch/table1.2-msmarco"])
def test_a_part_of_the_queries_is_refused_for_figures_without_queries(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "x"}\n')
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    for file in ("passage_qrels.txt", "triples.train.small.tsv"):
        (tmp_path / file).write_text("q 0 d 1\n")
    command = ["reproduce", name, "--collection", str(tmp_path), "-o", str(tmp_path / "out"), "--dry-run"]
    assert main([*command, "--set", "queries=1"]) == 2
    assert "the setting queries has no effect: this figure counts all" in capsys.readouterr().err
    assert main(command) == 0
