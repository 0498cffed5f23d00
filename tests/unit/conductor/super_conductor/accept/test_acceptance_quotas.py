"""Server groups and quotas of accepted requests."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.db.catalogue import server_groups
from objects.instances.new_servers import NewServers
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin
from tests.unit.conductor.super_conductor.accept.accepting import (
    Accept,
    a_group,
    accept,
    rows,
    set_limit,
    spec_of,
)

__all__ = ["accept"]


def test_instances_become_members_of_their_group(plane: ControlPlane, accept: Accept) -> None:
    """All of a request together."""
    group = a_group(plane)
    accepted = accept(min_count=2, max_count=2, hints={"group": [group]})
    members = plane.database.read(server_groups.list_members, group)
    assert members == sorted(one.uuid for one in accepted.instances)
    spec = spec_of(plane, accepted)
    assert spec.instance_group is not None
    assert (spec.instance_group.max_server_per_host, spec.instance_group.members) == (2, [])


def test_the_group_of_another_project_is_unknown(plane: ControlPlane, accept: Accept) -> None:
    """But to an administrator."""
    group = a_group(plane, "p2")
    with pytest.raises(exception.ServerGroupNotFound):
        accept(hints={"group": [group]})
    assert accept(an_admin(), hints={"group": [group]}).instances


# Quotas


@pytest.mark.parametrize(
    ("limits", "resource"),
    [
        ({"instances": 2}, "instances"),
        ({"cores": 2}, "cores"),
        ({"ram": 1024}, "ram"),
        ({"server_group_members": 2}, "server_group_members"),
    ],
    ids=["instances", "cores", "ram", "members"],
)
def test_more_than_the_quota_is_refused_with_the_numbers(
    plane: ControlPlane, accept: Accept, limits: dict[str, int], resource: str
) -> None:
    """Two are there, two fit: a third is one too many."""
    group = a_group(plane)
    accept(min_count=2, max_count=2, hints={"group": [group]})
    set_limit(plane, **limits)
    with pytest.raises(exception.QuotaExceeded) as raised:
        accept(hints={"group": [group]})
    unit = 512 if resource == "ram" else 1
    assert raised.value.kwargs == {
        "resource": resource, "requested": unit, "used": 2 * unit, "limit": 2 * unit,
    }  # fmt: skip


def test_as_many_as_fit_are_made_when_that_is_enough(plane: ControlPlane, accept: Accept) -> None:
    """max_count is lowered to what the quota allows."""
    set_limit(plane, instances=10, cores=3)
    assert len(accept(min_count=2, max_count=5).instances) == 3


def test_fewer_than_min_count_is_refused(plane: ControlPlane, accept: Accept) -> None:
    """Nothing is made then."""
    set_limit(plane, instances=3)
    with pytest.raises(exception.QuotaExceeded):
        accept(min_count=4, max_count=5)
    assert rows(plane) == 0


def test_an_unlimited_quota_allows_any_number(plane: ControlPlane, accept: Accept) -> None:
    """-1 means unlimited."""
    set_limit(plane, instances=-1)
    assert len(accept(min_count=50, max_count=50).instances) == 50


def test_other_projects_do_not_count(plane: ControlPlane, accept: Accept) -> None:
    """Each has its own."""
    plane.conf.set_override("instances", 1, group="quota")
    accept()
    assert accept(a_user("p2")).instances


def accept_together(plane: ControlPlane, requests: Sequence[dict[str, Any]]) -> list[str]:
    """Accept each in a thread of its own; return the projects of those that were accepted."""
    together = threading.Barrier(len(requests))

    def ask(request: dict[str, Any]) -> str | None:
        asked = {"name": "web", "flavor": "small", **request}
        context = asked.pop("context", a_user())
        together.wait(60)
        try:
            plane.acceptance.accept(context, NewServers(**asked))
        except exception.QuotaExceeded:
            return None
        return str(context.project_id)

    with ThreadPoolExecutor(len(requests)) as threads:
        return [project for project in threads.map(ask, requests) if project is not None]


def test_requests_at_the_same_time_never_pass_the_limit(any_plane: ControlPlane) -> None:
    """Counting and storing is one transaction that others of the project wait for."""
    set_limit(any_plane, instances=3)
    assert len(accept_together(any_plane, [{}] * 8)) == 3


def test_two_projects_never_pass_the_limit_of_one_group(any_plane: ControlPlane) -> None:
    """An administrator may build into the group of another project."""
    any_plane.conf.set_override("server_group_members", 3, group="quota")
    hints = {"group": [a_group(any_plane)]}
    asked = [{"hints": hints, "context": user()} for user in (a_user, an_admin) * 4]
    assert len(accept_together(any_plane, asked)) == 3
