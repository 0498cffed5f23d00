"""Log lines of the messaging libraries about a broker: which remain, and at which level."""

import logging
import time
from collections.abc import Iterator

import oslo_messaging
import pytest
from amqp.exceptions import AccessRefused

from rpc import broker_logs
from rpc.broker.exchanges import NotDeclaredYet

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


def test_calls_of_what_is_not_there_are_one_line_a_minute(
    caplog: pytest.LogCaptureFixture, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a traceback; an error of ours keeps its own."""
    answering = logging.getLogger(broker_logs._ANSWERING_LOGGER)
    monkeypatch.setattr(answering, "filters", [broker_logs._UnknownCalls()])

    def fail(error: Exception) -> None:
        try:
            raise error
        except type(error):
            answering.exception(broker_logs._UNHANDLED)

    for method in ("one", "two"):
        fail(oslo_messaging.NoSuchMethod(method))
    (record,) = caplog.records
    assert record.exc_info is None
    assert lines(caplog) == [("WARNING", "Endpoint does not support RPC method one")]
    fail(ValueError("ours"))
    assert lines(caplog) == [("ERROR", broker_logs._UNHANDLED)]
    clock[0] += 61
    fail(oslo_messaging.UnsupportedVersion("99.0"))
    assert len(lines(caplog)) == 1


def test_an_account_that_is_refused_is_one_line_a_minute(
    caplog: pytest.LogCaptureFixture, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all listeners together; an error that is not the broker's keeps its traceback."""
    retrying = logging.getLogger("oslo_utils.excutils")
    monkeypatch.setattr(retrying, "filters", [broker_logs._FailedReceives()])
    refused = oslo_messaging.MessageDeliveryFailure("no access to vhost 'cell1'")
    errors = ((0, refused, 1), (1, AccessRefused("no access"), 0), (61, OSError("reset"), 1))
    for seconds, error, count in errors:
        clock[0] = 2000.0 + seconds
        _retry(error)
        assert [level for level, _text in lines(caplog)] == ["WARNING"] * count
    _retry(refused)
    _retry(KeyError("a fault of ours"))
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.exc_info


def _retry(error: Exception) -> None:
    """Log an error as oslo.utils does between two tries of a listener."""
    try:
        raise error
    except type(error):
        logging.getLogger("oslo_utils.excutils").exception(
            "Unexpected exception occurred %d time(s)... retrying.", 1
        )


def test_a_message_that_cannot_be_read_is_one_line_a_minute(
    caplog: pytest.LogCaptureFixture, clock: list[float]
) -> None:
    """Without a traceback: any account may send it, as often as it likes."""
    for _ in range(3):
        error = RecursionError()
        told = (type(error), error, None)
        DRIVER.error("Failed to process message ... skipping it.", exc_info=told)
    (record,) = caplog.records
    assert record.exc_info is None
    assert lines(caplog) == [("WARNING", "Ignored a malformed message: RecursionError")]
