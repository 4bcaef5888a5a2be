"""Counters and histograms of a server, in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest

from longrank.storage.kept import kept_bytes

_OURS = ("/health", "/ready", "/metrics", "/docs", "/openapi.json", "/info", "/search", "/document", "/documents")
PATHS = frozenset({*_OURS, "/rerank", "/v1/rerank", "/v2/rerank"})
"""Paths with counters of their own; all others count as ``other``."""

_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
_BATCH_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The figures of a server; methods may be called from any thread."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        ProcessCollector(registry=own)
        self._requests = Counter("longrank_requests", "Requests answered.", ("path", "status"), registry=own)
        self._seconds = Histogram(
            "longrank_request_seconds",
            "Seconds from head to answer.",
            ("path",),
            buckets=_REQUEST_SECONDS,
            registry=own,
        )
        self._refusals = Counter("longrank_refusals", "Requests refused, by reason.", ("code",), registry=own)
        self._waiting_requests = Gauge("longrank_waiting_requests", "Rankings in flight.", registry=own)
        self._waiting_tokens = Gauge(
            "longrank_waiting_tokens", "Estimated tokens still to be scored for them.", registry=own
        )
        self._tokens = Counter("longrank_tokens", "Estimated tokens scored.", registry=own)
        self._batches = Histogram("longrank_batch_seconds", "Seconds per batch.", buckets=_BATCH_SECONDS, registry=own)
        help = "Documents of answers that were not read to their end."
        self._truncated = Counter("longrank_truncated_documents", help, registry=own)
        kept = Gauge("longrank_kept_bytes", "Vectors, terms and places of passages kept in memory.", registry=own)
        kept.set_function(kept_bytes)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer, and the seconds since the request's head was read."""
        path = path if path in PATHS else "other"
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def refused(self, code: str) -> None:
        """Count a `Refusal` by its code."""
        self._refusals.labels(code).inc()

    def batch(self, tokens: int, seconds: float) -> None:
        """Count a scored batch."""
        self._tokens.inc(tokens)
        self._batches.observe(seconds)

    def truncated(self, n: int) -> None:
        """Count documents of an answer that were not read to their end."""
        self._truncated.inc(n)

    def watch(self, *, requests: Callable[[], int], tokens: Callable[[], int]) -> None:
        """Set the functions that return the rankings in flight and the tokens still to be scored."""
        self._waiting_requests.set_function(requests)
        self._waiting_tokens.set_function(tokens)

    def text(self) -> bytes:
        """Return all figures in the format `content_type`."""
        return generate_latest(self._registry)
