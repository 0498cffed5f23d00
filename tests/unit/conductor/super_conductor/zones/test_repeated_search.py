"""Tests of creates whose hosts all failed while a zone that could serve did not answer."""

from collections.abc import Sequence

import pytest

from armillary import exception
from objects.cell_mapping import CELL0_UUID
from objects.traces.decision_trace import DecisionTrace
from tests.fixtures.control_plane import an_admin
from tests.fixtures.messages.direct_bus import moments
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_groups_elsewhere import a_group
from tests.unit.conductor.super_conductor.zones.test_servers_elsewhere import delete
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

__all__ = ["root"]

EFFECTS_MAX = 150


def silence(root: Zone, *zones: str) -> None:
    """Let these zones, and those below them, answer no search of the root."""

    def is_silent(path: Sequence[str]) -> bool:
        return any(f"{'/'.join(path)}/".startswith(f"{zone}/") for zone in zones)

    root.scheduler.is_silent = is_silent


def fail(tree: Zone, **hosts: int) -> None:
    """Let so many of a zone's hosts fail; of no other zone."""
    for zone in tree.all_zones():
        count = hosts.get(zone.name.replace("-", "_"), 0)
        zone.cell().failing_hosts = {f"cell1-host{number + 1}" for number in range(count)}


def wait_in_vain(root: Zone, uuid: str) -> None:
    """Let all be tried that was offered, and look that the server still waits."""
    root.work_all()
    for _ in range(6):
        root.look_again()
    assert show(root, uuid).vm_state == "building"


@pytest.mark.parametrize("outcome", ["late", "failed"])
@pytest.mark.parametrize("failing", ["us", ""])
def test_a_zone_that_was_silent_in_the_search_gets_the_server(
    root: Zone, failing: str, outcome: str
) -> None:
    """Builds on what others, or this zone, offered fail; it is back before the wait is over."""
    root.scheduler.silence = outcome
    silence(root, "eu")
    fail(root, us=3, root=3)
    (uuid,) = create(root, f"{failing}:cell1-host1", f"{failing}:cell1-host2", "eu:cell1-host1")
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    found = show(root, uuid)
    assert (found.vm_state, found.zone, found.host) == ("active", "eu", "cell1-host1")
    assert root.living(uuid) == [("eu", "active")]
    root.settle_all()
    assert root.held() == 1


def test_only_zones_that_did_not_answer_are_searched_again(root: Zone) -> None:
    """The others had their turn: what they would offer now is not tried."""
    silence(root, "eu/eu-1")
    fail(root, us=3, eu=3)
    entries = ["us:cell1-host1", "eu:cell1-host1", "eu/eu-1:cell1-host2"]
    (uuid,) = create(root, *entries)
    wait_in_vain(root, uuid)
    assert set(map(tuple, root.scheduler.searched)) == {("eu/eu-1",)}
    root.scheduler.zone_entries += root.entries("us:cell1-host3", "eu:cell1-host3")
    fail(root, us=2, eu=2)
    silence(root)
    root.walk()
    assert root.living(uuid) == [("eu-1", "active")]


def test_it_ends_in_error_when_the_wait_is_over(root: Zone) -> None:
    """[zones] absence_wait_seconds after the last host failed; the reason names the zone."""
    silence(root, "eu")
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    wait_in_vain(root, uuid)
    root.look_again(seconds=35)
    assert show(root, uuid).vm_state == "building"
    root.look_again(seconds=20)
    root.settle_all()
    fault = show(root, uuid).fault
    assert fault is not None
    assert fault.details is not None
    assert fault.details.startswith("1 attempt failed, no further host is left.")
    assert fault.details.endswith("No answer within 60 s: zone eu")
    assert root.places(uuid) == [CELL0_UUID]
    assert root.held() == 0


def test_the_wait_begins_when_the_last_host_has_failed(root: Zone) -> None:
    """A build that took longer than the wait before it failed takes nothing from it."""
    silence(root, "eu")
    us = child(root, "us")
    us.cell().slow_hosts = {"cell1-host1"}
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    root.work_all()
    root.look_again(seconds=601)  # it is cancelled
    us.cell().slow_hosts = set()
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    assert root.living(uuid) == [("eu", "active")]


def test_a_zone_that_answers_that_it_cannot_serve_ends_the_wait(root: Zone) -> None:
    """It is in ERROR immediately."""
    silence(root, "eu")
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    wait_in_vain(root, uuid)
    rows = [{"path": ["eu"], "outcome": "pruned", "hosts": 0, "seconds": 0.0, "reason": "full"}]
    root.scheduler.error = no_host(rows)
    root.look_again()
    root.settle_all()
    assert show(root, uuid).vm_state == "error"


def no_host(rows: list[dict[str, object]]) -> exception.NoValidHost:
    trace = DecisionTrace.from_values(zones=rows, sentence="No host.")
    return exception.NoValidHost(reason="No host.", trace=trace.obj_to_primitive())


def test_a_summary_that_expires_meanwhile_ends_no_wait(root: Zone) -> None:
    """A zone that was silent with a valid summary may be back later than that."""
    silence(root, "eu")
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    root.work_all()
    root.scheduler.silence = "stale"
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    assert root.living(uuid) == [("eu", "active")]


def test_a_scheduler_that_is_away_meanwhile_ends_no_wait(root: Zone) -> None:
    """That of this zone may restart, too."""
    silence(root, "eu")
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    root.work_all()
    root.scheduler.error = exception.Unavailable(reason="it has just started")
    wait_in_vain(root, uuid)
    root.scheduler.error = None
    silence(root)
    root.walk()
    assert root.living(uuid) == [("eu", "active")]


