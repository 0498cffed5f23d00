"""Summaries of child zones, and for how long they hold."""

import random
from typing import Any

import pytest

from armillary import exception
from objects.zones.zone_summary import ZoneSummary
from scheduler.zones.children import State
from tests.builders import a_flavor
from tests.fixtures.zones.zone_trees import NOW, PUSH_SECONDS, Zone, outcomes
from tests.fleets import a_host, a_request_spec


def a_pair() -> tuple[Zone, Zone]:
    """Return a parent, and a child that has pushed."""
    leaf = Zone("leaf", [a_host()])
    return Zone("root", [a_host("r1")], [leaf]).push_all(), leaf


def state(parent: Zone) -> State:
    (child,) = parent.children.all()
    return parent.children.state_of(child)


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        (0.0, State.ONLINE),
        (2.9, State.ONLINE),
        (3.1, State.STALE),
        (29.9, State.STALE),
        (30.1, State.OFFLINE),
    ],
)
def test_a_summary_holds_for_three_push_periods(periods: float, expected: State) -> None:
    """BZ-29: a push at 2.9 periods is in time, one at 3.1 is late."""
    parent, _leaf = a_pair()
    parent.clock.seconds += periods * PUSH_SECONDS
    assert state(parent) is expected


def test_a_late_push_brings_a_zone_back() -> None:
    """BZ-29, BZ-66: without any manual step."""
    parent, leaf = a_pair()
    parent.clock.seconds += 3.1 * PUSH_SECONDS
    leaf.push()
    assert state(parent) is State.ONLINE


def test_a_stale_zone_is_asked_nothing_and_promises_nothing() -> None:
    """BZ-28: what expired is as good as gone, at every level above."""
    parent, _leaf = a_pair()
    assert parent.summary().capabilities["hosts"] == 2
    parent.clock.seconds += 3.1 * PUSH_SECONDS
    assert parent.summary().capabilities["hosts"] == 1
    assert outcomes(parent.search.plan(parent.query().request_spec).left_out) == {"leaf": "stale"}


def test_a_zone_that_was_never_heard_of_is_offline() -> None:
    """Its parent was told of it three push periods ago."""
    parent = Zone("root", [], [Zone("leaf")])
    parent.clock.seconds += 3.1 * PUSH_SECONDS
    assert state(parent) is State.OFFLINE
    assert outcomes(parent.search.plan(parent.query().request_spec).left_out) == {"leaf": "offline"}


def test_a_new_child_is_asked_before_it_pushes() -> None:
    """BZ-69: its parent has just started, or has just been told of it; its answer decides."""
    parent = Zone("root", [], [Zone("leaf", [a_host()])])
    plan = parent.search.plan(parent.query().request_spec)
    assert plan.to_ask == ["leaf"]
    assert "since this scheduler's start" in plan.notes["leaf"]
    assert len(parent.answer().host_ids) == 1


def test_children_are_waited_for_after_a_start() -> None:
    """D7: until each was asked for its summary or has pushed one; later ones delay nothing."""
    leaf, other = Zone("leaf", [a_host()]), Zone("other")
    parent = Zone("root", [], [leaf, other])
    fresh = Zone("root")
    fresh.below = {"leaf": leaf, "other": other}
    assert not fresh.children.wait_tried(0)
    fresh.know_children()
    fresh.children.take("leaf", leaf.summary())
    assert not fresh.children.wait_tried(0)
    fresh.children.note_tried("other")
    assert fresh.children.wait_tried(0)
    assert len(parent.children) == 2


def test_a_restored_summary_is_shown_and_rules_out_nothing() -> None:
    """L08: it is as old as it says, and the child's answer proves it."""
    parent, leaf = a_pair()
    saved = parent.children.dump()
    leaf.report(*leaf.hosts)
    restarted = Zone("root", clock=parent.clock)
    restarted.children.restore(saved)
    restarted.below = {"leaf": leaf}
    restarted.know_children()
    (child,) = restarted.children.all()
    assert child.is_restored
    assert restarted.children.state_of(child) is State.ONLINE
    huge = a_request_spec(flavor=a_flavor("huge", memory_mb=10**7))
    assert restarted.search.plan(huge).to_ask == ["leaf"]
    leaf.above.append(restarted)
    leaf.push()
    assert not child.is_restored
    assert restarted.search.plan(huge).to_ask == []


