"""Weights of a mix are chosen from evidence, without scoring a passage again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import longrank
from evidences import evidence, write_evidence
from fakes import CountingScorer, documents, index_of, queries
from longrank.aggregation.mixing import make_mix, remixed
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.formats.evidence import read_evidence
from longrank.formats.trec import write_run
from longrank.scoring import PASSAGE_SCORERS
from longrank.types import Run

N_QUERIES, DEPTH = 5, 10
WINDOWS = {"passages.options.length": 40, "passages.options.stride": 20}
TOPICS = {query.query_id: query.text for query in queries(N_QUERIES)}
QRELS = {query_id: {f"d{n:03d}": (n * 7 + len(text)) % 3 for n in range(25)} for query_id, text in TOPICS.items()}


@pytest.fixture(scope="module", autouse=True)
def counting() -> Iterator[None]:
    """Add a second scorer that needs no model."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(PASSAGE_SCORERS, "counting", CountingScorer)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, its first stage, and mixed evidence."""
    folder = tmp_path_factory.mktemp("mix")
    index_of(documents(25, words=150), folder / "index")
    write_run(longrank.retrieve(folder / "index", TOPICS, k=DEPTH), folder / "first.run")
    reranked(folder, evidence=folder / "e", **{"mix.counting": 0.25})
    return folder


def reranked(folder: Path, *, evidence: Path | None = None, **assignments: Any) -> Run:
    settings = {"final.depth": DEPTH, **WINDOWS, **assignments}
    return longrank.rerank(
        folder / "index", TOPICS, folder / "first.run", pipeline="lexical", evidence=evidence, assignments=settings
    )


def rows(run: Run) -> list[Any]:
    return list(run.rows())


def measured(run: Run, measure: str) -> float:
    return summarise(measure, evaluate(QRELS, run, [measure])[measure].values())


@pytest.mark.parametrize(("weight", "method"), [(0.25, "minmax"), (0.6, "minmax"), (0, "minmax"), (0.4, "rrf")])
def test_another_mix_of_the_evidence_is_the_run_of_a_rerank_with_it(folder: Path, weight: float, method: str) -> None:
    expected = reranked(folder, **{"mix.counting": weight, "mix.method": method})
    options: dict[str, Any] = {"mix": {"counting": weight}, "mix_method": method, "first_stage": folder / "first.run"}
    for source in (folder / "e", read_evidence(folder / "e"), list(read_evidence(folder / "e")[1])):
        assert rows(longrank.aggregate(source, "maxp", **options)) == rows(expected)


