"""Nothing that a peer sends forges a log line, or fills the log."""

from __future__ import annotations

import json

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log

from armillary.conf import loader
from armillary.context import RequestContext

LIE = "x\n2026-01-01 00:00:00.000 1 INFO armillary [-] a lie\x1b[2K\u2028"


@pytest.fixture
def log(keep_logging):
    return oslo_log.getLogger("armillary.test")


def load(*argv):
    loader.load(cfg.ConfigOpts(), argv, "armillary-api")


def test_no_value_forges_a_line(log, capfd):
    """Neither in a message, nor in its context, nor in the error it tells of."""
    load()
    context = RequestContext(request_id=LIE, user_id=LIE, project_id=LIE, instance_uuid=LIE)
    log.warning("Refused %s", LIE, extra={"context": context})
    log.error("It failed", exc_info=ValueError(LIE), extra={"context": context})
    lines = capfd.readouterr().err.splitlines()
    assert sum("a lie" in line for line in lines) > 2
    assert not [line for line in lines if line.startswith("2026-01-01") or "\x1b" in line]
    assert {line.partition(" armillary.test ")[0].split()[-1] for line in lines} == {
        "WARNING",
        "ERROR",
    }


def test_the_context_of_the_thread_forges_no_line(log, capfd):
    """As that of a message which is being handled."""
    load()
    RequestContext(request_id=LIE, user_id=LIE, instance_uuid=LIE, overwrite=True)
    log.warning("Refused")
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_long_value_does_not_fill_the_log(log, capfd):
    load()
    log.warning("Refused %s as %s", "x" * 10_000_000, "malformed")
    log.error("It failed", exc_info=ValueError("y" * 10_000_000))
    written = capfd.readouterr().err
    assert len(written) < 120_000
    assert "x as malformed\n" in written


def test_structured_lines_stay_what_they_are(log, capfd):
    """JSON escapes by itself."""
    load("--use-json")
    log.warning("Refused %s", LIE)
    (line,) = capfd.readouterr().err.splitlines()
    assert json.loads(line)["message"] == f"Refused {LIE}"
