"""May an instance stay where it is with another image? Only some filters are asked."""

from typing import Any

import pytest

from armillary.context import admin_context
from objects.destinations import Destinations
from objects.request_spec import REBUILD, Destination, RequestSpec
from objects.traces.decision_trace import DecisionTrace
from scheduler import filters
from scheduler.explain.trace import TraceBuilder
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.selection import rebuild_check
from scheduler.selection.decision import Decision, GivenUp, Slot
from tests.builders import A_TIME, a_uuid, an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

ENABLED = ["ComputeFilter", "RamFilter", "ImagePropertiesFilter", "IsolatedHostsFilter"]


def a_spec(**values: Any) -> RequestSpec:
    return a_request_spec(check_type=REBUILD, **values)


def a_decision(spec: RequestSpec, uuids: list[str]) -> Decision:
    request = SchedulingRequest(admin_context("req-1"), spec, uuids, [1] * len(uuids))
    trace = TraceBuilder(request_id="req-1", created_at=A_TIME, clock=lambda: 0.0, choices_max=10)
    return Decision(request, spec, [Slot(uuid, 1) for uuid in uuids], trace, alternates_max=0)


def check(decision: Decision) -> Destinations:
    conf = scheduling_conf(filter_scheduler__enabled_filters=ENABLED)
    hosts = [a_host("host1", service_up=False, free_ram_mb=-1), a_host("host2")]
    chain = filters.load_filters(conf)
    return rebuild_check.check(decision, a_table(hosts), chain, default_zone="nova")


def refusal(spec: RequestSpec) -> tuple[str | None, DecisionTrace]:
    decision = a_decision(spec, [a_uuid()])
    with pytest.raises(GivenUp) as caught:
        check(decision)
    return caught.value.reason, decision.trace.failed(reason=caught.value.reason)


@pytest.mark.parametrize(
    "where",
    [
        {"force_hosts": ["HOST1"]},
        {"force_nodes": ["host1.example.org"]},
        {"requested_destination": Destination.from_values(host="host1")},
        {"requested_destination": Destination.from_values(node="host1.example.org")},
    ],
    ids=["forced host", "forced node", "requested host", "requested node"],
)
def test_the_host_of_the_instance_is_the_answer(where: dict[str, Any]) -> None:
    """Although it is down and full: it is there already. Nothing is to be claimed."""
    (chosen,) = check(a_decision(a_spec(image=an_image(), **where), [a_uuid()])).selections()
    assert [each.service_host for each in chosen] == ["host1"]
    assert chosen[0].allocation_request == {}
    assert chosen[0].limits is None


def test_several_instances_have_the_same_answer() -> None:
    """One row each."""
    found = check(a_decision(a_spec(force_hosts=["host1"]), [a_uuid(), a_uuid()]))
    assert [row[0].service_host for row in found.selections()] == ["host1", "host1"]


def test_filters_that_run_on_rebuild_are_asked_of_a_forced_host() -> None:
    """And say why not; the trace has the filter and its reason."""
    image = an_image(properties={"hw_architecture": "s390x"})
    sentence, trace = refusal(a_spec(image=image, force_hosts=["host1"]))
    assert sentence == (
        "The instance cannot stay on its host with this image: ruled out by ImagePropertiesFilter "
        "(cannot run s390x)."
    )
    assert [entry["name"] for entry in trace.filters] == ["force_hosts", "ImagePropertiesFilter"]


@pytest.mark.parametrize("is_disk", [True, False])
def test_what_no_guest_can_have_is_refused_by_its_name(*, is_disk: bool) -> None:
    """If the image is a virtual machine's: as for new servers, before the old guest is gone."""
    disk = {"disk_format": "raw"} if is_disk else {}
    spec = a_spec(
        image=an_image(properties={"hw_boot_menu": "true"}, **disk), force_hosts=["host1"]
    )
    if not is_disk:
        check(a_decision(spec, [a_uuid()]))
        return
    assert refusal(spec)[0] == (
        "The instance cannot be rebuilt with this image: the image property hw_boot_menu is not "
        "supported."
    )


def test_a_host_that_is_not_known_is_not_a_host() -> None:
    """Or one that is to be ignored."""
    sentence = "The instance's host is not known to this scheduler, or is excluded."
    assert refusal(a_spec(force_hosts=["host3"]))[0] == sentence
    assert refusal(a_spec(force_hosts=["host1"], ignore_hosts=["host1"]))[0] == sentence


def test_a_check_without_a_host_is_refused() -> None:
    """It would be a question about the whole fleet."""
    sentence, _trace = refusal(a_spec())
    assert sentence == "A rebuild check must name the instance's host."
