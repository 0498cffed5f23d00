"""Explanations of servers in other zones: all attempts, and the weights of the joined list."""

import pytest

from objects.instances.explanation import Explanation
from tests.fixtures.control_plane import a_user, an_admin
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, create

pytestmark = pytest.mark.sampled_tests(every=2)

__all__ = ["root"]


def explained(root: Zone, *entries: str, as_user: bool = False) -> Explanation:
    """Return the explanation of a server that was tried on these hosts."""
    (uuid,) = create(root, *entries)
    root.walk()
    root.settle_all()
    return root.endpoint.explain_server(a_user() if as_user else an_admin(), uuid)


def test_failed_attempts_in_other_zones_stay(root: Zone) -> None:
    """O02: each with its place and reason, before the one that built it, in one count."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    found = explained(root, "eu:cell1-host1", "us:cell1-host2")
    assert [(one.attempt, one.result) for one in found.attempts] == [(1, "Error")]
    failed = found.attempts[0]
    assert str(failed.host).startswith("eu:")
    assert "cell1-host1 is broken" in str(failed.reason)


def test_the_weights_are_those_of_the_joined_list(root: Zone) -> None:
    """O02: the host that built it first, under its name in its zone; then the others."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    found = explained(root, "eu:cell1-host1", "us:cell1-host2", ":cell1-host1")
    assert found.trace is not None
    (choice,) = found.trace["choices"]
    assert (choice["host"], choice["weight"]) == ("cell1-host2", 2)
    assert [one["weight"] for one in choice["runners_up"]] == [3, 1]
    assert choice["runners_up"][0]["host"].startswith("eu:")
    assert "walk" not in choice


def test_users_see_no_places(root: Zone) -> None:
    """Attempts, weights and reasons without the names of zones and hosts."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    found = explained(root, "eu:cell1-host1", "us:cell1-host2", as_user=True)
    assert [(one.host, one.result) for one in found.attempts] == [(None, "Error")]
    assert found.attempts[0].reason == "the build failed in another zone"
    assert found.trace is not None
    (choice,) = found.trace["choices"]
    assert (choice["host"], choice["weight"]) == (None, 1)
    assert [one["host"] for one in choice["runners_up"]] == [None]


def test_a_server_that_no_zone_built_shows_all_attempts(root: Zone) -> None:
    """It is in ERROR here; what was tried is told, not the last attempt alone."""
    for name in ("eu", "us"):
        child(root, name).cell().failing_hosts = {"cell1-host1"}
    found = explained(root, "eu:cell1-host1", "us:cell1-host1")
    assert [one.result for one in found.attempts] == ["Error", "Error"]
    assert found.trace is not None
    assert [zone["path"] for zone in found.trace["zones"]] == [["eu"], ["us"]]
