"""Migrations: listed, shown, ended."""

from datetime import UTC, datetime

import pytest

from armillary import exception
from armillary.http.microversion import HEADER
from objects.instance import Instance
from objects.instances.migration import Migration
from tests import builders
from tests.builders import a_migration
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

ALL = "/v2.1/os-migrations"


@pytest.fixture
def server(conductor: SuperConductor) -> Instance:
    conductor.servers = [builders.an_instance()]
    return conductor.servers[0]


@pytest.fixture
def move(server: Instance, conductor: SuperConductor) -> Migration:
    """Have a live migration of the server under way, and a resize of another one."""
    conductor.migrations = [
        a_migration(server.uuid),
        a_migration(
            builders.a_uuid(),
            migration_type="resize",
            status="finished",
            source_host="host3",
            dest_host="host1",
            old_flavor=builders.a_flavor("small"),
            new_flavor=builders.a_flavor("large"),
            memory_total_mb=None,
            memory_remaining_mb=None,
        ),
    ]
    return conductor.migrations[0]


def path_of(move: Migration, number: int | None = None) -> str:
    return f"/v2.1/servers/{move.instance_uuid}/migrations/{number or move.uuid}"


def test_a_migration_is_shown_with_its_progress(move: Migration, api: Api) -> None:
    """By number or UUID; memory in bytes, as tools that know the Compute API expect it."""
    number = api.get(path_of(move)).json["migration"]["id"]
    shown = api.get(path_of(move, number)).json["migration"]
    assert shown == {
        "id": number,
        "uuid": move.uuid,
        "instance_uuid": move.instance_uuid,
        "server_uuid": move.instance_uuid,
        "migration_type": "live-migration",
        "status": "running",
        "source_compute": "host1",
        "source_node": "host1.example.org",
        "dest_compute": "host2",
        "dest_host": None,
        "dest_node": "host2.example.org",
        "old_flavor": None,
        "new_flavor": None,
        "memory_total_bytes": 512 * 1024 * 1024,
        "memory_remaining_bytes": 384 * 1024 * 1024,
        "memory_processed_bytes": 128 * 1024 * 1024,
        "disk_total_bytes": None,
        "disk_remaining_bytes": None,
        "disk_processed_bytes": None,
        "project_id": "p1",
        "user_id": "u1",
        "created_at": "2030-01-31T12:00:00.000000",
        "updated_at": "2030-01-31T12:00:00.000000",
        "armillary:cell_uuid": move.cell_uuid,
    }


