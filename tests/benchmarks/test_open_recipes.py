"""Recipes on open collections: that they, their settings and models are known, and how figures are shown."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import ModuleType

import pytest

from longrank.reproduction.folders import fingerprint
from longrank.reproduction.selection import select_recipes

pytestmark = pytest.mark.neural


@pytest.fixture
def recipes() -> ModuleType:
    return import_module("benchmarks.open_recipes")


def test_each_case_is_of_a_recipe_its_settings_and_its_models_and_is_there_once(recipes: ModuleType) -> None:
    known = recipes.models_of(Path("cross"), Path("predictors"))
    for case in recipes.CASES:
        models = {role: known[which] for role, which in case.models.items()}
        (asked,) = select_recipes([case.recipe], case.settings, models)
        assert asked.recipe.program is not None, case
        assert asked.models == models, case
    assert len({(case.recipe, case.collection) for case in recipes.CASES}) == len(recipes.CASES)
    assert len([name for name, _ in groupby(case.recipe for case in recipes.CASES)]) == len(
        {case.recipe for case in recipes.CASES}
    ), "cases of one recipe stand together"


def test_a_command_names_models_and_questions_that_nothing_was_trained_on(recipes: ModuleType) -> None:
    case = recipes.Case("parade/table3-genomics", "qmsum", {"electra": "cross-encoder"}, ("queries=3",))
    place = recipes.place_of(Path("data"), case.collection, Path("work"))
    known = recipes.models_of(Path("cross"), Path("predictors"))
    assert recipes.command_of(case, known, place, Path("work"))[2:] == [
        *("--collection", "qmsum=work/collections/qmsum", "-o", "work/qmsum"),
        *("--model", "electra=cross", "--set", "queries=3"),
    ]
    assert recipes.place_of(Path("data"), "time", Path("work")) == Path("data/time")


def test_a_second_round_is_judged_in_half_of_the_documents_and_is_no_collection_that_is_known(
    recipes: ModuleType, tmp_path: Path
) -> None:
    source = tmp_path / "data" / "time"
    source.mkdir(parents=True)
    lines = "".join(f'{{"doc_id": "d{n}", "text": "a"}}\n' for n in range(8))
    (source / "docs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (source / "queries.jsonl").write_text('{"query_id": "1", "text": "a"}\n')
    (source / "qrels.txt").write_text("".join(f"1 0 d{n} 1\n" for n in range(5)) + "2 0 d0 1\n")
    place = recipes.prepared(tmp_path / "data", recipes.ROUND, tmp_path / "work")
    now, before = ((place / name).read_text().splitlines() for name in ("qrels.txt", "judged-before.txt"))
    assert [sum(line.startswith(f"{query} ") for line in before) for query in "12"] == [4, 4]
    relevant = {line for line in before if line.endswith(" 1")}
    assert sorted({*now, *relevant}) == sorted((source / "qrels.txt").read_text().splitlines())
    assert relevant.isdisjoint(now)
    assert all(line.endswith(" 0") for line in set(before) - relevant)
    assert {path.name for path in place.iterdir()} == {
        *("docs.jsonl.gz", "queries.jsonl", "qrels.txt", "judged-before.txt")
    }
    command = recipes.command_of(recipes.Case("parade/table10-covid-round2", recipes.ROUND), {}, place, Path("work"))
    assert command[2:4] == ["--collection", str(place)]


def test_figures_stand_with_the_published_ones_and_points_by_line(recipes: ModuleType) -> None:
    about = {"paper": "PARADE", "about": "titles", "collection": "time", "queries": 83, "command": "longrank"}
    rows = [
        {"row": "BM25", "published": {"AP": 0.25}, "obtained": {"AP": 0.5, "R": 12.0}},
        {"row": "Max", "published": {}, "obtained": {"AP": 0.61234}, "p": {"AP": 0.01}},
    ]
    points = [
        {"row": f"{name}, {x}", "published": {}, "obtained": {"AP": 0.25}, "series": name, "x": x}
        for name, x in (("Max", 16), ("Max", 8), ("Sum", 8))
    ]
    found = recipes.as_markdown(
        [
            {
                **about,
                "recipe": "parade/table2",
                "item": "Table 2",
                "rows": rows,
                "significance": {"compare_with": "BM25", "alpha": 0.05},
                "late": {"max": "2 of 5"},
            },
            {**about, "recipe": "parade/figure3", "item": "Figure 3", "rows": points, "significance": {}, "late": {}},
        ],
        ["`parade/table5` on time"],
    )
    assert found.endswith("- Not run yet: `parade/table5` on time.\n")
    assert found.count("## PARADE\n") == 1
    assert "|  | AP | R |\n| --- | ---: | ---: |\n| BM25 | .5000 (.2500) | 12 |\n| Max | .6123\\* |  |\n" in found
    assert "|  | Max, AP | Sum, AP |\n| --- | ---: | ---: |\n| 8 | .2500 | .2500 |\n| 16 | .2500 |  |\n" in found
    line = "| Table 2 | BM25, AP | .2500 | .5000 | time | `longrank reproduce parade/table2` |\n"
    assert found.count("`longrank reproduce parade/") == found.count(line) == 1
    assert found.count("Still rising on dev at the last validation: max in 2 of 5 folds.") == 1
    assert found.count("Still rising") == 1


def test_figures_of_before_stay_as_long_as_the_command_is_the_same(recipes: ModuleType, tmp_path: Path) -> None:
    plain, other = recipes.Case("birch/table1.1-microblog", "time"), recipes.Case("birch/table1.3-car", "time")
    read = recipes.Case("birch/results-robust04", "time", {"MSM": "cross-encoder"}, ("depth=2",))
    known = [{"recipe": case.recipe, "command": recipes.shown_command(case)} for case in (other, plain)]
    changed = {"recipe": read.recipe, "command": recipes.shown_command(read._replace(settings=("depth=3",)))}
    cases = (plain, read, other)
    models = recipes.models_of(tmp_path / "cross", tmp_path)
    assert recipes.rows_of(cases, tmp_path, models, [changed, *known]) == [known[1], known[0]]
    result = {"recipe": read.recipe, "paper": "BIRCH", "item": "1", "about": "", "collection": "time", "queries": 2}
    recipes.result_of(read, tmp_path).parent.mkdir(parents=True)
    recipes.result_of(read, tmp_path).write_text(json.dumps(result | {"rows": []}))
    (tmp_path / "cross").mkdir()
    (tmp_path / "cross" / "model.safetensors").write_bytes(b"abc")
    (asked,) = select_recipes([read.recipe], read.settings, {"MSM": "x"})
    identity = {"settings": dict(asked.recipe.settings), "models": {"MSM": fingerprint(models["cross-encoder"])}}
    claimed = recipes.result_of(read, tmp_path).with_name("reproduction.json")
    claimed.write_text(json.dumps(identity))
    found = recipes.rows_of(cases, tmp_path, models, known)
    assert [one.get("cross_encoder") for one in found] == [None, "ba7816bf", None]
    assert found[1]["command"] == recipes.shown_command(read)
    assert "queries: 2. Cross-encoder ba7816bf." in recipes.as_markdown(found[1:2])
    (tmp_path / "cross" / "model.safetensors").write_bytes(b"other")
    assert recipes.rows_of(cases, tmp_path, models, known) == [known[1], known[0]]  # figures of another model


def test_the_page_is_what_the_program_writes(recipes: ModuleType) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    found = json.loads((docs / "results" / "recipes.json").read_text())
    assert (docs / "recipes.md").read_text() == recipes.as_markdown(found, recipes.waiting(found))


def test_a_training_that_was_best_at_its_last_validation_is_said_not_to_have_converged(
    recipes: ModuleType, tmp_path: Path
) -> None:
    best = {"max/s1": 20, "max/s2": 10, "tuned-s1-model": 20, "tuned-s2-model": 20, "attn/s1": 10}
    for name, step in best.items():
        (tmp_path / name).mkdir(parents=True)
        record = {"best_step": step, "validations": [[10, 0.5], [20, 0.6]]}
        (tmp_path / name / "record.json").write_text(json.dumps(record))
    (tmp_path / "without-dev" / "s1").mkdir(parents=True)
    (tmp_path / "without-dev" / "s1" / "record.json").write_text('{"best_step": null, "validations": []}')
    assert recipes.not_converged(tmp_path) == {"max": "1 of 2", "tuned": "2 of 2"}
