"""Qdrant as a first stage, run for real in its local mode."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longrank import rerank, retrieve, search
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.retrieval.stores import open_store
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Notes, Query
from tiny_models import save_encoder

qdrant_client = pytest.importorskip("qdrant_client", reason="needs the extra qdrant")
pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("ignore:Local mode is not recommended"),
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),  # of the client, from Python 3.13 on
]

TEXTS = {"d1": "ab ba. " * 120 + "cc", "d2": "aa bb é🦀 cc", "d3": "c c b"}


@pytest.fixture(autouse=True, scope="module")
def unclosed_databases_are_freed_here() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("model") / "encoder")


@pytest.fixture(scope="module")
def folder(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a Qdrant with the collections ``pages``, ``named``, ``small`` and ``bare``."""
    from qdrant_client import models

    path = tmp_path_factory.mktemp("qdrant")
    network = BiEncoder(find_model(str(encoder)))
    cosine = models.Distance.COSINE
    client = qdrant_client.QdrantClient(path=str(path))
    plain, small = models.VectorParams(size=16, distance=cosine), models.VectorParams(size=4, distance=cosine)
    for name, vectors in {"pages": plain, "named": {"body": plain}, "small": small, "bare": plain}.items():
        client.create_collection(name, vectors_config=vectors)
    for number, (doc_id, text) in enumerate(TEXTS.items()):
        vector = network.query_vector(Query(doc_id, text)).tolist()
        payload = {"doc_id": doc_id, "title": doc_id.upper(), "text": text, "year": 1900 + number, "group": "all"}
        client.upsert("pages", [models.PointStruct(id=number, vector=vector, payload=payload)])
        client.upsert("named", [models.PointStruct(id=number, vector={"body": vector}, payload={"text": text})])
        client.upsert("bare", [models.PointStruct(id=number, vector=vector, payload={"body": text})])
    client.close()
    return path


@pytest.fixture
def store(folder: Path, encoder: Path, tmp_path: Path) -> Any:
    def written(settings: str, place: str = f'path = "{folder}"') -> str:
        (tmp_path / "pages.toml").write_text(f'{place}\nencoder = "{encoder}"\n{settings}\n')
        return f"qdrant:{tmp_path / 'pages.toml'}"

    return written


PAGES = 'collection = "pages"\nid = "doc_id"'


def test_passages_of_a_search_are_spans_of_the_payload(store: Any) -> None:
    results = search(store(PAGES), TEXTS["d2"], pipeline="lexical")
    assert {result.doc_id for result in results} == set(TEXTS)
    assert results[0].doc_id == "d2"
    assert {result.doc_id: result.metadata for result in results}["d3"] == {"year": 1902, "group": "all"}
    for result in results:
        text = TEXTS[result.doc_id]
        assert all(text[passage.start : passage.end] == passage.text for passage in result.passages)
        assert result.title == result.doc_id.upper()


@pytest.mark.parametrize("distance", ["COSINE", "DOT", "EUCLID", "MANHATTAN"])
def test_the_nearest_points_are_first_by_each_distance(tmp_path: Path, encoder: Path, distance: str) -> None:
    from qdrant_client import models

    query, client = [1.0] * 16, qdrant_client.QdrantClient(path=str(tmp_path / "db"))
    vectors = models.VectorParams(size=16, distance=models.Distance[distance])
    client.create_collection("pages", vectors_config=vectors)
    network = BiEncoder(find_model(str(encoder)))
    for number, text in enumerate(("aa", "bb", "cc ab", "c c b")):
        vector = network.query_vector(Query("t", text)).tolist()
        client.upsert("pages", [models.PointStruct(id=number, vector=vector, payload={"text": text})])
    query = network.query_vector(Query("q", "cc ab")).tolist()
    nearest = [str(point.id) for point in client.query_points("pages", query=query, limit=4).points]
    client.close()
    (tmp_path / "pages.toml").write_text(f'path = "db"\ncollection = "pages"\nencoder = "{encoder}"\n')
    for k in (2, 4):
        ranking = retrieve(f"qdrant:{tmp_path / 'pages.toml'}", ["cc ab"], k=k).rows()
        assert [row.doc_id for row in ranking] == nearest[:k]
        assert nearest[0] == "2" or distance == "DOT"


def test_the_nearest_point_is_first_and_a_run_is_reranked(store: Any) -> None:
    run = retrieve(store(PAGES), {"q": TEXTS["d3"]}, k=2)
    assert len(run["q"]) == 2
    assert (run["q"][0].doc_id, run["q"][0].score) == ("d3", pytest.approx(1.0, abs=1e-5))
    reranked = rerank(store(PAGES), {"q": "ab cc"}, run, pipeline="lexical")
    assert {row.doc_id for row in reranked["q"]} == {row.doc_id for row in run["q"]}


