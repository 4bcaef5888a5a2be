"""Cohere's SDK in three major versions: rankings, evidence, spans, errors and Retry-After."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from integrations_texts import ANSWER, ORDER, TEXTS
from longrank.service.settings import ServiceSettings
from real_clients import KEY, NAMES, asked, begun, in_thread, needs, result, wait_for_refusals
from served import desk_of

SDKS = pytest.mark.parametrize(
    "sdk", [pytest.param(sdk, marks=needs(sdk)) for sdk in ("cohere5", "cohere6", "cohere7")]
)


def names(indices: list[int]) -> list[str]:
    return [NAMES[index] for index in indices]


@SDKS
@pytest.mark.neural
def test_all_clients_of_the_sdk_rank_and_keep_the_evidence(sdk: str, url: str) -> None:
    found = asked(sdk, "cohere", "rerank", url)
    assert found["version"].startswith(sdk.removeprefix("cohere"))
    assert names([one["index"] for one in found["v2"]]) == ORDER
    assert names([one[0] for one in found["v1"]]) == ORDER
    assert [names(one) for one in found["async"]] == [ORDER[:2]] * 4
    assert all(0 <= one["relevance_score"] <= 1 for one in found["v2"])
    assert all(text == TEXTS[NAMES[index]] for index, _, text in found["v1"])
    for one in found["v2"]:
        (passage,) = one["passages"]
        assert TEXTS[NAMES[one["index"]]][passage["start"] : passage["end"]] == passage["text"]
        assert (one["evidence"]["unit"], one["evidence"]["aggregator"], one["truncated"]) == ("cosine", "maxp", False)
    assert "warnings" not in found["meta"]


@SDKS
@pytest.mark.neural
def test_spans_slice_the_document_to_its_passages_behind_emoji(sdk: str, url: str) -> None:
    best = asked(sdk, "cohere", "rerank", url)["v2"][0]
    spans = best["relevant_spans"]
    assert ANSWER in TEXTS["long"][spans[0]["start"] : spans[0]["end"]] == best["passages"][0]["text"]
    assert spans[0]["score"] == best["relevance_score"] > spans[1]["score"]


@needs("cohere7")
@pytest.mark.neural
def test_the_newest_sdk_reads_spans_as_its_own_type(url: str) -> None:
    best, *others = asked("cohere7", "cohere", "spans", url)
    start, end, score = best[0]
    assert ANSWER in TEXTS["long"][start:end]
    assert 0 <= score <= 1
    assert len(best) == 2 >= max(len(spans) for spans in others)


@SDKS
@pytest.mark.neural
def test_refusals_are_the_sdks_own_exceptions(sdk: str, url: str) -> None:
    found = asked(sdk, "cohere", "errors", url)
    assert {name: (one["type"], one["status"]) for name, one in found.items()} == {
        "key": ("UnauthorizedError", 401),
        "host": ("BadRequestError", 400),
        "documents": ("UnprocessableEntityError", 422),
        "top_n": ("UnprocessableEntityError", 422),
        "many": ("ApiError", 413),
    }
    assert "/top_n: " in found["top_n"]["said"]
    assert KEY not in str(found)


@SDKS
def test_an_overloaded_server_is_asked_again_when_it_says(sdk: str, tmp_path: Path) -> None:
    desk = desk_of(tmp_path, settings=ServiceSettings(max_requests=1))
    with in_thread(desk) as url, begun(sdk, "cohere", "busy", url) as process:
        with desk.admission.admit(1, float("inf")):
            wait_for_refusals(desk, "overloaded", 2)
        found = result(process)
    assert (found["refused"]["type"], found["refused"]["status"]) == ("TooManyRequestsError", 429)
    assert found["refused"]["retry_after"] == "1"
    assert found["seconds"] >= 1
    assert sorted(found["order"]) == [0, 1, 2]


@SDKS
def test_a_server_that_still_loads_is_asked_again_when_it_says(sdk: str, tmp_path: Path) -> None:
    desk = desk_of(tmp_path, load=False)
    with in_thread(desk) as url, begun(sdk, "cohere", "busy", url) as process:
        wait_for_refusals(desk, "not_ready", 2)
        desk.engine.load()
        found = result(process)
    assert (found["refused"]["type"], found["refused"]["status"]) == ("ServiceUnavailableError", 503)
    assert found["seconds"] >= float(found["refused"]["retry_after"]) == 2
    assert sorted(found["order"]) == [0, 1, 2]
