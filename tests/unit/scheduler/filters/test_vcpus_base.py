"""A host that reports no vCPUs is let pass, and named."""

from __future__ import annotations

import logging

import pytest

from scheduler.filters.aggregate_core_filter import AggregateCoreFilter
from scheduler.filters.core_filter import CoreFilter
from scheduler.filters.vcpus_base import CoresWithinRatio
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize("each", [CoreFilter, AggregateCoreFilter])
def test_a_host_without_vcpus_passes_without_a_limit(
    each: type[CoresWithinRatio], caplog: pytest.LogCaptureFixture
) -> None:
    """The log names it once."""
    table = a_table([a_host(vcpus_total=0), a_host("host2")])
    made = each(scheduling_conf())
    spec = a_request_spec()
    with caplog.at_level(logging.WARNING):
        assert made.host_mask(table, spec).tolist() == [True, True]
        assert made.host_passes(table[0], spec)
    assert [record.getMessage() for record in caplog.records] == [
        f"host1 reports no vCPUs; {each.__name__} passes it"
    ]
    assert made.limits(table[0], spec) == {}
    assert made.limits(table[1], spec) == {"vcpu": 16}
