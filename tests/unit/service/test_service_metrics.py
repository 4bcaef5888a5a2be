"""Metrics, read with Prometheus' own parser."""

from __future__ import annotations

import asyncio
import time

import pytest

pytest.importorskip("prometheus_client", reason="needs the extra serve")

from prometheus_client.parser import text_string_to_metric_families

from longrank.service import metrics as metrics_module
from longrank.service.admission import Admission
from longrank.service.metrics import Metrics
from longrank.service.scheduler import Scheduler, Unit
from longrank.service.settings import ServiceSettings
from longrank.storage.kept import ENTRY_BYTES, Kept


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what scorers of other tests in this process keep."""
    monkeypatch.setattr(metrics_module, "kept_bytes", lambda: 0)


def values(metrics: Metrics) -> dict[str, float]:
    """Return each figure by name and values of labels; a new server has none, so zeros are left out."""
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name.startswith("longrank") and sample.value and not sample.name.endswith(("_bucket", "_created"))
    }


def test_answers_are_counted_by_path_and_status() -> None:
    metrics = Metrics()
    for status in (200, 200, 429):
        metrics.answered("/v2/rerank", status, 0.5)
    assert values(metrics) == {
        "longrank_requests_total /v2/rerank 200": 2,
        "longrank_requests_total /v2/rerank 429": 1,
        "longrank_request_seconds_count /v2/rerank": 3,
        "longrank_request_seconds_sum /v2/rerank": 1.5,
    }


def test_paths_that_do_not_exist_share_one_name() -> None:
    metrics = Metrics()
    for n in range(3):
        metrics.answered(f"/{n}.php", 404, 0.0)
    assert values(metrics)["longrank_requests_total other 404"] == 3


def test_refusals_and_truncated_documents_are_counted() -> None:
    metrics = Metrics()
    metrics.refused("overloaded")
    metrics.truncated(0)
    metrics.truncated(7)
    assert values(metrics) == {
        "longrank_refusals_total overloaded": 1,
        "longrank_truncated_documents_total": 7,
    }


def test_bytes_that_are_kept_of_texts_are_told_as_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept[str](10_000)
    monkeypatch.setattr(metrics_module, "kept_bytes", lambda: kept.n_bytes)
    metrics = Metrics()
    kept.add(b"key", "value", 88)
    assert values(metrics) == {"longrank_kept_bytes": 88 + ENTRY_BYTES}


def test_two_servers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.refused("overloaded")
    assert values(other) == {}


def test_what_is_in_flight_is_asked_for_when_it_is_shown() -> None:
    metrics = Metrics()
    scheduler = Scheduler(batch_tokens=10)
    admission = Admission(ServiceSettings(), scheduler, metrics)

    async def ask() -> None:
        with admission.admit(30, time.monotonic() + 60):
            waiting = asyncio.create_task(scheduler.scores(list[Unit], cost=30, deadline=time.monotonic() + 60))
            await asyncio.sleep(0)
            assert values(metrics) == {"longrank_waiting_requests": 1, "longrank_waiting_tokens": 30}
            scheduler.start()
            await waiting
        await scheduler.close()

    asyncio.run(ask())
    assert values(metrics) == {}


def test_the_size_of_the_process_is_shown() -> None:
    assert b"process_resident_memory_bytes" in Metrics().text()