def test_a_zone_below_one_that_was_silent_is_waited_for_too(root: Zone) -> None:
    """The one above answers for itself first."""
    silence(root, "eu")
    fail(root, us=1, eu=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1", "eu/eu-1:cell1-host1")
    wait_in_vain(root, uuid)
    silence(root, "eu/eu-1")
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    assert root.living(uuid) == [("eu-1", "active")]
    assert root.held() == 1


def test_without_silent_zones_nothing_is_searched_again(root: Zone) -> None:
    """Each zone has offered what it would."""
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert show(root, uuid).vm_state == "error"
    assert root.scheduler.searched == []


def test_several_servers_of_one_request_wait_each_for_itself(root: Zone) -> None:
    """Those that were built stay; the others are spread over what comes later."""
    silence(root, "eu")
    fail(root, us=2)
    entries = [f"us:cell1-host{number}" for number in (1, 2)]
    uuids = create(root, *entries, "eu:cell1-host1", "eu:cell1-host2", count=3)
    wait_in_vain(root, uuids[0])
    silence(root)
    root.walk()
    assert [show(root, uuid).host for uuid in uuids] == [
        "cell1-host1", "cell1-host2", "cell1-host1",
    ]  # fmt: skip
    assert [root.living(uuid) for uuid in uuids] == [[("eu", "active")]] * 3
    assert root.held() == 3


def test_one_that_is_under_way_goes_on_beside_the_wait(root: Zone) -> None:
    """Two servers: one is slow in a zone, the other has no host left."""
    silence(root, "eu")
    us = child(root, "us")
    us.cell().slow_hosts = {"cell1-host1"}
    one, two = create(root, "us:cell1-host1", "eu:cell1-host1", count=2)
    root.work_all()
    us.cell().fail_slow(one)
    wait_in_vain(root, one)
    us.cell().finish_slow()
    root.look_again()
    assert show(root, two).vm_state == "active"
    silence(root)
    root.walk()
    assert root.living(two) == [("us", "active")]
    assert root.living(one) == [("eu", "active")]


def test_an_affinity_group_stays_on_one_host(root: Zone) -> None:
    """Its members all go where the first one is built after the second search."""
    silence(root, "eu")
    fail(root, us=1)
    root.scheduler.zone_entries = root.entries("us:cell1-host1", "eu:cell1-host2", "eu:cell1-host3")
    uuids = root.create(2, hints={"group": [a_group(root, "affinity").uuid]})
    wait_in_vain(root, uuids[0])
    silence(root)
    root.walk()
    assert [(show(root, uuid).zone, show(root, uuid).host) for uuid in uuids] == [
        ("eu", "cell1-host2")
    ] * 2


def test_a_delete_during_the_wait_leaves_nothing(root: Zone) -> None:
    """Nothing is built afterwards, in any zone."""
    silence(root, "eu")
    fail(root, us=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    wait_in_vain(root, uuid)
    delete(root, uuid)
    silence(root)
    root.settle_all()
    with pytest.raises(exception.InstanceNotFound):
        show(root, uuid)
    assert (root.living(uuid), root.held()) == ([], 0)


def test_the_attempts_of_both_searches_are_explained(root: Zone) -> None:
    """Each with its place and reason; the zones of both, and the weight of the host at last."""
    silence(root, "eu")
    fail(root, us=1, eu=1)
    entries = ["us:cell1-host1", "eu:cell1-host1", "eu:cell1-host2"]
    (uuid,) = create(root, *entries)
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    found = root.endpoint.explain_server(an_admin(), uuid)
    assert [str(one.host).partition(":")[0] for one in found.attempts] == ["us", "eu"]
    assert all("cell1-host1 is broken" in str(one.reason) for one in found.attempts)
    assert found.trace is not None
    told = [("/".join(zone["path"]), zone["outcome"]) for zone in found.trace["zones"]]
    assert told == [("us", "asked"), ("eu", "late"), ("eu", "asked")]
    (choice,) = found.trace["choices"]
    assert (choice["host"], len(choice["runners_up"])) == ("cell1-host2", 2)


def test_the_action_of_one_that_failed_names_the_attempts_of_both(root: Zone) -> None:
    """As its fault does."""
    silence(root, "eu")
    fail(root, us=1, eu=1)
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    wait_in_vain(root, uuid)
    silence(root)
    root.walk()
    root.settle_all()
    (action,) = root.endpoint.list_server_actions(an_admin(), uuid)
    (event,) = action.events
    assert event.details is not None
    assert event.details.count("cell1-host1 is broken") == 2
    assert root.held() == 0


@pytest.mark.parametrize("count", [1, 2])
def test_the_origin_may_be_killed_at_any_effect_of_the_second_search(
    root: Zone, count: int
) -> None:
    """Another conductor searches, or tries what was found: one server each, wherever."""
    fail(root, us=1, root=1)
    made: list[str] = []
    for effect in moments(f"second search {count}", begin=1.0):
        silence(root, "eu")

        def work() -> None:
            made.extend(
                create(root, "us:cell1-host1", ":cell1-host1", "eu:cell1-host1", count=count)
            )
            root.work_all()
            for _ in range(8):
                root.look_again()
            silence(root)
            root.walk()

        if not root.killed_at(effect, work):
            break
        silence(root)
        assert effect < EFFECTS_MAX
        root.settle_all()
    root.settle_all()
    for uuid in made:
        assert root.living(uuid) == [("eu", "active")], show(root, uuid).fault
    assert root.held() == len(made)
