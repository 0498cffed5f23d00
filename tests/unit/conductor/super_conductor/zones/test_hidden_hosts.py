"""Host names in what a zone tells its parents, and what is told with hide_host_names."""

import json
from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.zones.hidden_hosts import HiddenHosts
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import ServerFilters
from objects.zones.zone_query import ZoneQuery
from rpc.wire.serializer import ObjectSerializer
from scheduler.zones.offers import Offers, ZoneEntry, as_answer
from tests.builders import a_uuid
from tests.fixtures.control_plane import an_admin
from tests.fixtures.zones import Zone, root
from tests.fleets import a_request_spec
from tests.unit.conductor.super_conductor.zones.test_walk import child, create

__all__ = ["root"]

HOST = "cell1-host1"


def hide(zone: Zone) -> dict[str, str]:
    """Turn the option on and return host -> UUID of its node."""
    zone.conf.set_override("hide_host_names", True, group="zones")
    zone.start()
    zone.map_hosts()
    return {node.host: node.uuid for node in zone.cell().nodes}


def text_of(answer: Any) -> str:
    return json.dumps(ObjectSerializer().serialize_entity(None, answer), default=str)


def test_names_are_told_by_default(root: Zone) -> None:
    """The documentation says so."""
    (uuid,) = create(root, f"eu/eu-1:{HOST}")
    root.walk()
    assert root.endpoint.get_server(an_admin(), uuid).host == HOST


def test_no_answer_names_a_host_that_is_hidden(root: Zone) -> None:
    """L15: details, lists, explanations, actions, and reasons of failed builds."""
    owner = child(root, "eu-1")
    nodes = hide(owner)
    owner.cell().failing_hosts = {"cell1-host2"}
    (uuid,) = create(root, "eu/eu-1:cell1-host2", f"eu/eu-1:{HOST}")
    root.walk()
    admin = an_admin()
    shown = root.endpoint.get_server(admin, uuid)
    assert (shown.vm_state, shown.host, shown.name) == ("active", nodes[HOST], "web")
    explained = root.endpoint.explain_server(admin, uuid)
    assert f"{nodes['cell1-host2']} is broken" in str(explained.attempts[0].reason)
    answers = (
        shown,
        explained,
        root.endpoint.list_servers(
            admin, filters=ServerFilters(all_projects=True), limit=10
        ).instances,
        root.endpoint.list_server_actions(admin, uuid),
    )
    assert "cell1-host" not in "".join(map(text_of, answers))


def test_errors_name_no_hidden_host(root: Zone) -> None:
    """Their class stays, so that users are answered as ever."""
    owner = child(root, "eu-1")
    nodes = hide(owner)
    (uuid,) = create(root, f"eu/eu-1:{HOST}")
    root.walk()
    owner.cell().refusal = exception.InstanceLocked(f"{HOST}.example.org is busy", host=HOST)
    with pytest.raises(exception.InstanceLocked) as caught:
        root.endpoint.operate_server(an_admin(), uuid, "stop", OperationArguments())
    assert HOST not in f"{caught.value.message} {caught.value.kwargs}"
    assert nodes[HOST] in caught.value.message


def test_addresses_of_hosts_are_hidden(root: Zone) -> None:
    """In details, lists and reasons; those of the servers themselves are told."""
    owner = child(root, "eu-1")
    hide(owner)
    (uuid,) = create(root, f"eu/eu-1:{HOST}")
    root.walk()
    cell = owner.cell()
    cell._set(uuid, host_ip="192.0.2.7", addresses=["198.51.100.3"])
    shown = root.endpoint.get_server(an_admin(), uuid)
    assert (shown.host_ip, shown.addresses) == (None, ["198.51.100.3"])
    (listed,) = root.endpoint.list_servers(
        an_admin(), filters=ServerFilters(all_projects=True), limit=10
    ).instances
    assert listed.host_ip is None
    cell.refusal = exception.InstanceLocked(
        "192.0.2.7:22 and 2001:db8::7 do not answer at 12:30:45"
    )
    with pytest.raises(exception.InstanceLocked) as caught:
        root.endpoint.operate_server(an_admin(), uuid, "stop", OperationArguments())
    assert caught.value.message == "hidden:22 and hidden do not answer at 12:30:45"


def test_reasons_of_a_search_name_no_hidden_host(root: Zone) -> None:
    """What the zone's scheduler reports on its own hosts, and the errors that it raises."""
    owner = child(root, "eu")
    nodes = hide(owner)
    row = ZoneEntry([], "own", reason=f"{HOST} is full")
    owner.scheduler.zone_answer = as_answer(Offers.none(), zones=[row])
    (told,) = owner.border.select_hosts(an_admin(), a_query()).zones
    assert told == {**row.to_plain(), "reason": f"{nodes[HOST]} is full"}
    owner.scheduler.error = exception.Invalid(reason=f"{HOST} cannot be asked")
    with pytest.raises(exception.Invalid) as caught:
        owner.border.select_hosts(an_admin(), a_query())
    assert HOST not in f"{caught.value.message} {caught.value.kwargs}"


def a_query() -> ZoneQuery:
    return ZoneQuery.from_values(
        request_id="req-1", visited=["root"], request_spec=a_request_spec(), entries_max=10,
        instance_uuids=[a_uuid()], time_limit_seconds=5.0, profile="default",
    )  # fmt: skip


def test_only_names_that_stand_alone_are_replaced(root: Zone) -> None:
    """Users' own words, and words that begin like a host's name, stay."""
    nodes = hide(root)
    hidden = HiddenHosts(root.database, is_on=True)
    assert hidden.in_text(f"{HOST}: {HOST}.a.org, my-{HOST}, {HOST}0") == (
        f"{nodes[HOST]}: {nodes[HOST]}, my-{HOST}, {HOST}0"
    )
    answer = {"host": "unknown", "node": None, "metadata": {"host": HOST}, "name": HOST}
    assert hidden.in_answer(answer) == {**answer, "host": "hidden"}


def test_a_trace_names_no_hidden_host(root: Zone) -> None:
    """Of a move within the zone: hosts behind each rule, alternates, and notes on old states."""
    nodes = hide(root)
    uuid = nodes[HOST]
    trace: dict[str, Any] = {
        "ruled_out": [{"kind": "disabled", "name": "d", "count": 2, "hosts": [HOST, "removed"]}],
        "filters": [{"name": "AFilter", "reasons": [], "hosts": [HOST]}],
        "choices": [{"host": HOST, "alternates": [HOST, "removed"], "runners_up": []}],
        "old_states": [f"{HOST} is of yesterday"],
        "zones": [{"path": [], "outcome": "own", "hosts": 3}],
    }
    hidden = HiddenHosts(root.database, is_on=True).in_answer({"trace": trace})["trace"]
    assert [each["hosts"] for each in hidden["ruled_out"]] == [[uuid, "hidden"]]
    assert [each["hosts"] for each in hidden["filters"]] == [[uuid]]
    assert hidden["choices"] == [{"host": uuid, "alternates": [uuid, "hidden"], "runners_up": []}]
    assert hidden["old_states"] == [f"{uuid} is of yesterday"]
    assert hidden["zones"] == trace["zones"]
