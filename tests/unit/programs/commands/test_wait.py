"""Waiting for servers: until when, how often, and through which troubles."""

from collections.abc import Callable, Mapping

import pytest

from armillary import exception
from objects.instance import Instance
from objects.instances.server_answers import ServerPage
from programs.commands.wait import Pace, WaitTimeout, wait_until_built, wait_until_gone
from programs.http_client import ApiClient
from tests import builders
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.programs.conftest import BuildingSuperConductor

MakeServer = Callable[..., Instance]
SLEEPS_MAX = 1000


class Time:
    """A clock that goes on when its caller sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self.then: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        assert len(self.sleeps) < SLEEPS_MAX, "the wait does not end"
        self.sleeps.append(seconds)
        self.now += seconds
        self.then()

    def pace(self, timeout_seconds: float = 60.0) -> Pace:
        return Pace(timeout_seconds, lambda: self.now, self.sleep)


def ignore(done: int, counts: Mapping[str, int]) -> None:
    """Show nothing."""


def test_looks_become_rarer(api: ApiClient, conductor: BuildingSuperConductor) -> None:
    """Short builds are seen immediately, long ones do not load the API; the end is exact."""
    time = Time()
    pace = time.pace(10.0)
    while pace.pause():
        pass
    assert time.sleeps[:2] == pytest.approx([0.1, 0.13])
    assert max(time.sleeps) == 2.0
    assert sum(time.sleeps) == pytest.approx(10.0)


def test_states_are_shown_as_they_change(
    api: ApiClient, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """How many are done, and how many are what."""
    servers = [a_server(vm_state="building").uuid for _ in range(2)]
    conductor.outcomes = [{"vm_state": "active"}, {"vm_state": "error"}]
    shown: list[tuple[int, dict[str, int]]] = []
    found = wait_until_built(
        api, servers, "r-1", Time().pace(), lambda done, counts: shown.append((done, {**counts}))
    )
    assert shown == [(0, {"BUILD": 2}), (2, {"ACTIVE": 1, "ERROR": 1})]
    assert [server["status"] for server in found] == ["ACTIVE", "ERROR"]


def test_one_deleted_meanwhile_is_not_waited_for(api: ApiClient, a_server: MakeServer) -> None:
    """Another user did it."""
    server = a_server()
    found = wait_until_built(api, [server.uuid, builders.a_uuid()], "r-1", Time().pace(), ignore)
    assert [one["id"] for one in found] == [server.uuid]


def test_one_that_a_list_leaves_out_is_not_taken_for_gone(
    api: ApiClient, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """A cell that does not answer leaves all of its servers out."""
    servers = [a_server().uuid for _ in range(7)]
    conductor.list_servers = lambda *_, **__: ServerPage([], ["c"])  # type: ignore[method-assign]
    conductor.is_deaf = True
    with pytest.raises(WaitTimeout, match=r"Timeout after 1 s: 7 of 7 not gone yet"):
        wait_until_gone(api, servers, Time().pace(1.0), ignore)


def test_an_api_that_is_away_for_a_while_is_asked_again(
    api: ApiClient, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """The work continues without it."""
    time = Time()
    conductor.errors["get_server"] = exception.RpcUnavailable(method="x", topic="y", reason="z")
    time.then = conductor.errors.clear
    server = a_server()
    (found,) = wait_until_built(api, [server.uuid], "r-1", time.pace(), ignore)
    assert found["id"] == server.uuid
    assert len(time.sleeps) == 1


def test_the_trouble_is_told_when_the_time_is_over(
    api: ApiClient, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """It may be why."""
    conductor.errors["get_server"] = exception.RpcUnavailable(method="x", topic="y", reason="z")
    with pytest.raises(WaitTimeout, match=r"the work continues\. A part of the service"):
        wait_until_built(api, [a_server().uuid], "r-1", Time().pace(1.0), ignore)


def test_an_error_of_ours_ends_the_wait(
    api: ApiClient, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Asking again would not help."""
    conductor.errors["get_server"] = exception.PolicyNotAuthorized(rule="x")
    with pytest.raises(exception.ArmillaryError, match="HTTP 403"):
        wait_until_built(api, [a_server().uuid], "r-1", Time().pace(), ignore)


def test_many_are_asked_for_in_one_list(
    api: ApiClient,
    rpc: SuperConductorClient,
    conductor: BuildingSuperConductor,
    a_server: MakeServer,
) -> None:
    """Three pages here, and not eight requests."""
    servers = [a_server().uuid for _ in range(8)]
    wait_until_built(api, servers, "r-1", Time().pace(), ignore)
    assert [method for method, _ in rpc.calls] == ["list_servers"] * 3
    assert conductor.requests[0]["filters"] == {"reservation_id": "r-1"}
