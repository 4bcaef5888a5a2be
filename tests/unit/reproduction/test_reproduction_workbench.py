"""What the workbench asks of the commands, and how it evaluates their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import COMMANDS, build_app
from longrank.collections.collection import Collection
from longrank.config import override
from longrank.errors import InputError
from longrank.reproduction.assignments import assignments
from longrank.reproduction.phases import Phases
from longrank.reproduction.planning import program_of
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.recipe_files import recipe_names
from longrank.reproduction.selection import select_recipes
from longrank.reproduction.workbench import Workbench
from longrank.training.settings import load_training


def bench(
    folder: Path, *, dry: bool = True, before: bool = False, given_models: Mapping[str, str] | None = None, **more: Any
) -> Workbench:
    given = {"paper": "MAXP", "item": "Table 9", "about": "made up", "collection": "tiny", "measures": ["P@2", "RR"]}
    recipe = Recipe.model_validate({**given, "expected": [{"row": "x", "values": {"RR": 1}}], **more})
    collection = Collection(
        name="tiny", sources=(str(folder / "docs.jsonl"),), judged_before=("earlier.txt",) if before else ()
    )
    return Workbench(
        recipe,
        folder,
        folder / "index",
        models=given_models or {},
        phases=Phases(folder, _refuse, dry=dry),
        scores=folder / "scores.cache",
        collection=collection,
        fold_names=["s1", "s2"],
        n_queries=4,
    )


def _refuse(command: Sequence[str], number: str) -> None:
    raise AssertionError(command)


def test_every_method_asks_for_a_command_that_the_command_line_takes(tmp_path: Path) -> None:
    at = bench(tmp_path, models={"encoder": "hub/name"})
    first = at.retrieve("first", "bm25-anserini", {"b": 0.4}, k=10)
    tuned = at.tuned("tuned", "bm25-anserini", {"k1": "0.3:3:0.3"}, "AP", "--choose-by", "yang19")
    read = at.rerank(
        "maxp", tuned, "maxp", model=at.model("encoder"), depth=5, overrides={"title": True}, more=("--tail", "drop")
    )
    at.aggregate("sum", read.evidence, "sump", first=first, alpha=0.2, normalize="minmax")
    at.weighed("birch", [read.evidence], first, {"alpha": "0:1:0.1"})
    at.weighed("learned", [read.evidence], first, {"alpha": "0:1:0.1"}, "--learn-on", tmp_path / "other")
    at.train("parade", "parade", first, {"loop": {"steps": 3}})
    at.train_passages("passages", "monobert", tmp_path / "rows.jsonl", {}, "--dev", tmp_path / "dev.jsonl")
    at.fuse("fused", "rrf", [first, tuned])
    at.indexed("plain.index", "--analyzer", "none")
    commands = at._phases.commands
    assert [command[0] for command in commands] == [
        *("index", "retrieve", "tune", "rerank", "aggregate", "weigh", "weigh", "train", "train-passages", "fuse"),
        "index",
    ]
    import typer.main

    for command in commands:
        app = typer.main.get_command(build_app([command[0]]))
        app.commands[command[0]].make_context(command[0], command[1:])  # type: ignore[attr-defined]
    assert set(COMMANDS) >= {command[0] for command in commands}


def test_settings_are_written_as_set_reads_them() -> None:
    sets = {
        "flag": True,
        "n": 3,
        "part": {"x": 0.5, "deep": {"list": ["a", 1]}},
        "loss": [{"name": "pair softmax", "weight": 0.5, "on": True}],
        "word": "minmax",
        "like a number": "0.3",
        "path": Path("a/b"),
        "empty": "",
        "grid": "0.3:3:0.3",
    }
    assert assignments(sets) == [
        'empty=""',
        "flag=true",
        "grid=0.3:3:0.3",
        'like a number="0.3"',
        'loss=[{"name" = "pair softmax", "weight" = 0.5, "on" = true}]',
        "n=3",
        'part.deep.list=["a", 1]',
        "part.x=0.5",
        "path=a/b",
        "word=minmax",
    ]
    assert assignments(dict(reversed(sets.items()))) == assignments(sets)
    assert override({}, assignments({"loss": sets["loss"]})) == {"loss": sets["loss"]}


def test_a_role_has_the_published_model_unless_another_is_given(tmp_path: Path) -> None:
    roles = {"encoder": "hub/name", "teacher": "hub/large"}
    at = bench(tmp_path, models=roles, given_models={"teacher": "mine"})
    assert [at.model(role) for role in roles] == ["hub/name", "mine"]
    with pytest.raises(InputError, match=r"has no such model \(got 'x'\); one of encoder, teacher"):
        bench(tmp_path, models=roles, given_models={"x": "mine"})


def test_training_one_fold_makes_that_folds_run(tmp_path: Path) -> None:
    made: list[Path] = []
    at = bench(tmp_path)
    at._phases.do = lambda command, output, check=None: made.append(output)  # type: ignore[method-assign]
    assert at.train("t", "parade", tmp_path / "run", None, "--fold", "s2") == tmp_path / "t"
    assert at.train("t", "parade", tmp_path / "run") == tmp_path / "t"
    index = tmp_path / "index"  # which is asked for each time, and built once
    assert made == [index, tmp_path / "t/s2/test.run", index, tmp_path / "t/test.run"]


RUN = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\n"
QRELS = "q1 0 d1 0\nq1 0 d3 1\nq2 0 d1 1\n"


def measured(
    folder: Path, *, before: str = "", tested: Sequence[str] = ("q1", "q2"), **more: Any
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    (folder / "x.run").write_text(RUN)
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "judged-before.txt").write_text(before)
    kept = [line for line in QRELS.splitlines(keepends=True) if line.split()[0] in tested]
    (folder / "qrels-tested.txt").write_text("".join(kept))
    row = bench(folder, dry=False, before=bool(before), **more).ranked("x", folder / "x.run")
    return dict(row.values), {measure: dict(values) for measure, values in row.per_query.items()}


def test_a_run_is_averaged_over_all_judged_queries(tmp_path: Path) -> None:
    values, per_query = measured(tmp_path)
    assert per_query == {"P@2": {"q1": 0.0, "q2": 0.0}, "RR": {"q1": pytest.approx(1 / 3), "q2": 0.0}}
    assert values == {"P@2": 0.0, "RR": pytest.approx(1 / 6)}


def test_a_query_that_no_fold_tests_counts_in_no_row(tmp_path: Path) -> None:
    """Trained systems have no ranking of it, first stages have."""
    values, per_query = measured(tmp_path, tested=["q1"])
    assert per_query == {"P@2": {"q1": 0.0}, "RR": {"q1": pytest.approx(1 / 3)}}
    assert values["RR"] == pytest.approx(1 / 3)


def test_what_cannot_be_done_is_refused_when_it_is_planned(tmp_path: Path) -> None:
    at = bench(tmp_path)
    with pytest.raises(InputError, match=r"unknown key \(got 'lop'\); did you mean 'loop'"):
        at.train("t", "parade", tmp_path / "run", {"lop": {"steps": 3}})
    with pytest.raises(InputError, match="unknown key"):
        at.train_passages("t", "monobert", tmp_path / "rows.jsonl", {"lop": {"steps": 3}})
    for values in ("abc", "0:1", ""):
        with pytest.raises(InputError, match="grid"):
            at.weighed("w", [tmp_path / "e"], tmp_path / "run", {"alpha": values})
        with pytest.raises(InputError, match="grid"):
            at.tuned("w", "bm25-anserini", {"k1": values}, "AP")


def test_how_it_is_evaluated_is_the_recipes(tmp_path: Path) -> None:
    assert measured(tmp_path, evaluate={"complete": False})[0] == {"P@2": 0.0, "RR": pytest.approx(1 / 3)}
    assert measured(tmp_path, evaluate={"depth": 2})[0] == {"P@2": 0.0, "RR": 0.0}


def test_documents_that_were_judged_before_are_left_out_of_ranking_and_judgments(tmp_path: Path) -> None:
    values, per_query = measured(tmp_path, before="q1 0 d1 0\nq1 0 d9 2\n", evaluate={"complete": False})
    assert per_query == {"P@2": {"q1": 0.5}, "RR": {"q1": 0.5}}
    assert values == {"P@2": 0.5, "RR": 0.5}


def test_nothing_is_evaluated_or_computed_in_a_dry_run(tmp_path: Path) -> None:
    at = bench(tmp_path)
    assert at.ranked("x", tmp_path / "none.run").values == {}
    assert at.measured("x", lambda: {"ms": 1 / 0}).values == {}


def test_a_role_that_a_setting_names_and_the_recipe_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no such model \(got 'XX'\)"):
        bench(tmp_path).model("XX")


# --- all recipes --------------------------------------------------------------------------------


class Noted(Phases):
    """Phases that note what each command makes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _refuse, dry=True)
        self.makes: dict[Path, set[tuple[str, ...]]] = {}

    def do(self, command: Sequence[str], output: Path, check: object = None) -> None:
        super().do(command, output)
        self.makes.setdefault(output, set()).add(tuple(command))


