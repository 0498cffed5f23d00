"""Requests to guests: one is carried out once, and again only if it failed."""

import threading

import pytest

from armillary import exception
from compute_agent.work.guest_requests import REQUESTS_KEPT_MAX, GuestRequests


def test_a_request_is_carried_out_once_though_it_arrives_twice() -> None:
    """Another request, or one about another guest, is another."""
    requests, done = GuestRequests(), []
    for uuid, request in (("a", "1"), ("a", "1"), ("a", "2"), ("a", "1"), ("b", "1")):
        requests.run_once(uuid, request, lambda: done.append((uuid, request)))  # noqa: B023
    assert done == [("a", "1"), ("a", "2"), ("b", "1")]


def test_a_request_that_failed_may_be_repeated() -> None:
    requests, tries = GuestRequests(), []

    def fail() -> None:
        tries.append(1)
        raise exception.Unavailable(reason="no daemon")

    for _time in range(2):
        with pytest.raises(exception.Unavailable):
            requests.run_once("a", "1", fail)
    assert len(tries) == 2


def test_a_guest_that_hangs_keeps_no_other_waiting() -> None:
    requests, release, done = GuestRequests(), threading.Event(), []
    hanging = threading.Thread(target=requests.run_once, args=("a", "1", release.wait))
    hanging.start()
    try:
        requests.run_once("b", "2", lambda: done.append("b"))
    finally:
        release.set()
        hanging.join()
    assert done == ["b"]


def test_the_last_requests_are_remembered() -> None:
    """No flood of them fills the memory."""
    requests, done = GuestRequests(), []
    for number in [*range(REQUESTS_KEPT_MAX + 1), REQUESTS_KEPT_MAX, 0]:
        requests.run_once("a", str(number), lambda: done.append(number))  # noqa: B023
    assert done == [*range(REQUESTS_KEPT_MAX + 1), 0]
