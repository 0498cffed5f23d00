"""The zone scheduler decides as the filter scheduler does, until another zone has a host."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.destinations import Destinations
from objects.request_spec import Destination, RequestSpec
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from scheduler.drivers.base import load_driver
from scheduler.drivers.zone_scheduler import ZoneScheduler
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from tests.builders import a_flavor, a_uuid
from tests.fixtures.zones.zone_trees import Zone, outcomes
from tests.fleets import CELL, a_group, a_host, a_request_spec, scheduling_conf, some_hosts


def a_parent() -> Zone:
    """Return a zone with two hosts, above one with two."""
    return Zone("root", some_hosts(2), [Zone("leaf", some_hosts(2))]).push_all()


def a_big_request() -> RequestSpec:
    return a_request_spec(flavor=a_flavor("big", memory_mb=99999))


def test_a_single_zone_asks_no_other() -> None:
    """BZ-05: nothing is merged or aggregated; hosts are claimed, with alternates."""
    zone = Zone("only", some_hosts(4))
    found = zone.select()
    assert (found.zone_entries, found.trace.zones) == ([], [])
    assert len(found.selections()[0]) == 3
    assert len(zone.placement.consumers) == 1
    assert zone.questions == {}


def test_hosts_of_all_zones_are_offered_and_none_is_claimed() -> None:
    """BZ-50: the origin tries one after the other."""
    root = a_parent()
    found = root.select(count=2)
    assert sorted(map(tuple, (entry["path"] for entry in found.zone_entries))) == [
        (), (), ("leaf",), ("leaf",),
    ]  # fmt: skip
    assert (list(found.hosts), found.choices.shape) == ([], (2, 0))
    assert found.selections() == [[], []]
    assert not root.placement.consumers
    assert not root.below["leaf"].placement.consumers
    assert outcomes(found.trace.zones) == {"leaf": "asked"}
    assert found.trace.candidates == 2


def test_a_dry_run_names_the_hosts_of_this_zone() -> None:
    """Those of others are known there only; the conductor that builds goes by the ids."""
    root = a_parent()
    entries = root.select(dry_run=True).zone_entries
    named = {entry["host_id"]: entry.get("host") for entry in entries}
    leaf = root.below["leaf"]
    assert named == {
        **{host.uuid: host.name for host in root.hosts},
        **{host.uuid: None for host in leaf.hosts},
    }
    own = next(entry for entry in entries if not entry["path"])
    assert (own["node"], own["availability_zone"]) == (f"{own['host']}.example.org", "nova")
    assert all(set(entry) == {"host_id", "path"} for entry in root.select().zone_entries)


def test_a_request_that_no_child_can_serve_is_decided_here() -> None:
    """With claim and alternates; the trace names the zone and why it was not asked."""
    leaf = Zone("leaf", [a_host("small", total_usable_ram_mb=1024, vcpus_total=16)])
    root = Zone("root", some_hosts(3), [leaf]).push_all()
    found = root.select(a_request_spec(flavor=a_flavor("f", memory_mb=2048)))
    assert len(found.selections()[0]) == 3
    assert len(root.placement.consumers) == 1
    assert outcomes(found.trace.zones) == {"leaf": "pruned"}
    assert root.questions == {}


def test_a_request_for_which_children_have_nothing_after_all_is_decided_here() -> None:
    """BZ-55: they did not answer."""
    root = a_parent()
    leaf = root.below["leaf"]
    for host in leaf.hosts:
        leaf.placement.fill(host, MEMORY_MB=32768)
    found = root.select()
    assert found.zone_entries == []
    assert len(root.placement.consumers) == 1
    assert outcomes(found.trace.zones) == {"leaf": "asked"}


def test_only_children_have_a_host() -> None:
    """Then they are the answer."""
    leaf = Zone("leaf", [a_host("big", total_usable_ram_mb=100000, free_ram_mb=100000)])
    root = Zone("root", some_hosts(2), [leaf]).push_all()
    found = root.select(a_big_request())
    assert [entry["path"] for entry in found.zone_entries] == [["leaf"]]
    assert found.trace.sentence is None
    assert found.trace.ruled_out


def test_no_zone_has_a_host() -> None:
    """BZ-50, BZ-52: one error, whose sentence counts the zones and whose trace names them."""
    root = a_parent()
    with pytest.raises(exception.NoValidHost) as caught:
        root.select(a_big_request())
    trace = DecisionTrace.obj_from_primitive(caught.value.kwargs["trace"])
    assert caught.value.kwargs["reason"] == trace.sentence
    assert trace.sentence is not None
    assert "MEMORY_MB: 99,999 asked" in trace.sentence
    assert "Zones below: 1 without the required capabilities." in trace.sentence
    assert outcomes(trace.zones) == {"leaf": "pruned"}


def bound(**destination: Any) -> RequestSpec:
    return a_request_spec(requested_destination=Destination.from_values(**destination))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(bound(host="host1"), id="host"),
        pytest.param(bound(cell_uuid=CELL), id="cell"),
        pytest.param(bound(own_zone_only=True), id="own-zone"),
        pytest.param(a_request_spec(force_hosts=["host1"]), id="forced"),
        pytest.param(a_request_spec(scheduler_hints={"same_host": [a_uuid()]}), id="same-host"),
        pytest.param(
            a_request_spec(instance_group=a_group("affinity", hosts=["host1"], members=[a_uuid()])),
            id="affinity",
        ),
    ],
)
def test_a_request_for_certain_hosts_of_this_zone_stays_here(spec: RequestSpec) -> None:
    """BZ-05: no other zone is asked, or told of."""
    root = a_parent()
    found = root.select(spec)
    assert len(found.hosts) > 0
    assert found.trace.zones == []
    assert root.questions == {}


def test_one_node_can_be_asked_for_by_its_uuid() -> None:
    """As the zone that owns it does for the zone where the request came from."""
    zone = Zone("only", some_hosts(5))
    wanted = zone.hosts[3]
    found = zone.select(bound(node_uuid=wanted.uuid, own_zone_only=True))
    assert [each.service_host for each in found.selections()[0]] == [wanted.name]
    with pytest.raises(exception.NoValidHost, match="was requested"):
        zone.select(bound(node_uuid=a_uuid(), own_zone_only=True))


def test_who_cannot_use_hosts_of_other_zones_gets_none() -> None:
    """An older conductor, or a move."""
    root = a_parent()
    request = SchedulingRequest(
        admin_context(), a_request_spec(), [a_uuid()], [1], takes_zones=False
    )
    (found,) = root.driver.select_many([request])
    assert not isinstance(found, Exception)
    assert (found.zone_entries, len(found.hosts)) == ([], 2)
    assert root.questions == {}


def test_many_requests_are_each_answered_in_their_place() -> None:
    """Those for zones and those for here, in one message."""
    root = a_parent()
    specs = [a_request_spec(), bound(host="host1"), a_big_request(), a_request_spec()]
    requests = [SchedulingRequest(admin_context(), spec, [a_uuid()], [1]) for spec in specs]
    one, two, three, four = root.driver.select_many(requests)
    assert isinstance(three, exception.NoValidHost)
    assert not isinstance(one, Exception)
    assert not isinstance(two, Exception)
    assert not isinstance(four, Exception)
    assert (len(one.zone_entries), len(two.zone_entries), len(four.zone_entries)) == (4, 0, 4)
    assert two.hosts[0].service_host == "host1"


def test_own_hosts_are_a_list_while_another_zone_does_not_answer() -> None:
    """If all of them fail, that zone can still be searched; nothing is claimed yet."""
    root = a_parent()
    root.late = {"leaf"}
    root.conf.set_override("select_timeout_seconds", 0.1, group="zones")
    found = root.select()
    assert [entry["path"] for entry in found.zone_entries] == [[], []]
    assert not root.placement.consumers
    assert outcomes(found.trace.zones) == {"leaf": "late"}


def search_of(root: Zone, *zones: str) -> Outcome:
    """Return what a search of certain zones alone finds."""
    uuids = [a_uuid(), a_uuid()]
    request = SchedulingRequest(
        admin_context(), a_request_spec(), uuids, [1, 1], only_zones=list(zones)
    )
    (found,) = root.driver.select_many([request])
    return found


def test_certain_zones_alone_can_be_searched() -> None:
    """They and those below them, through those above, whose own hosts and others are left out."""
    leaf = Zone("leaf", some_hosts(1))
    deep = Zone("deep", some_hosts(2), [leaf])
    root = Zone(
        "root", some_hosts(1), [Zone("mid", some_hosts(1), [deep, Zone("other", some_hosts(1))])]
    ).push_all()
    found = search_of(root, "mid/deep")
    assert isinstance(found, Destinations)
    paths = sorted("/".join(entry["path"]) for entry in found.zone_entries)
    assert paths == ["mid/deep", "mid/deep", "mid/deep/leaf"]
    assert outcomes(found.trace.zones) == dict.fromkeys(
        ["mid", "mid/deep", "mid/deep/leaf"], "asked"
    )
    assert not any(zone.placement.consumers for zone in (root, deep, leaf))
    assert root.below["mid"].questions == {"deep": 1}


def test_a_search_of_certain_zones_that_have_nothing_claims_nothing_here() -> None:
    """Its own hosts are not claimed, also if the zone was removed meanwhile."""
    root = a_parent()
    for name in ("leaf", "removed"):
        root.below["leaf"].placement.fill(root.below["leaf"].hosts[0], MEMORY_MB=32768)
        root.below["leaf"].placement.fill(root.below["leaf"].hosts[1], MEMORY_MB=32768)
        assert isinstance(search_of(root, name), exception.NoValidHost)
    assert not root.placement.consumers
    root.below.clear()
    root.know_children()
    assert isinstance(search_of(root, "leaf"), exception.NoValidHost)
    assert not root.placement.consumers


def test_a_zone_that_asks_others_needs_a_name() -> None:
    """Else no zone could see where a question has been."""
    conf = scheduling_conf(scheduler__driver="zone_scheduler")
    parts: dict[str, Any] = dict.fromkeys(("host_store", "placement", "rng", "clock", "now"))
    with pytest.raises(exception.ConfigurationError, match=r"\[zones\] name"):
        load_driver(conf, **parts)


def test_it_is_found_by_its_name() -> None:
    """BZ-01, BZ-04: chosen by configuration alone."""
    zone = Zone("z")
    zone.conf.set_override("driver", "zone_scheduler", group="scheduler")
    made = load_driver(
        zone.conf,
        host_store=zone.fleet,
        placement=zone.placement,  # type: ignore[arg-type]  # as far as asked
        rng=zone.driver._rng,
        clock=zone.clock,
        now=zone.driver._now,
    )
    assert isinstance(made, ZoneScheduler)


# Affinity to members in other zones


def beside(*zone_paths: str) -> RequestSpec:
    """Return a request for one more member of a group that lives in these zones."""
    group = a_group("affinity", members=[a_uuid()])
    return a_request_spec(instance_group=group.with_values(zone_paths=list(zone_paths)))


def a_family(*, zone_of_member: str, is_full: bool) -> tuple[Zone, RequestSpec]:
    """Return a parent of eu and us; a member is on a host of one of them."""
    spec = beside(zone_of_member)
    assert spec.instance_group is not None
    member = spec.instance_group.members[0]
    zones = {
        name: Zone(name, [a_host(f"{name}-host1"), a_host(f"{name}-host2")])
        for name in ("eu", "us")
    }
    root = Zone("root", some_hosts(2), list(zones.values()))
    owner = zones[zone_of_member]
    if is_full:
        owner.placement.fill(owner.hosts[0], MEMORY_MB=32768)
    answer = owner.search.answer

    def with_its_members(context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        group = query.request_spec.instance_group
        assert group is not None
        assert group.members == [member]
        group.hosts = [owner.hosts[0].name]  # as its conductor adds them
        return answer(context, query)

    owner.search.answer = with_its_members  # type: ignore[method-assign]
    return root.push_all(), spec


def test_only_the_zone_of_the_members_is_asked() -> None:
    """Its one host beside them is the answer, and the trace says why the others were not asked."""
    root, spec = a_family(zone_of_member="eu", is_full=False)
    found = root.select(spec)
    (entry,) = found.zone_entries
    assert entry == {"host_id": root.below["eu"].hosts[0].uuid, "path": ["eu"]}
    assert root.questions == {"eu": 1}
    assert outcomes(found.trace.zones) == {"eu": "asked", "us": "pruned"}


def test_no_host_at_home_takes_the_place_of_a_full_one_beside_the_members() -> None:
    """The policy would be broken; the reason names the zone."""
    root, spec = a_family(zone_of_member="eu", is_full=True)
    with pytest.raises(
        exception.NoValidHost, match="in zone eu, and none of those hosts can take it"
    ):
        root.select(spec)
    assert not root.placement.consumers


def test_nor_when_the_zone_of_the_members_cannot_be_asked() -> None:
    """It is disabled; what is told of it is in the reason."""
    root, spec = a_family(zone_of_member="eu", is_full=False)
    root.know_children(disabled=["eu"])
    with pytest.raises(exception.NoValidHost, match="zone eu: it is disabled in this zone"):
        root.select(spec)
    assert root.questions == {}
