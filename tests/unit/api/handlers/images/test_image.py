"""Images: records that are made, listed, shown, deleted."""

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/images"


def test_an_image_is_made_and_found_again(api: Api) -> None:
    """Its properties name the program."""
    wanted = {
        "id": "4B1F3F6C-8d1a-4c43-9a59-0e2d9b0f5c11",
        "name": "loop",
        "disk_format": "raw",
        "minRam": 64,
        "minDisk": 1,
        "size": 2**40,
        "properties": {"process_command": "sleep 60"},
    }
    made = api.post(PATH, {"image": wanted}).json["image"]
    assert made["id"] == wanted["id"].lower()  # type: ignore[attr-defined]
    assert made["status"] == "ACTIVE"
    assert made["properties"] == made["metadata"] == {"process_command": "sleep 60"}
    assert (made["minRam"], made["minDisk"], made["OS-EXT-IMG-SIZE:size"]) == (64, 1, 2**40)
    assert api.get(f"{PATH}/loop", token=MEMBER).json["image"] == made


def test_an_id_is_made_up_where_none_is_given(api: Api) -> None:
    """A UUID."""
    made = api.post(PATH, {"image": {"name": "loop"}}).json["image"]
    assert len(made["id"]) == 36


def test_a_typing_error_in_a_property_is_refused(api: Api, conductor: SuperConductor) -> None:
    """The answer names the property that was meant."""
    refused = api.post(PATH, {"image": {"name": "loop", "properties": {"os_typ": "linux"}}})
    assert refused.status_code == 400
    assert "image.properties.os_typ" in message(refused)
    assert "did you mean os_type?" in message(refused)
    assert conductor.images == []


def test_a_second_one_with_that_id_is_a_conflict(api: Api) -> None:
    """Names may be shared, ids not."""
    wanted = {"image": {"id": builders.a_uuid(), "name": "loop"}}
    assert api.post(PATH, wanted).status_code == 201
    assert api.post(PATH, wanted).status_code == 409


def test_a_shared_name_finds_none(api: Api, conductor: SuperConductor) -> None:
    """400: it does not say which."""
    conductor.images = [builders.an_image("loop"), builders.an_image("loop")]
    assert api.get(f"{PATH}/loop").status_code == 400


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": "x" * 256}, "image.name"),
        ({"id": "loop"}, "image.id"),
        ({"disk_format": "raw\n!"}, "image.disk_format"),
        ({"size": -1}, "image.size"),
        ({"minRam": 2**31}, "image.minRam"),
        ({"properties": {"a": {}}}, "image.properties.a"),
        ({"properties": {"a": "x" * 16385}}, "image.properties.a"),
        ({"location": "http://x"}, "image.location"),
    ],
    ids=str,
)
def test_a_bad_image_names_its_field(
    more: dict[str, Any], field: str, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is stored."""
    answer = api.post(PATH, {"image": {"name": "loop", **more}})
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


def test_images_are_listed_in_pages(api: Api, conductor: SuperConductor) -> None:
    """Short or long, all or those of a name."""
    conductor.images = [builders.an_image(name) for name in ("a", "b", "b")]
    first = api.get(PATH, limit="1").json
    assert [image["name"] for image in first["images"]] == ["a"]
    assert f"marker={conductor.images[0].id}" in first["images_links"][0]["href"]
    named = api.get(f"{PATH}/detail", name="b").json["images"]
    assert [image["created"] for image in named] == ["2030-01-31T12:00:00Z"] * 2


def test_an_image_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Once."""
    conductor.images = [builders.an_image("loop")]
    assert api.delete(f"{PATH}/loop").status_code == 204
    assert api.delete(f"{PATH}/loop").status_code == 404
