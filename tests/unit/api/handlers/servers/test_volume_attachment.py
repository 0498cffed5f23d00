"""Volumes of a server: the one that it boots from is shown, and stays."""

from typing import Any

import pytest

from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.super_conductor import SuperConductor

OTHER = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def volume() -> str:
    return builders.a_uuid()


@pytest.fixture
def path(conductor: SuperConductor, volume: str) -> str:
    settings = ServerSettings.from_values(root_volume=volume)
    server = builders.an_instance(image=None, settings=settings)
    conductor.servers = [server]
    return f"/v2.1/servers/{server.uuid}/os-volume_attachments"


def test_the_volume_that_a_server_boots_from_is_shown(path: str, volume: str, api: Api) -> None:
    """As in the list."""
    (listed,) = api.get(path).json["volumeAttachments"]
    assert api.get(f"{path}/{volume.upper()}").json == {"volumeAttachment": listed}
    assert listed["volumeId"] == volume


BODY: dict[str, Any] = {"volumeAttachment": {"volumeId": OTHER}}


def test_another_volume_was_not_found(path: str, api: Api) -> None:
    """To attach, to show, to replace and to detach; there is no volume service."""
    for refused in (
        api.post(path, BODY),
        api.get(f"{path}/{OTHER}"),
        api.put(f"{path}/{OTHER}", BODY),
        api.delete(f"{path}/{OTHER}"),
    ):
        assert refused.status_code == 404
        assert f"Volume {OTHER}" in message(refused)
        assert "without a volume service" in message(refused)


def test_the_volume_that_a_server_boots_from_stays(path: str, volume: str, api: Api) -> None:
    """It is neither attached twice, nor replaced, nor detached."""
    again = api.post(path, {"volumeAttachment": {"volumeId": volume}})
    assert (again.status_code, "attached" in message(again)) == (400, True)
    assert api.put(f"{path}/{volume}", BODY).status_code == 400
    detached = api.delete(f"{path}/{volume}")
    assert (detached.status_code, "boots from it" in message(detached)) == (403, True)


@pytest.mark.parametrize(
    "wanted", [{}, {"volumeId": "x"}, {"volumeId": OTHER, "tag": 1}, {"volumeId": OTHER, "a": 1}]
)
def test_a_bad_request_is_told_from_an_unknown_volume(
    wanted: dict[str, Any], path: str, api: Api
) -> None:
    """By its status."""
    assert api.post(path, {"volumeAttachment": wanted}).status_code == 400
