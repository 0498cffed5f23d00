"""Dry runs of the filter scheduler: what it asks beyond a decision, and what it leaves alone."""

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.allocations.resource_query import ResourceQuery
from objects.traces.decision_trace import DecisionTrace
from objects.traces.explanation import (
    CandidatesExplanation,
    GroupExplanation,
    Lack,
    NamedProvider,
    NearestMiss,
)
from tests.builders import a_flavor, a_uuid
from tests.fleets import ArrayPlacement, Host, a_driver, a_host, a_request_spec

LACK = Lack("resource", "VCPU", asked=99, free=16, short=83)
LACKS = [{"kind": "resource", "name": "VCPU", "asked": 99, "free": 16, "short": 83}]


class ExplainingPlacement(ArrayPlacement):
    """Explains as placement does, and remembers what it was asked."""

    def __init__(self, hosts: list[Host]) -> None:
        super().__init__(hosts)
        self.explained: list[ResourceQuery] = []

    def explain_candidates(self, context: object, query: ResourceQuery) -> CandidatesExplanation:
        self.explained.append(query)
        provider = NamedProvider(self.uuids[0], "host1", self.uuids[0])
        group = GroupExplanation("", [], [NearestMiss(provider, [LACK])])
        return CandidatesExplanation("", False, 2, 0, [], [], [group])


@pytest.fixture
def placement() -> ExplainingPlacement:
    return ExplainingPlacement([a_host("host1"), a_host("host2", service_up=False)])


def failed(placement: ExplainingPlacement, *, dry_run: bool, vcpus: int = 99) -> DecisionTrace:
    hosts = [a_host("host1"), a_host("host2")]
    for host, uuid in zip(hosts, placement.uuids, strict=True):
        host.uuid = uuid
        host.values["service_up"] = False
    driver = a_driver(hosts, placement=placement)
    with pytest.raises(exception.NoValidHost) as caught:
        driver.select_destinations(
            admin_context(),
            a_request_spec(flavor=a_flavor(vcpus=vcpus)),
            [a_uuid()],
            fences=[0],
            return_alternates=True,
            dry_run=dry_run,
        )
    trace: DecisionTrace = DecisionTrace.obj_from_primitive(caught.value.kwargs["trace"])
    return trace


def test_a_dry_run_that_fits_nowhere_names_the_nearest_misses(
    placement: ExplainingPlacement,
) -> None:
    """Placement is asked the same question once more."""
    trace = failed(placement, dry_run=True)
    assert trace.nearest == [{"suffix": "", "host": "host1", "lacks": LACKS}]
    (asked,), (explained,) = placement.queries, placement.explained
    assert explained.to_plain() == asked.to_plain()


def test_a_real_request_does_not_wait_for_that(placement: ExplainingPlacement) -> None:
    """Refusals come in numbers."""
    assert failed(placement, dry_run=False).nearest == []
    assert placement.explained == []


def test_where_filters_are_in_the_way_nothing_is_near(placement: ExplainingPlacement) -> None:
    """Their reasons say it."""
    assert failed(placement, dry_run=True, vcpus=1).nearest == []
    assert placement.explained == []
