"""Tests of what zones say too late, twice or never: a server is built once or not at all."""

import oslo_messaging
import pytest

from armillary import exception
from objects.cell_mapping import CELL0_UUID
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_attempt import ATTEMPT_FINAL, AttemptState
from objects.zones.zone_query import ZoneOrder
from tests.fixtures.control_plane import a_user
from tests.fixtures.messages.direct_bus import Killed, moments
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

__all__ = ["root"]

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")
EFFECTS_MAX = 120


@pytest.mark.parametrize("when_done", [True, False], ids=["answer lost", "order lost"])
@pytest.mark.parametrize("method", ["create", "get_attempts", "cancel"])
@pytest.mark.sampled(every=2)
def test_a_lost_message_leaves_one_server(root: Zone, method: str, *, when_done: bool) -> None:
    """Whatever was lost, the zone is asked what it knows before another one has its turn."""
    eu = child(root, "eu")
    eu.cell().failing_hosts = {"cell1-host1"}
    root.bus_to(eu).fail(method, TIMEOUT, when_done=when_done)
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2", "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert len(root.living(uuid)) == 1
    assert root.held() == 1
    assert show(root, uuid).vm_state == "active"


def test_an_order_that_comes_after_its_cancel_is_refused(root: Zone) -> None:
    """What was thought lost was late: it leaves nothing."""
    us = child(root, "us")
    late: list[ZoneOrder] = []
    create_there = us.border.create

    def keep(context: object, path: list[str], order: ZoneOrder) -> None:
        late.append(order)
        raise TIMEOUT

    us.border.create = keep  # type: ignore[method-assign]
    (uuid,) = create(root, "us:cell1-host1", "eu:cell1-host1")
    root.walk()
    with pytest.raises(exception.StaleZoneAttempt):
        create_there(a_user(), [], late[0])
    root.settle_all()
    assert root.living(uuid) == [("eu", "active")]


@pytest.mark.parametrize(("losses", "winner"), [(1, "eu"), (2, "us")])
def test_an_order_that_never_came_is_given_once_more(root: Zone, losses: int, winner: str) -> None:
    """Its host did nothing wrong; then the next one has its turn."""
    for _ in range(losses):
        root.bus_to(child(root, "eu")).fail("create", TIMEOUT)
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert root.living(uuid) == [(winner, "active")]
    assert root.held() == 1


@pytest.mark.parametrize("losses", [2, 5])
def test_an_order_is_repeated_while_no_other_host_is_left(root: Zone, losses: int) -> None:
    """BZ-65: the only zone that can serve is restarted again and again."""
    eu = child(root, "eu")
    eu.cell().failing_hosts = {"cell1-host1"}
    root.bus_to(eu).meanwhile("create", lambda: None)
    for _ in range(losses):
        root.bus_to(eu).fail("create", TIMEOUT)
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2")
    root.walk()
    for _ in range(losses):
        root.look_again()
    root.settle_all()
    assert root.living(uuid) == [("eu", "active")]
    assert root.held() == 1


def test_what_became_of_a_former_attempt_says_nothing_of_the_next(root: Zone) -> None:
    """The zone knows the attempt before the one whose order was lost: that order is repeated."""
    eu = child(root, "eu")
    eu.cell().failing_hosts = {"cell1-host1"}
    root.bus_to(eu).meanwhile("create", lambda: None)
    root.bus_to(eu).fail("create", TIMEOUT)
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2", "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert root.living(uuid) == [("eu", "active")]


def test_the_same_order_twice_is_one_server(root: Zone) -> None:
    """Every message arrives twice."""
    for name in ("eu", "us"):
        root.bus_to(child(root, name)).is_twice = True
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    uuids = create(root, "eu:cell1-host1", "us:cell1-host1", count=3)
    root.walk()
    root.settle_all()
    assert [len(root.living(uuid)) for uuid in uuids] == [1, 1, 1]
    assert root.held() == 3


