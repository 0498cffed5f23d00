"""Emptying hosts on the command line: dead ones, and those that are to be worked on."""

from collections.abc import Callable

import pytest

from armillary import exception
from armillary.context import RequestContext
from objects.instance import Instance
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

MakeServer = Callable[..., Instance]

pytestmark = pytest.mark.usefixtures("poll_soon", "hosts")


@pytest.fixture
def hosts(conductor: BuildingSuperConductor) -> None:
    """Have two hosts; the second is dead."""
    conductor.services = [builders.a_service("host1"), builders.a_service("host2", up=False)]


def refusing(server: Instance) -> exception.InstanceInvalidState:
    return exception.InstanceInvalidState(
        instance_uuid=server.uuid, operation="be moved", reason="it is in the way"
    )


def operations_of(conductor: BuildingSuperConductor) -> list[tuple[str, str]]:
    names = {server.uuid: server.name for server in conductor.servers}
    return [(names[uuid], operation) for uuid, operation, _ in conductor.operations]


# Evacuating


def test_all_servers_of_a_dead_host_are_evacuated(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Of all projects, and of no other host."""
    a_server("a", host="host2")
    a_server("b", host="host2", project_id="p2", vm_state="stopped")
    a_server("c", host="host1")
    ended = armillary("host", "evacuate", "host2")
    assert (ended.code, ended.out) == (0, "")
    assert operations_of(conductor) == [("a", "evacuate"), ("b", "evacuate")]
    assert "Evacuating host2: 0 of 2 (1 requested)" in ended.err


def test_a_shelved_server_only_leaves_a_dead_host(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """There is nothing to rebuild."""
    a_server("a", host="host2", vm_state="shelved")
    assert armillary("host", "evacuate", "host2", "--wait").code == 0
    assert operations_of(conductor) == [("a", "shelve_offload")]


def test_a_host_that_is_up_is_not_evacuated(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Its servers would run twice; what can be done instead is said."""
    a_server("a", host="host1")
    ended = armillary("host", "evacuate", "host1")
    assert ended.code == 2
    assert "armillary service set host1 --down" in ended.err
    assert "armillary host drain host1" in ended.err
    assert conductor.operations == []


def test_an_unknown_host_is_exit_code_3(armillary: Armillary) -> None:
    """As for everything that is named."""
    assert armillary("host", "evacuate", "host3").code == 3
    assert armillary("host", "drain", "host3").code == 3


def test_one_that_is_refused_holds_up_no_other(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """It has a line with the reason, and the exit code says so."""
    bad = a_server("a", host="host2")
    a_server("b", host="host2")
    conductor.refusals[bad.uuid] = refusing(bad)
    ended = armillary("host", "evacuate", "host2")
    assert ended.code == 1
    assert f"{bad.uuid} (a): Server {bad.uuid} cannot be moved: it is in the way." in ended.err
    assert "1 of 2 did not leave host host2" in ended.err
    assert operations_of(conductor) == [("b", "evacuate")]


def test_waiting_tells_which_found_no_host(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """More than are waited for at the same time."""
    servers = [a_server(f"web-{number}", host="host2") for number in range(7)]
    conductor.failures[servers[6].uuid] = "No valid host was found."
    ended = armillary("host", "evacuate", "host2", "--wait")
    assert ended.code == 1
    assert f"{servers[6].uuid} (web-6): evacuate: No valid host was found." in ended.err
    assert "1 of 7 did not leave host host2 (1 left, 6 moved)" in ended.err


def test_one_that_takes_too_long_is_left(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """With what is being done to it."""
    server = a_server("a", host="host2")
    conductor.is_stuck = True
    ended = armillary("host", "evacuate", "host2", "--wait", "--timeout", "0.05")
    assert ended.code == 1
    assert f"{server.uuid} (a): evacuating is still in progress" in ended.err


def test_an_empty_host_is_evacuated_already(armillary: Armillary) -> None:
    """Nothing is to be done."""
    assert armillary("host", "evacuate", "host2", "--wait").code == 0


# Draining


def test_a_drained_host_is_disabled_and_empty(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Running servers move alive, those that are off are migrated and confirmed."""
    a_server("off", vm_state="stopped", power_state="shutdown")
    a_server("runs")
    a_server("shelved", vm_state="shelved", power_state="shutdown")
    ended = armillary("host", "drain", "host1", "--reason", "new disk")
    assert (ended.code, ended.out) == (0, "")
    assert operations_of(conductor) == [
        ("off", "migrate"),
        ("runs", "live_migrate"),
        ("shelved", "shelve_offload"),
        ("off", "confirm_resize"),
    ]
    assert [server.vm_state for server in conductor.servers] == [
        "stopped", "active", "shelved_offloaded",
    ]  # fmt: skip
    service = conductor.services[0]
    assert (service.disabled, service.disabled_reason) == (True, "new disk")
    assert "3 of 3 left host1 (3 moved)" in ended.err


def test_it_is_disabled_before_anything_moves(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Else new servers would come while it is emptied."""
    bad = a_server("a")
    conductor.refusals[bad.uuid] = refusing(bad)
    assert armillary("host", "drain", "host1").code == 1
    assert (conductor.services[0].disabled, conductor.services[0].disabled_reason) == (
        True, "drained",
    )  # fmt: skip


def test_paused_ones_leave_as_running_ones_do(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Also when running ones may be off meanwhile: only a live migration keeps a pause."""
    a_server("holds", vm_state="paused")
    assert armillary("host", "drain", "host1", "--cold").code == 0
    assert operations_of(conductor) == [("holds", "live_migrate")]


def test_running_ones_may_be_off_meanwhile(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Not every driver can move what runs."""
    a_server("runs")
    assert armillary("host", "drain", "host1", "--cold").code == 0
    assert operations_of(conductor) == [("runs", "migrate"), ("runs", "confirm_resize")]


def test_what_cannot_be_moved_is_left_and_named(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Each with its reason; the others go."""
    broken = a_server("broken", vm_state="error")
    failing = a_server("failing")
    refused = a_server("refused", vm_state="stopped")
    for number in range(6):
        a_server(f"z{number}")
    conductor.failures[failing.uuid] = "No valid host was found."
    conductor.refusals[refused.uuid] = refusing(refused)
    ended = armillary("host", "drain", "host1")
    assert ended.code == 1
    assert f"{broken.uuid} (broken): its status is ERROR; only ACTIVE, PAUSED, SHUTOFF" in ended.err
    assert f"{failing.uuid} (failing): live-migration: No valid host was found." in ended.err
    assert f"{refused.uuid} (refused): Server {refused.uuid} cannot be moved" in ended.err
    assert "3 of 9 did not leave host host1 (3 left, 6 moved)" in ended.err


def test_each_reason_is_said_once(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """A refusal is not a second failure."""
    bad = a_server("a")
    conductor.refusals[bad.uuid] = refusing(bad)
    assert armillary("host", "drain", "host1").err.count(f"{bad.uuid} (a):") == 1


def test_one_that_is_not_confirmed_is_not_gone(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """It holds its place at the source."""
    server = a_server("a", vm_state="stopped")
    conductor.failures[f"{server.uuid} confirm_resize"] = "The host did not answer."
    ended = armillary("host", "drain", "host1")
    assert (ended.code, server.vm_state) == (1, "resized")
    assert f"{server.uuid} (a): confirmResize: The host did not answer." in ended.err
    assert "1 of 1 did not leave host host1" in ended.err


def test_one_that_was_deleted_meanwhile_is_gone(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Its user did what was wanted."""
    server = a_server("a")
    conductor.refusals[server.uuid] = exception.InstanceNotFound(instance_uuid=server.uuid)
    get_server = conductor.get_server
    looks: list[str] = []

    def gone_later(
        context: RequestContext, instance_uuid: str, for_display: bool = False
    ) -> Instance:
        looks.append(instance_uuid)
        if len(looks) > 3:
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        return get_server(context, instance_uuid)

    conductor.get_server = gone_later  # type: ignore[method-assign]
    ended = armillary("host", "drain", "host1")
    assert ended.code == 0
    assert "1 of 1 left host1 (1 gone)" in ended.err


def test_undo_takes_new_servers_again(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """What was moved stays where it is."""
    conductor.services[0] = builders.a_service("host1", disabled=True, disabled_reason="drained")
    a_server("a")
    assert armillary("host", "drain", "host1", "--undo").code == 0
    assert (conductor.services[0].disabled, conductor.services[0].disabled_reason) == (False, None)
    assert conductor.operations == []


@pytest.mark.parametrize("verb", ["evacuate", "drain"])
def test_members_empty_no_hosts(verb: str, armillary: Armillary) -> None:
    """The API's refusal is passed on."""
    assert "HTTP 403" in armillary("host", verb, "host2", token="u1:p1").err
