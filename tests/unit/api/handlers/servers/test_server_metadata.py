"""Metadata, tags and settings of servers: shown and changed."""

from typing import Any
from urllib.parse import quote

import pytest

from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor


@pytest.fixture
def path(conductor: SuperConductor) -> str:
    """Return the path of a server with two metadata items and two tags."""
    settings = ServerSettings.from_values(tags=["x", "y"])
    conductor.servers = [builders.an_instance(metadata={"a": "1", "b": "2"}, settings=settings)]
    return f"/v2.1/servers/{conductor.servers[0].uuid}"


def test_metadata_are_added_replaced_and_deleted(path: str, api: Api) -> None:
    """All together, or one by one."""
    added = api.post(f"{path}/metadata", {"metadata": {"b": "3", "c": "4"}}, token=MEMBER)
    assert added.json == {"metadata": {"a": "1", "b": "3", "c": "4"}}
    assert api.put(f"{path}/metadata/c", {"meta": {"c": "5"}}).json == {"meta": {"c": "5"}}
    assert api.delete(f"{path}/metadata/a").status_code == 204
    assert api.get(f"{path}/metadata").json == {"metadata": {"b": "3", "c": "5"}}
    assert api.put(f"{path}/metadata", {"metadata": {}}).json == {"metadata": {}}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_missing_item_is_not_there(method: str, path: str, api: Api) -> None:
    """404."""
    assert api.send(method, f"{path}/metadata/z").status_code == 404
    assert api.send(method, f"{path}/tags/z").status_code == 404


@pytest.mark.parametrize(
    "body", [{"meta": {"z": "1"}}, {"meta": {"a": "1", "b": "2"}}, {"meta": {"a": 1}}, {}], ids=str
)
def test_one_item_is_that_of_the_path(body: dict[str, Any], path: str, api: Api) -> None:
    """And no other."""
    assert api.put(f"{path}/metadata/a", body).status_code == 400


def test_tags_are_added_replaced_and_deleted(path: str, api: Api) -> None:
    """A tag that is there is not added twice."""
    made = api.put(f"{path}/tags/z", None)
    assert made.status_code == 201
    assert made.headers["Location"].endswith("/tags/z")
    assert api.put(f"{path}/tags/z", None).status_code == 204
    assert api.delete(f"{path}/tags/x").status_code == 204
    assert api.get(f"{path}/tags/y").status_code == 204
    assert api.get(f"{path}/tags").json == {"tags": ["y", "z"]}
    assert api.put(f"{path}/tags", {"tags": ["a", "a"]}).json == {"tags": ["a"]}
    assert api.delete(f"{path}/tags").status_code == 204
    assert api.get(path).json["server"]["tags"] == []


@pytest.mark.parametrize("tag", ["très", "\U0001f600", "a b", 'a">'], ids=ascii)
def test_the_place_of_a_tag_is_a_url(tag: str, path: str, api: Api) -> None:
    """A header cannot have other characters; the tag itself may."""
    place = api.put(f"{path}/tags/{quote(tag)}", None).headers["Location"]
    assert place.endswith(f"/tags/{quote(tag)}")
    assert tag in api.get(f"{path}/tags").json["tags"]


def test_tags_came_with_a_version(path: str, api: Api) -> None:
    """Before it their path was not there."""
    headers = {"OpenStack-API-Version": "compute 2.25"}
    assert api.send("GET", f"{path}/tags", headers=headers).status_code == 404


def test_a_bad_tag_is_refused(path: str, api: Api) -> None:
    """In a path as in a body."""
    assert "A tag may have 60 characters" in message(api.put(f"{path}/tags/{'x' * 61}", None))
    assert "A tag may have 60 characters" in message(api.put(f"{path}/tags", {"tags": ["a/b"]}))