def test_the_method_is_that_of_the_evidence_unless_named(folder: Path, tmp_path: Path) -> None:
    reranked(folder, evidence=tmp_path / "e", **{"mix.counting": 0.25, "mix.method": "rrf"})
    as_written, named, other = (
        rows(longrank.aggregate(tmp_path / "e", mix={"counting": 0.5}, mix_method=method))
        for method in (None, "rrf", "minmax")
    )
    assert as_written == named != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mix": {"bi-encoder": 0.5}}, "no part of the mix (got 'bi-encoder'); one of counting"),
        ({"mix": {"lexical": 0.5}}, "has the rest of the weight"),
        ({"mix": {"counting": 1.5}}, "between 0 and 1"),
        ({"mix": {"counting": 0.5}, "mix_method": "sum"}, "unknown method of mixing"),
        ({"mix_method": "rrf"}, "a method of mixing needs weights"),
        ({"mix": {"counting": 0.5}, "aggregator": "document"}, "this aggregator reads the score of the document"),
    ],
)
def test_a_mix_that_the_evidence_does_not_allow_is_refused(folder: Path, options: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        longrank.aggregate(folder / "e", **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("in_memory", [True, False])
def test_evidence_without_parts_is_not_mixed(tmp_path: Path, in_memory: bool) -> None:
    plain = [evidence("a", [1.0])]
    write_evidence(tmp_path / "e", [plain])
    with pytest.raises(InputError, match="keeps no parts of a mix"):
        longrank.aggregate(plain if in_memory else tmp_path / "e", mix={"lexical": 0.5})


GRIDS = (
    ({"counting": "0:1:0.25"}, "none"),
    ({"counting": "0:1:0.5", "alpha": "0:1:0.5"}, "minmax"),
    ({"alpha": [0.2], "w2": [0, 0.5], "counting": [0.1, 0.9]}, "none"),
)


def by_hand(folder: Path, setting: Mapping[str, float], normalize: str) -> Run:
    """The run of aggregate with a setting of weigh."""
    birch: dict[str, Any] = {"aggregator": "birch", "weights": [1, setting["w2"]]} if "w2" in setting else {}
    return longrank.aggregate(
        folder / "e",
        mix={"counting": setting["counting"]},
        interpolate=setting.get("alpha"),
        normalize=normalize,
        first_stage=folder / "first.run",
        **birch,
    )


@pytest.mark.parametrize(("grid", "normalize"), GRIDS)
def test_weigh_measures_each_mix_as_evaluate_measures_its_run(folder: Path, grid: Any, normalize: str) -> None:
    tuning = longrank.weigh(QRELS, folder / "first.run", folder / "e", grid, normalize=normalize, measure="nDCG@5")
    figures = tuning.table.figures(TOPICS)
    assert len({round(figure, 9) for figure in figures}) > 1
    for setting, figure in zip(tuning.table.settings, figures, strict=True):
        assert figure == pytest.approx(measured(by_hand(folder, setting, normalize), "nDCG@5"))
    assert tuning.setting is not None
    assert rows(tuning.run) == rows(by_hand(folder, tuning.setting, normalize))


def test_weigh_reads_several_files_of_the_same_mix(folder: Path, tmp_path: Path) -> None:
    whole = longrank.weigh(QRELS, folder / "first.run", folder / "e", {"counting": "0:1:0.25"})
    halves = []
    for n, part in enumerate((dict(list(TOPICS.items())[:2]), dict(list(TOPICS.items())[2:]))):
        halves.append(tmp_path / f"e{n}")
        longrank.rerank(
            *(folder / "index", part, folder / "first.run"),
            pipeline="lexical",
            evidence=halves[-1],
            assignments={"final.depth": DEPTH, **WINDOWS, "mix.counting": 0.5},
        )
    again = longrank.weigh(QRELS, folder / "first.run", halves, {"counting": "0:1:0.25"})
    assert again.setting == whole.setting
    assert rows(again.run) == rows(whole.run)


def test_weights_of_a_mix_are_learned_on_other_queries(folder: Path) -> None:
    other = [QRELS, folder / "first.run", folder / "e"]
    tuning = longrank.weigh(*other, {"counting": "0:1:0.25"}, learn_on=other)
    assert tuning.setting == longrank.weigh(*other, {"counting": "0:1:0.25"}).setting


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"lexical": "0:1:0.5"}, {}, "no weight (got 'lexical')"),
        ({"counting": [0.5, 2]}, {}, "between 0 and 1"),
        ({"alpha": "0:1:0.5"}, {"mix_method": "rrf"}, "no scorer of a mix is in the grid"),
        ({"counting": "0:1:0.5"}, {"aggregator": "document"}, "this aggregator reads the score of the document"),
    ],
)
def test_grids_that_the_evidence_does_not_allow_are_refused(
    folder: Path, grid: Any, options: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        longrank.weigh(QRELS, folder / "first.run", folder / "e", grid, **options)
    assert message in str(caught.value)


def test_a_run_beside_the_evidence_has_no_parts_to_weigh(folder: Path) -> None:
    sources = [folder / "e", reranked(folder)]
    with pytest.raises(InputError, match="no weight"):
        longrank.weigh(QRELS, folder / "first.run", sources, {"counting": [0.5]})


def test_evidence_of_different_methods_of_mixing_is_refused(folder: Path, tmp_path: Path) -> None:
    reranked(folder, evidence=tmp_path / "rrf", **{"mix.counting": 0.25, "mix.method": "rrf"})
    with pytest.raises(InputError, match=r"scorers are mixed by different methods \(got 'minmax, rrf'\)"):
        longrank.weigh(QRELS, folder / "first.run", [folder / "e", tmp_path / "rrf"], {"counting": [0.5]})


def test_a_method_of_mixing_may_be_named_for_evidence_of_several(folder: Path, tmp_path: Path) -> None:
    halves = [dict(list(TOPICS.items())[:2]), dict(list(TOPICS.items())[2:])]
    for n, (part, method) in enumerate(zip(halves, ("minmax", "rrf"), strict=True)):
        longrank.rerank(
            *(folder / "index", part, folder / "first.run"),
            pipeline="lexical",
            evidence=tmp_path / str(n),
            assignments={"final.depth": DEPTH, **WINDOWS, "mix.counting": 0.5, "mix.method": method},
        )
    both, grid = [tmp_path / "0", tmp_path / "1"], {"counting": "0:1:0.25"}
    named = longrank.weigh(QRELS, folder / "first.run", both, grid, mix_method="minmax")
    assert rows(named.run) == rows(longrank.weigh(QRELS, folder / "first.run", folder / "e", grid).run)


def test_weigh_does_not_overwrite_what_it_reads(folder: Path, tmp_path: Path) -> None:
    longrank.weigh(QRELS, folder / "first.run", folder / "e", folder=tmp_path / "w")
    before = (tmp_path / "w" / "run.txt").read_bytes()
    for learn_on in (None, [QRELS, tmp_path / "w" / "run.txt", [folder / "e"]]):
        run = tmp_path / "w" / "run.txt" if learn_on is None else folder / "first.run"
        with pytest.raises(InputError, match=r"run.txt: is also an input and would be overwritten"):
            longrank.weigh(QRELS, run, [folder / "e"], folder=tmp_path / "w", learn_on=learn_on)
    assert (tmp_path / "w" / "run.txt").read_bytes() == before


def test_depth_has_the_figures_of_a_rerank_at_that_depth(folder: Path) -> None:
    points = longrank.analyze.depth(folder / "e", folder / "first.run", QRELS, [3, 6], measures=["nDCG@10"]).values
    for point in points:
        if point.n:
            run = reranked(folder, **{"mix.counting": 0.25, "final.depth": point.n})
            assert point.values["nDCG@10"] == measured(run, "nDCG@10")


def test_fewer_passages_have_the_figures_of_a_rerank_of_them(folder: Path) -> None:
    points = longrank.analyze.sentences(
        folder / "e", QRELS, [1, 2], first_stage=folder / "first.run", measures=["nDCG@10"]
    ).values
    for point in points:
        if point.n:
            run = reranked(folder, **{"mix.counting": 0.25, "select.name": "first", "select.n": point.n})
            assert point.values["nDCG@10"] == measured(run, "nDCG@10")


def test_the_mix_of_values_in_memory_is_unknown_and_noted(folder: Path) -> None:
    values = list(read_evidence(folder / "e")[1])
    found = longrank.analyze.depth(values, folder / "first.run", QRELS, [3])
    assert "weights of their mix are unknown" in str(found.notes.lines())
    known = longrank.analyze.depth(folder / "e", folder / "first.run", QRELS, [3])
    assert "weights of their mix are unknown" not in str(known.notes.lines())


def test_aggregate_and_weigh_take_the_weights_on_the_command_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage, out = str(folder / "first.run"), tmp_path / "out.run"
    options = ["--aggregator", "maxp", "--mix", "counting=0.4", "--mix-method", "rrf", "--first-stage", stage]
    assert main(["aggregate", str(folder / "e"), "-o", str(out), *options]) == 0
    expected = longrank.aggregate(folder / "e", mix={"counting": 0.4}, mix_method="rrf", first_stage=stage)
    assert [row[:2] for row in longrank.read_run(out).rows()] == [row[:2] for row in expected.rows()]

    assert main(["aggregate", str(folder / "e"), "-o", str(out), "--aggregator", "maxp", "--mix", "counting"]) == 2
    assert "--mix takes NAME=NUMBER, each name once (got 'counting')" in capsys.readouterr().err

    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for q, judged in QRELS.items() for d, grade in judged.items()))
    inputs = [str(qrels), stage, str(folder / "e"), "-o", str(tmp_path / "weighed")]
    assert main(["weigh", *inputs, "--grid", "counting=0:1:0.5", "--mix-method", "rrf"]) == 0
    weights = json.loads((tmp_path / "weighed" / "weights.json").read_text())
    assert (weights["scorers"], weights["mix_method"]) == (["lexical", "counting"], "rrf")
    assert {"counting"} == set(weights["values"][0]["setting"])


def test_printed_evidence_names_the_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aggregate", str(folder / "e"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    parts = next(read_evidence(folder / "e")[1]).passage_parts
    assert parts is not None
    assert first["passages"][0]["parts"] == {name: float(part[0]) for name, part in parts.items()}


def test_the_mix_of_the_file_gives_the_scores_of_the_file(folder: Path) -> None:
    header, written = read_evidence(folder / "e")
    again = remixed(read_evidence(folder / "e")[1], make_mix(header["parts"], header["mix"]["weights"]))
    assert [one.passage_score.tobytes() for one in again] == [one.passage_score.tobytes() for one in written]
