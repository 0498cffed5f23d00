"""Metrics are shared by name and shown on request."""

from __future__ import annotations

import socket
import urllib.request

import prometheus_client
import pytest
from oslo_config import cfg

from armillary import metrics
from armillary.conf import metrics as metrics_options
from armillary.conf import register
from armillary.metrics import Metrics


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


def test_nothing_is_shown_unless_asked(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 0, the default, opens none."""

    def refuse(*_arguments: object, **_more: object) -> None:
        raise AssertionError

    monkeypatch.setattr(prometheus_client, "start_http_server", refuse)
    metrics.serve(conf, 0)


def test_each_worker_has_a_port(conf: cfg.ConfigOpts) -> None:
    """Worker 1 is on the port after worker 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf.set_override("port", port - 1, group="metrics")
    metrics.serve(conf, 1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        assert b"process_cpu_seconds_total" in answer.read()