def test_settings_are_given_shown_and_changed(api: Api, conductor: SuperConductor) -> None:
    """A user may say them when the server is made, or later."""
    conductor.flavors = [builders.a_flavor("small")]
    key = {"name": "key", "public_key": "ssh-rsa AAAAB3NzaC1yc2E="}
    assert api.post("/v2.1/os-keypairs", {"keypair": key}).status_code == 201
    wanted = {
        "name": "My server", "flavorRef": "small", "description": "mine", "tags": ["x", "x"],
        "accessIPv4": "192.0.2.1", "accessIPv6": "2001:db8::1", "OS-DCF:diskConfig": "AUTO",
        "user_data": "aGVsbG8=", "key_name": "key", "security_groups": [{"name": "default"}],
        "config_drive": False, "adminPass": "secret", "networks": "none",
    }  # fmt: skip
    made = api.post("/v2.1/servers", {"server": wanted}).json["server"]
    assert (made["adminPass"], made["OS-DCF:diskConfig"]) == ("secret", "AUTO")
    path = f"/v2.1/servers/{made['id']}"
    shown = api.get(path).json["server"]
    given = ("accessIPv4", "accessIPv6", "OS-DCF:diskConfig", "description", "key_name")
    assert {name: shown[name] for name in given} == {name: wanted[name] for name in given}
    assert shown["tags"] == ["x"]
    assert shown["OS-EXT-SRV-ATTR:user_data"] == "aGVsbG8="
    assert shown["OS-EXT-SRV-ATTR:hostname"] == "my-server"
    changes = {"name": "other", "description": None, "hostname": "db1"}
    changed = api.put(path, {"server": changes}).json["server"]
    assert (changed["name"], changed["description"]) == ("other", None)
    assert changed["OS-EXT-SRV-ATTR:hostname"] == "db1"
    assert changed["accessIPv4"] == "192.0.2.1"


FILES = [{"path": "/etc/motd", "contents": "aGVsbG8="}]
BEFORE_2_57 = {"OpenStack-API-Version": "compute 2.56"}


def create(api: Api, **wanted: Any) -> Any:
    body = {"server": {"name": "s", "flavorRef": "small", "networks": "none", **wanted}}
    return api.send("POST", "/v2.1/servers", headers=BEFORE_2_57, json=body)


@pytest.mark.parametrize(
    ("wanted", "is_shown", "is_given"),
    [({"config_drive": "True"}, "True", True), ({"adminPass": "pw"}, "", True), ({}, "", False)],
    ids=str,
)
def test_a_guest_is_given_the_password_that_the_answer_shows(
    wanted: dict[str, Any], is_shown: str, is_given: bool, api: Api, conductor: SuperConductor
) -> None:
    """Unless nothing would have it."""
    conductor.flavors = [builders.a_flavor("small")]
    made = create(api, **wanted).json["server"]
    (server,) = conductor.servers
    assert api.get(f"/v2.1/servers/{made['id']}").json["server"]["config_drive"] == is_shown
    given = server.settings and server.settings.admin_password
    assert given == (made["adminPass"] if is_given else None)


def test_files_and_the_key_are_for_the_guest(api: Api, conductor: SuperConductor) -> None:
    """The key as it is now; files until 2.56, and only in Base64."""
    conductor.flavors = [builders.a_flavor("small")]
    key = {"name": "key", "public_key": "ssh-rsa AAAAB3NzaC1yc2E="}
    assert api.post("/v2.1/os-keypairs", {"keypair": key}).status_code == 201
    assert create(api, personality=FILES, key_name="key").status_code == 202
    settings = conductor.servers[0].settings
    assert settings is not None
    assert (settings.files, settings.public_key) == ({"/etc/motd": "aGVsbG8="}, key["public_key"])
    refused = create(api, personality=[{"path": "/a", "contents": "no Base64!"}])
    assert "It must be Base64" in message(refused)


@pytest.mark.parametrize(
    ("files", "characters"), [(10, 87_383), (1, 900_000)], ids=["longest", "too-long"]
)
def test_blanks_in_base64_take_no_time(
    files: int, characters: int, api: Api, conductor: SuperConductor
) -> None:
    """Their check took as many steps as the square of their number, and all else waited."""
    conductor.flavors = [builders.a_flavor("small")]
    contents = " " * characters + "!"
    personality = [{"path": f"/{number}", "contents": contents} for number in range(files)]
    refused = create(api, personality=personality)
    assert refused.status_code == 400
    assert "It must be Base64" in message(refused)


