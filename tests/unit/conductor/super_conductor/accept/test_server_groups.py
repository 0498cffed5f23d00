"""Tests of server groups: what makes one valid, whose it is, how many there may be."""

from __future__ import annotations

import pytest

from armillary import exception
from conductor.super_conductor.accept.server_groups import Groups
from objects.instances.instance_group import POLICIES
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin


@pytest.fixture
def groups(plane: ControlPlane) -> Groups:
    return Groups(plane.conf, plane.database, plane.clock)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_group_of_any_policy_can_be_made(groups: Groups, policy: str) -> None:
    """It belongs to who made it."""
    made = groups.create(a_user(), "g", policy, {})
    assert (made.policy, made.project_id, made.user_id, made.members) == (policy, "p1", "u1", [])


def test_anti_affinity_may_have_a_maximum(groups: Groups) -> None:
    """Of members for each host."""
    made = groups.create(a_user(), "g", "anti-affinity", {"max_server_per_host": "3"})
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
    groups: Groups, name: str, policy: str, rules: dict[str, str]
) -> None:
    """Nothing is stored."""
    with pytest.raises(exception.Invalid):
        groups.create(a_user(), name, policy, rules)
    assert groups.list(a_user(), all_projects=False) == []


def test_there_is_a_quota_of_groups(plane: ControlPlane, groups: Groups) -> None:
    """For each project."""
    plane.conf.set_override("server_groups", 1, group="quota")
    groups.create(a_user(), "g", "affinity", {})
    with pytest.raises(exception.QuotaExceeded, match="server_groups"):
        groups.create(a_user(), "g", "affinity", {})
    assert groups.create(a_user("p2"), "g", "affinity", {})


def test_groups_of_others_are_for_administrators(groups: Groups) -> None:
    """To show, to list, to delete."""
    group = groups.create(a_user("p2"), "g", "affinity", {}).uuid
    for ask in (groups.get, groups.delete):
        with pytest.raises(exception.ServerGroupNotFound):
            ask(a_user(), group)
    assert groups.list(a_user(), all_projects=True) == []
    assert groups.list(an_admin(), all_projects=False) == []
    assert [one.uuid for one in groups.list(an_admin(), all_projects=True)] == [group]
    groups.delete(an_admin(), group)


def test_deleting_a_server_leaves_its_group(plane: ControlPlane, groups: Groups) -> None:
    """With one member less."""
    group = groups.create(a_user(), "g", "affinity", {}).uuid
    kept, gone = plane.build(2, hints={"group": [group]})
    plane.delete(gone)
    assert groups.get(a_user(), group).members == [kept]
