"""Actions on servers on the command line: what is asked for, what waiting ends with."""

from collections.abc import Callable
from typing import Any

import pytest

from armillary import exception
from objects.hosts.host_answers import AvailabilityZone
from objects.instance import Instance
from objects.instances.server_changes import ServerChanges
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

MakeServer = Callable[..., Instance]

pytestmark = pytest.mark.usefixtures("poll_soon", "stock")


@pytest.fixture
def stock(conductor: BuildingSuperConductor) -> None:
    """Have what actions may name."""
    conductor.flavors = [builders.a_flavor("small"), builders.a_flavor("large", vcpus=4)]
    conductor.images = [builders.an_image("loop", id="c0ffee00-0000-4000-8000-000000000001")]
    conductor.services = [builders.a_service("host1"), builders.a_service("host2")]


ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("start web", "start", {}),
    ("stop web", "stop", {}),
    ("reboot web", "reboot", {}),
    ("reboot web --hard", "reboot", {"is_hard": True}),
    ("rebuild web --image loop", "rebuild",
     {"image": "c0ffee00-0000-4000-8000-000000000001", "changes": ServerChanges()}),
    ("rebuild web --image loop --name www", "rebuild",
     {"image": "c0ffee00-0000-4000-8000-000000000001", "changes": ServerChanges("www")}),
    ("resize web --flavor large", "resize", {"flavor": "id-large"}),
    ("confirm web", "confirm_resize", {}),
    ("revert web", "revert_resize", {}),
    ("migrate web", "migrate", {}),
    ("migrate web --host host2", "migrate", {"host": "host2"}),
    ("migrate web --live", "live_migrate", {}),
    ("migrate web --live --host host2", "live_migrate", {"host": "host2"}),
    ("evacuate web", "evacuate", {}),
    ("evacuate web --host host2", "evacuate", {"host": "host2"}),
    ("shelve web", "shelve", {}),
    ("shelve web --offload", "shelve_offload", {}),
    ("unshelve web", "unshelve", {}),
    ("unshelve web --availability-zone nova --host host2", "unshelve",
     {"availability_zone": "nova", "host": "host2"}),
    ("lock web", "lock", {}),
    ("lock web --reason fire", "lock", {"reason": "fire"}),
    ("unlock web", "unlock", {"override": True}),
    ("restore web", "restore", {}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "operation", "given"), ASKED, ids=[words for words, *_ in ASKED])
def test_a_command_asks_for_its_action(
    words: str,
    operation: str,
    given: dict[str, Any],
    armillary: Armillary,
    conductor: BuildingSuperConductor,
    a_server: MakeServer,
) -> None:
    """Names are looked up; what was not said is not sent; nothing is printed."""
    server = a_server()
    conductor.zones = [AvailabilityZone("nova", {})]
    ended = armillary("server", *words.split())
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert conductor.operations == [(server.uuid, operation, given)]


def test_an_action_is_asked_for_several_servers_each_once(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """By name or id, the same one twice or not."""
    web, db = a_server("web"), a_server("db")
    assert armillary("server", "stop", "web", web.uuid, "db").code == 0
    assert [uuid for uuid, *_ in conductor.operations] == [web.uuid, db.uuid]


def test_nothing_is_asked_for_when_one_is_unknown(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Half a list would be worse than none."""
    a_server("web")
    assert armillary("server", "stop", "web", "wbe").code == 3
    assert conductor.operations == []


def test_waiting_ends_when_all_are_settled(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """With their states shown meanwhile."""
    servers = [a_server("web"), a_server("db")]
    ended = armillary("server", "stop", "web", "db", "--wait")
    assert ended.code == 0
    assert "Stopped 2 of 2 (2 SHUTOFF)" in ended.err
    assert {server.vm_state for server in servers} == {"stopped"}


def test_what_failed_is_told_with_its_reason(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """The server is as it was; the exit code says that it is not as wanted."""
    good, bad = a_server("good"), a_server("bad")
    conductor.failures[bad.uuid] = "No valid host was found."
    ended = armillary("server", "migrate", "good", "bad", "--wait")
    assert ended.code == 1
    assert f"{bad.uuid}: migrate: No valid host was found." in ended.err
    assert "Migrating failed for 1 of 2." in ended.err
    assert f"armillary server events {bad.uuid}" in ended.err
    assert good.uuid not in ended.err


def test_members_are_told_no_details(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """They may name hosts."""
    bad = a_server("web", project_id="p1")
    conductor.failures[bad.uuid] = "host7: no space left on device"
    ended = armillary("server", "start", "web", "--wait", token="u1:p1")
    assert ended.code == 1
    assert f"{bad.uuid}: start: It failed." in ended.err
    assert "host7" not in ended.err


def test_a_reason_cannot_command_the_terminal(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Details come from guests and drivers, too."""
    conductor.failures[a_server("web").uuid] = "no\x1b[2Jspace"
    assert "\x1b" not in armillary("server", "start", "web", "--wait").err


def test_waiting_ends_at_its_time_limit(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """The work continues without us; scripts can tell by the exit code."""
    a_server("web")
    conductor.is_stuck = True
    ended = armillary("server", "stop", "web", "--wait", "--timeout", "0.05")
    assert ended.code == 5
    assert "Timeout after 0.05 s: 1 of 1 not idle yet; the work continues." in ended.err


def test_a_refusal_is_passed_on(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """With the API's sentence."""
    server = a_server("web")
    conductor.refusals[server.uuid] = exception.InstanceInvalidState(
        instance_uuid=server.uuid, operation="start", reason="it is active"
    )
    ended = armillary("server", "start", "web")
    assert ended.code == 1
    assert "cannot start: it is active. (HTTP 409" in ended.err


@pytest.mark.parametrize(
    "words",
    [("resize", "web"), ("rebuild", "web"), ("stop",), ("stop", "web", "--timeout", "0")],
    ids=" ".join,
)
def test_what_is_missing_is_wrong_usage(words: tuple[str, ...], armillary: Armillary) -> None:
    """Flavor, image, server, a time that passes."""
    with pytest.raises(SystemExit) as ended:
        armillary("server", *words)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("words", "shown"),
    [((), "line 1\nline 2\nline 3\n"), (("--lines", "2"), "line 2\nline 3\n")],
    ids=["all", "two"],
)
def test_a_console_is_printed(
    words: tuple[str, ...], shown: str, armillary: Armillary, a_server: MakeServer
) -> None:
    """From its end."""
    a_server("web")
    assert armillary("server", "console", "web", *words).out == shown


def test_a_serial_console_that_is_not_served_says_why(
    armillary: Armillary, a_server: MakeServer
) -> None:
    a_server("web")
    refused = armillary("server", "console", "web", "--connect")
    assert refused.code == 1
    assert "Unavailable console type serial" in refused.err


def test_a_console_cannot_command_the_terminal(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """A guest writes what it likes."""
    a_server("web")
    conductor.console = "hello\x1b]0;owned\x07\n"
    assert armillary("server", "console", "web").out == (
        "hello\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}\n"
    )