def test_a_rebuild_gives_a_guest_new_files_and_a_key(path: str, api: Api) -> None:
    """A key that the user does not have is refused with the field."""
    answer = api.post(f"{path}/action", {"rebuild": {"imageRef": "x", "key_name": "none"}})
    assert (answer.status_code, "rebuild.key_name" in message(answer)) == (400, True)


@pytest.mark.parametrize("server", [{"name": ""}, {"accessIPv4": "x"}, {"flavorRef": "a"}], ids=str)
def test_a_bad_change_is_refused(server: dict[str, Any], path: str, api: Api) -> None:
    """And nothing is changed."""
    assert api.put(path, {"server": server}).status_code == 400


def test_a_server_may_boot_from_a_volume(api: Api, conductor: SuperConductor) -> None:
    """It has no image then, and shows the volume; it cannot be rebuilt from an image."""
    conductor.flavors = [builders.a_flavor("small")]
    volume = builders.a_uuid()
    device = {
        "uuid": volume, "source_type": "volume", "destination_type": "volume", "boot_index": 0,
        "delete_on_termination": False,
    }  # fmt: skip
    wanted = {"name": "web", "flavorRef": "small", "block_device_mapping_v2": [device]}
    both = api.post("/v2.1/servers", {"server": {**wanted, "imageRef": builders.a_uuid()}})
    assert (both.status_code, "server.imageRef" in message(both)) == (400, True)
    assert api.post("/v2.1/servers", {"server": {**wanted, "imageRef": ""}}).status_code == 202
    assert conductor.requests[-1]["image"] is None
    settings = conductor.requests[-1]["settings"]
    server = builders.an_instance(image=None, settings=settings)
    conductor.servers = [server]
    shown = api.get(f"/v2.1/servers/{server.uuid}").json["server"]
    attached = {"id": volume, "delete_on_termination": False}
    assert (shown["image"], shown["os-extended-volumes:volumes_attached"]) == ("", [attached])
    (listed,) = api.get(f"/v2.1/servers/{server.uuid}/os-volume_attachments").json[
        "volumeAttachments"
    ]
    assert (listed["volumeId"], listed["serverId"]) == (volume, server.uuid)
    answer = api.post(f"/v2.1/servers/{server.uuid}/action", {"rebuild": {"imageRef": "x"}})
    assert (answer.status_code, "boots from a volume" in message(answer)) == (400, True)


def test_the_image_may_be_given_as_a_device(api: Api, conductor: SuperConductor) -> None:
    """That is how some clients name it."""
    conductor.flavors, conductor.images = [builders.a_flavor("small")], [builders.an_image("loop")]
    device = {
        "uuid": conductor.images[0].id, "source_type": "image", "destination_type": "local",
        "boot_index": 0, "delete_on_termination": True,
    }  # fmt: skip
    server = {"name": "web", "flavorRef": "small", "block_device_mapping_v2": [device]}
    assert api.post("/v2.1/servers", {"server": server}).status_code == 202
    assert conductor.requests[-1]["image"] == conductor.images[0].id


@pytest.mark.parametrize(
    ("version", "hostname", "status"),
    [
        ("2.89", "db1", 400),
        ("2.90", "db1", 202),
        ("2.93", "db1.example.org", 400),
        ("2.94", "db1.example.org", 202),
        ("2.93", "n" * 64, 400),
        ("2.94", "db_1", 400),
    ],
)
def test_host_names_have_dots_since_2_94(
    version: str, hostname: str, status: int, api: Api, conductor: SuperConductor
) -> None:
    """And are there since 2.90."""
    conductor.flavors = [builders.a_flavor("small")]
    conductor.images = [builders.an_image("img")]
    wanted = {"name": "s", "flavorRef": "small", "networks": "none", "hostname": hostname,
              "imageRef": conductor.images[0].id}  # fmt: skip
    headers = {"OpenStack-API-Version": f"compute {version}"}
    answer = api.send("POST", "/v2.1/servers", json={"server": wanted}, headers=headers)
    assert answer.status_code == status
