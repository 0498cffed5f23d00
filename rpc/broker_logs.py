"""Log lines of the messaging libraries: repeats are limited, and waiting counts as normal."""

import abc
import logging
import time
from collections.abc import Mapping

from amqp.exceptions import AMQPError
from kombu.exceptions import KombuError
from oslo_messaging import MessageDeliveryFailure, RPCDispatcherError

from armillary.logs.masking import mask_passwords
from rpc.broker.exchanges import NotDeclaredYet

_LOGGERS = (
    "oslo.messaging._drivers.impl_rabbit",
    "oslo_messaging._drivers.impl_rabbit",
    "oslo_messaging._drivers.amqpdriver",
    "kombu.connection",
    "rpc.incoming_of_brokers",
)
_EMBEDDED_CHATTER = (
    "Selecting the kombu transport",
    "Heartbeat support requested",
    "No hostname was supplied",
)
"""Driver messages about every connection to the embedded broker, which need no action."""
_ANSWERING_LOGGER = "oslo_messaging.rpc.server"
_UNDELIVERABLE = "MessageUndeliverable error"
_UNSENT_ANSWERS = ("Can not send reply for message", _UNDELIVERABLE)
_UNREADABLE = "Failed to process message"
IGNORED = "Ignored a malformed message"
"""Said of those that the library cannot read, before or after it has acknowledged them."""
_UNHANDLED = "Exception during message handling"
_RECEIVING_LOGGER = "oslo_utils.excutils"
_RETRIED = "Unexpected exception occurred"
_BROKER_ERRORS = (MessageDeliveryFailure, AMQPError, KombuError, OSError)
_REPEAT_SECONDS = 60.0


class _OncePerMinute(logging.Filter):
    """Let each repeated broker warning through once a minute.

    A service that starts before the one that creates its exchange waits: that is an error to the
    driver, but belongs to the first start of a deployment. It is logged at INFO, and at WARNING
    when it waits for longer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        if str(record.msg).startswith(_EMBEDDED_CHATTER):
            return False
        missing = _missing_declaration(record)
        key = str(missing or record.msg)[:80]
        now, last = time.monotonic(), self._last.get(key)
        if last is not None and now - last < _REPEAT_SECONDS:
            return False
        self._last[key] = now
        if missing is not None:
            _replace(record, logging.INFO if last is None else logging.WARNING, missing)
        elif str(record.msg).startswith(_UNREADABLE):
            kind = record.exc_info[0] if record.exc_info else None
            _replace(record, logging.WARNING, f"{IGNORED}: {kind.__name__ if kind else '?'}")
        return True


class _UnsentAnswers(logging.Filter):
    """Let one line a minute say that answers could not be sent, which their callers wait for.

    The library logs a traceback for each, and while the broker is unreachable there are many.
    """

    def __init__(self) -> None:
        super().__init__()
        self._said_at = float("-inf")
        self._unsaid = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if not str(record.msg).startswith(_UNSENT_ANSWERS):
            return True
        now = time.monotonic()
        if now - self._said_at < _REPEAT_SECONDS:
            self._unsaid += 1
            return False
        more = f" ({self._unsaid} more since the last message)" if self._unsaid else ""
        self._said_at, self._unsaid = now, 0
        is_undeliverable = str(record.msg).startswith(_UNDELIVERABLE)
        cause = record.exc_info[1] if record.exc_info and not is_undeliverable else None
        reason = record.getMessage() if cause is None else str(cause)
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg = "Cannot send an answer, for which its caller waits until its timeout: %s%s"
        record.args = (" ".join(mask_passwords(reason).split()), more)
        record.exc_info = record.exc_text = None
        return True


class _OneLineAMinute(logging.Filter, abc.ABC):
    """Let one line a minute, at WARNING, stand for records with tracebacks of one kind."""

    def __init__(self) -> None:
        super().__init__()
        self._said_at = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        line = self._line_for(str(record.msg), error)
        if line is None:
            return True
        now = time.monotonic()
        if now - self._said_at < _REPEAT_SECONDS:
            return False
        self._said_at = now
        _replace(record, logging.WARNING, line)
        return True

    @abc.abstractmethod
    def _line_for(self, message: str, error: BaseException | None) -> str | None:
        """Return the line for a record of the kind, None for any other."""


class _UnknownCalls(_OneLineAMinute):
    """Calls of what this server does not have.

    Any process with a key may send as many as it likes.
    """

    def _line_for(self, message: str, error: BaseException | None) -> str | None:
        is_unknown = message == _UNHANDLED and isinstance(error, RPCDispatcherError)
        return str(error) if is_unknown else None


class _FailedReceives(_OneLineAMinute):
    """Failures to receive, as when an account is refused: one for each listener."""

    def _line_for(self, message: str, error: BaseException | None) -> str | None:
        if not (message.startswith(_RETRIED) and isinstance(error, _BROKER_ERRORS)):
            return None
        reason = " ".join(mask_passwords(str(error)).split())
        return f"Cannot receive from the broker, retrying: {reason}"


def _missing_declaration(record: logging.LogRecord) -> NotDeclaredYet | None:
    """Return what the driver waits for, if a record says that another account has to create it."""
    facts = record.args
    reason = facts.get("err_str") if isinstance(facts, Mapping) else None
    return reason if isinstance(reason, NotDeclaredYet) else None


def _replace(record: logging.LogRecord, level: int, reason: Exception | str) -> None:
    record.levelno, record.levelname = level, logging.getLevelName(level)
    record.msg, record.args, record.exc_info = "%s", (reason,), None


_filter = _OncePerMinute()
_unsent_answers = _UnsentAnswers()
_unknown_calls = _UnknownCalls()
_failed_receives = _FailedReceives()


def quieten() -> None:
    """Limit warnings about an unavailable broker to one a minute. Idempotent."""
    for name in _LOGGERS:
        _add(name, _filter)
    _add(_ANSWERING_LOGGER, _unsent_answers)
    _add(_ANSWERING_LOGGER, _unknown_calls)
    _add(_RECEIVING_LOGGER, _failed_receives)


def _add(name: str, limit: logging.Filter) -> None:
    logger = logging.getLogger(name)
    if limit not in logger.filters:
        logger.addFilter(limit)