def test_points_may_have_named_vectors_and_ids_of_their_own(store: Any) -> None:
    source = store('collection = "named"\nvector = "body"')
    opened = open_store(source)
    assert opened.search(Query("q", TEXTS["d1"]), 1, Notes())[0].document.doc_id == "0"
    uuid = "00000000-0000-0000-0000-000000000001"
    documents = opened.documents(["2", "no-point", uuid, "0", "01", "-2", str(2**64)], Notes())
    assert sorted(document.doc_id for document in documents) == ["0", "2"]


def test_ids_of_points_are_numbers_of_64_bits_or_uuids() -> None:
    from longrank.retrieval.stores.qdrant import _point_id

    largest = 2**64 - 1
    assert _point_id(str(largest)) == largest
    assert [_point_id(other) for other in (str(largest + 1), "07", "-7", "²", "name", "9" * 5000)] == [None] * 6


def test_ids_in_payloads_may_be_numbers(tmp_path: Path, encoder: Path) -> None:
    from qdrant_client import models

    client = qdrant_client.QdrantClient(path=str(tmp_path / "db"))
    vectors = models.VectorParams(size=16, distance=models.Distance.COSINE)
    client.create_collection("pages", vectors_config=vectors)
    for number, doc_id in enumerate((7, "8", "x", -3, "09")):
        payload = {"doc_id": doc_id, "text": f"aa {doc_id}"}
        client.upsert("pages", [models.PointStruct(id=number, vector=[1.0] * 16, payload=payload)])
    client.close()
    (tmp_path / "pages.toml").write_text(f'path = "db"\ncollection = "pages"\nencoder = "{encoder}"\nid = "doc_id"\n')
    source, run = f"qdrant:{tmp_path / 'pages.toml'}", {"q": dict.fromkeys(("7", "8", "x", "-3", "09"), 1.0)}
    assert len(rerank(source, {"q": "aa"}, run, pipeline="lexical")["q"]) == 5
    absent = {"q": dict.fromkeys(("7", "9", "-8", "9" * 20, "²"), 1.0)}
    with pytest.raises(InputError, match=r"documents of the run that are not in the store: 4 \("):
        rerank(source, {"q": "aa"}, absent, pipeline="lexical")


def test_points_of_one_id_are_counted_once(store: Any) -> None:
    notes = Notes()
    opened = open_store(store('collection = "pages"\nid = "group"'))
    (found,) = opened.search(Query("q", TEXTS["d3"]), 3, notes)
    assert (found.document.doc_id, found.document.text) == ("all", TEXTS["d3"])
    assert notes["documents that the store returned twice, counted once"] == 2
    with pytest.raises(InputError, match=r"the store has several texts with this id .*'all'"):
        opened.documents(["all"], notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('collection = "lost"', "Collection lost not found; see `collection`"),
        ('collection = "named"', "set `vector` to one of body"),
        ('collection = "small"', "4 dimensions, those of the encoder 16"),
        ('collection = "bare"', "no document has this field .*'text'.*documents have body"),
        ('collection = "pages"\nurl = "http://localhost:6333"', "either `url` or `path`"),
        ('collection = "pages"\nid = "lost"', "document 1 lacks the field of the id .*'lost'"),
        ('colection = "pages"', "unknown key .*did you mean 'collection'"),
        ("", "collection: Field required"),
    ],
)
def test_a_wrong_setting_is_one_line(store: Any, settings: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        search(store(settings), "ab", pipeline="lexical")
    with pytest.raises(InputError, match=r"a store finds the candidates itself .got 'first_stage.preset=ql'"):
        search(store(PAGES), "ab", pipeline="lexical", assignments=["first_stage.preset=ql"])
    assert str(caught.value).isprintable()


def test_a_server_out_of_reach_and_a_lost_folder_are_one_line(store: Any) -> None:
    with pytest.raises(InputError, match=r"cannot reach Qdrant at http://127\.0\.0\.1:1: .*see `url`"):
        search(store(PAGES, 'url = "http://127.0.0.1:1"'), "ab", pipeline="lexical")
    with pytest.raises(InputError, match="lost: no such folder; see `path`"):
        search(store(PAGES, 'path = "lost"'), "ab", pipeline="lexical")


def test_a_folder_that_another_program_has_open_is_refused(store: Any, folder: Path) -> None:
    client = qdrant_client.QdrantClient(path=str(folder))
    with warnings.catch_warnings():  # the refused client leaves its lock file open
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(InputError, match=r"Qdrant cannot open it: .* already accessed"):
            search(store(PAGES), "ab", pipeline="lexical")
        gc.collect()
    client.close()
    assert len(search(store(PAGES), "ab", pipeline="lexical")) == 3
