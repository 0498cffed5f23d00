"""Instance actions: what was done to a server."""

from __future__ import annotations

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor


@pytest.fixture
def path(conductor: SuperConductor) -> str:
    server = builders.an_instance()
    conductor.servers = [server]
    conductor.actions = [builders.an_action(server.uuid)]
    return f"/v2.1/servers/{server.uuid}/os-instance-actions"


def test_actions_are_listed(path: str, api: Api, conductor: SuperConductor) -> None:
    """Without their events."""
    (action,) = conductor.actions
    assert api.get(path, token=MEMBER).json["instanceActions"] == [
        {
            "action": "create",
            "instance_uuid": action.instance_uuid,
            "request_id": action.request_id,
            "project_id": "p1",
            "user_id": "u1",
            "start_time": "2030-01-31T12:00:00.000000",
            "updated_at": "2030-01-31T12:00:00.000000",
            "message": None,
        }
    ]


def test_actions_have_the_names_that_clients_know(
    path: str, api: Api, conductor: SuperConductor
) -> None:
    """Not those of our operations."""
    conductor.actions[0].action = "confirm_resize"
    (listed,) = api.get(path, token=MEMBER).json["instanceActions"]
    assert listed["action"] == "confirmResize"


def test_one_is_shown_with_its_events(path: str, api: Api, conductor: SuperConductor) -> None:
    """Hosts and reasons are for administrators."""
    one = f"{path}/{conductor.actions[0].request_id}"
    (event,) = api.get(one).json["instanceAction"]["events"]
    assert (event["host"], event["armillary:attempt"], event["result"]) == ("host1", 1, "Error")
    (event,) = api.get(one, token=MEMBER).json["instanceAction"]["events"]
    assert "host1" not in str(event)
    assert len(event["hostId"]) == 64


def test_an_unknown_request_is_not_there(path: str, api: Api) -> None:
    """The message names both."""
    answer = api.get(f"{path}/req-nothing", token=MEMBER)
    assert answer.status_code == 404
    assert "req-nothing" in message(answer)


@pytest.mark.parametrize("below", ["", "/req-1"])
def test_another_projects_server_has_no_actions(below: str, path: str, api: Api) -> None:
    """It is not there at all."""
    assert api.get(path + below, token="u2:p2").status_code == 404
