"""One host over HTTP."""

from datetime import UTC, datetime
from typing import Any

from objects.hosts.host_details import HostDetails, HostRecords, ProviderDetails
from objects.hosts.host_event import HostEvent
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/hosts"


def a_host(**service: object) -> HostDetails:
    """Return a host with two providers, a server and a migration."""
    root, child = builders.a_uuid_of("h1"), builders.a_uuid_of("gpu")
    inventory = {
        "total": 4, "reserved": 0, "allocation_ratio": 1.5, "max_unit": 4, "capacity": 6, "used": 1,
    }  # fmt: skip
    server = builders.an_instance("web", host="h1")
    attributes = {
        "numa_topology": {"cells": []},
        "pci_stats": [{"vendor_id": "10de", "numa_node": 0, "count": 3}],
        "pci_reserved": [
            {"numa_node": 0, "vendor_id": "10de", "count": 1},
            {"numa_node": 1, "vendor_id": "10de", "count": 4},
        ],
    }
    node = builders.a_compute_node("h1", uuid=root, attributes=attributes)
    return HostDetails(
        HostRecords(builders.a_service("h1", up=True, **service), [node]),
        "cell1",
        [
            ProviderDetails(root, "h1", None, {"VCPU": inventory}, ["HW_CPU_X86_AVX"], []),
            ProviderDetails(child, "h1_gpu", root, {}, [], []),
        ],
        [server],
        [builders.a_migration(server.uuid, source_host="h0", dest_host="h1")],
    )


def test_a_host_is_shown_with_all_that_belongs_to_it(api: Api, conductor: SuperConductor) -> None:
    """Providers, NUMA cells, servers, and those that came."""
    conductor.host_details = {"h1": a_host()}
    shown = api.get(f"{PATH}/h1").json
    assert (shown["name"], shown["state"], shown["cell"]) == ("h1", "up", "cell1")
    assert [one["name"] for one in shown["providers"]] == ["h1", "h1_gpu"]
    assert shown["providers"][0]["inventories"]["VCPU"]["capacity"] == 6
    assert shown["nodes"][0]["numa"] == {"cells": []}
    devices = [
        (one["numa_node"], one["count"], one["reserved"]) for one in shown["nodes"][0]["devices"]
    ]
    assert devices == [(0, 3, 1), (1, 0, 4)]
    assert [(one["name"], one["status"]) for one in shown["servers"]] == [("web", "ACTIVE")]
    assert [one["source_host"] for one in shown["migrations"]] == ["h0"]


def test_a_disabled_host_with_servers_is_draining(api: Api, conductor: SuperConductor) -> None:
    """With the reason why it was disabled."""
    conductor.host_details = {"h1": a_host(disabled=True, disabled_reason="new disks")}
    shown = api.get(f"{PATH}/h1").json
    assert (shown["state"], shown["service"]["disabled_reason"]) == ("draining", "new disks")


def test_an_unknown_host_is_not_found(api: Api) -> None:
    """And users do not learn which hosts there are."""
    assert api.get(f"{PATH}/h1").status_code == 404
    assert api.get(f"{PATH}/h1", token=MEMBER).status_code == 403


def an_event(marker: str, **more: Any) -> HostEvent:
    return HostEvent(marker, datetime(2030, 1, 31, 12, tzinfo=UTC), **more)


def test_events_of_a_host_are_listed_in_pages(api: Api, conductor: SuperConductor) -> None:
    """A page says where the next one begins; the last one does not."""
    server = builders.a_uuid_of("web")
    conductor.host_events["h1"] = [
        an_event("2", event="down"),
        an_event(
            "1", event="compute_live_migrate", action="live_migrate", instance_uuid=server,
            instance_name="web", result="Success", user_id="olga",
        ),
    ]  # fmt: skip
    first = api.get(f"{PATH}/h1/events?limit=1").json
    assert [(one["event"], one["server_id"]) for one in first["events"]] == [("down", None)]
    assert first["events"][0]["at"] == "2030-01-31T12:00:00.000000"
    second = api.get(f"{PATH}/h1/events?marker={first['next_marker']}").json
    (step,) = second["events"]
    assert (step["action"], step["server_name"], step["user_id"]) == (
        "live-migration", "web", "olga",
    )  # fmt: skip
    assert second["next_marker"] is None


def test_events_are_for_administrators_and_bounded(api: Api) -> None:
    """Users do not learn of hosts, and no answer has more than 200."""
    assert api.get(f"{PATH}/h1/events", token=MEMBER).status_code == 403
    assert api.get(f"{PATH}/h1/events").status_code == 404
    assert api.get(f"{PATH}/h1/events?limit=201").status_code == 400
