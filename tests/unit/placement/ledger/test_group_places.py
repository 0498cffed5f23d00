"""Server groups in placement: claims that meet members that their scheduler had not counted."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.instances.group_claim import GroupClaim, GroupMember, GroupRule
from placement.engine import PlacementEngine
from tests.builders import a_provider, a_uuid

GROUP = a_uuid()
MIGRATION = a_uuid()


@pytest.fixture
def hosts(engine: PlacementEngine) -> dict[str, str]:
    """Return name -> provider of three hosts."""
    names = ("host1", "host2", "host3")
    inventories = {"VCPU": {"total": 8, "allocation_ratio": 1.0}}
    reports = [a_provider(name, inventories=inventories) for name in names]
    results = engine.providers.set_providers(reports)
    return dict(zip(names, (result.uuid for result in results), strict=True))


def claimed(
    engine: PlacementEngine, hosts: dict[str, str], host: str, uuid: str = "", **group: Any
) -> ClaimResult:
    claim = AllocationClaim(
        uuid or a_uuid(),
        "p1",
        "u1",
        {hosts[host]: {"resources": {"VCPU": 1}}},
        group=GroupClaim(host, **{"group_uuid": GROUP, **group}),
    )
    return engine.claims.claim([claim])[0]


def members(engine: PlacementEngine) -> list[GroupMember]:
    return engine.allocations.list_group_members(GROUP)


def places(engine: PlacementEngine) -> set[tuple[str, str]]:
    return {(each.instance_uuid, each.host) for each in members(engine)}


@pytest.mark.parametrize(
    ("rule", "here", "elsewhere"),
    [
        (GroupRule.HERE, ClaimStatus.GROUP_CHANGED, ClaimStatus.CLAIMED),
        (GroupRule.ELSEWHERE, ClaimStatus.CLAIMED, ClaimStatus.GROUP_CHANGED),
        (GroupRule.ANYWHERE, ClaimStatus.GROUP_CHANGED, ClaimStatus.GROUP_CHANGED),
        (GroupRule.NOWHERE, ClaimStatus.CLAIMED, ClaimStatus.CLAIMED),
    ],
)
def test_a_member_that_was_not_counted_refuses_the_claim(
    engine: PlacementEngine, hosts: dict[str, str], rule: GroupRule, here: str, elsewhere: str
) -> None:
    """Where the rule says so; nothing is written then."""
    first = claimed(engine, hosts, "host1", rule=rule).consumer_uuid
    for host, expected in (("host1", here), ("host2", elsewhere)):
        result = claimed(engine, hosts, host, rule=rule)
        assert result.status == expected
        if expected == ClaimStatus.GROUP_CHANGED:
            assert f"member {first} of server group {GROUP}" in str(result.reason)
        else:
            engine.claims.release({result.consumer_uuid: 0})
        assert places(engine) == {(first, "host1")}


def test_what_was_counted_refuses_nothing(engine: PlacementEngine, hosts: dict[str, str]) -> None:
    """Known from placement, or selected by the scheduler itself and claimed since."""
    first = claimed(engine, hosts, "host1").consumer_uuid
    (known,) = members(engine)
    rule = GroupRule.ANYWHERE
    second = claimed(engine, hosts, "host2", as_of=known.as_of, rule=rule)
    assert second.is_claimed
    counted = {second.consumer_uuid: "host2"}
    third: dict[str, Any] = {"as_of": known.as_of, "rule": rule}
    moved: dict[str, Any] = {**third, "counted": {second.consumer_uuid: "host3"}}
    assert claimed(engine, hosts, "host3", **moved).status == ClaimStatus.GROUP_CHANGED
    assert claimed(engine, hosts, "host3", **third, counted=counted).is_claimed
    assert {host for _uuid, host in places(engine)} == {"host1", "host2", "host3"}
    assert first in {uuid for uuid, _host in places(engine)}


def test_a_moving_member_has_both_hosts_until_the_move_ends(
    engine: PlacementEngine, hosts: dict[str, str]
) -> None:
    """It does not meet itself; others meet it at both, and a revert finds its host."""
    me = claimed(engine, hosts, "host1").consumer_uuid
    engine.claims.move(me, MIGRATION, 0, consumer_type="MIGRATION")
    assert claimed(engine, hosts, "host1", me, rule=GroupRule.HERE).is_claimed
    engine.claims.release({me: 0})
    assert claimed(engine, hosts, "host2", me, rule=GroupRule.HERE).is_claimed
    assert places(engine) == {(me, "host1"), (me, "host2")}
    for host in ("host1", "host2"):
        other = claimed(engine, hosts, host, rule=GroupRule.HERE)
        assert other.status == ClaimStatus.GROUP_CHANGED
    engine.claims.move(MIGRATION, me, 2, is_replacing=True, consumer_type="INSTANCE")
    assert places(engine) == {(me, "host1")}
    engine.claims.release({me: 4})
    assert members(engine) == []


def alternate(uuid: str, provider: str, host: str | None, fence: int = 0) -> AllocationClaim:
    return AllocationClaim(
        consumer_uuid=uuid,
        project_id="p1",
        user_id="u1",
        allocations={provider: {"resources": {"VCPU": 1}}},
        replace=True,
        group=None if host is None else GroupClaim(host),
        fence=fence,
    )


def test_an_alternate_is_refused_where_the_rule_is_broken(
    engine: PlacementEngine, hosts: dict[str, str]
) -> None:
    """The cell's conductor names the host only; placement knows group and limit."""
    rule: dict[str, Any] = {"rule": GroupRule.HERE, "limit": 1}
    me = claimed(engine, hosts, "host1", **rule).consumer_uuid
    you = claimed(engine, hosts, "host2", **rule).consumer_uuid
    (taken,) = engine.claims.claim([alternate(me, hosts["host2"], "host2")])
    assert taken.status == ClaimStatus.GROUP_CHANGED
    assert taken.reason == "host2 has 1 of at most 1 members of the server group"
    (free,) = engine.claims.claim([alternate(me, hosts["host3"], "host3")])
    assert free.is_claimed
    assert places(engine) == {(me, "host3"), (you, "host2")}


def test_who_is_in_no_group_is_not_refused(engine: PlacementEngine, hosts: dict[str, str]) -> None:
    """Its alternates name hosts all the same."""
    claimed(engine, hosts, "host1")
    (first,) = engine.claims.claim([alternate(a_uuid(), hosts["host1"], "host1")])
    assert first.is_claimed
    assert len(members(engine)) == 1


@pytest.mark.parametrize(
    "group",
    [
        GroupClaim("host1", group_uuid="friends"),
        GroupClaim("", group_uuid=GROUP),
        GroupClaim("host1", group_uuid=GROUP, rule="above"),
        GroupClaim("host1", group_uuid=GROUP, limit=-1),
        GroupClaim("host1", group_uuid=GROUP, as_of=True),
        GroupClaim("host1", group_uuid=GROUP, counted=[]),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_what_makes_no_sense_is_refused(
    engine: PlacementEngine, hosts: dict[str, str], group: GroupClaim
) -> None:
    """A malformed part is told to the caller, and nothing is written."""
    claim = AllocationClaim(
        a_uuid(), "p1", "u1", {hosts["host1"]: {"resources": {"VCPU": 1}}}, group=group
    )
    with pytest.raises(exception.Invalid):
        engine.claims.claim([dataclasses.replace(claim)])
    assert members(engine) == []
