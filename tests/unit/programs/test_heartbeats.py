"""Heartbeats of services without a database: they are sent, whether answered or not."""

from typing import Any

import pytest
from oslo_config import cfg

from armillary import conf as armillary_conf
from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.service_history import CURRENT_VERSION, SCHEDULER
from programs.heartbeats import HeartbeatSender
from rpc.version_caps import OldestServices
from tests.fixtures.messages.direct_bus import Breaker, DirectBus


class Manager:
    """A manager with one task."""

    def __init__(self) -> None:
        self.reloads = 0

    def periodic_tasks(self) -> list[PeriodicTask]:
        return [PeriodicTask("own", 1.0, lambda: None)]

    def reload(self) -> None:
        self.reloads += 1


class Conductor:
    """Notes who reports."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, str, int]] = []
        self.figures: tuple[int, dict[str, float]] | None = None
        self.error: Exception | None = None

    def report_service(
        self,
        context: Any,
        host: str,
        binary: str,
        service_version: int,
        worker: int,
        figures: dict[str, float],
    ) -> dict[str, int]:
        if self.error is not None:
            raise self.error
        self.reports.append((host, binary, service_version))
        self.figures = worker, figures
        return {"conductor": 7}


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    made = cfg.ConfigOpts()
    armillary_conf.register_all(made)
    made(["--config-file=/dev/null"], default_config_files=[], default_config_dirs=[])
    made.set_override("host", "top-1")
    return made


def reporting(conf: cfg.ConfigOpts, conductor: Conductor) -> tuple[HeartbeatSender, OldestServices]:
    bus, oldest = DirectBus(Breaker()), OldestServices()
    bus.serve("conductor", conductor)
    made = HeartbeatSender(conf, Manager(), binary=SCHEDULER, bus=bus, oldest=oldest)
    return made, oldest


def test_it_is_one_more_task_of_the_service(conf: cfg.ConfigOpts) -> None:
    """The first report comes long before the second."""
    made, _oldest = reporting(conf, Conductor())
    own, report = made.periodic_tasks()
    assert (own.name, report.name) == ("own", "report-service")
    assert report.interval_seconds == conf.report_interval
    assert report.initial_delay_seconds < conf.report_interval / 2


def test_a_report_says_who_and_hears_how_old_others_are(conf: cfg.ConfigOpts) -> None:
    """On SIGHUP, too."""
    conductor = Conductor()
    made, oldest = reporting(conf, conductor)
    made.reload()
    assert conductor.reports == [("top-1", SCHEDULER, CURRENT_VERSION)]
    assert oldest.of("conductor") == 7
    assert made._manager.reloads == 1


@pytest.mark.parametrize(
    "error",
    [
        exception.RpcTimeout(method="report_service", topic="conductor", timeout_seconds=1),
        exception.ServiceTooOld(binary=SCHEDULER, host="top-1", version=1, oldest=2),
    ],
    ids=["no-answer", "refused"],
)
def test_the_service_works_on_while_it_is_not_heard(
    conf: cfg.ConfigOpts, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why."""
    conductor = Conductor()
    conductor.error = error
    made, oldest = reporting(conf, conductor)
    made.report()
    assert str(error) in caplog.text
    assert oldest.of("conductor") == 0


def test_a_report_has_figures_of_this_worker(conf: cfg.ConfigOpts) -> None:
    """Its number tells it from others of the service, whose counters are their own."""
    conductor = Conductor()
    made, _oldest = reporting(conf, conductor)
    made.report()
    assert conductor.figures is not None
    worker, figures = conductor.figures
    assert worker == 0
    assert "decisions_total" in figures
