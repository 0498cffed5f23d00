"""Every metric is declared once, works, and stands in the manual."""

import gc
import queue
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import prometheus_client
import pytest
from oslo_config import cfg
from prometheus_client import REGISTRY

from armillary import exception
from armillary.conf.scheduling import metrics as metrics_options
from armillary.metrics import metrics_server, service_metrics
from tests.fixtures import waiting
from tests.fixtures.configuration import parsed_conf
from tests.fixtures.http_api.slow_clients import SlowClients, many_files
from tests.fixtures.services.ports import free_port

__all__ = ["many_files"]

MANUAL = Path(__file__).parents[4] / "docs" / "operating" / "monitoring.md"


def value(name: str, **labels: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value(f"armillary_{name}", labels)


def shown_name(measure: object) -> str:
    """Return the name under which Prometheus sees it."""
    name = f"armillary_{measure.name}"  # type: ignore[attr-defined]
    return f"{name}_total" if isinstance(measure, service_metrics.Counter) else name


def test_the_manual_names_each_metric_with_its_labels() -> None:
    """No more, no less."""
    rows = re.findall(r"^\| `(armillary_\w+)` \| ([^|]*) \|", MANUAL.read_text(), re.MULTILINE)
    told = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert told == {shown_name(each): each.labels for each in service_metrics.ALL}


@pytest.mark.parametrize("measure", service_metrics.ALL, ids=lambda measure: measure.name)
def test_a_metric_can_be_made(measure: service_metrics.Counter) -> None:
    """Names and labels are such that Prometheus takes them, and its unit is in its name."""
    assert measure.here is measure.here
    if (
        isinstance(measure, service_metrics.Histogram)
        and measure.buckets == service_metrics.SECONDS
    ):
        assert measure.name.endswith("_seconds")


def test_a_decision_is_counted_with_its_stages() -> None:
    """Milliseconds of a trace become seconds."""
    before = value("scheduler_decisions_total", outcome="placed") or 0.0
    service_metrics.decision_ended("placed", 250, {"a stage": 1500.0})
    assert value("scheduler_decisions_total", outcome="placed") == before + 1
    assert value("scheduler_decision_seconds_sum", stage="a stage") == 1.5


def test_tasks_in_recovery_are_those_of_the_last_look() -> None:
    """What was taken up goes on counting."""
    for found in (3, 0):
        service_metrics.IN_RECOVERY.set(found, "a_table")
        if found:
            service_metrics.TAKEN_UP.add("a_table", count=found)
    assert value("tasks_in_recovery", table="a_table") == 0
    assert value("tasks_resumed_total", table="a_table") == 3


def test_a_queue_is_shown_as_long_as_it_lives() -> None:
    """A metric keeps nothing alive, and outlives what it shows."""
    waiting: queue.Queue[int] = queue.Queue()
    service_metrics.watch_pool("a pool", waiting)
    waiting.put(1)
    assert value("pool_waiting", pool="a pool") == 1
    del waiting
    gc.collect()
    assert value("pool_waiting", pool="a pool") == 0


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return parsed_conf(metrics_options)


def test_nothing_is_shown_on_port_0(conf: cfg.ConfigOpts) -> None:
    """It opens none."""
    conf.set_override("port", 0, group="metrics")
    assert metrics_server.serve(conf, "armillary-scheduler", 0) is None


def test_a_default_port_that_is_in_use_is_left_alone(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second service of a kind starts as well; a port that was configured is an error."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setitem(service_metrics.DEFAULT_PORTS, "armillary-scheduler", port)
        assert metrics_server.serve(conf, "armillary-scheduler", 0) is None
        conf.set_override("port", port, group="metrics")
        with pytest.raises(exception.ConfigurationError):
            metrics_server.serve(conf, "armillary-scheduler", 0)


@pytest.fixture
def metrics_port(conf: cfg.ConfigOpts) -> Iterator[int]:
    """Return the port of worker 1, which follows that of worker 0."""
    port = free_port()
    conf.set_override("port", port - 1, group="metrics")
    server = metrics_server.serve(conf, "armillary-scheduler", 1)
    assert server is not None
    yield port
    server.stop()
    server.wait()


def test_each_worker_has_a_port(metrics_port: int) -> None:
    """It shows what the process counts."""
    with urllib.request.urlopen(
        f"http://127.0.0.1:{metrics_port}/metrics", timeout=waiting.seconds(20)
    ) as answer:
        assert b"process_cpu_seconds_total" in answer.read()


@pytest.mark.parametrize(
    "header", [("Host", "rebound.example"), ("Origin", "http://page.example"), ("Origin", "null")]
)
def test_a_web_page_reads_no_metrics(metrics_port: int, header: tuple[str, str]) -> None:
    """By DNS rebinding, or as another page of this machine's browser."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{metrics_port}/metrics", headers=dict([header])
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=waiting.seconds(20))
    with refused.value:
        assert refused.value.code == 403


@pytest.mark.usefixtures("many_files")
def test_metrics_are_shown_beside_500_slow_clients(metrics_port: int) -> None:
    """A client that reaches the port cannot blind the monitoring."""
    with SlowClients(("127.0.0.1", metrics_port), b"GET /metrics HTTP/1.1\r\n", b"X"):
        test_each_worker_has_a_port(metrics_port)


class Fleet:
    """Something whose size is read at each scrape."""

    sizes: dict[tuple[str, ...], float] = {("cell1", "up"): 3.0}  # noqa: RUF012

    def read(self) -> dict[tuple[str, ...], float]:
        return dict(self.sizes)


def test_a_reading_is_shown_while_its_source_lives_and_answers() -> None:
    """A source that fails hides no other metric."""
    labels = {"cell": "cell1", "state": "up"}
    broken, fleet = Fleet(), Fleet()
    service_metrics.HOSTS.watch(broken, lambda each: each.missing)  # type: ignore[attr-defined]
    service_metrics.HOSTS.watch(fleet, Fleet.read)
    assert REGISTRY.get_sample_value("armillary_hosts", labels) == 3.0
    del fleet
    assert REGISTRY.get_sample_value("armillary_hosts", labels) is None
    assert broken


def test_counters_exist_from_the_start() -> None:
    """With 0 for the values of labels that are known."""
    service_metrics.expose_all()
    for name, labels in (
        ("zones_asked", {}),
        ("zones_missing", {"outcome": "late"}),
        ("notifications_dropped", {"reason": "queue_full"}),
    ):
        assert REGISTRY.get_sample_value(f"armillary_{name}_total", labels) is not None