def test_a_resize_is_shown_with_both_flavors(move: Migration, api: Api) -> None:
    """It copies no memory that anybody counts."""
    shown = api.get(ALL).json["migrations"][1]
    assert (shown["old_flavor"], shown["new_flavor"]) == ("small", "large")
    assert shown["memory_processed_bytes"] is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, [0, 1]),
        ({"status": "finished"}, [1]),
        ({"migration_type": "live-migration"}, [0]),
        ({"host": "host1"}, [0, 1]),
        ({"host": "host2"}, [0]),
        ({"source_compute": "host1"}, [0]),
        ({"limit": "1"}, [0]),
        ({"limit": "0"}, []),
        ({"user_id": "u1", "project_id": "p1"}, [0, 1]),
        ({"user_id": "u2"}, []),
        ({"project_id": "p2"}, []),
        ({"hidden": "true"}, []),
        ({"hidden": "false"}, [0, 1]),
        ({"status": "error"}, []),
    ],
    ids=str,
)
def test_migrations_are_filtered(
    query: dict[str, str], found: list[int], move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """By the conductor, whatever the filter is called here."""
    listed = api.get(ALL, **query).json["migrations"]
    assert [one["uuid"] for one in listed] == [conductor.migrations[each].uuid for each in found]


def test_a_page_of_migrations_links_to_the_next(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """The conductor is told where it ended, and between which times."""
    times = {"changes-since": "2030-01-31", "changes-before": "2030-02-01T00:00:00Z"}
    page = api.get(ALL, limit="1", **times).json
    assert f"marker={move.uuid}" in page["migrations_links"][0]["href"]
    since, before = (datetime(2030, *day, tzinfo=UTC) for day in ((1, 31), (2, 1)))
    assert conductor.requests[-1]["filters"] == {"changed_since": since, "changed_before": before}
    api.get(ALL, marker=move.uuid)
    assert conductor.requests[-1]["filters"] == {"marker": move.uuid}
    assert "migrations_links" not in api.get(ALL).json


@pytest.mark.parametrize(
    ("name", "version"),
    [("marker", "2.59"), ("changes-since", "2.59"), ("changes-before", "2.66"),
     ("user_id", "2.80"), ("project_id", "2.80")],
)  # fmt: skip
def test_a_filter_is_ignored_or_refused_before_its_version(
    name: str, version: str, move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """As all unknown ones: ignored until 2.58."""
    minor = int(version.removeprefix("2."))
    headers = {HEADER: f"compute 2.{minor - 1}"}
    answer = api.send("GET", ALL, headers=headers, params={name: builders.a_uuid()})
    if minor > 59:
        assert answer.status_code == 400
    else:
        assert len(answer.json["migrations"]) == 2
        assert conductor.requests[-1]["filters"] == {}


def test_a_list_about_an_unknown_server_is_empty(api: Api, conductor: SuperConductor) -> None:
    """A filter that nothing fits is not an error; a server in the path has to exist."""
    unknown = builders.a_uuid()
    conductor.errors["list_migrations"] = exception.InstanceNotFound(instance_uuid=unknown)
    assert api.get(ALL, instance_uuid=unknown).json == {"migrations": []}
    assert api.get(f"/v2.1/servers/{unknown}/migrations").status_code == 404


def test_a_migration_that_is_not_under_way_is_shown_to_our_own_clients_only(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """As in lists: others know the path for live migrations under way."""
    ended = a_migration(move.instance_uuid, status="completed")
    resize = a_migration(move.instance_uuid, migration_type="resize")
    conductor.migrations += [ended, resize]
    headers = {HEADER: "compute 2.80"}
    assert api.send("GET", path_of(move), headers=headers).json["migration"]["uuid"] == move.uuid
    for one in (ended, resize):
        assert api.send("GET", path_of(one), headers=headers).status_code == 404
        assert api.get(path_of(one)).json["migration"]["uuid"] == one.uuid


def test_migrations_of_one_server_are_listed(move: Migration, api: Api) -> None:
    """By its own path, and by a filter."""
    of_server = api.get(f"/v2.1/servers/{move.instance_uuid}/migrations").json["migrations"]
    filtered = api.get(ALL, instance_uuid=move.instance_uuid).json["migrations"]
    assert [one["uuid"] for one in of_server] == [move.uuid]
    assert [one["uuid"] for one in filtered] == [move.uuid]


def test_only_live_migrations_under_way_are_listed(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """Unless Armillary's own fields are asked for."""
    path = f"/v2.1/servers/{move.instance_uuid}/migrations"
    resize = a_migration(move.instance_uuid, migration_type="resize", status="finished")
    conductor.migrations.append(resize)
    headers = {"OpenStack-API-Version": "compute 2.59"}
    shown = api.send("GET", path, headers=headers).json["migrations"]
    assert [one["uuid"] for one in shown] == [move.uuid]
    assert len(api.get(path).json["migrations"]) == 2


def test_cells_that_do_not_answer_are_named(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """What is in them is missing from the list."""
    conductor.down_cells = ["cell7"]
    assert api.get(ALL).json["armillary:down_cells"] == ["cell7"]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "-1"},
        {"host": "a b"},
        {"instance_uuid": "web"},
        {"hots": "host1"},
        {"marker": "7"},
        {"changes-since": "yesterday"},
        {"changes-since": "2030-02-01", "changes-before": "2030-01-31"},
    ],
    ids=str,
)
def test_a_bad_filter_is_refused(query: dict[str, str], move: Migration, api: Api) -> None:
    """Rather than forgotten."""
    assert api.get(ALL, **query).status_code == 400


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_migration_is_not_there(method: str, server: Instance, api: Api) -> None:
    """That of another server neither."""
    path = f"/v2.1/servers/{server.uuid}/migrations/{builders.a_uuid()}"
    assert api.send(method, path).status_code == 404


def test_the_migration_of_another_server_is_not_there(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """A path names both."""
    other = conductor.migrations[1].uuid
    assert api.get(f"/v2.1/servers/{move.instance_uuid}/migrations/{other}").status_code == 404


def test_a_live_migration_is_ended(move: Migration, api: Api, conductor: SuperConductor) -> None:
    """Accepted: what comes of it is seen later."""
    assert api.delete(path_of(move)).status_code == 202
    assert conductor.aborted == [move.uuid]


def test_a_live_migration_is_forced_to_complete(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """Since 2.22; administrators only."""
    path, body = f"{path_of(move)}/action", {"force_complete": None}
    assert api.post(path, body).status_code == 202
    assert conductor.forced == [move.uuid]
    early = {"OpenStack-API-Version": "compute 2.21"}
    assert api.send("POST", path, json=body, headers=early).status_code == 404
    assert api.post(path, body, token=MEMBER).status_code == 403
    assert api.post(path, {"force_complete": {}}).status_code == 400


def test_one_that_cannot_be_ended_is_said_so(
    move: Migration, api: Api, conductor: SuperConductor
) -> None:
    """It is too late, or was never such a one."""
    conductor.errors["abort_migration"] = exception.InstanceInvalidState(
        instance_uuid=move.instance_uuid, operation="abort its migration", reason="it is too late"
    )
    assert api.delete(path_of(move)).status_code == 409


@pytest.mark.parametrize("below", ["", "/{uuid}"])
def test_members_see_no_migrations(below: str, move: Migration, api: Api) -> None:
    """They name hosts."""
    place = f"/v2.1/servers/{move.instance_uuid}/migrations{below.format(uuid=move.uuid)}"
    assert api.get(place, token=MEMBER).status_code == 403
    assert api.get(ALL, token=MEMBER).status_code == 403
