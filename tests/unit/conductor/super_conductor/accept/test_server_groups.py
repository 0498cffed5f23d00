"""Tests of server groups: what makes one valid, whose it is, how many there may be."""

import pytest

from armillary import exception
from conductor.super_conductor.accept.server_groups import ServerGroupsEndpoint, check_group
from objects.instances.instance_group import POLICIES, SPREAD_POLICIES
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin


@pytest.fixture
def groups(plane: ControlPlane) -> ServerGroupsEndpoint:
    return ServerGroupsEndpoint(plane.conf, plane.database, plane.clock)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_group_of_any_policy_can_be_made(groups: ServerGroupsEndpoint, policy: str) -> None:
    """It belongs to who made it."""
    rules = {"topology_key": "rack"} if policy in SPREAD_POLICIES else {}
    made = groups.create_server_group(a_user(), "g", policy, rules)
    assert (made.policy, made.project_id, made.user_id, made.members) == (policy, "p1", "u1", [])


def test_anti_affinity_may_have_a_maximum(groups: ServerGroupsEndpoint) -> None:
    """Of members for each host."""
    made = groups.create_server_group(a_user(), "g", "anti-affinity", {"max_server_per_host": "3"})
    assert made.max_server_per_host == 3


@pytest.mark.parametrize(
    ("name", "policy", "rules"),
    [
        ("", "affinity", {}),
        ("n" * 256, "affinity", {}),
        ("g", "none", {}),
        ("g", "anti-affinity", {"colour": "red"}),
        ("g", "affinity", {"max_server_per_host": "2"}),
        ("g", "anti-affinity", {"max_server_per_host": "0"}),
        ("g", "anti-affinity", {"max_server_per_host": "many"}),
        ("g", "anti-affinity", {"max_server_per_host": "-1"}),
    ],
    ids=["no-name", "long-name", "policy", "rule", "not-anti", "zero", "text", "negative"],
)
def test_bad_values_are_refused(
    groups: ServerGroupsEndpoint, name: str, policy: str, rules: dict[str, str]
) -> None:
    """Nothing is stored."""
    with pytest.raises(exception.Invalid):
        groups.create_server_group(a_user(), name, policy, rules)
    assert groups.list_server_groups(a_user(), all_projects=False) == []


def test_there_is_a_quota_of_groups(plane: ControlPlane, groups: ServerGroupsEndpoint) -> None:
    """For each project."""
    plane.conf.set_override("server_groups", 1, group="quota")
    groups.create_server_group(a_user(), "g", "affinity", {})
    with pytest.raises(exception.QuotaExceeded, match="server_groups"):
        groups.create_server_group(a_user(), "g", "affinity", {})
    assert groups.create_server_group(a_user("p2"), "g", "affinity", {})


def test_a_repeat_is_the_same_group(plane: ControlPlane, groups: ServerGroupsEndpoint) -> None:
    """Its conductor may have died after it stored the group, with the quota used up."""
    plane.conf.set_override("server_groups", 1, group="quota")
    request = a_user()
    made = {groups.create_server_group(request, "g", "affinity", {}).uuid for _ in range(2)}
    assert {one.uuid for one in groups.list_server_groups(a_user())} == made
    assert len(made) == 1


def test_groups_of_others_are_for_administrators(groups: ServerGroupsEndpoint) -> None:
    """To show, to list, to delete."""
    group = groups.create_server_group(a_user("p2"), "g", "affinity", {}).uuid
    for ask in (groups.get_server_group, groups.delete_server_group):
        with pytest.raises(exception.ServerGroupNotFound):
            ask(a_user(), group)
    assert groups.list_server_groups(a_user(), all_projects=True) == []
    assert groups.list_server_groups(an_admin(), all_projects=False) == []
    assert [one.uuid for one in groups.list_server_groups(an_admin(), all_projects=True)] == [group]
    groups.delete_server_group(an_admin(), group)


def test_deleting_a_server_leaves_its_group(
    plane: ControlPlane, groups: ServerGroupsEndpoint
) -> None:
    """With one member less."""
    group = groups.create_server_group(a_user(), "g", "affinity", {}).uuid
    kept, gone = plane.build(2, hints={"group": [group]})
    plane.delete(gone)
    assert groups.get_server_group(a_user(), group).members == [kept]


@pytest.mark.parametrize(
    ("policy", "rules", "message"),
    [
        ("spread", {}, "the policy spread needs the rule topology_key"),
        ("soft-spread", {"topology_key": " "}, "the policy soft-spread needs the rule"),
        ("spread", {"topology_key": "rack", "max_skew": "0"}, "max_skew must be a whole number"),
        ("anti-affinity", {"max_skew": "1"}, "max_skew is for the policy spread or soft-spread"),
        ("spread", {"topology_key": "rack", "max_server_per_host": "2"}, "anti-affinity only"),
    ],
)
def test_a_group_to_spread_says_over_what(policy: str, rules: dict[str, str], message: str) -> None:
    """Rules are for their policies, and complete."""
    with pytest.raises(exception.Invalid, match=message):
        check_group("web", policy, rules)
    check_group("web", "spread", {"topology_key": "rack", "max_skew": "2"})
