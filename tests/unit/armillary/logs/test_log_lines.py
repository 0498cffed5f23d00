"""Nothing that a peer sends forges a log line, or fills the log."""

import json
import os

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.conf import loader
from armillary.context import RequestContext, admin_context, log_context

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
    log.info("Refused %s", LIE, extra={"context": context})
    log.error("It failed", exc_info=ValueError(LIE), extra={"context": context})
    lines = capfd.readouterr().err.splitlines()
    assert sum("a lie" in line for line in lines) > 2
    assert not [line for line in lines if line.startswith("2026-01-01") or "\x1b" in line]
    assert {line.partition(" armillary.test ")[0].split()[-1] for line in lines} == {
        "WARNING",
        "INFO",
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


def test_each_line_of_concurrent_work_has_its_own_request(log, capfd):
    """Workers serve many requests in turn; a context that is made for another is not taken up."""
    load()
    pool = WorkerPool(4, "logging")

    def work(number: int) -> None:
        with log_context(RequestContext(request_id=f"req-{number}", user_id="u")):
            RequestContext(request_id="req-other")
            log.info("%d begins", number)
            os.sched_yield()
            log.info("%d ends", number)
        admin_context("req-of-no-one")
        log.info("%d without a request", number)

    for future in [pool.submit(work, number) for number in range(40)]:
        future.result()
    pool.shutdown(0)
    lines = capfd.readouterr().err.splitlines()
    said = [line for line in lines if " armillary.test " in line]
    for number in range(40):
        mine = [line for line in said if f"] {number} " in line]
        assert [f"req-{number} " in line for line in mine] == [True, True, False]
        assert "[-" in mine[2]
        assert "req-" not in mine[2]


def test_an_error_that_the_message_has_is_not_repeated(log, capfd):
    """The library adds the error that is being handled; another one than the message's stays."""
    load()

    def fail() -> None:
        raise exception.Unavailable(reason="no broker")

    try:
        fail()
    except exception.Unavailable as error:
        log.warning("Waiting: %s", error)
        log.warning("Waiting")
    first, second = capfd.readouterr().err.splitlines()
    assert first.endswith("Waiting: The service is unavailable: no broker")
    assert second.endswith("Unavailable: The service is unavailable: no broker")
