"""Quantised models: which pairs are read to calibrate, what is written, and what is refused afterwards."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from exports import cache_in, needs
from fakes import documents, index_of, queries
from longrank.cli.main import main
from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index import Index
from longrank.networks.model_files import find_model
from longrank.ranking.quantization import calibration_tasks, quantize_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.text.segment import make_segmenter
from longrank.types import Notes, Query
from tiny_models import save_cross_encoder, save_encoder, task

PASSAGES = ["a river of light", "stone " * 9, "the house on the moon", "bread and salt and water"]
INT8 = {"backend": "openvino", "dtype": "int8"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(30), tmp_path_factory.mktemp("index") / "index")


@pytest.fixture(scope="module", autouse=True)
def exports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cache_in(tmp_path_factory.mktemp("cache")) as folder:
        yield folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_cross_encoder(tmp_path_factory.mktemp("bert") / "m", num_hidden_layers=1))


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory, bert: str, index: Index) -> Path:
    folder = tmp_path_factory.mktemp("quantized") / "int8"
    quantize_model(bert, "cross-encoder", index, queries(5), folder, pairs=12, notes=Notes())
    return folder


def pairs(index: Index, n: int, n_queries: int = 5, seed: int = 0, notes: Notes | None = None) -> list[tuple]:
    chosen = calibration_tasks(
        index, queries(n_queries), make_segmenter("windows"), pairs=n, seed=seed, notes=notes or Notes()
    )
    return [(one.query.query_id, one.doc_id, one.passages[0].index) for one in chosen]


def test_pairs_are_spread_over_the_queries(index: Index) -> None:
    chosen = pairs(index, 12)
    assert len(set(chosen)) == 12
    assert sorted(Counter(query_id for query_id, _, _ in chosen).values()) == [3, 3, 3, 3]  # ceil(12 / 5) of each


def test_other_queries_have_the_share_of_a_query_without_passages(index: Index) -> None:
    asked, notes = [*queries(2), Query("none", "zzzz")], Notes()
    chosen = list(calibration_tasks(index, asked, make_segmenter("windows"), pairs=30, seed=0, notes=notes))
    assert len({(one.query.query_id, one.doc_id, one.passages[0].index) for one in chosen}) == 30
    assert notes.lines() == []


def test_pairs_are_a_function_of_the_seed_and_of_ids(index: Index) -> None:
    assert pairs(index, 12) == pairs(index, 12)
    assert pairs(index, 12) != pairs(index, 12, seed=1)
    both = {one for one in pairs(index, 5, n_queries=5) if one[0] in {"q00", "q01"}}
    assert both == set(pairs(index, 2, n_queries=2))  # other queries change nothing about these


def test_pairs_come_from_the_first_ten_documents_and_it_is_said_when_there_are_fewer(index: Index) -> None:
    notes = Notes()
    chosen = pairs(index, 10_000, n_queries=1, notes=notes)
    assert len({doc_id for _, doc_id, _ in chosen}) == 10
    assert notes.lines() == [
        f"calibrated on {len(chosen)} pairs of query and passage instead of 10000: there are no more"
    ]


@needs("openvino")
@pytest.mark.neural
def test_an_int8_model_scores_much_as_the_model_it_was_made_of(bert: str, quantized: Path) -> None:
    exact, rounded = CrossEncoder(find_model(bert), device="cpu"), CrossEncoder(find_model(str(quantized)), **INT8)
    (expected,), (found,) = (one.score([task("the fish", PASSAGES * 5)]) for one in (exact, rounded))
    assert 0 < np.abs(found.scores - expected.scores).max() < 0.5 * np.ptp(expected.scores)
    assert np.corrcoef(found.scores, expected.scores)[0, 1] > 0.9
    assert " dtype=int8 backend=openvino precision=" in rounded.fingerprint
    if sys.platform == "linux":
        assert f"{quantized}/" not in Path("/proc/self/maps").read_text()  # it may be overwritten in place


@needs("openvino")
@pytest.mark.neural
def test_the_record_says_what_it_was_calibrated_on(bert: str, index: Index, quantized: Path) -> None:
    record = json.loads((quantized / "quantization.json").read_text())
    assert record["model"] == find_model(bert).fingerprint
    assert record["index"] == index.digest
    assert (record["pairs"], record["seed"], record["weight_bits"]) == (12, 0, 7)
    assert record["scorer"] == "cross-encoder"
    assert record["passages"] == make_segmenter("windows").fingerprint
    assert {"openvino", "nncf"} <= record["versions"].keys()


@needs("openvino")
@pytest.mark.neural
def test_another_graph_of_the_same_calibration_is_another_fingerprint(quantized: Path, tmp_path: Path) -> None:
    shutil.copytree(quantized, tmp_path / "other")
    record = json.loads((quantized / "quantization.json").read_text())
    assert record["graph"] == {
        name: sha256((quantized / "openvino-int8" / name).read_bytes()).hexdigest()
        for name in ("encoder.bin", "encoder.xml")
    }
    other = {**record, "graph": {**record["graph"], "encoder.bin": "0" * 64}}
    (tmp_path / "other" / "quantization.json").write_text(json.dumps(other))
    assert find_model(str(tmp_path / "other")).fingerprint != find_model(str(quantized)).fingerprint


@needs("openvino")
@pytest.mark.neural
@pytest.mark.slow
def test_vectors_in_int8_do_not_depend_on_the_length_that_a_batch_is_padded_to(tmp_path: Path, index: Index) -> None:
    """In bf16, OpenVINO 2026.4 gives other vectors for up to 32 tokens: cosines differed by up to .14."""
    quantize_model("minilm", "bi-encoder", index, queries(5), tmp_path / "int8", pairs=12, notes=Notes())
    scorer = BiEncoder(find_model(str(tmp_path / "int8")), **INT8)
    texts = [f"the river of light {word} " * 3 for word in ("stone", "bread", "moon", "salt")]
    long = " ".join(texts * 3)
    together = scorer.score([task("bread and salt", [*texts, long])])[0].scores[:4]
    alone = [scorer.score([task("bread and salt", [text])])[0].scores[0] for text in texts]
    np.testing.assert_allclose(alone, together, atol=0.01)


@needs("openvino")
@pytest.mark.neural
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, bert: str, index: Index, quantized: Path) -> None:
    with cache_in(tmp_path / "cache"):  # the graph is exported again, whose names count those of the process
        quantize_model(bert, "cross-encoder", index, queries(5), tmp_path / "again", pairs=12, notes=Notes())
    files = sorted(path.relative_to(quantized) for path in quantized.rglob("*") if path.is_file())
    assert Path("openvino-int8/encoder.bin") in files
    changed = [
        str(path) for path in files if (tmp_path / "again" / path).read_bytes() != (quantized / path).read_bytes()
    ]
    assert changed == []


@needs("openvino")
@pytest.mark.neural
def test_another_calibration_is_another_fingerprint(tmp_path: Path, bert: str, index: Index, quantized: Path) -> None:
    quantize_model(bert, "cross-encoder", index, queries(5), tmp_path / "m", pairs=12, seed=1, notes=Notes())
    assert find_model(str(tmp_path / "m")).fingerprint != find_model(str(quantized)).fingerprint


@needs("openvino")
@pytest.mark.neural
def test_the_folder_is_a_model_that_other_backends_read_too(bert: str, quantized: Path) -> None:
    (expected,) = CrossEncoder(find_model(bert), device="cpu").score([task("fish", PASSAGES)])
    (found,) = CrossEncoder(find_model(str(quantized)), device="cpu").score([task("fish", PASSAGES)])
    np.testing.assert_array_equal(found.scores, expected.scores)


@needs("openvino")
@pytest.mark.neural
def test_a_bi_encoder_is_calibrated_on_queries_and_passages(tmp_path: Path, index: Index) -> None:
    folder = str(save_encoder(tmp_path / "m"))
    quantize_model(folder, "bi-encoder", index, queries(5), tmp_path / "int8", pairs=12, notes=Notes())
    exact, rounded = BiEncoder(find_model(folder), device="cpu"), BiEncoder(find_model(str(tmp_path / "int8")), **INT8)
    (expected,), (found,) = (one.score([task("the fish", PASSAGES)]) for one in (exact, rounded))
    assert 0 < np.abs(found.scores - expected.scores).max() < 0.2
    assert rounded.encoder_fingerprint != exact.encoder_fingerprint


@needs("openvino")
@pytest.mark.neural
@pytest.mark.parametrize("name", ["openvino-int8/encoder.bin", "openvino-int8/encoder.xml", "tokenizer.json"])
def test_a_damaged_file_of_a_quantised_model_is_an_integrity_error_that_names_it(quantized: Path, name: str) -> None:
    path = quantized / name
    raw = path.read_bytes()
    for damaged in (raw[:-7], bytes([raw[0] ^ 4]) + raw[1:]):
        path.write_bytes(damaged if name != "tokenizer.json" else raw + b"\n")
        with pytest.raises(IntegrityError, match=name):
            CrossEncoder(find_model(str(quantized)), **INT8)
    path.write_bytes(raw)


@needs("openvino")
@pytest.mark.neural
def test_int8_of_a_model_that_is_not_quantised_names_the_command(bert: str) -> None:
    with pytest.raises(InputError, match="needs a model that was quantised; make one: longrank quantize MODEL INDEX"):
        CrossEncoder(find_model(bert), **INT8)


@needs("openvino")
@pytest.mark.neural
def test_what_is_refused_leaves_nothing(tmp_path: Path, bert: str, index: Index) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    for output, options, message in [
        ("full", {}, "exists already"),
        ("none/m", {}, "its folder does not exist"),
        ("m", {"pairs": 0}, "pairs must be 1 or more"),
    ]:
        with pytest.raises(InputError, match=message):
            quantize_model(bert, "cross-encoder", index, queries(2), tmp_path / output, notes=Notes(), **options)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


@needs("openvino")
@pytest.mark.neural
def test_the_command_writes_a_model_that_rerank_reads(
    tmp_path: Path, bert: str, index: Index, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    topics, run, model = tmp_path / "q.tsv", tmp_path / "bm25.run", tmp_path / "int8"
    topics.write_text("".join(f"{query.query_id}\t{query.text}\n" for query in queries(3)))
    assert main(["quantize", bert, str(index.path), str(topics), "-o", str(model), "--pairs", "6"]) == 0
    assert "scorer.options.dtype=int8" in capsys.readouterr().err
    assert main(["retrieve", str(index.path), str(topics), "-o", str(run), "-k", "3"]) == 0
    options = [f"--set=scorer.options.{name}={value}" for name, value in INT8.items()]
    rerank = ["rerank", str(index.path), str(topics), str(run), "--pipeline", "maxp"]
    assert main([*rerank, "-o", str(tmp_path / "new.run"), "--model", str(model), *options]) == 0
    assert len((tmp_path / "new.run").read_text().splitlines()) == 9
    assert main([*rerank, "-o", str(tmp_path / "no.run"), "--model", bert, *options]) == 2
    assert "longrank quantize" in capsys.readouterr().err
    (model / "openvino-int8" / "encoder.bin").write_bytes(b"")
    assert main([*rerank, "-o", str(tmp_path / "no.run"), "--model", str(model), *options]) == 3
    assert [path.name for path in (tmp_path / "cache" / "longrank" / "exports").iterdir()] != []


@needs("openvino")
def test_a_full_disk_is_named_while_a_graph_is_written_and_leaves_no_folder(
    tmp_path: Path, bert: str, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.networks.backends.openvino_runtime import openvino

    def full(network: object, path: str, **options: object) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")  # OpenVINO's words for no space left

    with monkeypatch.context() as patch:
        patch.setattr(openvino(), "save_model", full)
        with pytest.raises(LongRankError, match=r"cannot write .*encoder\.xml: basic_ios::clear"):
            quantize_model(bert, "cross-encoder", index, queries(5), tmp_path / "int8", pairs=12, notes=Notes())
    assert list(tmp_path.iterdir()) == []
