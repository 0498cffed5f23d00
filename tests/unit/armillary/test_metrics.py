"""Metrics are shared by name and shown on request."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator

import prometheus_client
import pytest
from oslo_config import cfg

from armillary import metrics
from armillary.conf import metrics as metrics_options
from armillary.conf import register
from armillary.metrics import Metrics
from tests.fixtures.slow_clients import SlowClients, many_files

__all__ = ["many_files"]


@pytest.fixture
def some_metrics() -> Metrics:
    return Metrics(prometheus_client.CollectorRegistry())


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register(conf, metrics_options)
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


def test_a_name_is_one_counter(some_metrics: Metrics) -> None:
    """Two parts that count the same thing add up."""
    some_metrics.counter("builds", "Builds.", ["result"]).labels("ok").inc()
    some_metrics.counter("builds", "Builds.", ["result"]).labels("ok").inc()
    value = some_metrics.registry.get_sample_value("armillary_builds_total", {"result": "ok"})
    assert value == 2


def test_a_name_is_one_histogram(some_metrics: Metrics) -> None:
    """The same for times."""
    for seconds in (0.1, 2.0):
        some_metrics.histogram("select_seconds", "Time.", buckets=(1.0, 5.0)).observe(seconds)
    value = some_metrics.registry.get_sample_value("armillary_select_seconds_bucket", {"le": "1.0"})
    assert value == 1


def test_a_name_is_one_gauge(some_metrics: Metrics) -> None:
    """It shows the last value, or what it is told to ask."""
    some_metrics.gauge("works", "Works.").set(3)
    assert some_metrics.registry.get_sample_value("armillary_works") == 3
    some_metrics.gauge("works", "Works.").set_function(lambda: 7)
    assert some_metrics.registry.get_sample_value("armillary_works") == 7


def test_a_process_has_one_set() -> None:
    """What one part counts, the port shows."""
    assert metrics.process_metrics() is metrics.process_metrics()


def test_nothing_is_shown_unless_asked(conf: cfg.ConfigOpts) -> None:
    """Port 0, the default, opens none."""
    assert metrics.serve(conf, 0) is None


@pytest.fixture
def metrics_port(conf: cfg.ConfigOpts) -> Iterator[int]:
    """Return the port of worker 1, which follows that of worker 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf.set_override("port", port - 1, group="metrics")
    server = metrics.serve(conf, 1)
    assert server is not None
    yield port
    server.stop()
    server.wait()


def test_each_worker_has_a_port(metrics_port: int) -> None:
    """It shows what the process counts."""
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=20) as answer:
        assert b"process_cpu_seconds_total" in answer.read()


@pytest.mark.usefixtures("many_files")
def test_metrics_are_shown_beside_500_slow_clients(metrics_port: int) -> None:
    """A client that reaches the port cannot blind the monitoring."""
    with SlowClients(("127.0.0.1", metrics_port), b"GET /metrics HTTP/1.1\r\n", b"X"):
        test_each_worker_has_a_port(metrics_port)
