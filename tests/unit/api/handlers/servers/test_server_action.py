"""Actions on servers: what arrives at the conductor, what is refused, what is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.handlers.servers import server_view
from api.schemas.servers import server as server_schemas
from api.versions import OWN_FIELDS_HEADER
from armillary import exception
from armillary.http.microversion import HEADER
from objects.hosts.host_answers import AvailabilityZone
from objects.instance import Instance
from objects.instances.server_changes import ServerChanges
from tests import builders
from tests.fixtures.http_api import ADMIN, MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

LINK = "http://here/v2.1"


@pytest.fixture
def server(conductor: SuperConductor) -> Instance:
    """Have a server of project p1, and what its actions may name."""
    conductor.flavors = [
        builders.a_flavor("small"), builders.a_flavor("large", vcpus=4), builders.a_flavor("7"),
    ]  # fmt: skip
    conductor.images = [builders.an_image("loop")]
    conductor.services = [builders.a_service("host1"), builders.a_service("host2")]
    conductor.zones = [AvailabilityZone("north", {})]
    conductor.servers = [builders.an_instance()]
    return conductor.servers[0]


def act(api: Api, server: Instance, body: Any, *, token: str | None = ADMIN) -> Any:
    return api.post(f"/v2.1/servers/{server.uuid}/action", body, token=token)


# What arrives

ACCEPTED: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"os-start": None}, "start", {}),
    ({"os-start": {}}, "start", {}),
    ({"os-start": ""}, "start", {}),
    ({"os-stop": None}, "stop", {}),
    ({"reboot": {"type": "SOFT"}}, "reboot", {}),
    ({"reboot": {"type": "HARD"}}, "reboot", {"is_hard": True}),
    ({"reboot": {"type": "Hard"}}, "reboot", {"is_hard": True}),
    ({"rebuild": {"imageRef": "loop"}}, "rebuild", {"image": "loop", "changes": ServerChanges()}),
    (
        {"rebuild": {"imageRef": f"{LINK}/images/loop", "name": "x", "metadata": {"a": "b"}}},
        "rebuild",
        {"image": "loop", "changes": ServerChanges("x", {"a": "b"}, replaces_metadata=True)},
    ),
    ({"rebuild": {"imageRef": "loop", "metadata": {}}}, "rebuild",
     {"image": "loop", "changes": ServerChanges(replaces_metadata=True)}),
    ({"resize": {"flavorRef": "large"}}, "resize", {"flavor": "large"}),
    ({"resize": {"flavorRef": 7}}, "resize", {"flavor": "7"}),
    ({"resize": {"flavorRef": f"{LINK}/flavors/large"}}, "resize", {"flavor": "large"}),
    ({"resize": {"flavorRef": "large", "OS-DCF:diskConfig": "AUTO"}}, "resize",
     {"flavor": "large"}),
    ({"confirmResize": None}, "confirm_resize", {}),
    ({"revertResize": None}, "revert_resize", {}),
    ({"migrate": None}, "migrate", {}),
    ({"migrate": {"host": None}}, "migrate", {}),
    ({"migrate": {"host": "host2"}}, "migrate", {"host": "host2"}),
    ({"os-migrateLive": None}, "live_migrate", {}),
    ({"os-migrateLive": {"host": "host2", "block_migration": "auto"}}, "live_migrate",
     {"host": "host2"}),
    ({"evacuate": {}}, "evacuate", {}),
    ({"evacuate": {"host": "host2", "adminPass": "secret"}}, "evacuate", {"host": "host2"}),
    ({"shelve": None}, "shelve", {}),
    ({"shelveOffload": None}, "shelve_offload", {}),
    ({"unshelve": None}, "unshelve", {}),
    ({"unshelve": {"availability_zone": "north"}}, "unshelve", {"availability_zone": "north"}),
    ({"unshelve": {"availability_zone": None, "host": "host2"}}, "unshelve",
     {"host": "host2", "unpins_zone": True}),
    ({"unshelve": {"host": "host2"}}, "unshelve", {"host": "host2"}),
    ({"lock": None}, "lock", {}),
    ({"lock": {"locked_reason": "it burns"}}, "lock", {"reason": "it burns"}),
    ({"unlock": None}, "unlock", {"override": True}),
    ({"restore": None}, "restore", {}),
    ({"forceDelete": None}, "force_delete", {}),
    ({"pause": None}, "pause", {}),
    ({"unpause": None}, "unpause", {}),
    ({"suspend": None}, "suspend", {}),
    ({"resume": None}, "resume", {}),
    ({"rescue": None}, "rescue", {}),
    ({"rescue": {"rescue_image_ref": "loop", "adminPass": "x"}}, "rescue", {"image": "loop"}),
    ({"unrescue": None}, "unrescue", {}),
    ({"os-resetState": {"state": "error"}}, "reset_state", {"vm_state": "error"}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "operation", "arguments"), ACCEPTED,
                         ids=[str(body) for body, *_ in ACCEPTED])  # fmt: skip
def test_an_action_arrives_as_an_operation(
    body: dict[str, Any],
    operation: str,
    arguments: dict[str, Any],
    server: Instance,
    api: Api,
    conductor: SuperConductor,
) -> None:
    """Accepted immediately; what is null or not needed is left out."""
    answer = act(api, server, body)
    assert answer.status_code == {"confirmResize": 204, "rescue": 200, "evacuate": 200}.get(
        next(iter(body)), 202
    )
    assert conductor.operations[:1] == [(server.uuid, operation, arguments)]
    more = [(name, given["changes"].settings) for _, name, given in conductor.operations[1:]]
    disk_config = body.get("resize", {}).get("OS-DCF:diskConfig") if operation == "resize" else None
    assert more == ([("update", {"disk_config": disk_config})] if disk_config else [])


def test_the_conductor_is_told_who_asks(
    server: Instance, api: Api, client: SuperConductorClient
) -> None:
    """Locks depend on it."""
    act(api, server, {"os-stop": None}, token=MEMBER)
    ((method, context),) = client.calls[-1:]
    assert method == "operate_server"
    assert (context.user_id, context.project_id, context.is_admin) == ("u1", "p1", False)


@pytest.mark.parametrize(("token", "needs"), [(ADMIN, False), (MEMBER, True)])
def test_a_users_disk_has_a_size_that_is_counted(
    token: str, needs: bool, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """The conductor is told by whom a flavor without one may be used: administrators."""
    for body in ({"rebuild": {"imageRef": "loop"}}, {"rescue": {"rescue_image_ref": "loop"}}):
        assert act(api, server, body, token=token).status_code < 300
    found = [given.get("needs_root_disk", False) for _, _, given in conductor.operations]
    assert found == [needs, needs]


@pytest.mark.parametrize("host", ["host2", "host7"], ids=["known", "unknown"])
def test_a_user_names_no_host_to_unshelve_to(
    host: str, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """The filters would not choose it, and the answer would tell which hosts there are."""
    answer = act(api, server, {"unshelve": {"host": host}}, token=MEMBER)
    assert answer.status_code == 403
    assert "unshelve_to_host" in answer.text
    assert conductor.operations == []


def test_the_administrators_password_is_set(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """409 on a host whose driver cannot do it."""
    body = {"changePassword": {"adminPass": "new"}}
    assert act(api, server, body, token=MEMBER).status_code == 202
    assert conductor.passwords == {server.uuid: "new"}
    conductor.passwords_can_be_set = False
    assert act(api, server, body, token=MEMBER).status_code == 409


def test_a_crash_dump_is_triggered(server: Instance, api: Api, conductor: SuperConductor) -> None:
    """Since 2.17; 400 on a host whose driver cannot do it."""
    body = {"trigger_crash_dump": None}
    path = f"/v2.1/servers/{server.uuid}/action"
    for version, status in (("2.16", 404), ("2.17", 202)):
        headers = {HEADER: f"compute {version}"}
        answer = api.send("POST", path, token=MEMBER, headers=headers, json=body)
        assert answer.status_code == status
    assert conductor.crash_dumps == [server.uuid]
    conductor.crash_dumps_can_be_triggered = False
    refused = act(api, server, body, token=MEMBER)
    assert refused.status_code == 400
    assert "cannot trigger a crash dump: its driver does not" in refused.text


@pytest.mark.parametrize("action", ["injectNetworkInfo", "resetNetwork"])
def test_a_network_is_left_as_it_is(action: str, server: Instance, api: Api) -> None:
    """Administrators may ask for it; there is nothing to do."""
    assert act(api, server, {action: None}).status_code == 202
    assert act(api, server, {action: None}, token=MEMBER).status_code == 403


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(None, "line 1\nline 2\nline 3\n"), ({}, "line 1\nline 2\nline 3\n"),
     ({"length": 1}, "line 3"), ({"length": 0}, ""), ({"length": "1"}, "line 3"),
     ({"length": None}, "line 1\nline 2\nline 3\n"), ({"length": -1}, "line 1\nline 2\nline 3\n")],
    ids=str,
)  # fmt: skip
def test_a_console_is_shown(arguments: Any, shown: str, server: Instance, api: Api) -> None:
    """All that is kept, or so many lines from its end."""
    answer = act(api, server, {"os-getConsoleOutput": arguments}, token=MEMBER)
    assert answer.json == {"output": shown}


@pytest.mark.parametrize(
    "body", [{"resize": {"flavorRef": "large"}}, {"migrate": {"host": "host2"}}], ids=str
)
@pytest.mark.parametrize(("check", "may"), [("rule:context_is_admin", True), ("!", False)])
def test_who_may_lets_a_move_leave_its_cell(
    server: Instance, make_api: Callable[[], Api], conductor: SuperConductor, tmp_path: Path,
    body: dict[str, Any], check: str, may: bool,
) -> None:  # fmt: skip
    """By the policy; no user may, as long as none is written."""
    (tmp_path / "policy.yaml").write_text(f'"compute:servers:resize:cross_cell": "{check}"\n')
    act(make_api(), server, body)
    ((_uuid, _operation, arguments),) = conductor.operations
    assert arguments.get("is_cross_cell", False) is may


# What is refused

BAD: list[tuple[Any, str]] = [
    ({}, "body"),
    ({"os-start": None, "os-stop": None}, "body"),
    ({"createImage": {}}, "createImage"),
    ({"os-start": {"now": True}}, "os-start"),
    ({"os-start": "now"}, "os-start"),
    ({"shelve": {"offload": True}}, "shelve"),
    ({"reboot": None}, "reboot"),
    ({"reboot": {}}, "reboot.type"),
    ({"reboot": {"type": "gentle"}}, "reboot.type"),
    ({"rebuild": {}}, "rebuild.imageRef"),
    ({"rebuild": {"imageRef": ""}}, "rebuild.imageRef"),
    ({"rebuild": {"imageRef": "loop", "name": " x"}}, "rebuild.name"),
    ({"rebuild": {"imageRef": "loop", "metadata": {"a": 1}}}, "rebuild.metadata.a"),
    ({"resize": {}}, "resize.flavorRef"),
    ({"migrate": {"host": "a b"}}, "migrate.host"),
    ({"migrate": {"hots": "host2"}}, "migrate.hots"),
    ({"os-migrateLive": {"block_migration": "perhaps"}}, "os-migrateLive.block_migration"),
    ({"os-migrateLive": {"host": ["host2"]}}, "os-migrateLive.host"),
    ({"evacuate": {"host": ""}}, "evacuate.host"),
    ({"evacuate": {"onSharedStorage": True}}, "evacuate.onSharedStorage"),
    ({"unshelve": {"availability_zone": "a:b"}}, "unshelve.availability_zone"),
    ({"unshelve": {"host": None}}, "unshelve.host"),
    ({"lock": {"locked_reason": ""}}, "lock.locked_reason"),
    ({"lock": {"locked_reason": "x" * 256}}, "lock.locked_reason"),
    ({"os-getConsoleOutput": {"length": -2}}, "os-getConsoleOutput.length"),
    ({"os-getConsoleOutput": {"length": "all"}}, "os-getConsoleOutput.length"),
    # These are well formed, and name what is not there.
    ({"resize": {"flavorRef": "huge"}}, "resize.flavorRef"),
    ({"rebuild": {"imageRef": "none"}}, "rebuild.imageRef"),
    ({"migrate": {"host": "host7"}}, "migrate.host"),
    ({"os-migrateLive": {"host": "host7"}}, "os-migrateLive.host"),
    ({"evacuate": {"host": "host7"}}, "evacuate.host"),
    ({"unshelve": {"host": "host7"}}, "unshelve.host"),
    ({"unshelve": {"availability_zone": "atlantis"}}, "unshelve.availability_zone"),
]


@pytest.mark.parametrize(("body", "field"), BAD, ids=[str(body)[:70] for body, _ in BAD])
def test_a_bad_action_names_its_field(
    body: Any, field: str, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """And nothing is done."""
    answer = act(api, server, body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert conductor.operations == []


REFUSALS = [
    (exception.InstanceNotFound(instance_uuid="x"), 404),
    (exception.InstanceInvalidState(instance_uuid="x", operation="stop", reason="it is off"), 409),
    (exception.InstanceLocked(instance_uuid="x"), 409),
    (exception.OperationFailed(operation="o", instance_uuid="x", host="h", reason="r"), 409),
    (exception.Invalid(reason="host host7 is in another cell than server x"), 400),
    (exception.OperationUnsupported(host="h", operation="live-migrate", reason="r"), 400),
    (exception.NoValidHost(reason="its host cannot run the image"), 400),
    (exception.QuotaExceeded(resource="cores", requested=3, used=1, limit=2), 403),
]


@pytest.mark.parametrize(
    ("error", "status"), REFUSALS, ids=[type(error).__name__ for error, _ in REFUSALS]
)
def test_what_the_conductor_refuses_is_passed_on(
    error: Exception, status: int, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """With its sentence, in the status of its family."""
    conductor.refusals[server.uuid] = error
    answer = act(api, server, {"os-stop": None})
    assert answer.status_code == status
    assert message(answer) == str(error)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (exception.CellUnavailable(cell="c", reason="r"), 503),
        (exception.RpcTimeout(method="m", topic="t", timeout_seconds=1), 504),
    ],
    ids=["cell", "timeout"],
)
def test_what_is_out_of_reach_is_said_so(
    error: Exception, status: int, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """The caller may try again, or has to look first."""
    conductor.refusals[server.uuid] = error
    assert act(api, server, {"os-stop": None}).status_code == status


# Who may


@pytest.mark.parametrize(
    ("headers", "stays_off"),
    [({HEADER: "compute 2.94"}, False), ({HEADER: "compute 2.95"}, True),
     ({HEADER: "compute 2.95", OWN_FIELDS_HEADER: "1"}, False)],
    ids=["2.94", "2.95", "own client"],
)  # fmt: skip
def test_an_evacuated_server_is_stopped_since_2_95(
    headers: dict[str, str], stays_off: bool, api: Api, conductor: SuperConductor, server: Instance
) -> None:
    """Our own clients have it as it was."""
    path = f"/v2.1/servers/{server.uuid}/action"
    assert api.send("POST", path, headers=headers, json={"evacuate": {}}).status_code == 200
    ((_uuid, operation, given),) = conductor.operations
    assert (operation, given.get("stays_off", False)) == ("evacuate", stays_off)


FOR_ADMINISTRATORS = ["migrate", "os-migrateLive", "evacuate", "shelveOffload"]


@pytest.mark.parametrize("name", FOR_ADMINISTRATORS)
def test_members_choose_no_hosts(
    name: str, server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """Where servers are is the administrators' business."""
    assert act(api, server, {name: None}, token=MEMBER).status_code == 403
    assert conductor.operations == []


