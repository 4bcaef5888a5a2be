from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from collections_of_words import located, random_documents
from longrank.cli.passage_vectors import PassageVectors
from longrank.errors import InputError
from longrank.index import Index, build_index
from longrank.ranking.pipeline import open_pipeline
from longrank.ranking.settings import (
    default_pipeline,
    kept_beside_preset,
    load_pipeline,
    shipped_pipelines,
    unread,
    with_absolute_paths,
)
from longrank.retrieval import BM25, WithFeedback
from longrank.retrieval.feedback import RM3
from longrank.types import Notes
from longrank.verbs.index import add_vectors


@pytest.mark.parametrize("name", shipped_pipelines())
def test_every_shipped_pipeline_is_valid(name: str) -> None:
    assert load_pipeline(name).final.depth >= 1


def test_the_pipelines_of_the_contract_are_shipped() -> None:
    assert {"bm25", "rm3", "lexical", "minilm", "firstp", "maxp", "sump", "avgp", "birch", "santos"} <= set(
        shipped_pipelines()
    )


POOLED = ("bm25-anserini", "dai", "all", "cross-encoder", {"score": "logit"})
PUBLISHED: dict[str, tuple[object, ...]] = {
    # first stage, passages, selection, scorer, its options; aggregator, weights; alpha, normalisation, depth
    "lexical": ("bm25-anserini", "windows", "all", "lexical", {}, "maxp", None, None, "none", 100),
    "minilm": ("bm25-anserini", "tokens", "all", "bi-encoder", {}, "maxp", None, 0.3, "minmax", 100),
    "firstp": (*POOLED, "firstp", None, None, "none", 100),
    "maxp": (*POOLED, "maxp", None, None, "none", 100),
    "sump": (*POOLED, "sump", None, None, "none", 100),
    "avgp": (*POOLED, "avgp", None, None, "none", 100),
    "birch": (
        *("bm25-anserini+rm3", "birch", "all", "cross-encoder", {"score": "logit"}),
        *("birch", [1.0, 0.1, 0.1], 0.4, "none", 100),
    ),
    "santos": ("bm25-lucene", "santos", "first+termf", "bi-encoder", {}, "max", None, None, "none", 30),
}
"""MaxP and its kin pool the relevant class's logit of the top 100; Birch adds raw scores with the weights
that h2oloo learned; Santos et al. rerank 30 by twenty sentences."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_pipelines_have_the_papers_settings(name: str) -> None:
    s = load_pipeline(name)
    assert s.scorer is not None
    assert not s.title
    assert s.passages.options == {}
    assert PUBLISHED[name] == (
        *(s.first_stage.preset, s.passages.preset, s.select.name, s.scorer.name, s.scorer.options),
        *(s.aggregate.name, s.aggregate.options.get("weights"), s.final.interpolate, s.final.normalize, s.final.depth),
    )


def test_pipelines_that_no_paper_fixes_read_passages_that_fit_and_vectors_are_stored_for_them() -> None:
    with_a_model = ("minilm", "mixed", "cascade", "decoder")
    assert {load_pipeline(name).passages.preset for name in with_a_model} == {"tokens"}
    assert signature(add_vectors).parameters["passages"].default == PassageVectors("minilm").preset == "tokens"


@pytest.mark.parametrize(("installed", "index", "texts"), [(True, "mixed", "minilm"), (False, "lexical", "lexical")])
def test_the_default_mixes_for_an_index_and_reads_meaning_for_texts(
    installed: bool, index: str, texts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.ranking.settings.find_spec", lambda module: object() if installed else None)
    assert (default_pipeline(), default_pipeline(texts=True)) == (index, texts)


def test_the_pipeline_mixed_weighs_words_meaning_and_the_document() -> None:
    settings = load_pipeline("mixed")
    assert settings.mix is not None
    assert settings.mix.of("bi-encoder").weights == {"bi-encoder": 0.5, "lexical": 0.5}
    assert (settings.final.interpolate, settings.final.normalize, settings.mix.method) == (0.1, "minmax", "minmax")


def test_the_pipeline_rm3_is_the_first_stage_alone() -> None:
    settings = load_pipeline("rm3")
    assert settings.scorer is None
    assert settings.first_stage.preset == "bm25-anserini+rm3"


def test_set_replaces_one_value_and_keeps_the_others() -> None:
    settings = load_pipeline("minilm", ["final.depth=30", "passages.options.length=200"])
    assert settings.final.depth == 30
    assert settings.final.interpolate == 0.3
    assert settings.passages.options == {"length": 200}


def test_the_first_stage_takes_any_setting_of_the_retrieval(tmp_path: Path) -> None:
    built = build_index(located(random_documents(20)), tmp_path / "index")
    pipeline = open_pipeline(built, "rm3", assignments=["first_stage.k1=2", "first_stage.fb_docs=3"])
    assert isinstance(pipeline.retriever, WithFeedback)
    assert isinstance(pipeline.retriever.searcher, BM25)
    assert isinstance(pipeline.retriever.feedback, RM3)
    assert pipeline.retriever.searcher.k1 == 2
    assert pipeline.retriever.feedback.fb_docs == 3
    for assignment, message in (("notes=1", "no such setting"), ("mu=5", "no such setting"), ("preset=3", "preset")):
        with pytest.raises(InputError, match=message):
            open_pipeline(built, "rm3", assignments=[f"first_stage.{assignment}"])


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("final.dept=30", "did you mean 'depth'"),
        ("final.depth=many", "final.depth"),
        ("final.depth=0", "final.depth"),
        ("final.interpolate=1.5", "final.interpolate"),
        ("finale.depth=3", "did you mean 'final'"),
        ("depth", "--set takes key=value"),
        ("scorer.name.x=1", "not a section"),
        ("title.x=1", "title: Input should be a valid boolean"),
    ],
)
def test_a_wrong_setting_is_named_and_the_nearest_is_suggested(assignment: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_pipeline("minilm", [assignment])


def test_interpolation_can_be_removed_from_a_pipeline_that_normalizes() -> None:
    assert load_pipeline("mixed", ["final.interpolate="]).final.interpolate is None


def test_an_unknown_pipeline_gets_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'maxp'"):
        load_pipeline("maxpp")


def test_a_file_of_ones_own_is_a_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[scorer]\nname = "lexical"\n[final]\ndepth = 7\n')
    assert load_pipeline(str(path)).final.depth == 7


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[passages]\npreset = "sentences"', "[passages]"),
        ("[passages]", "[passages]"),
        ('[select]\nname = "first"', "[select]"),
        ('[stop]\ncalibration = "stop.json"', "[stop]"),
        ('[aggregate]\nname = "sump"', "[aggregate]"),
        ("title = true", "title = true"),
        ("[final]\ninterpolate = 0.3", "final.interpolate"),
    ],
)
def test_settings_of_a_scorer_are_refused_in_a_file_without_a_scorer(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text + "\n")
    with pytest.raises(InputError) as caught:
        load_pipeline(path)
    cure = f"add [scorer] with a name, such as lexical, or remove {place}"
    assert str(caught.value) == f"{path}: {place} has no effect without [scorer]: the first stage ranks alone; {cure}"


def test_a_relative_calibration_stays_the_same_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = with_absolute_paths(load_pipeline("lexical", ["stop.calibration=stop.json"]))
    assert settings.stop is not None
    assert unread(with_absolute_paths(load_pipeline("bm25"))) == []
    assert settings.stop.calibration == str(tmp_path / "stop.json")


@pytest.mark.parametrize(
    ("assignments", "kept"),
    [
        (["passages.preset=sentences"], ["passages.options.length", "passages.options.stride"]),
        (["passages.preset=windows"], []),
        (["passages.preset=sentences", "passages.options={length=1, stride=1}"], []),
        (["passages.preset=sentences", "passages.options.length=1", "passages.options.stride="], []),
        ({"first_stage.preset": "bm25-lucene", "passages.options.length": 40}, ["first_stage.k1"]),
        ({"first_stage.preset": "bm25-lucene", "first_stage.k1": 2}, []),
    ],
)
def test_options_of_a_file_that_stay_beside_another_preset_are_named(
    tmp_path: Path, assignments: Any, kept: list[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[first_stage]\nk1 = 3.0\n[passages]\noptions = {length = 60, stride = 30}\n[scorer]\nname = "lexical"\n'
    )
    settings = load_pipeline(path, assignments)
    assert kept_beside_preset(path, settings, assignments) == kept
    index = Index.build([("d", "a fox")])
    notes = Notes()
    open_pipeline(index, path, assignments=assignments, notes=notes)
    assert notes.lines() == [f"{name} of the pipeline stays as it is beside the other preset" for name in kept]


def test_a_file_that_assignments_complete_may_get_another_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[passages]\npreset = "dai"\n')
    assignments = ["passages.preset=windows", "scorer.name=lexical"]
    open_pipeline(Index.build([("d", "a fox")]), path, assignments=assignments, notes=(notes := Notes()))
    assert notes.lines() == []


def test_settings_of_a_pipeline_without_a_scorer_can_be_loaded_again(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("title = false\n[final]\ndepth = 7\n")
    settings = load_pipeline(tmp_path / "mine.toml")
    assert load_pipeline(settings) == settings
    assert load_pipeline(settings, ["scorer.name=lexical"]).final.depth == 7


def test_assignments_for_several_pipelines_may_have_settings_of_a_scorer() -> None:
    assert load_pipeline("bm25", ["passages.preset=sentences", "final.interpolate=0.5"]).scorer is None


def test_a_fault_in_an_entry_of_a_pipeline_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[scorer]\nname = "lexicl"\n')
    with pytest.raises(InputError, match=r"mine.toml: unknown passage scorer .*did you mean 'lexical'"):
        load_pipeline(path)


def test_a_file_that_is_not_toml_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[scorer\n")
    with pytest.raises(InputError, match=r"mine\.toml: is not valid TOML"):
        load_pipeline(str(path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_pipeline(str(tmp_path / "none.toml"))
