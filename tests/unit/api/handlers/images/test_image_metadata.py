"""Metadata of images, until version 2.38."""

from typing import Any

import pytest

from armillary.http.microversion import HEADER
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

OLD = {HEADER: "compute 2.38"}


def send(api: Api, method: str, path: str, json: Any = None, token: str | None = None) -> Any:
    return api.send(method, path, json=json, token=token, headers=OLD)


@pytest.fixture
def path(conductor: SuperConductor) -> str:
    """Return the path of the metadata of an image."""
    conductor.images = [builders.an_image("disk", properties={"a": "1"})]
    return f"/v2.1/images/{conductor.images[0].id}/metadata"


def test_metadata_is_added_replaced_and_deleted(api: Api, path: str) -> None:
    """Whole, and by item."""
    assert send(api, "GET", path).json == {"metadata": {"a": "1"}}
    added = send(api, "POST", path, {"metadata": {"b": "2"}})
    assert added.json == {"metadata": {"a": "1", "b": "2"}}
    assert send(api, "PUT", f"{path}/a", {"meta": {"a": "3"}}).json == {"meta": {"a": "3"}}
    assert send(api, "GET", f"{path}/a").json == {"meta": {"a": "3"}}
    assert send(api, "DELETE", f"{path}/a").status_code == 204
    assert send(api, "GET", path).json == {"metadata": {"b": "2"}}
    replaced = send(api, "PUT", path, {"metadata": {"c": "4"}})
    assert replaced.json == {"metadata": {"c": "4"}}


def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    """Neither an item nor an image."""
    for method in ("GET", "DELETE"):
        assert send(api, method, f"{path}/x").status_code == 404
        assert send(api, method, f"/v2.1/images/{builders.a_uuid()}/metadata/a").status_code == 404
    assert send(api, "PUT", f"{path}/x", {"meta": {"y": "1"}}).status_code == 400


def test_typing_errors_in_names_are_refused(api: Api, path: str) -> None:
    """With the name that was meant; of the new names only."""
    refused = send(api, "POST", path, {"metadata": {"hw_cpu_polciy": "dedicated"}})
    assert refused.status_code == 400
    assert "did you mean hw_cpu_policy?" in message(refused)
    assert send(api, "GET", path).json == {"metadata": {"a": "1"}}


def test_only_administrators_name_programs(api: Api, path: str) -> None:
    """A program runs on the hosts; a member of the project sets all else."""
    program = {"metadata": {"process_command": "id"}}
    assert send(api, "POST", path, program, MEMBER).status_code == 403
    assert send(api, "POST", path, program).status_code == 200
    assert send(api, "PUT", path, {"metadata": {}}, MEMBER).status_code == 403
    assert send(api, "POST", path, {"metadata": {"b": "2"}}, MEMBER).status_code == 200


def test_newer_versions_leave_it_to_the_image_service(api: Api, path: str) -> None:
    assert api.send("GET", path, headers={HEADER: "compute 2.39"}).status_code == 404
