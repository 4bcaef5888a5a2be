"""Folders of document networks: what is in them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from document_networks import Encoders, scaled_up, vectors
from longrank.errors import InputError
from tiny_models import save_document_network

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def saved(
    folder: Path, encoders: Encoders, name: str = "parade-transformer", record: dict[str, Any] | None = None
) -> Any:
    from longrank.models.create import create_network
    from longrank.models.folders import save_network

    encoder, tokenizer = encoders.read("bert")
    network = create_network(name, encoder, {"outputs": 2}, tokenizer=tokenizer)
    save_network(folder, network, tokenizer, record)
    return network


def test_a_folder_says_what_it_is(encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.description import describe

    saved(tmp_path / "m", encoders)
    assert {"config.json", "model.safetensors", "tokenizer.json", "longrank.json"} <= {
        path.name for path in (tmp_path / "m").iterdir()
    }
    assert not list((tmp_path / "m").glob("*.bin"))
    found = describe(tmp_path / "m")
    assert found["network"] == "parade-transformer"
    assert found["options"] == {"outputs": 2, "positions": 16}
    assert found["untrained"] is True
    assert found["longrank"]


def test_a_folder_from_before_position_embeddings_keeps_its_scores(encoders: Encoders, tmp_path: Path) -> None:
    """The description then did not name ``positions``, whose default was 0."""
    import torch

    from longrank.models.create import create_network
    from longrank.models.description import describe
    from longrank.models.folders import load_network, save_network

    encoder, tokenizer = encoders.read("bert")
    network = scaled_up(create_network("parade-transformer", encoder, tokenizer=tokenizer, preset="unordered"))
    expected = network.aggregate(*vectors(7, 20))
    save_network(tmp_path / "old", network, tokenizer)
    change("longrank.json", options={"outputs": 1})(tmp_path / "old")
    assert describe(tmp_path / "old")["options"] == {"outputs": 1, "positions": 0}
    loaded = load_network(tmp_path / "old").network
    assert torch.equal(loaded.aggregate(*vectors(7, 20)), expected)
    save_network(tmp_path / "again", loaded, tokenizer)
    assert json.loads((tmp_path / "again" / "longrank.json").read_text())["options"]["positions"] == 0


def test_a_folder_whose_description_lacks_the_number_of_outputs_has_that_of_its_classifier(
    encoders: Encoders, tmp_path: Path
) -> None:
    from longrank.models.create import create_network
    from longrank.models.folders import load_network, save_network

    encoder, tokenizer = encoders.read("bert")
    save_network(tmp_path / "old", create_network("maxp", encoder, {"outputs": 2}, tokenizer=tokenizer), tokenizer)
    change("longrank.json", options={})(tmp_path / "old")
    assert load_network(tmp_path / "old").network.options["outputs"] == 2


def test_a_training_record_is_kept_and_replaces_untrained(encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.description import describe
    from longrank.models.folders import load_network

    record = {"queries": 5, "loss": "hinge", "notes": ["ä"]}
    saved(tmp_path / "m", encoders)
    saved(tmp_path / "m", encoders, record=record)
    assert load_network(tmp_path / "m").record == record
    assert describe(tmp_path / "m")["untrained"] is False
    assert [path.name for path in tmp_path.iterdir()] == ["m"]  # nothing of the old one is left


def test_equal_networks_give_equal_files(encoders: Encoders, tmp_path: Path) -> None:
    for name in ("a", "b"):
        saved(tmp_path / name, encoders)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_loading_leaves_the_random_generator_alone(encoders: Encoders, tmp_path: Path) -> None:
    import torch

    from longrank.models.folders import load_network

    saved(tmp_path / "m", encoders)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    load_network(tmp_path / "m")
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_with_something_else_is_not_touched(encoders: Encoders, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.txt").write_text("years")
    with pytest.raises(InputError, match="holds something other than a document network"):
        saved(tmp_path / "m", encoders)
    (tmp_path / "m" / "thesis.txt").rename(tmp_path / "thesis.txt")
    saved(tmp_path / "m", encoders)
    (tmp_path / "thesis.txt").rename(tmp_path / "m" / "thesis.txt")
    with pytest.raises(InputError, match=r"holds other files, which would be deleted \(got 'thesis.txt'\)"):
        saved(tmp_path / "m", encoders)
    assert (tmp_path / "m" / "thesis.txt").read_text() == "years"


def change(name: str, **values: Any) -> Callable[[Path], None]:
    """Return what sets keys of a JSON file in a folder; None takes a key out."""

    def changed(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        kept = {key: value for key, value in {**found, **values}.items() if key not in values or value is not None}
        (folder / name).write_text(json.dumps(kept))

    return changed


def weights(edit: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = load_file(folder / "model.safetensors")
        edit(tensors)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    return changed


def not_a_number(tensors: dict[str, Any]) -> None:
    tensors["cls"][0, 3] = float("nan")


def cut_off(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


def without_tokenizer(folder: Path) -> None:
    """Take its files away: transformers makes a tokenizer of special tokens alone up, without a word."""
    for path in folder.glob("tokenizer*"):
        path.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "longrank.json").unlink(), r"m: holds no longrank.json: not a document network"),
        (lambda folder: (folder / "longrank.json").write_text("{"), r"longrank.json: is not a JSON object"),
        (lambda folder: (folder / "longrank.json").write_text("[" * 100_000), r"longrank.json: is not a JSON object"),
        (change("longrank.json", format="x"), r"longrank.json: does not describe a document network \(got 'x'\)"),
        (change("longrank.json", version=2), r"is of version 2, this longrank reads 1; upgrade longrank"),
        (change("longrank.json", network="parade-x"), r"longrank.json: does not name a network.*'parade-x'.*one of"),
        (change("longrank.json", network=None), r"longrank.json: lacks the network's name"),
        (change("longrank.json", options={"vectr": 1}), r"longrank.json: .*has no option \(got 'vectr'\)"),
        (change("longrank.json", options=3), r"lacks the network's name or its options"),
        (change("longrank.json", untrained=False), r"has a training record of an untrained network, or none"),
        (change("longrank.json", record=None), r"longrank.json: lacks the network's training record"),
        (
            change("longrank.json", options={"outputs": 1, "positions": 16}),
            r"model.safetensors: .*no place.*got 'head.\w+ \[2",
        ),
        (
            change("longrank.json", network="parade-cnn", options={"outputs": 2}),
            r"model.safetensors: the network has no place",
        ),
        (lambda folder: (folder / "config.json").unlink(), r"holds no config.json: not a model folder"),
        (change("config.json", model_type="nonesuch"), r"config.json: is no configuration of an encoder"),
        (change("config.json", hidden_size=8), r"model.safetensors: the network has no place for a tensor"),
        (lambda folder: (folder / "model.safetensors").unlink(), r"m: holds no model.safetensors"),
        (cut_off, r"model.safetensors: is damaged: \d+ bytes instead of \d+"),
        (weights(lambda tensors: tensors.pop("cls")), r"the weights lack 1 parameters.*got 'cls'"),
        (weights(not_a_number), r"the model's weights hold a NaN or an infinity \(got 'cls'\)"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"m: its tokenizer cannot be read"),
        (without_tokenizer, r"m: the model's tokenizer knows no words: its files are missing"),
    ],
)
def test_damage_is_one_line_that_names_the_file(damage, message: str, encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.folders import load_network

    saved(tmp_path / "m", encoders)
    damage(tmp_path / "m")
    with pytest.raises(InputError, match=message) as raised:
        load_network(tmp_path / "m")
    assert "\n" not in str(raised.value)


def test_a_vocabulary_larger_than_the_network_knows_is_refused(encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.folders import load_network

    saved(tmp_path / "m", encoders)
    _, tokenizer = encoders.read("bert")
    tokenizer.add_tokens(["newword"])
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(InputError, match=r"token ids reach 98, the network knows 98 tokens"):
        load_network(tmp_path / "m")


def test_birch_without_its_weights_is_refused(encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.folders import load_network

    saved(tmp_path / "m", encoders, "birch-passage")
    (tmp_path / "m" / "aggregator.safetensors").unlink()
    with pytest.raises(InputError, match=r"m: holds no aggregator.safetensors"):
        load_network(tmp_path / "m")


def test_code_in_the_folder_is_never_run(encoders: Encoders, tmp_path: Path) -> None:
    from longrank.models.folders import load_network

    saved(tmp_path / "m", encoders)
    (tmp_path / "m" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    change("config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Config"})(tmp_path / "m")
    load_network(tmp_path / "m")
    assert not (tmp_path / "ran").exists()


def test_a_network_that_aggregates_vectors_is_no_cross_encoder(encoders: Encoders, tmp_path: Path) -> None:
    """Its encoder's weights have names of their own, so nothing reads them in silence."""
    from longrank.scoring import make_scorer

    saved(tmp_path / "m", encoders)
    with pytest.raises(InputError, match=r"leave out|lack"):
        make_scorer("cross-encoder", index=None, model=str(tmp_path / "m"))  # type: ignore[arg-type]


def test_whoever_may_read_the_configuration_may_read_the_weights(tmp_path: Path) -> None:
    folder = save_document_network(tmp_path / "m", "birch-passage")
    modes = {path.name: path.stat().st_mode for path in folder.iterdir()}
    assert modes["model.safetensors"] == modes["aggregator.safetensors"] == modes["config.json"]
