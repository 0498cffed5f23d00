"""Requests that ask for the same are told from those that only look like it."""

from typing import Any

import pytest

from objects.request_spec import Destination
from scheduler.request.equal_requests import are_alike, grouped, joint_spec, rough_key
from tests.builders import a_flavor, a_uuid
from tests.fleets import a_group, a_request_spec

GROUP = a_group("anti-affinity")


def test_requests_differ_in_their_instance_at_most() -> None:
    """Then they have the same rough key, too."""
    one, other = a_request_spec(instance_uuid=a_uuid()), a_request_spec(instance_uuid=a_uuid())
    assert are_alike(one, other)
    assert rough_key(one) == rough_key(other)


@pytest.mark.parametrize(
    "values",
    [
        {"project_id": "p2"},
        {"user_id": "u2"},
        {"flavor": a_flavor(extra_specs={"a": "b"})},
        {"scheduler_hints": {"same_host": ["h"]}},
        {"ignore_hosts": ["host1"]},
        {"requested_destination": Destination.from_values(host="host1")},
        {"instance_group": GROUP},
    ],
    ids=lambda values: next(iter(values)),
)
def test_any_other_difference_counts(values: dict[str, Any]) -> None:
    """However small."""
    assert not are_alike(a_request_spec(), a_request_spec(**values))
    assert are_alike(a_request_spec(**values), a_request_spec(**values))


def test_what_is_known_of_a_group_now_makes_no_difference() -> None:
    """Its policy does."""
    knowing = GROUP.with_values(members=[a_uuid()], hosts=["host1"])
    soft = GROUP.with_values(policy="soft-anti-affinity")
    spec = a_request_spec(instance_group=GROUP)
    assert are_alike(spec, a_request_spec(instance_group=knowing))
    assert not are_alike(spec, a_request_spec(instance_group=soft))


def test_items_come_with_their_like_in_the_order_of_the_first() -> None:
    """All of them, once."""
    specs = [a_request_spec(project_id=project) for project in ("a", "b", "a", "c", "b")]
    assert list(grouped(range(5), specs)) == [[0, 2], [1, 4], [3]]


def test_a_merged_group_has_what_any_knows_and_the_instances() -> None:
    """Without doubles; a request without a group stays so."""
    spec = a_request_spec(instance_group=GROUP.with_values(members=["a"], hosts=["h1"]))
    other = a_request_spec(instance_group=GROUP.with_values(members=["a", "b"], hosts=["h1", "h2"]))
    group = joint_spec([spec, other], ["b", "c"]).instance_group
    assert group is not None
    assert (group.members, group.hosts) == (["a", "b", "c"], ["h1", "h2"])
    assert joint_spec([a_request_spec(), a_request_spec()], ["c"]).instance_group is None
