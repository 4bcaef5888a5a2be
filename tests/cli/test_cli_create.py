"""create, and rerank and search with what it makes, by their documented command lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.formats.evidence import read_evidence
from longrank.formats.trec import read_run
from longrank.types import Notes
from tiny_models import drop_dense, rewrite, save_cross_encoder, save_document_network, save_encoder

pytestmark = pytest.mark.neural

SMALL_PASSAGES = ("--set", "passages.options={length=20, stride=15}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, queries and their run, and an encoder."""
    folder = tmp_path_factory.mktemp("create")
    index_of(documents(20, words=60), folder / "index")
    rows = [{"query_id": q.query_id, "text": q.text} for q in queries(4)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["retrieve", str(folder / "index"), str(folder / "queries.jsonl"), "-o", str(folder / "bm25.run")]) == 0
    save_encoder(folder / "encoder")
    assert create(folder, "parade-transformer", folder / "network") == 0
    return folder


def create(folder: Path, network: str, output: Path, *more: str) -> int:
    return main(["create", network, "--model", str(folder / "encoder"), "-o", str(output), *more])


def rerank(folder: Path, output: Path, *more: str, pipeline: str = "parade-transformer") -> int:
    inputs = [str(folder / name) for name in ("index", "queries.jsonl", "bm25.run")]
    model = () if "--model" in more else ("--model", str(folder / "network"))
    arguments = ["--pipeline", pipeline, "--depth", "5", *model, *SMALL_PASSAGES, *more]
    return main(["rerank", *inputs, "-o", str(output), *arguments])


def test_an_untrained_network_is_made_and_says_so(folder: Path) -> None:
    described = json.loads((folder / "network" / "longrank.json").read_text())
    assert (described["network"], described["untrained"], described["record"]) == ("parade-transformer", True, None)


def test_the_same_seed_makes_the_same_bytes_and_another_does_not(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("same", "0"), ("other", "1")):
        assert create(folder, "parade-transformer", tmp_path / name, "--seed", seed) == 0
    weights = [path / "model.safetensors" for path in (folder / "network", tmp_path / "same", tmp_path / "other")]
    first, same, other = (path.read_bytes() for path in weights)
    assert first == same != other


def test_the_model_itself_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert create(folder, "parade-transformer", folder / "network", "--model", str(folder / "network")) == 2
    assert "network: is also an input and would be overwritten" in capsys.readouterr().err


def test_rerank_scores_with_it_and_the_evidence_explains(folder: Path, tmp_path: Path) -> None:
    assert rerank(folder, tmp_path / "new.run", "--allow-untrained") == 0
    run = read_run(tmp_path / "new.run", Notes())
    evidence = {(one.query_id, one.doc_id): one for one in read_evidence(tmp_path / "new.run.evidence")[1]}
    for query_id in run:
        for row in run[query_id][:5]:
            one = evidence[query_id, row.doc_id]
            assert row.score == pytest.approx(one.document_score)
            assert len(one.passage_weight) == len(one.passage_score) >= 2
            assert one.passage_weight.std() > 0


def test_aggregate_repeats_the_networks_scores_without_the_network(folder: Path, tmp_path: Path) -> None:
    assert rerank(folder, tmp_path / "new.run", "--allow-untrained") == 0
    evidence, again = str(tmp_path / "new.run.evidence"), tmp_path / "again.run"
    run = str(folder / "bm25.run")
    assert main(["aggregate", evidence, "-o", str(again), "--aggregator", "document", "--first-stage", run]) == 0
    assert again.read_bytes() == (tmp_path / "new.run").read_bytes()


def test_rerank_refuses_it_without_permission_and_writes_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rerank(folder, tmp_path / "new.run") == 2
    assert (
        "has never been trained, so its scores would be random; train it, or allow it: --allow-untrained or --set "
        in (capsys.readouterr().err)
    )
    assert list(tmp_path.iterdir()) == []


