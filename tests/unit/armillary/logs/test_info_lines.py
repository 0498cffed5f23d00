"""INFO lines read as oslo.log itself would write them."""

import logging
from typing import Any

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_log.formatters import ContextFormatter

from armillary.context import RequestContext, log_context
from armillary.logs.info_lines import InfoLines

DATE_FORMAT = "%Y-%m-%d %H:%M:%S"
CONTEXT = RequestContext(
    request_id="req-1", user_id="u", project_id="p", user_domain_id="d", global_request_id="req-0"
)


def a_formatter(date_format: str | None = DATE_FORMAT, **options: str) -> ContextFormatter:
    conf = cfg.ConfigOpts()
    oslo_log.register_options(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    for name, value in options.items():
        conf.set_override(name, value)
    return ContextFormatter(datefmt=date_format, config=conf)


def a_record(message: str = "It was %s", *args: object, **extra: Any) -> logging.LogRecord:
    values = {
        "name": "scheduler", "levelno": logging.INFO, "levelname": "INFO", "pathname": "a/b.py",
        "lineno": 7, "msg": message, "args": args or ("done",), "created": 1_800_000_000.25,
        "msecs": 250.0, **extra,
    }  # fmt: skip
    return logging.makeLogRecord(values)


def the_line(formatter: ContextFormatter, record: logging.LogRecord) -> str | None:
    lines = InfoLines.of(formatter)
    assert lines is not None
    return lines.format(record)


@pytest.mark.parametrize(
    ("extra", "context"),
    [
        ({}, None),
        ({}, CONTEXT),
        ({}, RequestContext(request_id="req-2")),
        ({}, CONTEXT.for_instance("a-uuid")),
        ({"context": CONTEXT}, None),
        ({"instance_uuid": "a-uuid"}, None),
        ({"instance_uuid": "a-uuid"}, CONTEXT.for_instance("another")),
    ],
    ids=["none", "thread", "nameless", "of-instance", "extra", "instance", "both"],
)
def test_a_line_reads_as_oslo_log_writes_it(
    extra: dict[str, Any], context: RequestContext | None
) -> None:
    """With its time, identity and instance."""
    formatter = a_formatter()
    with log_context(context):
        line = the_line(formatter, a_record(**extra))
        assert line == formatter.format(a_record(**extra))
    assert line is not None
    assert line.endswith("It was done")


def test_formats_of_the_operator_hold() -> None:
    """They are read from the options."""
    formatter = a_formatter(
        logging_context_format_string="%(levelname)s <%(user_identity)s> %(instance)s%(message)s",
        logging_user_identity_format="%(user)s of %(project_domain)s",
        instance_uuid_format="{%(uuid)s} ",
    )
    with log_context(CONTEXT.for_instance("a-uuid")):
        assert the_line(formatter, a_record()) == "INFO <u of -> {a-uuid} It was done"


def test_the_time_follows_from_second_to_second() -> None:
    """The text of a second is kept for that second alone."""
    formatter = a_formatter()
    lines = InfoLines.of(formatter)
    assert lines is not None
    for created in (1_800_000_000.1, 1_800_000_000.9, 1_800_000_001.0, 1_800_003_600.5):
        record = a_record(created=created)
        assert lines.format(record) == formatter.format(a_record(created=created))


@pytest.mark.parametrize(
    "formatter",
    [
        a_formatter(date_format=None),
        a_formatter(logging_context_format_string="%(isotime)s %(message)s"),
        a_formatter(logging_default_format_string="%(color)s %(message)s"),
        a_formatter(logging_user_identity_format="%(roles)s"),
        logging.Formatter("%(message)s", DATE_FORMAT),
    ],
    ids=["no-date-format", "isotime", "color", "roles", "another-formatter"],
)
def test_other_formats_are_left_to_the_formatter(formatter: logging.Formatter) -> None:
    """They name what is not looked up here."""
    assert InfoLines.of(formatter) is None


@pytest.mark.parametrize(
    "record",
    [
        a_record(exc_info=(ValueError, ValueError("x"), None)),
        a_record(instance={"uuid": "a-uuid"}),
        a_record(request_id="req-3"),
        a_record(context={"request_id": "req-4"}),
        a_record("It was %d", "done"),
    ],
    ids=["exception", "instance", "request", "dictionary", "wrong-arguments"],
)
def test_other_records_are_left_to_the_formatter(record: logging.LogRecord) -> None:
    """oslo.log has rules of its own for them."""
    assert the_line(a_formatter(), record) is None
