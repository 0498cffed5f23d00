"""Requests that arrive at the same moment are stored in one transaction."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conductor.super_conductor.accept import server_requests
from conductor.super_conductor.accept.acceptance import Accepted
from conductor.super_conductor.db.catalogue import quotas, server_groups
from objects.instances.new_servers import NewServers
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import ControlPlane, a_user
from tests.unit.conductor.super_conductor.accept.accepting import UNKNOWN, accept, rows, set_limit

__all__ = ["accept"]


class Together:
    """Requests that come while another one is being stored, and how each of them ended."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._is_under_way, self._may_go_on = threading.Event(), threading.Event()
        self.transactions = 0
        self._lock_owner = quotas.lock_owner

    def ask(self, *requests: dict[str, Any]) -> list[Accepted | Exception]:
        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(requests) + 1) as pool:
            patch.setattr(quotas, "lock_owner", self._locked)
            first = pool.submit(self._ask, {})
            assert self._is_under_way.wait(60)
            others = [pool.submit(self._ask, request) for request in requests]
            (group_commit,) = self._plane.acceptance._group_commit._by_key.values()
            wait_for(lambda: len(group_commit._waiting) >= len(requests), "the rest", 10, 0.001)
            self._may_go_on.set()
            assert isinstance(first.result(60), Accepted)
            return [other.result(60) for other in others]

    def _ask(self, request: dict[str, Any]) -> Accepted | Exception:
        asked = NewServers(**{"name": "web", "flavor": "small", **request})
        try:
            return self._plane.acceptance.accept(a_user(), asked)
        except Exception as error:
            return error

    def _locked(self, session: Any, project_id: str) -> None:
        self.transactions += 1
        self._lock_owner(session, project_id)
        self._is_under_way.set()
        assert self._may_go_on.wait(60)


def test_requests_of_one_moment_share_a_transaction(plane: ControlPlane) -> None:
    """Each has a reservation of its own, and its own servers."""
    together = Together(plane)
    found = together.ask({"name": "a"}, {"name": "b", "max_count": 2}, {"name": "c"})
    assert together.transactions == 2
    names = sorted(one.name for each in found for one in each.instances)  # type: ignore[union-attr]
    assert names == ["a", "b-1", "b-2", "c"]
    assert len({each.answer.reservation_id for each in found}) == 3  # type: ignore[union-attr]
    assert rows(plane) == 4 + 3 * 5


def test_one_that_names_what_is_not_there_is_refused_alone(plane: ControlPlane) -> None:
    """The others are stored in the same transaction."""
    together = Together(plane)
    found = together.ask({"flavor": "none"}, {}, {"hints": {"group": [UNKNOWN]}})
    kinds = sorted(type(each).__name__ for each in found)
    assert kinds == ["Accepted", "FlavorNotFound", "ServerGroupNotFound"]
    assert together.transactions == 2


def test_requests_of_one_moment_count_against_each_other(plane: ControlPlane) -> None:
    """Two more fit after the first one, whichever they are."""
    set_limit(plane, instances=3)
    found = Together(plane).ask({}, {}, {}, {})
    kinds = sorted(type(each).__name__ for each in found)
    assert kinds == ["Accepted", "Accepted", "QuotaExceeded", "QuotaExceeded"]


def test_all_servers_of_a_request_count_against_the_others_of_its_moment(
    plane: ControlPlane,
) -> None:
    """Two requests for two servers fit after the first one, a third does not."""
    set_limit(plane, instances=5)
    two = {"min_count": 2, "max_count": 2}
    found = Together(plane).ask(two, two, two)
    kinds = sorted(type(each).__name__ for each in found)
    assert kinds == ["Accepted", "Accepted", "QuotaExceeded"]


def test_members_of_one_moment_count_against_each_other(plane: ControlPlane) -> None:
    """A server group takes no more than its quota."""
    set_limit(plane, server_group_members=2)
    group = plane.add_group("affinity")
    joining = {"hints": {"group": [group.uuid]}}
    found = Together(plane).ask(joining, joining, joining)
    kinds = sorted(type(each).__name__ for each in found)
    assert kinds == ["Accepted", "Accepted", "QuotaExceeded"]
    with plane.database.reader() as session:
        assert len(server_groups.list_members(session, group.uuid)) == 2


def test_one_that_breaks_the_transaction_harms_no_other(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stored one by one then, and only that one fails."""
    resolve = server_requests.resolve

    def break_for_one(*arguments: Any) -> Any:
        if arguments[3].name == "bad":
            raise RuntimeError("cannot be")
        return resolve(*arguments)

    monkeypatch.setattr(server_requests, "resolve", break_for_one)
    found = Together(plane).ask({}, {"name": "bad"}, {})
    assert [type(each).__name__ for each in found] == ["Accepted", "RuntimeError", "Accepted"]
