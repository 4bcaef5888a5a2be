"""A server in front of replicas gives the answers of a server without; here, the replicas are in this process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fronts import CHOICES, PATIENT, SET, both, replies, searches
from longrank.cli.main import main
from longrank.engines import EngineOptions
from longrank.engines.replicas import Lost, safe_name
from longrank.errors import InputError
from longrank.service.cluster import Cluster, cluster_of, wanted
from longrank.service.engine import Engine
from longrank.service.front import FrontEngine
from longrank.service.judging import opened_judging
from longrank.service.opening import open_engine
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from served import Ask, Reply, answers, opened

NAMES = [choice.pipeline for choice in CHOICES]
TEXTS = {"query": "ab c", "documents": ["ab", "c ab " * 40, "b"], "model": "lexical"}


SETTINGS = [(), (), ("aggregate.name=sump",)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from fronts import indexed

    return indexed(tmp_path_factory.mktemp("fronts") / "an.index")


@pytest.fixture(scope="module")
def engines(source: Path) -> tuple[Engine, FrontEngine]:
    return both(source)


def test_searches_have_equal_answers(engines: tuple[Engine, FrontEngine]) -> None:
    requests = [("POST", "/search", body) for body in searches(40, NAMES)]
    here, there = (replies(engine, requests) for engine in engines)
    assert here == there
    assert {status for status, _ in here} == {200}
    assert sum(len(body["results"]) > 0 for _, body in here) > 20


def test_rerankings_have_equal_answers_in_every_dialect(engines: tuple[Engine, FrontEngine]) -> None:
    requests = [
        ("POST", "/v2/rerank", {**TEXTS, "evidence": True, "relevant_spans": {"mode": "enabled"}, "top_n": 2}),
        ("POST", "/v1/rerank", {**TEXTS, "model": "unknown", "max_tokens_per_doc": 3}),
        ("POST", "/v1/rerank", {**TEXTS, "model": "bm25", "deadline": 9}),
        ("POST", "/rerank", {"query": "ab", "texts": ["ab c", "d"], "return_text": True}),
    ]
    here, there = (replies(engine, requests) for engine in engines)
    assert here == there
    assert "model 'unknown' is not served: 'lexical' answers" in str(there[1])
    assert "model 'bm25' does not rerank texts: 'lexical' answers" in str(there[2])


def test_refusals_are_equal(engines: tuple[Engine, FrontEngine]) -> None:
    requests = [
        ("POST", "/search", {"query": "a", "pipeline": "nothing"}),
        ("POST", "/search", {"query": "a", "filter": {"year": {"$no": 1}}}),
        ("POST", "/search", {"query": "a", "show": ["nothing"]}),
        ("POST", "/search", {"query": "a" * 20_000}),
        ("POST", "/rerank", {"query": "a", "texts": ["b"] * 1001}),
        ("POST", "/v1/rerank", {**TEXTS, "max_tokens_per_doc": 1, "truncation": False}),
    ]
    here, there = (replies(engine, requests) for engine in engines)
    assert here == there
    assert [status for status, _ in there] == [404, 422, 422, 422, 413, 422]


def test_facts_and_documents_are_equal(engines: tuple[Engine, FrontEngine]) -> None:
    here, there = (
        replies(engine, [("GET", "/info"), ("GET", "/ready"), ("GET", "/document?id=x")]) for engine in engines
    )
    assert here == there
    assert there[1] == (200, {"status": "ready"})


def test_the_time_to_an_answer_reaches_the_replica(engines: tuple[Engine, FrontEngine], monkeypatch) -> None:
    there, answered = engines[1], threading.Event()
    scorer: Any = there.handles.replicas["lexical"]._engine.served().reranker.scorer  # type: ignore[attr-defined]
    kind, score = type(scorer.scorer), type(scorer.scorer).score

    def waiting(self: Any, tasks: Any) -> Any:
        answered.wait(60)
        return score(self, tasks)

    monkeypatch.setattr(kind, "score", waiting)
    try:
        ((status, body),) = replies(there, [("POST", "/v1/rerank", {**TEXTS, "deadline": 0.5})])
    finally:
        answered.set()
    assert status == 200
    assert body["meta"]["partial"] == {"n_documents": 3, "n_read": 0, "n_partly": 0, "n_unread": 3}


def failing(error: Exception) -> Any:
    class Failing:
        async def ask(self, *_: object) -> Any:
            raise error

    return Failing()


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (Lost("the replica was killed"), 503, "two replicas of 'lexical' were killed while they computed the ranking"),
        (TimeoutError(), 504, "the deadline passed before the ranking was computed"),
    ],
)
def test_what_no_replica_answers_is_refused(
    engines: tuple[Engine, FrontEngine], monkeypatch, error: Exception, status: int, message: str
) -> None:
    monkeypatch.setattr(engines[1], "handles", failing(error))
    for request in (("POST", "/search", {"query": "a"}), ("POST", "/v1/rerank", TEXTS)):
        ((got, body),) = replies(engines[1], [request])
        assert got == status
        assert message in body["message"]


def test_replicas_of_another_server_do_not_answer(source: Path) -> None:
    """Two commands of one name on a cluster: the replicas of the second replace those of the first."""
    first, second = both(source)[1], both(source)[1]
    first.name = "of an earlier command"
    for request in (("POST", "/search", {"query": "a"}), ("POST", "/v1/rerank", TEXTS)):
        ((status, body),) = replies(first, [request])
        assert status == 503
        assert "are now those of another server" in body["message"]
        assert replies(second, [request])[0][0] == 200


def test_a_replica_that_reads_other_settings_or_models_does_not_answer(tmp_path: Path) -> None:
    """A cluster opens a new replica when a replica was killed; the server keeps the files as they were."""
    pytest.importorskip("torch")
    from tiny_models import save_cross_encoder

    model, own = str(tmp_path / "model"), tmp_path / "own.toml"
    own.write_text('[scorer]\nname = "lexical"\n')
    save_cross_encoder(tmp_path / "model", num_hidden_layers=1)
    _, front = both(None, [PipelineChoice(str(own)), PipelineChoice("maxp", model)])
    requests = [("POST", "/v1/rerank", {**TEXTS, "model": name}) for name in ("own", "maxp")]
    assert [status for status, _ in replies(front, requests)] == [200, 200]
    own.write_text('[scorer]\nname = "lexical"\n[aggregate]\nname = "sump"\n')
    save_cross_encoder(tmp_path / "model", num_hidden_layers=2)
    front.handles = front.start()
    for (status, body), name in zip(replies(front, requests), ("own", "maxp"), strict=True):
        assert status == 503
        assert body["message"].startswith(f"a replica of '{name}' has read other settings or models than the server")


def test_an_application_of_ray_serve_makes_an_engine_in_each_replica_of_its_front(source: Path) -> None:
    replicas = both(source)[1].handles
    other = open_engine(FrontEngine, source, CHOICES, SET, Notes())
    other.start = lambda: replicas
    other.load()
    assert replies(other, [("POST", "/search", {"query": "a"})])[0][0] == 200


def test_servers_of_texts_alone_share_a_place_only_if_their_pipelines_are_equal() -> None:
    made = [open_engine(FrontEngine, None, [PipelineChoice("lexical")], assigned, Notes()) for assigned in SETTINGS]
    digests = [one.pipelines_digest for one in made]
    assert digests[0] == digests[1] != digests[2]


def test_the_work_of_replicas_is_in_the_metrics(engines: tuple[Engine, FrontEngine]) -> None:
    async def talk(ask: Ask) -> Reply:
        await ask("POST", "/v1/rerank", {**TEXTS, "max_tokens_per_doc": 1})
        return await ask("GET", "/metrics")

    text = answers(opened(engines[1], PATIENT), talk).body.decode()
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(figures["longrank_tokens_total"]) > 0
    assert float(figures["longrank_truncated_documents_total"]) == 1
    assert float(figures["longrank_batch_seconds_count"]) >= 1


def test_pools_to_judge_are_equal(engines: tuple[Engine, FrontEngine], tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\tab c\n")

    async def talk(ask: Ask) -> Reply:
        return await ask("GET", "/pool?query_id=1")

    pools = []
    for engine in engines:
        with opened_judging(tmp_path / "qrels.txt", str(topics), notes=Notes()) as judging:
            pools.append(answers(opened(engine, PATIENT, judging), talk).json)
    assert pools[0] == pools[1]
    assert len(pools[0]["documents"]) > 10


@pytest.mark.neural
def test_a_cross_encoder_has_equal_answers(source: Path, tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    model = str(save_cross_encoder(tmp_path / "m"))
    engines = both(source, [PipelineChoice("maxp", model)])
    requests: list[tuple[Any, ...]] = [("POST", "/search", body) for body in searches(5, ["maxp"])]
    requests += [("POST", "/v1/rerank", {**TEXTS, "model": "maxp", "evidence": True})]
    here, there = (replies(engine, requests) for engine in engines)
    assert here == there


def test_a_replica_follows_the_index_and_the_front_has_its_documents(tmp_path: Path) -> None:
    from longrank.index import Index

    Index.build([("a", "fox"), ("b", "moon")], tmp_path / "index")
    _, front = both(tmp_path / "index", [PipelineChoice("bm25")])
    with Index(tmp_path / "index").writer(Notes()) as writer:
        writer.add([{"doc_id": "c", "text": "fox fox"}])
    front.reopen()
    replica: Any = front.handles.replicas["bm25"]  # type: ignore[attr-defined]
    replica._engine.reopen()
    found, whole = replies(front, [("POST", "/search", {"query": "fox"}), ("GET", "/document?id=c")])
    assert [one["doc_id"] for one in found[1]["results"]] == ["c", "a"]
    assert whole[1]["text"] == "fox fox"


@pytest.mark.neural
def test_only_pipelines_with_a_network_hold_the_resources(source: Path) -> None:
    front = open_engine(FrontEngine, source, [*CHOICES, PipelineChoice("maxp", "minilm")], (), Notes())
    made = wanted(
        front, Cluster("", 2, {"GPU": 1.0, "CPU": 4.0}), source, ServiceSettings(key="secret", max_requests=9)
    )
    assert [one.resources for one in made.values()] == [{"CPU": 1.0}] * 3 + [{"CPU": 4.0, "GPU": 1.0}]
    assert {(one.replicas, one.at_once) for one in made.values()} == {(2, 9)}
    assert made["maxp"].function.settings.key is None  # type: ignore[attr-defined]
    assert made["maxp"].function.choice == PipelineChoice("maxp", "minilm", "maxp")  # type: ignore[attr-defined]


def test_names_on_a_cluster_stay_different() -> None:
    assert safe_name("maxp=a/b") == "maxp_3da_2fb"
    assert safe_name("my.index-lexical") == "my.index-lexical"
    assert len({safe_name(name) for name in ("a=b", "a/b", "a_3db", "a b")}) == 4


def test_the_engine_local_takes_no_options_of_a_cluster(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster_of(EngineOptions()) is None
    assert cluster_of(EngineOptions("local")) is None
    for more in (["--workers", "2"], ["--resources", "GPU=1"], ["--engine", "local=x"]):
        assert main(["serve", str(source), *more]) == 2
        assert "the engine local takes no address, workers or resources; --engine ray takes" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"unknown engine .got 'rai'.; did you mean 'ray'"):
        cluster_of(EngineOptions("rai"))


def test_without_ray_serve_the_extra_is_named(source: Path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    import sys

    monkeypatch.setitem(sys.modules, "ray.serve", None)
    monkeypatch.delattr("ray.serve", raising=False)
    assert main(["serve", str(source), "--engine", "ray"]) == 2
    assert "needs the extra 'ray-serve'" in capsys.readouterr().err