@pytest.mark.parametrize("body", [body for body, *_ in ACCEPTED], ids=str)
def test_another_projects_server_is_not_there(
    body: dict[str, Any], server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """Not even forbidden."""
    assert act(api, server, body, token="u2:p2").status_code in (403, 404)
    if next(iter(body)) not in FOR_ADMINISTRATORS:
        assert act(api, server, body, token="u2:p2").status_code == 404
    assert conductor.operations == []


def test_a_locked_server_is_said_to_be_locked(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """To users without the admin role; they can unlock it all the same."""
    act(api, server, {"lock": None}, token=MEMBER)
    assert api.get(f"/v2.1/servers/{server.uuid}", token=MEMBER).json["server"]["locked"] is True
    answer = act(api, server, {"os-stop": None}, token=MEMBER)
    assert answer.status_code == 409
    assert message(answer) == f"Server {server.uuid} is locked; unlock it first."
    assert act(api, server, {"os-stop": None}).status_code == 202
    assert act(api, server, {"unlock": None}, token=MEMBER).status_code == 202


def test_who_may_unlock_what_an_administrator_locked_is_a_rule(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """The conductor is told what it says."""
    act(api, server, {"unlock": None}, token=MEMBER)
    assert conductor.operations[-1] == (server.uuid, "unlock", {"override": False})
    conductor.refusals[server.uuid] = exception.Forbidden(reason="an administrator locked it")
    answer = act(api, server, {"unlock": None}, token=MEMBER)
    assert (answer.status_code, message(answer)) == (
        403, "This is not allowed: an administrator locked it"
    )  # fmt: skip


def test_a_locked_server_is_deleted_by_administrators_only(
    api: Api, conductor: SuperConductor
) -> None:
    """That is what locks are for."""
    conductor.servers = [builders.an_instance(locked=True)]
    path = f"/v2.1/servers/{conductor.servers[0].uuid}"
    assert api.delete(path, token=MEMBER).status_code == 409
    assert len(conductor.servers) == 1
    assert api.delete(path).status_code == 204


# What a server looks like meanwhile and after


@pytest.mark.parametrize(
    ("vm_state", "task_state", "status"),
    [
        ("resized", None, "VERIFY_RESIZE"),
        ("shelved", None, "SHELVED"),
        ("shelved_offloaded", None, "SHELVED_OFFLOADED"),
        ("soft-delete", None, "SOFT_DELETED"),
        ("active", "rebooting", "REBOOT"),
        ("active", "rebooting_hard", "HARD_REBOOT"),
        ("stopped", "rebuilding", "REBUILD"),
        ("active", "resize_prep", "RESIZE"),
        ("active", "resize_migrating", "RESIZE"),
        ("active", "resize_finish", "RESIZE"),
        ("resized", "resize_reverting", "REVERT_RESIZE"),
        ("resized", "resize_confirming", "VERIFY_RESIZE"),
        ("active", "migrating", "MIGRATING"),
        ("active", "powering-off", "ACTIVE"),
    ],
)
def test_states_are_shown_as_one_word(
    vm_state: str, task_state: str | None, status: str, api: Api, conductor: SuperConductor
) -> None:
    """Tasks that users wait for are a status of their own."""
    conductor.servers = [builders.an_instance(vm_state=vm_state, task_state=task_state)]
    shown = api.get(f"/v2.1/servers/{conductor.servers[0].uuid}").json["server"]
    assert (shown["status"], shown["OS-EXT-STS:task_state"]) == (status, task_state)
    (listed,) = api.get("/v2.1/servers/detail", all_tenants="1").json["servers"]
    assert listed["status"] == status


def test_every_status_that_is_shown_is_promised() -> None:
    """No more and no fewer."""
    shown = {*server_view.STATUSES.values(), *server_view.STATUSES_OF_TASKS.values()}
    assert shown == {*server_schemas.STATUSES, "UNKNOWN"}


@pytest.mark.parametrize("status", server_schemas.STABLE_STATUSES)
def test_a_list_can_be_asked_for_a_status(status: str, api: Api, conductor: SuperConductor) -> None:
    """The conductor reads it."""
    assert api.get("/v2.1/servers", status=status).status_code == 200
    assert conductor.requests[-1]["filters"]["status"] == status


def test_a_lock_is_shown_with_its_reason(api: Api, conductor: SuperConductor) -> None:
    """Its reader knows whom to ask."""
    conductor.servers = [builders.an_instance(locked=True, locked_reason="it burns")]
    shown = api.get(f"/v2.1/servers/{conductor.servers[0].uuid}", token=MEMBER).json["server"]
    assert (shown["locked"], shown["locked_reason"]) == (True, "it burns")


LIVE = {"host": None, "block_migration": "auto"}
OLDEST_LIVE = {"host": "host2", "block_migration": "False", "disk_over_commit": False}


@pytest.mark.parametrize(
    ("minor", "body", "status"),
    [
        (1, {"os-migrateLive": OLDEST_LIVE}, 202),
        (24, {"os-migrateLive": {**OLDEST_LIVE, "disk_over_commit": True}}, 400),
        (25, {"os-migrateLive": OLDEST_LIVE}, 400),
        (25, {"os-migrateLive": LIVE}, 202),
        (29, {"os-migrateLive": {**LIVE, "force": False}}, 400),
        (30, {"os-migrateLive": {**LIVE, "force": False}}, 202),
        (67, {"os-migrateLive": {**LIVE, "force": True}}, 400),
        (68, {"os-migrateLive": {**LIVE, "force": False}}, 400),
        (13, {"evacuate": {"onSharedStorage": "True", "adminPass": "secret"}}, 200),
        (14, {"evacuate": {"onSharedStorage": True}}, 400),
        (29, {"evacuate": {"force": "False"}}, 200),
        (68, {"evacuate": {"force": False}}, 400),
    ],
)  # fmt: skip
def test_moves_have_the_bodies_of_their_version(
    minor: int, body: dict[str, Any], status: int, server: Instance, api: Api
) -> None:
    """What would skip a check is refused in all of them."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    path = f"/v2.1/servers/{server.uuid}/action"
    assert api.send("POST", path, headers=headers, json=body).status_code == status


@pytest.mark.parametrize(
    ("minor", "action", "complete", "missing"),
    [
        (1, "os-migrateLive", OLDEST_LIVE, "host"),
        (24, "os-migrateLive", OLDEST_LIVE, "block_migration"),
        (24, "os-migrateLive", OLDEST_LIVE, "disk_over_commit"),
        (25, "os-migrateLive", LIVE, "host"),
        (96, "os-migrateLive", LIVE, "block_migration"),
        (13, "evacuate", {"onSharedStorage": True}, "onSharedStorage"),
    ],
)
def test_a_move_has_all_that_its_version_requires(
    minor: int, action: str, complete: dict[str, Any], missing: str, server: Instance, api: Api,
    conductor: SuperConductor,
) -> None:  # fmt: skip
    """Our own clients may leave it out."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    path = f"/v2.1/servers/{server.uuid}/action"
    part = {name: value for name, value in complete.items() if name != missing}
    refused = api.send("POST", path, headers=headers, json={action: part})
    assert refused.status_code == 400
    assert f"{action}.{missing}. It is required" in message(refused)
    assert api.send("POST", path, headers=headers, json={action: None}).status_code == 400
    assert conductor.operations == []
    assert api.send("POST", path, headers=headers, json={action: complete}).status_code in (
        200,
        202,
    )
