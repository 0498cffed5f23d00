"""Crash dumps: one a request, whose driver is asked again only if it failed."""

from __future__ import annotations

from unittest import mock

import pytest

from armillary import exception
from compute_agent.virt.driver import ComputeDriver
from compute_agent.work.crash_dumps import CrashDumps


@pytest.fixture
def driver() -> mock.Mock:
    return mock.Mock(spec=ComputeDriver)


def test_a_request_triggers_one_dump_though_it_arrives_twice(driver: mock.Mock) -> None:
    """Another request, or one about another guest, triggers another."""
    dumps = CrashDumps()
    for uuid, request in (("a", "1"), ("a", "1"), ("a", "2"), ("b", "1")):
        dumps.trigger(driver, uuid, request)
    asked = [call.args for call in driver.trigger_crash_dump.mock_calls]
    assert asked == [("a",), ("a",), ("b",)]


def test_a_request_that_failed_may_be_repeated(driver: mock.Mock) -> None:
    dumps = CrashDumps()
    driver.trigger_crash_dump.side_effect = exception.Unavailable(reason="no daemon")
    for _time in range(2):
        with pytest.raises(exception.Unavailable):
            dumps.trigger(driver, "a", "1")
    assert driver.trigger_crash_dump.call_count == 2
