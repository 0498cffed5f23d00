"""Images and backups of servers, as requests ask for them and answers tell of them."""

from datetime import timedelta
from typing import Any

import pytest

from objects.instance import Instance
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

LATER = builders.A_TIME + timedelta(days=1)


def act(api: Api, server: Instance, body: Any, version: str = "2.1") -> Any:
    headers = {"OpenStack-API-Version": f"compute {version}"}
    path = f"/v2.1/servers/{server.uuid}/action"
    return api.send("POST", path, json=body, token=MEMBER, headers=headers)


def a_server(conductor: SuperConductor) -> Instance:
    conductor.servers = [builders.an_instance()]
    return conductor.servers[0]


def test_the_place_of_the_image_is_told(api: Api, conductor: SuperConductor) -> None:
    """In a header, and from 2.45 on in the body; the image names its server."""
    server = a_server(conductor)
    made = act(api, server, {"createImage": {"name": "snap", "metadata": {"a": "b"}}})
    (image,) = conductor.images
    assert (made.status_code, made.text) == (202, "")
    assert made.headers["Location"].endswith(f"/images/{image.id}")
    shown = api.get(f"/v2.1/images/{image.id}", token=MEMBER).json["image"]
    assert (shown["status"], shown["server"]["id"]) == ("SAVING", server.uuid)
    assert shown["metadata"]["a"] == "b"
    later = act(api, server, {"createImage": {"name": "snap"}}, "2.45")
    assert later.json == {"image_id": conductor.images[1].id}
    assert "Location" not in later.headers
    for query, count in (({"server": server.uuid}, 2), ({"type": "base"}, 0), ({"status": "x"}, 0)):
        found = api.get("/v2.1/images", token=MEMBER, **query).json["images"]
        assert len(found) == count


def test_a_server_in_another_zone_makes_no_image(api: Api, conductor: SuperConductor) -> None:
    """Its record would wait for data for ever."""
    server = a_server(conductor)
    server.zone = "eu"
    for body in (
        {"createImage": {"name": "snap"}},
        {"createBackup": {"name": "b", "backup_type": "daily", "rotation": 1}},
    ):
        refused = act(api, server, body)
        assert refused.status_code == 409
        assert "it is in another zone" in refused.text
    assert conductor.images == []


def test_what_a_host_runs_is_not_for_everybody_to_choose(
    api: Api, conductor: SuperConductor
) -> None:
    """As in the image service; names have to be names."""
    server = a_server(conductor)
    program = {"name": "snap", "metadata": {"process_command": "reboot"}}
    assert act(api, server, {"createImage": program}).status_code == 403
    assert act(api, server, {"createImage": {"name": ""}}).status_code == 400
    assert conductor.images == []


def test_older_backups_of_the_type_are_deleted(api: Api, conductor: SuperConductor) -> None:
    """The newest stay; other types and servers have their own."""
    server = a_server(conductor)
    for number in range(3):
        body = {"name": f"b{number}", "backup_type": "daily", "rotation": "2"}
        assert act(api, server, {"createBackup": body}).status_code == 202
    act(api, server, {"createBackup": {"name": "w", "backup_type": "weekly", "rotation": 1}})
    assert len([image for image in conductor.images if image.name.startswith("b")]) == 2
    assert len(conductor.images) == 3


def test_a_rotation_of_none_keeps_no_backup_and_makes_none(
    api: Api, conductor: SuperConductor
) -> None:
    """Which would only be deleted while it is made; other types stay."""
    server = a_server(conductor)
    for kind in ("daily", "daily", "weekly"):
        act(api, server, {"createBackup": {"name": "b", "backup_type": kind, "rotation": 9}})
    none = {"createBackup": {"name": "b", "backup_type": "daily", "rotation": 0}}
    answer = act(api, server, none)
    assert (answer.status_code, answer.content) == (202, b"")
    assert [image.properties["backup_type"] for image in conductor.images] == ["weekly"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"locked": True}, "locked"),
        ({"vm_state": "shelved"}, "it is shelved"),
        ({"task_state": "rebooting"}, "it is rebooting"),
    ],
)
def test_a_server_that_cannot_be_backed_up_keeps_its_backups(
    api: Api, conductor: SuperConductor, values: dict[str, Any], reason: str
) -> None:
    """A rotation of 0 is refused as the backup itself would be."""
    server = a_server(conductor)
    backup = {"name": "b", "backup_type": "daily"}
    act(api, server, {"createBackup": {**backup, "rotation": 9}})
    conductor.servers[0] = conductor.servers[0].with_values(**values)
    refused = act(api, server, {"createBackup": {**backup, "rotation": 0}})
    assert (refused.status_code, reason in refused.text) == (409, True)
    assert len(conductor.images) == 1


def test_an_image_of_another_project_is_not_a_backup_of_the_server(
    api: Api, conductor: SuperConductor
) -> None:
    """Whatever its properties say: it would count as the newest, and a true one be deleted."""
    server = a_server(conductor)
    backup = {"createBackup": {"name": "mine", "backup_type": "daily", "rotation": 2}}
    act(api, server, backup)
    (mine,) = conductor.images
    for _number in range(3):
        forged = builders.an_image("x", properties=dict(mine.properties), created_at=LATER)
        conductor.images.append(forged)
        conductor.image_owners[forged.id] = "thief"
    act(api, server, backup)
    kept = [conductor.image_owners[image.id] != "thief" for image in conductor.images]
    assert (sum(kept), len(kept)) == (2, 5)
