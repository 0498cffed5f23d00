"""Prometheus counters, histograms and gauges by name, and the port that exposes them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import prometheus_client
from oslo_config import cfg

if TYPE_CHECKING:
    from armillary.http.server import HttpServer

PREFIX = "armillary"
SCRAPES_MAX = 2
"""Maximum number of scrapes answered at the same time."""
DEFAULT_BUCKETS = prometheus_client.Histogram.DEFAULT_BUCKETS


class Metrics:
    """The metrics of a process; requests for the same name return the same metric."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        self.registry = registry
        self._lock = threading.Lock()
        self._counters: dict[str, prometheus_client.Counter] = {}
        self._histograms: dict[str, prometheus_client.Histogram] = {}
        self._gauges: dict[str, prometheus_client.Gauge] = {}

    def counter(
        self, name: str, documentation: str, labels: Sequence[str] = ()
    ) -> prometheus_client.Counter:
        """Return the counter ``armillary_<name>_total``."""
        with self._lock:
            if name not in self._counters:
                self._counters[name] = prometheus_client.Counter(
                    name, documentation, labels, namespace=PREFIX, registry=self.registry
                )
            return self._counters[name]

    def histogram(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str] = (),
        buckets: Sequence[float] = DEFAULT_BUCKETS,
    ) -> prometheus_client.Histogram:
        """Return the histogram ``armillary_<name>``; its unit is in the name (``..._seconds``)."""
        with self._lock:
            if name not in self._histograms:
                self._histograms[name] = prometheus_client.Histogram(
                    name,
                    documentation,
                    labels,
                    namespace=PREFIX,
                    registry=self.registry,
                    buckets=buckets,
                )
            return self._histograms[name]

    def gauge(
        self, name: str, documentation: str, labels: Sequence[str] = ()
    ) -> prometheus_client.Gauge:
        """Return the gauge ``armillary_<name>``.

        Its value is set, or computed at each scrape: ``set_function``.
        """
        with self._lock:
            if name not in self._gauges:
                self._gauges[name] = prometheus_client.Gauge(
                    name, documentation, labels, namespace=PREFIX, registry=self.registry
                )
            return self._gauges[name]


@functools.cache
def process_metrics() -> Metrics:
    """Return the metrics that ``serve`` exposes; as with logging, a process has one set."""
    return Metrics(prometheus_client.REGISTRY)


def serve(conf: cfg.ConfigOpts, worker: int) -> HttpServer | None:
    """Expose the metrics on ``[metrics] port`` plus the worker's number; port 0 exposes none.

    Raises ``ConfigurationError`` when the port is in use.
    """
    if not conf.metrics.port:
        return None
    from armillary.http.server import HttpServer

    app = prometheus_client.make_wsgi_app(process_metrics().registry)
    host, port = str(conf.metrics.listen), conf.metrics.port + worker
    server = HttpServer(app, host=host, port=port, threads=SCRAPES_MAX)
    server.start()
    return server
