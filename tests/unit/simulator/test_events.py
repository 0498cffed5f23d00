"""Simulated time goes from one planned thing to the next."""

from simulator.events import EPOCH, Order, Timeline


def test_things_happen_in_the_order_of_their_times() -> None:
    """However they were planned; the clock says when."""
    timeline = Timeline(10.0)
    seen: list[float] = []
    for at in (3.0, 1.0, 2.0):
        timeline.plan(at, Order.ARRIVAL, lambda: seen.append(timeline()))
    assert [timeline.now for _ in timeline.run()] == [1.0, 2.0, 3.0, 10.0]
    assert seen == [1.0, 2.0, 3.0]


def test_what_frees_comes_before_who_asks() -> None:
    """At one time; of equals the one that was planned first."""
    timeline = Timeline(10.0)
    seen: list[str] = []
    timeline.plan(1.0, Order.ARRIVAL, lambda: seen.append("asks"))
    timeline.plan(1.0, Order.ARRIVAL, lambda: seen.append("asks later"))
    timeline.plan(1.0, Order.PUSH, lambda: seen.append("tells"))
    timeline.plan(1.0, Order.END, lambda: seen.append("ends"))
    list(timeline.run())
    assert seen == ["ends", "tells", "asks", "asks later"]


def test_the_end_is_the_last_moment() -> None:
    """What comes after it never happens, what comes with it does."""
    timeline = Timeline(10.0)
    seen: list[str] = []
    timeline.plan(10.0, Order.END, lambda: seen.append("in time"))
    timeline.plan(10.1, Order.END, lambda: seen.append("late"))
    list(timeline.run())
    assert seen == ["in time"]
    assert (timeline.datetime() - EPOCH).total_seconds() == 10.0
