"""The application: replies in each dialect, with evidence."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import CountingScorer
from longrank.aggregation import AGGREGATORS
from longrank.cli.main import main
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.explain import search
from longrank.ranking.found import result_json
from longrank.scoring import PASSAGE_SCORERS
from longrank.service.engine import simple_aggregators
from longrank.service.rerank import Service
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.text.analysis import DECOMPOSED
from longrank.text.select import make_selector
from served import DOCUMENTS, FILLER, FOX, Ask, Reply, answers, ask_once, desk_of, opened


@pytest.fixture
def desk(tmp_path: Path) -> Service:
    return desk_of(tmp_path)


def test_cohere_reads_its_answer_best_first(desk: Service) -> None:
    reply = ask_once(
        desk, "POST", "/v2/rerank", {"model": "lexical", "query": "fox", "documents": [FILLER, FOX, "fox"]}
    )
    assert reply.status == 200
    results = reply.json["results"]
    assert [one["index"] for one in results] == [1, 2, 0]
    assert all(0 <= one["relevance_score"] <= 1 for one in results)
    assert "warnings" not in reply.json["meta"]
    assert reply.json["meta"]["tokens"]["input_tokens"] == 1 + len(FILLER.split()) + len(FOX.split()) + 1
    assert "relevant_spans" not in results[0]
    assert "passages" not in results[0]


def test_relevant_spans_are_passages_that_do_not_overlap_best_first(desk: Service) -> None:
    value = {"query": "fox", "documents": [FOX, FILLER], "relevant_spans": {"mode": "enabled"}}
    results = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
    assert [FOX[span["start"] : span["end"]] for span in results[0]["relevant_spans"]] == [
        "stone river salt foxes: the Fox's FOX moon tide chain",
        "😀 the fox moon tide chain wheel light house bread",
    ]
    assert "relevant_spans" not in results[1]  # nothing in it is relevant
    value["relevant_spans"] = {"mode": "enabled", "max_spans": 1, "threshold": 0.0}
    (span,) = ask_once(desk, "POST", "/v2/rerank", value).json["results"][0]["relevant_spans"]
    assert FOX[span["start"] : span["end"]].startswith("stone")


def test_spans_of_overlapping_windows_leave_the_worse_one_out(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, PipelineChoice("lexical"))
    reranker = desk.engine.served().reranker
    assert reranker is not None
    from longrank.text.segment import make_segmenter

    reranker.scorer.segmenter = make_segmenter("windows", {"length": 10, "stride": 5}, None)
    value = {"query": "fox", "documents": [FOX], "relevant_spans": {"mode": "enabled"}, "top_n": 1}
    (one,) = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
    spans = sorted((span["start"], span["end"]) for span in one["relevant_spans"])
    assert len(spans) >= 2
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_spans_of_any_passages_are_those_that_overlap_no_better_one() -> None:
    from types import SimpleNamespace

    import numpy as np

    from longrank.service.dialects.cohere import CohereRequest, spans

    draw = np.random.default_rng(1)
    answer: Any = SimpleNamespace(unit="prob")
    wanted = {"mode": "enabled", "threshold": 0}
    request = CohereRequest.model_validate({"query": "q", "documents": ["d"], "relevant_spans": wanted})
    for _ in range(200):
        start = draw.integers(0, 30, 15)
        end, score = start + draw.integers(0, 9, 15), draw.permutation(15) / 15
        one: Any = SimpleNamespace(evidence=SimpleNamespace(passage_start=start, passage_end=end, passage_score=score))
        kept: list[tuple[int, int]] = []
        for n in np.argsort(-score):
            if start[n] < end[n] and not any(start[n] < b and a < end[n] for a, b in kept):
                kept.append((start[n], end[n]))
        assert [(span["start"], span["end"]) for span in spans(request, answer, one)] == kept


def test_nulls_are_as_good_as_nothing(desk: Service) -> None:
    names = ("model", "top_n", "max_tokens_per_doc", "priority", "relevant_spans", "aggregate", "evidence", "passages")
    value = {"query": "fox", "documents": [FOX], **dict.fromkeys(names)}
    assert ask_once(desk, "POST", "/v2/rerank", value).status == 200


def test_jina_vllm_and_cohere_v1_read_theirs(desk: Service) -> None:
    value = {
        "model": "jina-reranker-v2",
        "query": "fox",
        "documents": [FILLER, {"text": FOX, "title": "t"}],
        "top_n": 1,
        "return_documents": True,
    }
    reply = ask_once(desk, "POST", "/v1/rerank", value).json
    (one,) = reply["results"]
    assert (one["index"], one["document"]) == (1, {"text": FOX, "title": "t"})
    assert reply["model"] == "lexical"
    assert reply["meta"]["warnings"] == ["model 'jina-reranker-v2' is not served: 'lexical' answers"]
    assert reply["usage"]["total_tokens"] == reply["usage"]["prompt_tokens"] > 0
    reply = ask_once(desk, "POST", "/v1/rerank", value | {"model": "bm25"}).json
    assert reply["meta"]["warnings"] == ["model 'bm25' does not rerank texts: 'lexical' answers"]
    reply = ask_once(desk, "POST", "/v1/rerank", {"query": "cafe\u0301", "documents": [FOX, "cafe\u0301"]}).json
    assert reply["meta"]["warnings"] == [f"queries {DECOMPOSED}: 1", f"documents {DECOMPOSED}: 1"]
    value |= {"top_n": 0, "use_activation": False, "return_documents": False}
    all_of_them = ask_once(desk, "POST", "/rerank", value).json["results"]
    assert len(all_of_them) == 2
    assert all_of_them[0]["relevance_score"] == all_of_them[0]["aggregate"]


def test_fields_of_document_objects_are_read_as_they_are_named(desk: Service) -> None:
    documents = [{"text": "tide", "title": "a fox"}, {"text": "fox"}]
    value = {"query": "fox", "documents": documents, "rank_fields": ["title"], "evidence": True}
    results = ask_once(desk, "POST", "/v1/rerank", value).json["results"]
    assert [one["index"] for one in results] == [0, 1]
    assert results[0]["passages"][0]["text"] == "a fox"


def test_document_objects_need_a_text_only_without_rank_fields(desk: Service) -> None:
    value = {"query": "fox", "documents": ["tide", {"title": "a fox"}], "return_documents": True}
    results = ask_once(desk, "POST", "/v1/rerank", value | {"rank_fields": ["title"]}).json["results"]
    assert [one["document"] for one in results] == [{"title": "a fox"}, {"text": "tide"}]
    said = ask_once(desk, "POST", "/v1/rerank", value).json["message"]
    assert said == "/documents: object 1 has no text; add text, or name its fields in rank_fields"
    of_texts = ask_once(desk, "POST", "/v1/rerank", value | {"documents": ["fox"], "rank_fields": ["title"]}).json
    assert of_texts["meta"]["warnings"] == ["rank_fields has no effect: no document is an object"]


def test_fields_that_are_no_text_are_not_read_and_counted(desk: Service) -> None:
    def asked(*fields: str) -> Any:
        documents = ["fox", {"text": "tide", "title": None}, {"text": "tide", "title": "a fox", "year": 3}]
        value = {"query": "none fox", "documents": documents, "rank_fields": list(fields), "evidence": True}
        return ask_once(desk, "POST", "/v1/rerank", value).json

    reply = asked("title", "text")
    assert {one["index"]: one["passages"][0]["text"] for one in reply["results"]} == {
        0: "fox",
        1: "tide",
        2: "a fox\ntide",
    }
    assert reply["meta"]["warnings"] == ["field 'title' is not text in 1 of 2 documents"]
    reply = asked("titel", "year")
    assert {one["index"]: one["passages"][0]["text"] for one in reply["results"]} == {0: "fox", 1: "", 2: ""}
    assert reply["meta"]["warnings"] == [
        f"field {field!r} is not text in 2 of 2 documents" for field in ("titel", "year")
    ]
    assert asked(*["text"] * 17)["message"].startswith("/rank_fields: ")


def test_tei_reads_a_bare_list(desk: Service) -> None:
    value = {"query": "fox", "texts": [FILLER, FOX], "raw_scores": True, "return_text": True, "truncate": True}
    reply = ask_once(desk, "POST", "/rerank", value | {"truncation_direction": "Right"})
    assert [(one["index"], one["text"]) for one in reply.json] == [(1, FOX), (0, FILLER)]
    assert reply.json[0]["score"] == reply.json[0]["aggregate"] > 0


def test_what_tei_is_not_read_is_said_in_a_header(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, PipelineChoice("lexical"))
    reranker = desk.engine.served().reranker
    assert reranker is not None
    assert "x-warnings" not in ask_once(desk, "POST", "/rerank", {"query": "fox", "texts": [FOX]}).headers
    reply = ask_once(desk, "POST", "/rerank", {"query": "fox", "texts": [FOX], "model": "日本"})
    assert unquote(reply.headers["x-warnings"]) == "model '日本' is not served: 'lexical' answers"
    reranker.scorer.selector = make_selector("first", 1)
    reply = ask_once(desk, "POST", "/rerank", {"query": "fox", "texts": [FOX]})
    assert reply.headers["x-warnings"].startswith("the pipeline did not score all passages of 1 document")
    assert reply.json[0]["truncated"]


def test_documents_of_a_search_that_were_not_read_to_their_end_are_counted(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, PipelineChoice("lexical"))
    desk.engine.served().pipeline.scorer.selector = make_selector("first", 1)

    async def talk(ask: Ask) -> str:
        await ask("POST", "/search", {"query": "fox"})
        return (await ask("GET", "/metrics")).body.decode()

    assert "longrank_truncated_documents_total 1.0" in answers(desk, talk)


def test_evidence_is_what_the_library_says(desk: Service) -> None:
    value = {"query": "fox", "documents": [FOX], "evidence": True, "passages": 2}
    (one,) = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
    assert one["evidence"] == {"unit": "bm25", "aggregator": "maxp", "n_passages": 4, "n_scored": 4, "n_truncated": 0}
    assert [FOX[shown["start"] : shown["end"]] for shown in one["passages"]] == [s["text"] for s in one["passages"]]
    (shown,) = one["passages"]  # the second and the third window of ten words
    assert [FOX[a:b] for a, b in shown["words"]] == ["fox", "foxes", "Fox's", "FOX"]
    assert shown["highlights"] == [[shown["start"], shown["end"]]]
    assert one["aggregate"] == one["passages"][0]["score"] == max(score for _, _, score in one["strip"])
    assert len(one["strip"]) == 4
    assert one["strip"] == sorted(one["strip"])
    assert not one["truncated"]


def test_another_aggregation_may_be_asked_for(desk: Service) -> None:
    scores = {}
    document = f"fox {FILLER} {FILLER} fox"  # three windows of ten words; no fox in the second
    for name in ("maxp", "sump"):
        value = {"query": "fox", "documents": [document], "aggregate": name, "evidence": True, "passages": 100}
        (one,) = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
        scores[name] = one["aggregate"], sum(shown["score"] for shown in one["passages"])
        assert one["evidence"]["aggregator"] == name
    assert scores["sump"][0] == pytest.approx(scores["sump"][1])
    assert scores["sump"][0] > scores["maxp"][0]
    assert set(simple_aggregators()) == {*AGGREGATORS} - {"birch", "document"}  # weights; networks only


def test_the_options_of_an_aggregator_stand_beside_its_name(desk: Service) -> None:
    scores = []
    for aggregate in (
        {"name": "kmaxp", "k": 1.0},
        "maxp",
        {"name": "birch", "weights": [1, 1]},
        {"name": "kmaxp", "k": 2},
    ):
        value = {"query": "fox", "documents": [FOX], "aggregate": aggregate}
        (one,) = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
        scores.append(one["aggregate"])
    assert scores[0] == scores[1] < scores[2]
    assert scores[2] == pytest.approx(2 * scores[3])


def test_weights_that_make_a_score_infinite_are_refused(desk: Service) -> None:
    aggregate = {"name": "birch", "weights": [1.7e308] * 9}
    value = {"query": "fox moon", "documents": [f"{FOX} " * 20], "aggregate": aggregate}
    reply = ask_once(desk, "POST", "/v2/rerank", value)
    assert (reply.status, reply.json["code"]) == (422, "invalid")
    assert "weights are too large for these sentence scores" in reply.json["message"]


def test_the_description_has_the_options_of_each_aggregator() -> None:
    from longrank.service.dialects.common import Request

    names, *objects, null = Request.model_json_schema()["properties"]["aggregate"]["anyOf"]
    assert null == {"type": "null"}
    assert names["enum"] == simple_aggregators()
    described = {one["properties"]["name"]["const"]: {*one["properties"]} - {"name"} for one in objects}
    assert described == {name: {*entry.options} for name, entry in AGGREGATORS.items() if name != "document"}


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        ("birch", "aggregator 'birch' needs weights"),
        ({"name": "birch", "weights": ["1"]}, "weights of aggregator 'birch' should be a valid number"),
        ({"name": "kmaxp", "k": 0}, "k of aggregator 'kmaxp' should be greater than or equal to 1"),
        ({"name": "maxp", "k": 1}, "aggregator 'maxp' has no option 'k'"),
        ({"name": "document"}, "unknown aggregator"),
        ({"k": 2}, "unknown aggregator"),
        (7, "unknown aggregator"),
    ],
)
def test_wrong_options_of_an_aggregator_are_422(desk: Service, aggregate: object, message: str) -> None:
    value = {"query": "fox", "documents": [FOX], "aggregate": aggregate}
    reply = ask_once(desk, "POST", "/v2/rerank", value)
    assert reply.status == 422
    assert message in reply.json["message"]


def test_what_is_cut_is_said_and_refused_where_cutting_is_off(desk: Service) -> None:
    value: dict[str, Any] = {"query": "fox", "documents": [FOX, "fox"], "max_tokens_per_doc": 5}
    reply = ask_once(desk, "POST", "/v2/rerank", value).json
    assert {one["index"]: one["truncated"] for one in reply["results"]} == {0: True, 1: False}
    assert reply["meta"]["warnings"] == ["1 of 2 documents were cut at the request's limit"]
    value = {"query": "fox", "documents": [FOX, "fox"], "max_chunks_per_doc": 1}
    reply = ask_once(desk, "POST", "/v1/rerank", value).json
    assert {one["index"]: one["truncated"] for one in reply["results"]} == {0: True, 1: False}
    refused = ask_once(desk, "POST", "/v1/rerank", value | {"truncation": False})
    assert refused.status == 422
    assert "truncation is off" in refused.json["message"]
    whole = {"query": "fox", "documents": [FOX, "fox"], "truncation": False}
    assert ask_once(desk, "POST", "/v1/rerank", whole).status == 200


def test_decomposed_letters_are_no_truncation(desk: Service) -> None:
    value = {"query": "fox", "documents": [FOX, "fox cafe\u0301"], "truncation": False}
    reply = ask_once(desk, "POST", "/v1/rerank", value)
    assert reply.status == 200
    assert [line.partition(" whose")[0] for line in reply.json["meta"]["warnings"]] == ["documents"]


def test_a_search_is_the_librarys_with_a_strip_of_all_passages(desk: Service) -> None:
    reply = ask_once(desk, "POST", "/search", {"query": "a fox", "k": 2, "passages": 1}).json
    pipeline = desk.engine.served("lexical").pipeline
    assert pipeline is not None
    for one, result in zip(reply["results"], search(pipeline, "a fox", k=2, passages=1), strict=True):
        own = {name: one.pop(name) for name in ("strip", "n_characters")}
        assert one == json.loads(json.dumps(result_json(result)))
        text = next(document.text for document in DOCUMENTS if document.doc_id == one["doc_id"])
        assert own["n_characters"] == len(text)
        assert len(own["strip"]) == one["n_scored"]
        assert max(own["strip"], key=lambda row: row[2]) == [
            one["passages"][0]["start"],
            one["passages"][0]["end"],
            one["passages"][0]["score"],
        ]
    assert reply["command"].startswith("longrank search /")
    assert reply["command"].endswith(
        "'a fox' --pipeline lexical --set 'passages.options={length=10, stride=10}' -k 2 --passages 1"
    )


@pytest.mark.parametrize("query", ["fox", "-fox moon", "--help", "a 'fox'; \"$HOME\""])
def test_the_command_that_is_told_finds_the_same(desk: Service, query: str, capsys: pytest.CaptureFixture[str]) -> None:
    reply = ask_once(desk, "POST", "/search", {"query": query, "k": 2, "passages": 1}).json
    name, *words = shlex.split(reply["command"])
    assert (name, main(["search", "--json", *words[1:]])) == ("longrank", 0)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(one.pop("query") == query for one in printed)
    shown = [{name: one[name] for name in printed[0]} for one in reply["results"]] if printed else []
    assert shown == printed


def test_a_first_stage_alone_searches_and_has_no_strip(desk: Service) -> None:
    reply = ask_once(desk, "POST", "/search", {"query": "a fox", "pipeline": "bm25"}).json
    assert [one["aggregate"] for one in reply["results"]] == [None, None]
    assert [one["strip"] for one in reply["results"]] == [[], []]
    assert reply["unit"] is None


@pytest.mark.parametrize(
    ("path", "value", "status", "message"),
    [
        ("/search", {"query": "fox", "pipeline": "lexicall"}, 404, "/pipeline: unknown pipeline 'lexicall'; did you"),
        ("/search", {"query": "fox", "index": "../etc"}, 404, "/index"),
        ("/search", {"query": "fox", "k": 0}, 422, "/k"),
        ("/search", {"query": "fox", "k": -1}, 422, "/k"),
        ("/search", {"query": "fox", "k": 10**9}, 422, "/k"),
        ("/search", {"query": "fox", "k": "3"}, 422, "/k"),
        ("/search", {"query": ""}, 422, "/query"),
        ("/search", {"query": " \n"}, 422, "/query"),
        ("/search", {"query": "a" * 10_001}, 422, "/query: 10001 characters"),
        ("/search", {"qeury": "fox"}, 422, "/"),
        ("/v2/rerank", {"query": "fox", "documents": []}, 422, "/documents"),
        ("/v2/rerank", {"query": "fox", "documents": ["a", 3]}, 422, "/documents/1"),
        ("/v2/rerank", {"query": "fox", "documents": ["a"], "max_chunks_per_doc": 3}, 422, "/max_chunks_per_doc"),
        ("/v2/rerank", {"query": "fox", "documents": ["a"] * 1001}, 413, "1001 documents"),
        ("/v2/rerank", {"query": "a" * 10_001, "documents": ["a"]}, 422, "/query"),
        ("/v2/rerank", {"query": "fox", "documents": ["a"], "aggregate": "maxpp"}, 422, "/aggregate"),
        ("/v2/rerank", {"query": "fox", "documents": ["a"], "aggregate": "document"}, 422, "/aggregate"),
        ("/v1/rerank", {"query": "fox", "documents": ["a", 3]}, 422, "/documents/1: "),
        ("/v1/rerank", {"query": "fox", "documents": [{"text": 3}]}, 422, "/documents/0/text: "),
        ("/v1/rerank", {"query": "fox", "documents": [{"title": "a"}]}, 422, "/documents: object 0 has no text"),
        ("/rerank", {"query": "fox", "texts": ["a"], "documents": ["a"]}, 422, "/documents"),
        ("/search/", {"query": "fox"}, 404, "Not Found"),
        ("/rerank", {"query": "fox"}, 422, "/documents"),
        ("/rerank", [1], 422, "/"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_with_its_place(
    desk: Service, path: str, value: Any, status: int, message: str
) -> None:
    reply = ask_once(desk, "POST", path, value)
    assert reply.status == status
    assert reply.json["message"].startswith(message)
    assert reply.json["code"] == {404: "not_found", 413: "too_large", 422: "invalid"}[status]
    assert reply.json["request_id"] == reply.headers["x-request-id"]
    assert ("error" in reply.json) == (path == "/rerank")


@pytest.mark.parametrize("path", ["/v2/rerank", "/v1/rerank", "/rerank"])
def test_of_a_hundred_thousand_things_that_are_wrong_one_is_looked_at(
    desk: Service, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them would take the event loop 20 microseconds to tell of, and all other clients would wait."""
    from fastapi.exceptions import RequestValidationError

    told = []
    inner = RequestValidationError.__init__
    monkeypatch.setattr(
        RequestValidationError,
        "__init__",
        lambda self, errors, **more: (told.append(len(errors)), inner(self, errors, **more))[1],
    )
    list_of = "texts" if path == "/rerank" else "documents"
    many = [{list_of: [1] * 100}, {list_of: ["a"]} | {f"field{n}": n for n in range(100)}]
    for value in many:
        reply = ask_once(desk, "POST", path, {"query": "fox", **value})
        assert reply.json["message"].startswith((f"/{list_of}/0", "/field0: "))
    assert told == [1, 1]