@pytest.mark.parametrize("name", recipe_names())
def test_no_recipe_makes_one_thing_in_two_ways_or_reads_less_of_queries_than_they_are(
    tmp_path: Path, name: str
) -> None:
    asked = select_recipes([name], [], {})[0]
    if asked.recipe.program is None:
        return
    for file in ("docs.jsonl", "judged-before.txt", "triples.train.small.tsv", "snippets.txt"):
        (tmp_path / file).write_text("")
    if isinstance(passages := asked.recipe.settings.get("passages"), str):
        (tmp_path / passages).write_text("")
    phases = Noted(tmp_path)
    bench = Workbench(
        asked.recipe,
        tmp_path / "recipe",
        tmp_path / "index",
        models={},
        phases=phases,
        scores=tmp_path / "scores.cache",
        collection=Collection(
            name="tiny", sources=(str(tmp_path / "docs.jsonl"),), judged_before=("judged-before.txt",)
        ),
        fold_names=["s1", "s2"],
        n_queries=10_000,
    )
    rows = [row.name for row in program_of(asked)(bench)]
    assert len(rows) == len(set(rows)) > 0
    assert {output: len(commands) for output, commands in phases.makes.items() if len(commands) > 1} == {}
    if "description" in name or "genomics" in name:
        for command in (one for made in phases.makes.values() for one in made if one[0] == "train"):
            sets = [value for option, value in pairwise(command) if option == "--set"]
            assert (load_training(command[1], sets).read.max_query_tokens or 64) >= 64