def test_a_zone_that_is_down_when_its_turn_comes_is_passed_over(root: Zone) -> None:
    """Nothing was ordered there: the next entry has its turn immediately."""
    root.bus_to(child(root, "eu")).is_down = True
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.work_all()
    root.look_again()
    assert show(root, uuid).zone == "us"


def test_a_zone_that_is_away_is_waited_for_when_it_alone_can_serve(root: Zone) -> None:
    """BZ-65: its super conductor restarts; the first entry, passed over, gets the server."""
    root.bus_to(child(root, "eu")).is_down = True
    child(root, "us").cell().failing_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1", "eu:cell1-host2")
    root.work_all()
    for _ in range(5):
        root.look_again()
    assert show(root, uuid).vm_state == "building"
    root.bus_to(child(root, "eu")).is_down = False
    root.walk()
    found = show(root, uuid)
    assert (found.vm_state, found.zone, found.host) == ("active", "eu", "cell1-host1")
    assert root.held() == 1


def test_a_zone_that_stays_away_is_not_waited_for_without_end(root: Zone) -> None:
    """[zones] absence_wait_seconds; the error says what was tried, each host once."""
    root.bus_to(child(root, "eu")).is_down = True
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2")
    root.work_all()
    root.look_again(seconds=59)
    assert show(root, uuid).vm_state == "building"
    root.look_again(seconds=3)
    root.settle_all()
    fault = show(root, uuid).fault
    assert fault is not None
    assert fault.details is not None
    assert fault.details.startswith("2 attempts failed, no further host is left.")
    assert fault.details.count("could not be reached") == 2


@pytest.mark.parametrize("outcome", ["late", "failed"])
def test_a_zone_that_did_not_answer_the_search_is_waited_for(root: Zone, outcome: str) -> None:
    """It may be the only one with a host: the search is repeated until it answers."""
    zones = [{"path": ["eu", "eu-1"], "outcome": outcome, "hosts": 0, "seconds": 1, "reason": ""}]
    trace = DecisionTrace.from_values(zones=zones, sentence="No host.")
    root.scheduler.error = exception.NoValidHost(reason="No host.", trace=trace.obj_to_primitive())
    (uuid,) = create(root, "eu/eu-1:cell1-host1")
    root.work_all()
    root.look_again()
    assert show(root, uuid).vm_state == "building"
    root.scheduler.error = None
    root.walk()
    for _ in range(10):
        root.look_again()
    assert (show(root, uuid).vm_state, show(root, uuid).zone) == ("active", "eu/eu-1")


def test_an_answer_of_every_zone_is_not_waited_for(root: Zone) -> None:
    """A zone that answered and had no host, though it refused in part, has decided."""
    zones = [
        {"path": ["eu"], "outcome": outcome, "hosts": 0, "seconds": 1, "reason": ""}
        for outcome in ("asked", "failed")
    ]
    trace = DecisionTrace.from_values(zones=zones, sentence="No host.")
    root.scheduler.error = exception.NoValidHost(reason="No host.", trace=trace.obj_to_primitive())
    (uuid,) = create(root, "eu:cell1-host1")
    root.settle_all()
    assert show(root, uuid).vm_state == "error"


def test_a_zone_that_falls_silent_is_waited_for(root: Zone) -> None:
    """It may have built: no other host is tried, and its word holds when it is back."""
    eu = child(root, "eu")
    eu.cell().slow_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.work_all()
    root.bus_to(eu).is_down = True
    root.look_again(seconds=100)
    root.look_again(seconds=100)
    assert show(root, uuid).vm_state == "building"
    root.bus_to(eu).is_down = False
    eu.cell().finish_slow()
    root.walk()
    assert root.living(uuid) == [("eu", "active")]


def test_a_zone_that_stays_silent_leaves_an_error_that_it_may_take_back(root: Zone) -> None:
    """ERROR after [zones] reconcile_timeout_seconds; active once the zone says so."""
    eu = child(root, "eu")
    eu.cell().slow_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.work_all()
    root.bus_to(eu).is_down = True
    root.look_again(seconds=301)
    root.settle_all()
    assert show(root, uuid).vm_state == "error"
    assert [zone for zone, _state in root.living(uuid)] == ["eu"]
    root.bus_to(eu).is_down = False
    eu.cell().finish_slow()
    root.reconciler.reconcile_unknown()
    assert (show(root, uuid).vm_state, show(root, uuid).zone) == ("active", "eu")
    assert root.places(uuid) == []