def test_search_shows_what_each_passage_contributed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", str(folder / "index"), "river stone", "--pipeline", "parade-transformer", "-k", "1"]
    arguments += ["--model", str(folder / "network"), "--allow-untrained", *SMALL_PASSAGES]
    assert main([*arguments, "--passages", "3"]) == 0
    assert ", contributes " in capsys.readouterr().out
    assert main([*arguments, "--passages", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["passages"]
    worth = [passage["contribution"] for passage in shown]
    assert worth == sorted(worth, reverse=True)


def test_the_pipelines_of_other_networks_and_scorers_refuse_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rerank(folder, tmp_path / "new.run", "--allow-untrained", pipeline="parade-max") == 2
    assert "holds the document network parade-transformer, and the pipeline needs parade-max" in (
        capsys.readouterr().err
    )
    assert rerank(folder, tmp_path / "new.run", pipeline="maxp") == 2
    assert "longrank: error: " in capsys.readouterr().err
    cross = save_cross_encoder(tmp_path / "cross")
    assert rerank(folder, tmp_path / "new.run", "--model", str(cross), "--allow-untrained") == 2
    assert "holds no longrank.json" in capsys.readouterr().err


def test_allow_untrained_means_nothing_to_other_pipelines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", str(folder / "index"), "river", "--pipeline", "lexical", "--allow-untrained"]
    assert main(arguments) == 2
    assert "the lexical scorer has no option 'allow_untrained'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("network", "more", "said"),
    [
        ("parade-mx", (), "unknown document network (got 'parade-mx'); did you mean 'parade-max'?"),
        ("parade-max", ("--set", "outptus=2"), "the network parade-max has no option (got 'outptus'); did you mean"),
        ("parade-max", ("--set", "outputs=3"), "unknown outputs (got 3)"),
        ("parade-max", ("--preset", "birch"), "unknown preset (got 'birch')"),
        ("knrm", ("--preset", "standalone"), "the preset 'standalone' has no network (got 'knrm')"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str, more: tuple[str, ...], said: str
) -> None:
    assert create(folder, network, tmp_path / "new", *more) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_not_replaced(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert create(folder, "parade-max", tmp_path / "mine") == 2
    assert "holds something other than a document network" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_trained_network_is_not_replaced(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert create(folder, "parade-max", tmp_path / "mine") == 0
    assert create(folder, "parade-max", tmp_path / "mine", "--seed", "1") == 0
    described = tmp_path / "mine" / "longrank.json"
    described.write_text(json.dumps(json.loads(described.read_text()) | {"untrained": False, "record": {"steps": 1}}))
    before = (tmp_path / "mine" / "model.safetensors").read_bytes()
    assert create(folder, "parade-max", tmp_path / "mine") == 2
    assert "mine: holds a trained network, which would be lost; choose a new folder" in capsys.readouterr().err
    assert (tmp_path / "mine" / "model.safetensors").read_bytes() == before


def test_the_pipelines_of_passage_scores_read_end_to_end_maxp_by_the_same_rule(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create(folder, "maxp", tmp_path / "new") == 0
    assert rerank(folder, tmp_path / "new.run", "--model", str(tmp_path / "new"), pipeline="maxp") == 2
    assert "the network has never been trained" in capsys.readouterr().err
    allowed = ("--model", str(tmp_path / "new"), "--allow-untrained")
    assert rerank(folder, tmp_path / "new.run", *allowed, pipeline="maxp") == 0


def test_a_cross_encoder_keeps_its_head_in_a_network_of_passage_scores(folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    cross = save_cross_encoder(tmp_path / "cross", n_outputs=1)
    assert main(["create", "maxp", "--model", str(cross), "-o", str(tmp_path / "new")]) == 0
    before, after = (load_file(path / "model.safetensors") for path in (cross, tmp_path / "new"))
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


def test_a_head_that_is_not_the_stock_one_is_said_to_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    electra = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_dense)
    assert main(["create", "maxp", "--model", str(electra), "-o", str(tmp_path / "new")]) == 0
    assert "the head of 'electra' is one layer on [CLS], as Capreolus trained ELECTRA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "target"),
    [("maxp", "parade-max"), ("vanilla-bert", "cedr-knrm"), ("parade-attn", "maxp"), ("maxp", "avgp")],
)
def test_the_encoder_of_another_document_network_is_taken_over(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str
) -> None:
    """VanillaBERT, then CEDR; a passage scorer, then PARADE; of passage scores the head goes along."""
    import torch

    from longrank.models.folders import load_network

    model = save_document_network(tmp_path / "a", source)
    assert main(["create", target, "--model", str(model), "-o", str(tmp_path / "b")]) == 0
    part = "classifier" if source == "maxp" else "encoder"
    assert f"only the {part} of the document network 'a' ({source}) is used" in capsys.readouterr().err
    one, other = (load_network(path).network for path in (model, tmp_path / "b"))
    weights = one.encoder.state_dict()
    kept = [key for key, values in other.encoder.state_dict().items() if key in weights and values.equal(weights[key])]
    assert len(kept) >= len(weights) - 2  # a pooler may be left out
    assert json.loads((tmp_path / "b" / "longrank.json").read_text())["untrained"]
    if target == "avgp":
        assert torch.equal(one.classifier.classifier.weight, other.classifier.classifier.weight)


def test_a_student_keeps_its_teachers_aggregator_head_and_some_layers(folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    teacher = save_document_network(tmp_path / "teacher", "parade-transformer")
    more = ["--layers", "1", "-o", str(tmp_path / "student")]
    assert main(["create", "parade-transformer", "--model", str(teacher), *more]) == 0
    before, after = (load_file(path / "model.safetensors") for path in (teacher, tmp_path / "student"))
    assert after.keys() == {name for name in before if not name.startswith("encoder.encoder.layer.1.")}
    assert all((before[name] == after[name]).all() for name in after)
    assert json.loads((tmp_path / "student" / "config.json").read_text())["num_hidden_layers"] == 1
    assert rerank(folder, tmp_path / "s.run", "--model", str(tmp_path / "student"), "--allow-untrained") == 0


def test_a_student_of_passage_scores_is_a_cross_encoder_for_others_too(folder: Path, tmp_path: Path) -> None:
    """One layer of two: what sentence-transformers reads is what the network inside scores."""
    import torch
    from sentence_transformers import CrossEncoder

    from longrank.models.folders import load_network

    teacher = save_document_network(tmp_path / "teacher", "maxp")
    more = ["--layers", "1", "-o", str(tmp_path / "student")]
    assert main(["create", "maxp", "--model", str(teacher), *more]) == 0
    network, tokenizer, record = load_network(tmp_path / "student")
    assert (network.encoder.config.num_hidden_layers, record) == (1, None)
    pair = ("river bank", "water under the stone")
    with torch.no_grad():
        own = network.encode(dict(tokenizer(*pair, return_tensors="pt")))
    peer = CrossEncoder(str(tmp_path / "student"), activation_fn=torch.nn.Identity(), device="cpu").predict([pair])
    assert float(own[0]) == pytest.approx(float(peer[0]), abs=1e-5)
    whole, _, _ = load_network(teacher)
    assert torch.equal(whole.classifier.classifier.weight, network.classifier.classifier.weight)


def test_a_student_on_an_encoder_or_another_network_gets_a_new_aggregator(folder: Path, tmp_path: Path) -> None:
    from longrank.models.folders import load_network

    for model in (folder / "encoder", save_document_network(tmp_path / "knrm", "knrm")):
        output = tmp_path / f"on-{model.name}"
        assert main(["create", "parade-max", "--model", str(model), "--layers", "1", "-o", str(output)]) == 0
        assert len(load_network(output).network.encoder.encoder.layer) == 1


@pytest.mark.parametrize(
    ("network", "more", "said"),
    [
        ("knrm", (), "knrm reads every layer of its encoder, so its aggregator needs all of them"),
        (
            "parade-max",
            ("--set", "outputs=2"),
            "a student has its teacher's aggregator and options (got 'outputs'); give none",
        ),
        (
            "parade-max",
            ("--preset", "standalone"),
            "a student has its teacher's aggregator and options (got 'standalone')",
        ),
        ("parade-max", ("--seed", "7"), "a student has its teacher's aggregator and options (got 'seed 7'); give none"),
        ("parade-max", ("--layers", "3"), "of 2 layers, 1 to 2 can be kept (got 3)"),
    ],
)
def test_a_student_that_cannot_be_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str, more: tuple[str, ...], said: str
) -> None:
    teacher = save_document_network(tmp_path / "teacher", network)
    layers = () if "--layers" in more else ("--layers", "1")
    assert main(["create", network, "--model", str(teacher), "-o", str(tmp_path / "s"), *layers, *more]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
