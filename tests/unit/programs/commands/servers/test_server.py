"""Servers on the command line: what is asked of the API, what is shown, what waiting ends with."""

from collections.abc import Callable

import pytest

from objects.hosts.host_answers import AvailabilityZone
from objects.instance import Instance
from objects.instances.server_order import SortKey
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

MakeServer = Callable[..., Instance]


@pytest.fixture(autouse=True)
def flavor(conductor: BuildingSuperConductor) -> None:
    """Have a flavor of the id id-small and the name small."""
    conductor.flavors.append(builders.a_flavor("small"))


A = "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c01"
B = "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c02"


def test_a_create_asks_for_all_that_was_given(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Names of flavor, image and group are looked up; the rest goes as it is."""
    image = builders.an_image("loop")
    group = builders.an_instance_group("apart", project_id="admin")
    conductor.images.append(image)
    conductor.groups.append(group)
    conductor.zones.append(AvailabilityZone("east", {}))
    ended = armillary(
        "server", "create", "web", "--flavor", "small", "--image", "loop",
        "--availability-zone", "east", "--host", "host1", "--min", "2", "--max", "3",
        "--hint", "group=apart", "--hint", f"different_host={A}", "--hint", f"different_host={B}",
        "--network", A, "--network", B, "--remote-managed-network", group.uuid,
        "--property", "role=front=1",
    )  # fmt: skip
    assert ended.code == 0
    (request,) = [request for request in conductor.requests if "flavor" in request]
    assert request == {
        "name": "web",
        "flavor": "id-small",
        "image": image.id,
        "min_count": 2,
        "max_count": 3,
        "availability_zone": "east",
        "metadata": {"role": "front=1"},
        "networks": [
            {"network": A, "remote_managed": False},
            {"network": B, "remote_managed": False},
            {"network": group.uuid, "remote_managed": True},
        ],
        "hints": {"group": [group.uuid], "different_host": [A, B]},
        "host": "host1",
        "node": None,
        "settings": None,
        "needs_root_disk": False,
    }


def test_a_create_shows_what_was_accepted(armillary: Armillary) -> None:
    """Without --wait the command does not wait for the build."""
    (server,) = armillary("server", "create", "web", "--flavor", "small", "-f", "json").json
    assert server["Name"] == "web"
    assert server["Status"] == "BUILD"
    assert server["Host"] is None
    assert server["Flavor"] == "small"


def test_waiting_ends_when_all_are_built(armillary: Armillary) -> None:
    """All of the request, over several pages, in the order of their numbers."""
    ended = armillary(
        "server", "create", "web", "--flavor", "small", "--max", "7", "--wait", "-f", "json"
    )
    assert ended.code == 0
    assert [server["Status"] for server in ended.json] == ["ACTIVE"] * 7
    assert [server["Name"] for server in ended.json] == ["web", *(f"web-{n}" for n in range(2, 8))]
    assert "Built 7 of 7 (7 ACTIVE)" in ended.err


def test_waiting_for_one_that_ends_in_error_says_why(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The table is still there for programs, the fault and where to ask on for people."""
    fault = builders.a_fault(builders.a_uuid(), message="No valid host was found.")
    conductor.outcomes = [{"vm_state": "active"}, {"vm_state": "error", "fault": fault}]
    ended = armillary(
        "server", "create", "web", "--flavor", "small", "--max", "2", "--wait", "-f", "json"
    )
    assert ended.code == 1
    assert [server["Status"] for server in ended.json] == ["ACTIVE", "ERROR"]
    assert "web-2: No valid host was found." in ended.err
    assert (
        f"1 of 2 ended in ERROR. To see why: armillary explain {ended.json[1]['ID']}" in ended.err
    )


def test_waiting_has_an_end(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """The work continues, we don't."""
    conductor.is_deaf = True
    ended = armillary("server", "create", "web", "--flavor", "small", "--wait", "--timeout", "0.05")
    assert ended.code == 5
    assert "Timeout after 0.05 s: 1 of 1 not built yet; the work continues." in ended.err


def test_a_quiet_wait_says_nothing(armillary: Armillary) -> None:
    """With -q there is the table alone."""
    ended = armillary("-q", "server", "create", "web", "--flavor", "small", "--wait")
    assert ended.err == ""


def test_a_refused_create_is_one_line(armillary: Armillary) -> None:
    """Message, status and request id, and exit code 1."""
    ended = armillary("server", "create", "web", "--flavor", "small", "--min", "11")
    assert ended.code == 1
    assert ended.err.startswith("armillary: Quota exceeded for instances: requested 11")
    assert "(HTTP 403, request req-" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--flavor", "unknown"),
        ("--flavor", "small", "--image", "unknown"),
        ("--flavor", "small", "--hint", "group=unknown"),
    ],
    ids=["flavor", "image", "group"],
)
def test_what_does_not_exist_is_not_asked_for(
    words: tuple[str, ...], armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Exit code 3, and nothing was sent."""
    ended = armillary("server", "create", "web", *words)
    assert ended.code == 3
    assert "has the id or name 'unknown'" in ended.err
    assert conductor.requests == []


@pytest.mark.parametrize(
    "words",
    [
        ("--min", "0"),
        ("--max", "many"),
        ("--property", "novalue"),
        ("--hint", "=x"),
        ("--wait", "--timeout", "-1"),
    ],
    ids=lambda words: words[-1],
)
def test_wrong_usage_ends_before_anything_is_asked(
    words: tuple[str, ...], armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """As argparse does: exit code 2."""
    with pytest.raises(SystemExit) as ended:
        armillary("server", "create", "web", "--flavor", "small", *words)
    assert ended.value.code == 2
    assert conductor.requests == []


def test_a_list_has_all_pages(armillary: Armillary, a_server: MakeServer) -> None:
    """The API answers three at a time here."""
    names = [a_server(f"web{number}").name for number in range(8)]
    listed = armillary("server", "list", "-f", "json").json
    assert [server["Name"] for server in listed] == names


def test_a_list_ends_at_its_limit(armillary: Armillary, a_server: MakeServer) -> None:
    """--marker goes on after it."""
    servers = [a_server(f"web{number}") for number in range(8)]
    words = ("server", "list", "-f", "value", "-c", "Name", "--limit", "4")
    assert armillary(*words).out.split() == ["web0", "web1", "web2", "web3"]
    more = armillary(*words, "--marker", servers[3].uuid)
    assert more.out.split() == ["web4", "web5", "web6", "web7"]


def test_filters_go_to_the_api(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """It knows all servers, we a page."""
    armillary(
        "server", "list", "--name", "web", "--status", "error", "--host", "host1",
        "--reservation-id", "r-1", "--all-projects",
    )  # fmt: skip
    assert conductor.requests[0]["filters"] == {
        "name": "web",
        "status": "ERROR",
        "host": "host1",
        "reservation_id": "r-1",
        "all_projects": True,
    }


def test_a_list_is_filtered_and_sorted_by_attributes(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """A key without a direction descends."""
    armillary(
        "server", "list", "--ip", "^10.", "--tags", "a,b", "--not-tags-any", "c", "--unlocked",
        "--sort", "display_name:asc,launched_at",
    )  # fmt: skip
    assert conductor.requests[0]["filters"] == {
        "ip": "^10.",
        "tags": ["a", "b"],
        "not_tags_any": ["c"],
        "equal": {"locked": 0},
        "sort": [SortKey("name", is_descending=False), SortKey("launched_at")],
    }


def test_a_long_list_has_more_columns(armillary: Armillary, a_server: MakeServer) -> None:
    """Among them why one is in ERROR."""
    image = builders.an_image()
    a_server(
        "web", image=image, metadata={"role": "front"}, vm_state="error",
        fault=builders.a_fault(builders.a_uuid(), message="The build failed."),
    )  # fmt: skip
    (server,) = armillary("server", "list", "--long", "-f", "json").json
    assert server["Image"] == image.id
    assert server["Properties"] == {"role": "front"}
    assert server["Power"] == "running"
    assert server["Fault"] == "The build failed."


def test_a_server_is_shown_by_name(armillary: Armillary, a_server: MakeServer) -> None:
    """Whole names only: the API's filter finds parts, too."""
    a_server("web-10")
    server = a_server("web-1")
    a_server("other-web-1")
    shown = armillary("server", "show", "web-1", "-f", "json").json
    assert shown["id"] == server.uuid
    assert shown["power_state"] == "running"
    assert shown["host"] == "host1"
    assert shown["fault"] is None
    assert shown["ram_mb"] == 512


def test_a_server_is_shown_with_what_was_asked_for_its_place(
    armillary: Armillary, a_server: MakeServer
) -> None:
    """Hints, known or not, with all their values, and the availability zone."""
    hints = {"group": ["g1"], "mine": ["a", "b"]}
    a_server("web-1", scheduler_hints=hints, pinned_availability_zone="east")
    shown = armillary("server", "show", "web-1", "-f", "json").json
    assert (shown["hints"], shown["pinned_zone"]) == (hints, "east")
    lines = armillary("server", "show", "web-1").out.split()
    assert lines[lines.index("hints") :][1:4] == ["group=g1", "mine=a", "mine=b"]


@pytest.mark.usefixtures("poll_soon")
@pytest.mark.parametrize("token", ["", "u1:p1"], ids=["administrator", "user"])
def test_a_server_is_shown_with_the_failure_of_its_last_action(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer, token: str
) -> None:
    """The API tells a fault of servers in ERROR only; users get no details. Success ends it."""
    server = a_server("web", project_id="p1" if token else "admin")

    def shown() -> str | None:
        ended = armillary("server", "show", "web", "-f", "json", token=token)
        found: str | None = ended.json["last_failure"]
        return found

    assert shown() is None
    conductor.failures[server.uuid] = "host7: its disk is missing"
    armillary("server", "stop", "web", "--wait", token=token)
    assert shown() == f"stop: {'It failed.' if token else 'host7: its disk is missing'}"
    conductor.failures.clear()
    armillary("server", "stop", "web", "--wait", token=token)
    assert shown() is None


def test_a_user_is_shown_what_is_for_users(armillary: Armillary, a_server: MakeServer) -> None:
    """Fields that the API has for administrators only are empty."""
    server = a_server("web", project_id="p1")
    shown = armillary("server", "show", "web", "-f", "json", token="u1:p1").json
    assert (shown["id"], shown["host"], shown["reservation_id"]) == (server.uuid, None, None)
    (listed,) = armillary("server", "list", "--long", "-f", "json", token="u1:p1").json
    assert (listed["ID"], listed["Reservation"]) == (server.uuid, None)


def test_a_server_of_a_silent_cell_is_shown_with_what_is_known(
    armillary: Armillary, a_server: MakeServer
) -> None:
    server = a_server("web", vm_state="unknown")
    shown = armillary("server", "show", server.uuid, "-f", "json").json
    assert (shown["id"], shown["status"]) == (server.uuid, "UNKNOWN")


def test_an_ambiguous_name_is_not_guessed(armillary: Armillary, a_server: MakeServer) -> None:
    """The ids are named, so that one can be taken."""
    servers = [a_server("web"), a_server("web")]
    ended = armillary("server", "show", "web")
    assert ended.code == 2
    assert "2 servers are named 'web'" in ended.err
    assert all(server.uuid in ended.err for server in servers)


def test_an_unknown_server_is_exit_code_3(armillary: Armillary) -> None:
    """Scripts can tell it from a refusal."""
    ended = armillary("server", "show", "web")
    assert ended.code == 3
    assert ended.err == (
        "armillary: No server has the id or name 'web'. To see all: armillary server list\n"
    )


@pytest.mark.parametrize("words", [("show",), ("delete",), ("stop",), ("set", "--name", "new")])
def test_a_server_that_may_be_in_a_silent_cell_is_not_said_to_be_unknown(
    words: tuple[str, ...], armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Its name is known there only: the message says where, and what to do."""
    conductor.down_cells = ["cell2", "zone eu"]
    ended = armillary("server", *words, "web")
    assert ended.code == 4
    assert ended.err == (
        "armillary: No server that can be seen now has the id or name 'web', but cell cell2 and "
        "zone eu did not answer. A server there is found by its id: armillary server list shows it "
        "as UNKNOWN.\n"
    )
    as_member = armillary("--token", "u1:p1", "server", *words, "web")
    assert as_member.code == 4
    assert "but a part of the deployment did not answer" in as_member.err


def test_an_unknown_uuid_is_unknown_whatever_is_silent(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The API knows all ids."""
    conductor.down_cells = ["cell2"]
    assert armillary("server", "delete", builders.a_uuid()).code == 3


def test_a_server_of_a_silent_cell_is_deleted_by_the_start_of_its_id(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """As lists show it."""
    conductor.down_cells = ["cell2"]
    server = a_server("", vm_state="unknown")
    ended = armillary("server", "list")
    assert "UNKNOWN" in ended.out
    assert ended.err == (
        "armillary: Cell cell2 does not answer; of its servers only the ids are shown.\n"
    )
    assert armillary("server", "delete", server.uuid[:8]).code == 0


def test_servers_are_deleted_by_name_and_id_once_each(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """The same one under two names is one."""
    first, second, kept = a_server("first"), a_server("second"), a_server("kept")
    ended = armillary("server", "delete", first.uuid, "first", "second")
    assert ended.code == 0
    assert conductor.servers == [kept]
    assert second not in conductor.servers


def test_nothing_is_deleted_when_one_is_unknown(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """A mistake changes nothing."""
    server = a_server("web")
    assert armillary("server", "delete", "web", "typo").code == 3
    assert conductor.servers == [server]


def test_waiting_for_deletes_shows_how_many_are_gone(
    armillary: Armillary, a_server: MakeServer
) -> None:
    """More than are asked for one by one."""
    servers = [a_server(f"web{number}").uuid for number in range(7)]
    ended = armillary("server", "delete", "--wait", *servers)
    assert ended.code == 0
    assert "Deleted 7 of 7" in ended.err


def test_waiting_for_a_delete_that_does_not_happen_ends(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """Exit code 5."""
    conductor.is_deaf = True
    ended = armillary("server", "delete", "--wait", "--timeout", "0.05", a_server().uuid)
    assert ended.code == 5
    assert "1 of 1 not gone yet" in ended.err


def test_events_are_listed_first_step_first(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: MakeServer
) -> None:
    """An action without events is a row, too."""
    server = a_server("web")
    create = builders.an_action(server.uuid)
    delete = builders.an_action(server.uuid, action="delete", events=[], message="Error")
    conductor.actions = [delete, create]
    rows = armillary("server", "events", "web", "-f", "json").json
    assert [(row["Action"], row["Event"], row["Host"]) for row in rows] == [
        ("create", "compute_build", "host1"),
        ("delete", None, None),
    ]
    assert rows[0]["Details"] == "host1: no space left on device"
    assert rows[1]["Details"] == "Error"


def test_members_see_no_hosts(armillary: Armillary, a_server: MakeServer) -> None:
    """The cells are empty, not missing."""
    a_server("web", project_id="p1")
    (server,) = armillary("server", "list", "-f", "json", token="u1:p1").json
    assert server["Host"] is None
