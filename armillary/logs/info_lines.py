"""Text of INFO lines, as oslo.log's formatter writes it, at a third of the processor time.

A service writes such a line for each decision. oslo.log builds some 50 attributes of the record and
reads the options again for each line; here only what the format strings name is looked up.
"""

from __future__ import annotations

import logging
import re
import time

from oslo_context import context as oslo_context
from oslo_log.formatters import ContextFormatter

_OF_CONTEXT = {
    "request_id": "request_id",
    "global_request_id": "global_request_id",
    "user": "user_id",
    "project": "project_id",
    "domain": "domain_id",
    "system_scope": "system_scope",
    "user_domain": "user_domain_id",
    "project_domain": "project_domain_id",
}
"""Name in a format string -> attribute of the request context."""

_OF_RECORD = {
    "asctime", "funcName", "filename", "instance", "levelname", "lineno", "message", "module",
    "msecs", "name", "pathname", "process", "processName", "thread", "threadName", "user_identity",
}  # fmt: skip

_SET_BY_CALLER = {"instance", "user_identity", *_OF_CONTEXT}
"""What a caller may pass as ``extra``; oslo.log has rules for these."""


class InfoLines:
    """Formats INFO records; ``of`` is None for a formatter whose settings it does not cover."""

    def __init__(self, formatter: ContextFormatter) -> None:
        conf = formatter.conf
        self._with_request: str = conf.logging_context_format_string
        self._without_request: str = conf.logging_default_format_string
        self._identity: str = conf.logging_user_identity_format
        self._instance: str = conf.instance_uuid_format
        self._date_format = formatter.datefmt
        self._second: tuple[int, str] = (-1, "")

    @classmethod
    def of(cls, formatter: logging.Formatter) -> InfoLines | None:
        """Return the lines of a formatter; None if only the formatter itself can write them."""
        if type(formatter) is not ContextFormatter or formatter.datefmt is None:
            return None
        made = cls(formatter)
        is_covered = (
            _names(made._with_request) <= _OF_RECORD | _OF_CONTEXT.keys()
            and _names(made._without_request) <= _OF_RECORD
            and _names(made._identity) <= _OF_CONTEXT.keys()
        )
        return made if is_covered else None

    def format(self, record: logging.LogRecord) -> str | None:
        """Return the line, not escaped; None if only the formatter itself can write it."""
        values = dict(vars(record))
        if record.exc_info or record.exc_text or record.stack_info:
            return None
        if not _SET_BY_CALLER.isdisjoint(values):
            return None
        context = values.get("context", oslo_context.get_current())
        if context is None:
            line_format, instance_uuid, identity = self._without_request, None, ""
        elif isinstance(context, oslo_context.RequestContext) and context.request_id:
            line_format = self._with_request
            instance_uuid = getattr(context, "instance_uuid", None)
            of_context = {name: getattr(context, of) for name, of in _OF_CONTEXT.items()}
            identity = self._identity % {name: of or "-" for name, of in of_context.items()}
            values.update(of_context)
        else:
            return None
        instance_uuid = values.get("instance_uuid", instance_uuid)
        values["user_identity"] = identity
        values["instance"] = self._instance % {"uuid": instance_uuid} if instance_uuid else ""
        values["asctime"] = self._time(int(record.created))
        try:
            values["message"] = record.getMessage()
            return line_format % values
        except (TypeError, ValueError, KeyError):
            return None  # the formatter says what is wrong with it

    def _time(self, second: int) -> str:
        known, text = self._second
        if second != known:
            text = time.strftime(self._date_format, time.localtime(second))  # type: ignore[arg-type]
            self._second = second, text
        return text


def _names(line_format: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)", line_format))