def test_a_disabled_zone_is_not_asked() -> None:
    """Whatever it pushes."""
    parent, leaf = a_pair()
    parent.know_children(disabled=["leaf"])
    leaf.push()
    assert state(parent) is State.DISABLED
    assert parent.search.plan(parent.query().request_spec).to_ask == []


def test_the_expiry_is_an_option() -> None:
    """BZ-29: and may be changed at run time."""
    parent, _leaf = a_pair()
    parent.clock.seconds += 5 * PUSH_SECONDS
    parent.conf.set_override("expiry_factor", 6.0, group="zones")
    assert state(parent) is State.ONLINE


# Order --------------------------------------------------------------------------------------------


def numbered(parent: Zone) -> list[ZoneSummary]:
    """Return ten summaries of the child, told apart by how many hosts are up."""
    leaf = parent.below["leaf"]
    return [
        leaf.summary().with_values(seq=number, counts={"hosts_up": number})
        for number in range(10**15, 10**15 + 10)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_summary_counts_in_whatever_order_they_come(seed: int) -> None:
    """BZ-30: shuffled and twice."""
    parent, _leaf = a_pair()
    pushed = numbered(parent) * 2
    random.Random(seed).shuffle(pushed)
    for summary in pushed:
        parent.children.take("leaf", summary)
    (child,) = parent.children.all()
    assert child.summary is not None
    assert child.summary.seq == 10**15 + 9
    assert child.summary.counts["hosts_up"] == 10**15 + 9


def test_a_repeated_push_changes_nothing() -> None:
    """BZ-30: nor does it keep a zone online."""
    parent, leaf = a_pair()
    summary = leaf.summary()
    assert parent.children.take("leaf", summary)
    parent.clock.seconds += 3.1 * PUSH_SECONDS
    assert not parent.children.take("leaf", summary)
    assert state(parent) is State.STALE


def test_another_process_of_the_zone_counts_for_itself() -> None:
    """BZ-30, BZ-69: each numbers its own."""
    parent, leaf = a_pair()
    parent.children.take("leaf", leaf.summary().with_values(sender="one", seq=10**15))
    other = leaf.summary().with_values(sender="two", seq=5)
    assert parent.children.take("leaf", other)


def test_numbers_grow_over_restarts() -> None:
    """BZ-30: a new process of a zone is believed."""
    parent, leaf = a_pair()
    before = leaf.summary().seq
    again = Zone("leaf", leaf.hosts, clock=leaf.clock)
    assert again.summary().seq >= before
    assert parent.children.take("leaf", again.summary())


# Suspicion ----------------------------------------------------------------------------------------


def test_a_summary_in_anothers_name_is_refused() -> None:
    """BZ-62: a zone speaks for itself only."""
    parent, leaf = a_pair()
    with pytest.raises(exception.Invalid, match="correct either"):
        parent.children.take("leaf", leaf.summary().with_values(zone="other", seq=10**15))


@pytest.mark.parametrize(
    "nonsense",
    [
        {"capabilities": []},
        {"capabilities": {}},
        {"capabilities": {"attributes": {}, "hosts": -1}},
        {"capabilities": {"attributes": {}, "hosts": 1, "resources": {"VCPU": "many"}}},
        {"capabilities": {"attributes": {}, "hosts": 1, "traits": [1]}},
        {"capabilities": {"attributes": {"free_ram_mb": "much"}, "hosts": 1}},
        {"capabilities": {"attributes": {"hypervisor_type": 5}, "hosts": 1}},
        {"capabilities": {"attributes": {"service_up": 1}, "hosts": 1}},
        {"capabilities": {"attributes": {"failed_builds": {"9" * 5000: 1}}, "hosts": 1}},
        {"zones": [5]},
    ],
    ids=str,
)
def test_a_summary_that_makes_no_sense_is_refused(nonsense: dict[str, Any]) -> None:
    """And the one before it holds."""
    parent, leaf = a_pair()
    with pytest.raises(exception.Invalid):
        parent.children.take("leaf", leaf.summary().with_values(seq=10**15, **nonsense))
    assert state(parent) is State.ONLINE


def test_what_is_known_of_a_child_outlives_a_change_of_others() -> None:
    """BZ-14: a child is added at run time."""
    parent, _leaf = a_pair()
    parent.adopt(Zone("new", [a_host()], clock=parent.clock))
    assert dict(parent.children.states()) == {"leaf": "online", "new": "offline"}
    parent.below["new"].push()
    assert parent.search.plan(parent.query().request_spec).to_ask == ["leaf", "new"]
    assert parent.children.all()[0].last_seen == NOW
