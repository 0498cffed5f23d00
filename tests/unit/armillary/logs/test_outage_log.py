"""An outage is said once, then once a minute, then its end."""

import logging
import threading

import pytest

from armillary.logs.outage_log import OutageLog
from tests.fixtures.stand_ins.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock, caplog: pytest.LogCaptureFixture) -> OutageLog:
    caplog.set_level(logging.INFO)
    return OutageLog(logging.getLogger("test"), "The broker", clock=clock)


def test_it_is_said_once_and_then_once_a_minute(
    outage: OutageLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """125 failures, a second apart, are three lines."""
    for _ in range(125):
        outage.failed("refused")
        clock.now += 1
    assert [record.getMessage() for record in caplog.records] == [
        "The broker is unavailable, retrying: refused",
        "The broker has been unavailable for 60 s, still retrying: refused",
        "The broker has been unavailable for 120 s, still retrying: refused",
    ]


def test_its_end_is_said_once(
    outage: OutageLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The first success after a failure tells how long it took."""
    outage.failed("refused")
    clock.now += 7
    caplog.clear()
    outage.succeeded()
    outage.succeeded()
    assert [r.getMessage() for r in caplog.records] == ["The broker is available again after 7 s"]


def test_success_alone_says_nothing(outage: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    """No news is good news."""
    outage.succeeded()
    assert not caplog.records


def test_a_second_outage_is_said_immediately(
    outage: OutageLog, caplog: pytest.LogCaptureFixture
) -> None:
    """The minute counts within one outage."""
    outage.failed("a")
    outage.succeeded()
    outage.failed("b")
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]


def test_outages_that_begin_and_end_all_the_time_are_few_lines(
    outage: OutageLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """As where some connections are lost and others work: three in a minute, and how many more."""
    for _ in range(600):
        outage.failed("lost")
        outage.succeeded()
        clock.now += 0.1
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"] * 3
    caplog.clear()
    clock.now += 60
    outage.failed("lost")
    assert (
        caplog.records[0]
        .getMessage()
        .endswith("retrying: lost (597 more outages since the last message)")
    )


def test_several_threads_say_one_outage_once(
    outage: OutageLog, caplog: pytest.LogCaptureFixture
) -> None:
    """All of them meet it at the same moment."""
    barrier = threading.Barrier(16)

    def fail() -> None:
        barrier.wait()
        outage.failed("refused")

    threads = [threading.Thread(target=fail) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.records) == 1


def test_reasons_are_one_line_without_passwords(
    outage: OutageLog, caplog: pytest.LogCaptureFixture
) -> None:
    """Drivers' messages have several lines, and URLs."""
    outage.failed(OSError("no answer from\n  amqp://u:pw@h"))
    assert caplog.records[0].getMessage().endswith("no answer from amqp://u:***@h")
