"""Log lines of the messaging libraries about a broker: which remain, and at which level."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from rpc import broker_logs
from rpc.declarations import NotDeclaredYet

DRIVER = logging.getLogger("oslo.messaging._drivers.impl_rabbit")
MESSAGE = "[%(connection_id)s] AMQP server on %(hostname)s is unreachable: %(err_str)s."


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Let the lines pass through a new filter; the list holds what time it is, in seconds."""
    now = [1000.0]
    monkeypatch.setattr(broker_logs, "_filter", broker_logs._OncePerMinute())
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    before = {name: list(logging.getLogger(name).filters) for name in broker_logs._LOGGERS}
    for name in before:
        logging.getLogger(name).filters.clear()
    broker_logs.quieten()
    yield now
    for name, filters in before.items():
        logging.getLogger(name).filters[:] = filters


def unreachable(reason: object) -> None:
    facts = {"connection_id": "1", "hostname": "broker1", "err_str": reason}
    DRIVER.error(MESSAGE, facts)


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    caplog.clear()
    return found


def test_a_broker_that_is_away_is_an_error_once_a_minute(
    caplog: pytest.LogCaptureFixture, clock: list[float]
) -> None:
    """However often the driver tries."""
    for _ in range(3):
        unreachable(OSError("refused"))
    assert lines(caplog) == [("ERROR", "[1] AMQP server on broker1 is unreachable: refused.")]
    clock[0] += 61
    unreachable(OSError("refused"))
    assert len(lines(caplog)) == 1


def test_a_service_that_waits_for_another_one_s_exchange_has_no_error(
    caplog: pytest.LogCaptureFixture, clock: list[float]
) -> None:
    """As at the first start of a deployment; if it takes longer, it is a warning."""
    caplog.set_level(logging.INFO)
    text = "api_fanout does not exist, and this account may not create it; waiting for its owner"
    for _ in range(2):
        unreachable(NotDeclaredYet("api_fanout"))
    assert lines(caplog) == [("INFO", text)]
    unreachable(OSError("refused"))
    assert [level for level, _line in lines(caplog)] == ["ERROR"]
    clock[0] += 61
    unreachable(NotDeclaredYet("api_fanout"))
    assert lines(caplog) == [("WARNING", text)]
