"""Decisions of one moment see what others chose and have not claimed yet."""

import threading
from collections.abc import Iterable

from scheduler.selection.assumed_placements import AssumedPlacement, AssumedPlacements


def a_choice(instance: str, node: str | None = None, **amounts: int) -> AssumedPlacement:
    node = node or f"on-{instance}"
    return AssumedPlacement(instance, node, {node: {"resources": amounts}})


def instances(choices: Iterable[AssumedPlacement]) -> list[str]:
    return sorted(each.instance_uuid for each in choices)


def test_what_is_unclaimed_is_shown() -> None:
    """Until it is settled."""
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a"), a_choice("b")])
    unclaimed.settle(["a"])
    assert [*unclaimed.amounts_for(unclaimed.begin())] == ["on-b"]


def test_what_was_settled_since_a_decision_began_is_shown_to_it() -> None:
    """Placement's answer may be older; a later decision has it from there."""
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a")])
    view = unclaimed.begin()
    unclaimed.settle(["a"])
    assert [*unclaimed.amounts_for(view)] == ["on-a"]
    assert [*unclaimed.amounts_for(unclaimed.begin())] == []


def test_news_are_told_once() -> None:
    """Also such as came and went meanwhile."""
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a")])
    view = unclaimed.begin()
    unclaimed.amounts_for(view)
    unclaimed.add([a_choice("b"), a_choice("c")])
    unclaimed.settle(["c"])
    assert instances(unclaimed.news(view)) == ["b", "c"]
    assert instances(unclaimed.news(view)) == []


def test_nothing_is_kept_without_a_request() -> None:
    """The last decision to end takes it along."""
    unclaimed = AssumedPlacements()
    views = [unclaimed.begin(), unclaimed.begin()]
    unclaimed.add([a_choice("a")])
    unclaimed.settle(["a"])
    unclaimed.end(views[0])
    assert [*unclaimed.amounts_for(views[1])] == ["on-a"]
    unclaimed.end(views[1])
    assert unclaimed._settled == []
    assert unclaimed._views == set()


def test_another_choice_takes_the_place_of_the_first() -> None:
    """An instance takes of one host only."""
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a", "n1")])
    unclaimed.add([a_choice("a", "n2")])
    assert [*unclaimed.amounts_for(unclaimed.begin())] == ["n2"]


def test_waiting_ends_when_all_is_settled_that_was_there() -> None:
    """Not when what came later is; and not later than told."""
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a")])
    done = threading.Event()

    def wait() -> None:
        unclaimed.wait_until_settled(10.0)
        done.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    unclaimed.settle(["a"])
    assert done.wait(10.0)
    waiter.join()
    unclaimed.add([a_choice("b")])
    unclaimed.wait_until_settled(0.0)


def test_amounts_of_a_host_add_up() -> None:
    """Those of its own; what others lend it is not its."""
    lent = AssumedPlacement(
        "c", "n1", {"n1": {"resources": {"VCPU": 4}}, "n9": {"resources": {"DISK_GB": 5}}}
    )
    unclaimed = AssumedPlacements()
    unclaimed.add([a_choice("a", "n1", VCPU=1, MEMORY_MB=2), a_choice("b", "n1", VCPU=1), lent])
    assert unclaimed.amounts_for(unclaimed.begin()) == {"n1": {"VCPU": 6, "MEMORY_MB": 2}}
