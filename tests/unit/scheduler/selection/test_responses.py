"""A line says where one instance goes, or whose several are."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from armillary.context import admin_context
from scheduler.request.scheduling_request import SchedulingRequest
from tests.builders import a_flavor, a_uuid
from tests.fleets import a_driver, a_request_spec, some_hosts


def decide(count: int, caplog: pytest.LogCaptureFixture, level: int, **values: Any) -> list[str]:
    """Return the lines about so many requests, decided together."""
    requests = [
        SchedulingRequest(
            admin_context(f"req-{number}"),
            a_request_spec(flavor=a_flavor(**values)),
            [a_uuid()],
            [1],
        )
        for number in range(count)
    ]
    with caplog.at_level(level, logger="scheduler.selection.responses"):
        a_driver(some_hosts(1)).select_many(requests)
    return [
        one.getMessage() for one in caplog.records if one.name == "scheduler.selection.responses"
    ]


def test_one_instance_is_told_with_its_host(caplog: pytest.LogCaptureFixture) -> None:
    """As there is no better place for it."""
    (line,) = decide(1, caplog, logging.INFO)
    assert ": placed on host1, 0 alternates; 1 of 1 hosts passed placement (1) and filters" in line


def test_each_decision_has_its_filter_results(caplog: pytest.LogCaptureFixture) -> None:
    """With what each filter left, and the request's own id; only at DEBUG."""
    with caplog.at_level(logging.DEBUG, logger="scheduler.selection.decision"):
        decide(1, caplog, logging.DEBUG, vcpus=999)
        decide(1, caplog, logging.DEBUG)
    refused, placed = (one.getMessage() for one in caplog.records if "Filter results" in one.msg)
    assert refused.endswith(": Filter results: placement: 0 of 1; hosts: none")
    assert ": Filter results: placement: 1 of 1, ComputeFilter: 1, " in placed
    assert placed.endswith("; hosts: host1")


def test_several_are_one_line_that_names_their_requests(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG each has its own, too."""
    (line,) = decide(3, caplog, logging.INFO)
    assert line == "3 instances placed: req-0, req-1, req-2"
    caplog.clear()
    assert len(decide(3, caplog, logging.DEBUG)) == 4


def test_a_line_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """However many come at once."""
    (line,) = decide(105, caplog, logging.INFO, vcpus=0, memory_mb=1, root_gb=0)
    assert line.startswith("105 instances placed: req-0,")
    assert line.endswith("req-99 and 5 more")


def test_what_has_no_host_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    """Its reason is told elsewhere."""
    assert decide(2, caplog, logging.INFO, vcpus=999) == []
