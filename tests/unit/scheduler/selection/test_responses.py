"""Each decision has a line that says where its instances go, and from how many hosts."""

import logging
from typing import Any

import pytest

from armillary.context import admin_context
from scheduler.request.scheduling_request import SchedulingRequest
from tests.builders import a_flavor, a_uuid
from tests.fleets import a_driver, a_request_spec, some_hosts


def decide(
    count: int, caplog: pytest.LogCaptureFixture, level: int, instances: int = 1, **values: Any
) -> list[str]:
    """Return the lines about so many requests, decided together."""
    requests = [
        SchedulingRequest(
            admin_context(f"req-{number}"),
            a_request_spec(flavor=a_flavor(**values)),
            [a_uuid() for _ in range(instances)],
            [1] * instances,
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


def test_requests_decided_together_have_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    """With the numbers of each decision."""
    lines = decide(3, caplog, logging.INFO)
    assert len(lines) == 3
    assert all(": placed on host1, 0 alternates; 1 of 1 hosts passed" in line for line in lines)


def test_several_instances_of_one_request_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG each has its own, too."""
    (line,) = decide(1, caplog, logging.INFO, instances=3)
    assert line.startswith("req-0: 3 instances placed on 1 hosts; 1 of 1 hosts passed")
    caplog.clear()
    assert len(decide(1, caplog, logging.DEBUG, instances=3)) == 4


def test_what_has_no_host_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    """Its reason is told elsewhere."""
    assert decide(2, caplog, logging.INFO, vcpus=999) == []