def test_answers_are_written_beside_the_event_loop(desk: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.service.dialects import cohere

    threads, inner = [], cohere.reply
    monkeypatch.setattr(cohere, "reply", lambda *given: (threads.append(threading.get_ident()), inner(*given))[1])
    assert ask_once(desk, "POST", "/v2/rerank", {"query": "fox", "documents": [FOX]}).status == 200
    assert threads != [threading.get_ident()]


def test_a_request_of_too_many_tokens_is_refused_before_any_is_read(desk: Service) -> None:
    desk = opened(desk.engine, ServiceSettings(max_request_tokens=100))
    reply = ask_once(desk, "POST", "/v2/rerank", {"query": "fox", "documents": ["tide " * 400]})
    assert (reply.status, reply.json["code"]) == (413, "too_large")


def test_before_the_models_are_loaded_rankings_wait(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, load=False)

    async def talk(ask: Ask) -> list[Reply]:
        asked = [("GET", "/health"), ("GET", "/ready"), ("POST", "/v2/rerank"), ("POST", "/search")]
        return [await ask(*one, {"query": "fox", "documents": ["a"]} if one[1] == "/v2/rerank" else {"query": "fox"})
                for one in asked]  # fmt: skip

    health, ready, rerank, found = answers(desk, talk)
    assert health.status == 200
    for reply in (ready, rerank, found):
        assert (reply.status, reply.json["code"]) == (503, "not_ready")
        assert int(reply.headers["retry-after"]) >= 1


def test_without_an_index_only_texts_are_ranked(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, PipelineChoice("lexical"), indexed=False)
    for method, path, value in (("POST", "/search", {"query": "fox"}), ("GET", "/document?id=d", None)):
        reply = ask_once(desk, method, path, value)
        assert (reply.status, reply.json["code"]) == (404, "not_found")


def test_a_deadline_may_be_lowered_and_is_kept(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    slow(desk, 0.3)
    value = {"query": "fox", "documents": [FOX]}
    late = ask_once(desk, "POST", "/v2/rerank", value, headers={"X-Timeout-Seconds": "0.05"})
    assert (late.status, late.json["code"]) == (504, "deadline")
    for wrong in ("0", "-1", "nan", "soon", "inf"):
        reply = ask_once(desk, "POST", "/v2/rerank", value, headers={"X-Timeout-Seconds": wrong})
        assert reply.status == 422


def test_the_time_that_the_body_takes_counts(desk: Service) -> None:
    value, headers = {"query": "fox", "documents": [FOX]}, {"X-Timeout-Seconds": "5"}
    assert ask_once(desk, "POST", "/v2/rerank", value, headers).status == 200
    desk = opened(desk.engine, ServiceSettings(deadline=0.2))
    assert ask_once(desk, "POST", "/v2/rerank", value, headers, takes=0.3).json["code"] == "deadline"


def slow(desk: Service, seconds: float) -> list[int]:
    """Let every call of the default pipeline's scorer take a while; returns the list of the calls' sizes."""
    import time

    reranker = desk.engine.served().reranker
    assert reranker is not None
    inner, sizes = reranker.scorer.scorer, []

    class Slow:
        unit, fingerprint = inner.unit, inner.fingerprint
        needs_model, scores_documents = False, False

        def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
            sizes.append(sum(len(task.texts) for task in tasks))
            time.sleep(seconds)
            return inner.score(tasks)

    reranker.scorer.scorer = Slow()
    return sizes


def test_a_client_that_leaves_is_not_ranked_for(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, settings=ServiceSettings(batch_tokens=20))
    sizes = slow(desk, 0.05)

    async def talk(ask: Ask) -> None:
        leaves = asyncio.Event()
        value = {"query": "fox", "documents": [FOX] * 50}
        asked = asyncio.ensure_future(ask("POST", "/v2/rerank", value, leaves=leaves))
        while not sizes:
            await asyncio.sleep(0.005)
        leaves.set()
        with pytest.raises(StopIteration):  # nothing was answered
            try:
                await asked
            except RuntimeError as error:
                raise StopIteration from error
        at_leaving = len(sizes)
        await asyncio.sleep(0.3)
        assert len(sizes) <= at_leaving + 1

    answers(desk, talk)
    assert desk.admission.active == 0


def test_answers_do_not_depend_on_what_else_is_asked(desk: Service) -> None:
    values = [
        {"query": q, "documents": [FOX, FILLER, "fox moon"][:n]} for q in ("fox", "moon", "salt") for n in (1, 2, 3)
    ]

    async def alone(ask: Ask) -> list[Any]:
        return [(await ask("POST", "/v2/rerank", value)).json["results"] for value in values]

    async def together(ask: Ask) -> list[Any]:
        replies = await asyncio.gather(*(ask("POST", "/v2/rerank", value) for value in values))
        return [reply.json["results"] for reply in replies]

    assert answers(opened(desk.engine), alone) == answers(opened(desk.engine), together)


def test_a_score_that_is_no_number_is_an_internal_error_without_details(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    reranker = desk.engine.served().reranker
    assert reranker is not None
    reranker.aggregator = lambda evidence: 1 / 0
    reply = ask_once(desk, "POST", "/v2/rerank", {"query": "fox", "documents": ["a"]})
    assert (reply.status, reply.json["code"]) == (500, "internal")
    assert b"division" not in reply.body
    assert b"Traceback" not in reply.body


def test_what_is_answered_is_what_is_described(desk: Service) -> None:
    from longrank.service import replies

    for path, value, model in (
        ("/v2/rerank", {"documents": [FOX], "relevant_spans": {"mode": "enabled"}, "evidence": True}, "CohereReply"),
        ("/v1/rerank", {"documents": [FOX], "evidence": True, "return_documents": True}, "JinaReply"),
        ("/search", {"passages": 2}, "SearchReply"),
    ):
        body = ask_once(desk, "POST", path, {"query": "fox", **value}).json
        parsed = getattr(replies, model).model_validate(body)
        assert json.loads(parsed.model_dump_json(exclude_unset=True)) == {
            name: part for name, part in body.items() if name in type(parsed).model_fields
        }
    described = ask_once(desk, "GET", "/openapi.json").json
    assert set(described["paths"]) == {
        "/v2/rerank", "/v1/rerank", "/rerank", "/search", "/health", "/ready", "/metrics", "/info", "/document",
    }  # fmt: skip


def test_figures_count_what_was_asked(desk: Service) -> None:
    async def talk(ask: Ask) -> str:
        await ask("POST", "/v2/rerank", {"query": "fox", "documents": [FOX], "max_tokens_per_doc": 3})
        await ask("POST", "/v2/rerank", {"query": "", "documents": [FOX]})
        return (await ask("GET", "/metrics")).body.decode()

    figures = answers(desk, talk)
    assert 'longrank_requests_total{path="/v2/rerank",status="200"} 1.0' in figures
    assert 'longrank_refusals_total{code="invalid"} 1.0' in figures
    assert "longrank_truncated_documents_total 1.0" in figures


def test_no_path_of_the_server_is_told_of_but_in_its_command(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[scorer]\nname = "lexical"\n')
    desk = desk_of(tmp_path, PipelineChoice(str(own)), PipelineChoice("bm25"))
    described = ask_once(desk, "GET", "/info")
    assert [one["name"] for one in described.json["pipelines"]] == ["mine", "bm25"]
    assert str(tmp_path) not in described.body.decode()
    reply = ask_once(desk, "POST", "/search", {"query": "fox", "pipeline": "mine"}).json
    assert f"--pipeline {own}" in reply["command"]


def test_a_mix_is_the_same_over_http_however_requests_are_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSAGE_SCORERS, "counting", CountingScorer)
    (tmp_path / "both.toml").write_text('scorer = { name = "lexical" }\nmix = { counting = 0.25 }\n')
    value = {"query": "fox moon", "documents": [FOX, FILLER, "fox moon"], "evidence": True}
    replies = []
    for batch_tokens in (1, 8192):
        settings = ServiceSettings(batch_tokens=batch_tokens)
        desk = desk_of(tmp_path / str(batch_tokens), PipelineChoice(str(tmp_path / "both.toml")), settings=settings)
        found = ask_once(desk, "POST", "/search", {"query": "fox moon"}).json
        ranked = ask_once(desk, "POST", "/v2/rerank", value).json["results"]
        replies.append((found["results"], ranked))
    assert replies[0] == replies[1]
    assert found["unit"] == "mixed"
    assert list(found["results"][0]["passages"][0]["parts"]) == ["lexical", "counting"]
    assert list(ranked[0]["passages"][0]["parts"]) == ["lexical", "counting"]
    pipeline = desk.engine.served().pipeline
    assert pipeline is not None
    assert [(one["doc_id"], one["score"]) for one in found["results"]] == [
        (one.doc_id, one.score) for one in search(pipeline, "fox moon")
    ]