def test_a_zone_that_never_had_it_leaves_the_error(root: Zone) -> None:
    """And may not begin to have it later."""
    eu = child(root, "eu")
    root.bus_to(eu).meanwhile("create", lambda: setattr(root.bus_to(eu), "is_down", True))
    root.bus_to(eu).fail("create", TIMEOUT)
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.bus_to(eu).acts["create"].pop(0)
    root.work_all()
    root.bus_to(eu).is_down = True
    root.look_again(seconds=301)
    root.settle_all()
    assert show(root, uuid).vm_state == "error"
    root.bus_to(eu).is_down = False
    root.reconciler.reconcile_unknown()
    root.settle_all()
    assert root.places(uuid) == [CELL0_UUID]
    assert root.living(uuid) == []


def test_a_build_that_takes_too_long_is_cancelled_first(root: Zone) -> None:
    """After [zones] attempt_timeout_seconds; the next host is tried when nothing is left of it."""
    eu = child(root, "eu")
    eu.cell().slow_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1")
    root.work_all()
    root.look_again(seconds=599)
    assert root.living(uuid) == [("eu", "building")]
    root.look_again(seconds=2)
    root.walk()
    assert root.living(uuid) == [("us", "active")]
    assert root.held() == 1


@pytest.mark.parametrize("fails", [False, True], ids=["success", "failures"])
def test_the_origin_may_be_killed_at_any_effect(root: Zone, *, fails: bool) -> None:
    """Before and after messages and transactions; another conductor walks on."""
    for name in ("eu", "us", "root"):
        child(root, name).cell().failing_hosts = {"cell1-host1"} if fails else set()
    root.scheduler.zone_entries = root.entries("eu:cell1-host1", ":cell1-host1", "eu:cell1-host2")
    made: list[str] = []
    for effect in moments(f"origin {fails}", begin=1.0):

        def work() -> None:
            made.extend(root.create(1 if fails else 2))
            root.walk()

        if not root.killed_at(effect, work):
            break
        assert effect < EFFECTS_MAX
        root.settle_all()
    root.settle_all()
    for uuid in made:
        assert len(root.living(uuid)) == 1, uuid
        assert show(root, uuid).vm_state == "active"
    assert root.held() == len(made)


def test_a_zone_may_be_killed_at_any_effect(root: Zone) -> None:
    """The owner dies in the middle of what it was asked: it goes on, or never began."""
    eu = child(root, "eu")
    eu.is_safe = False
    eu.cell().failing_hosts = {"cell1-host1"}
    root.scheduler.zone_entries = root.entries("eu:cell1-host1", "eu:cell1-host2", "us:cell1-host1")
    made: list[str] = []
    for effect in moments("zone"):
        eu.breaker.kill_at(effect)
        made += root.create(1)
        _work_until_killed(root, eu)
        is_over = eu.breaker.count <= effect
        eu.breaker.mend()
        root.settle_all()
        if is_over:
            break
        assert effect < EFFECTS_MAX
    for uuid in made:
        assert len(root.living(uuid)) == 1, show(root, uuid).fault
    assert root.held() == len(made)


def _work_until_killed(root: Zone, eu: Zone) -> None:
    for _ in range(20):
        try:
            root.workers.work()
            root.look_again()
        except Killed:
            eu.breaker.mend()
            eu.start()


def test_a_final_cancel_is_for_ever(root: Zone) -> None:
    """A zone that is told to delete what never came takes no attempt afterwards."""
    us = child(root, "us")
    answers = us.border.cancel(
        a_user(), [], {"11111111-1111-4111-8111-111111111111": ATTEMPT_FINAL}
    )
    (answer,) = answers.values()
    assert answer.state == AttemptState.GONE
