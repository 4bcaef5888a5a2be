"""Files and folders that the settings of a recipe name: found, checked and noted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from longrank.collections.collection import Collection
from longrank.errors import InputError
from longrank.reproduction.extra_files import ExtraFiles
from longrank.reproduction.folders import fingerprint
from longrank.reproduction.recipe import Recipe


def elsewhere(
    folder: Path, settings: Mapping[str, object], given: Mapping[str, str] | None = None, **more: object
) -> ExtraFiles:
    about = {"paper": "MAXP", "item": "Table 9", "about": "made up", "collection": "tiny", "measures": ["RR"]}
    expected = [{"row": "x", "values": {"RR": 1}}]
    recipe = Recipe.model_validate({**about, "expected": expected, "settings": settings, **more})
    return ExtraFiles(recipe, given or {}, Collection(name="tiny", sources=(str(folder / "docs.jsonl"),)))


def test_a_file_of_the_collections_folder_is_found_or_named(tmp_path: Path) -> None:
    found = elsewhere(tmp_path, {})
    with pytest.raises(InputError, match="MAXP, Table 9, needs a file that the collection lacks"):
        found.file("passage_qrels.txt")
    (tmp_path / "passage_qrels.txt").touch()
    assert found.file("passage_qrels.txt") == tmp_path / "passage_qrels.txt"
    assert found.files == [tmp_path / "passage_qrels.txt"]


def test_a_file_is_found_in_the_folder_also_if_documents_come_from_elsewhere(tmp_path: Path) -> None:
    found = elsewhere(tmp_path, {})
    found._given = Collection(name="dl19-document", sources=("irds:msmarco-document",), folder=tmp_path)
    (tmp_path / "passage_qrels.txt").touch()
    assert found.file("passage_qrels.txt") == tmp_path / "passage_qrels.txt"


def test_other_topics_are_a_folder_with_queries_and_judgments(tmp_path: Path) -> None:
    other = tmp_path / "other"
    found = elsewhere(tmp_path, {"heldout": str(other), "train_on": "", "learn_on": "irds:a/b"})
    assert found.topics("train_on") is None
    assert found.topics("learn_on", irds=True) == (Path("irds:a/b"), Path("irds:a/b"))
    other.mkdir()
    (other / "queries.jsonl.gz").touch()
    with pytest.raises(InputError, match=r"setting heldout names a folder without queries\.jsonl or qrels\.txt"):
        found.topics("heldout")
    assert found.files == []
    (other / "qrels.txt").touch()
    assert found.topics("heldout") == (other / "queries.jsonl.gz", other / "qrels.txt")
    assert found.files == [other / "queries.jsonl.gz", other / "qrels.txt"]


def test_files_and_folders_of_models_are_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my.run", "model/a/weights", "model/config", "other/weights"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    found = elsewhere(tmp_path, {})
    found.record("my.run", "model", "my.run", "minilm", "owner/name", "", "~nobody-here/m", "x" * 300, None, 3)
    files = [Path("my.run"), tmp_path / "model/a/weights", tmp_path / "model/config"]
    assert found.files == files
    monkeypatch.setenv("HOME", str(tmp_path))
    found.record("~/other")
    assert found.files == [*files, tmp_path / "other/weights"]
    assert fingerprint("~/other") == fingerprint("other") != fingerprint("~/none") == "~/none"


def test_scores_of_another_model_or_kind_are_not_taken_for_these(tmp_path: Path) -> None:
    def results_of(model: str, score: str) -> list[Path]:
        known = {"models": {"MB": model}, "settings": {"score": score}}
        (tmp_path / "reproduction.json").write_text(json.dumps(known))
        settings = {"score": "logit", "learn_on": str(tmp_path)}
        found = elsewhere(tmp_path, settings, {"MB": "mine"}, models={"MB": "hub/name"})
        return found.results_of("learn_on", [Path("mb.run")], "MB", "score")

    with pytest.raises(InputError, match=r"mb\.run: setting learn_on names a folder of this recipe on another"):
        results_of("mine", "logit")
    (tmp_path / "mb.run").touch()
    assert results_of("mine", "logit") == [tmp_path / "mb.run"]
    with pytest.raises(InputError, match="of another model for the role MB"):
        results_of("yours", "logit")
    with pytest.raises(InputError, match="score 'prob' there, 'logit' here"):
        results_of("mine", "prob")
