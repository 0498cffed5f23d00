"""Instance actions: what was done to a server."""

from datetime import UTC, datetime

import pytest

from tests import builders
from tests.fixtures.http_api import ADMIN, MEMBER, Api, message
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


@pytest.mark.parametrize(
    ("operation", "shown"),
    [("live_migrate", "live-migration"), ("unshelve_here", "unshelve"), ("soft_delete", "delete"),
     ("stop", "stop")],
)  # fmt: skip
def test_an_action_has_the_name_that_clients_know(
    operation: str, shown: str, path: str, api: Api, conductor: SuperConductor
) -> None:
    """As in Nova, in lists and alone."""
    (action,) = conductor.actions
    action.action = operation
    (listed,) = api.get(path).json["instanceActions"]
    single = api.get(f"{path}/{action.request_id}").json["instanceAction"]
    assert (listed["action"], single["action"]) == (shown, shown)


def test_actions_are_listed_by_page_and_time(
    path: str, api: Api, conductor: SuperConductor
) -> None:
    """Since 2.58 and 2.66; a page that is not the last one links to the next."""
    (first,) = conductor.actions
    later = builders.an_action(first.instance_uuid)
    later.request_id = "req-later"
    later.start_time = later.finish_time = datetime(2030, 2, 1, tzinfo=UTC)
    conductor.actions = [later, first]

    def listed(**query: str) -> list[str]:
        answer = api.get(path, token=MEMBER, **query).json["instanceActions"]
        return [action["request_id"] for action in answer]

    page = api.get(path, token=MEMBER, limit="1").json
    assert [action["request_id"] for action in page["instanceActions"]] == ["req-later"]
    assert "marker=req-later" in page["links"][0]["href"]
    assert listed(limit="1", marker="req-later") == [first.request_id]
    assert listed(**{"changes-since": "2030-02-01T00:00:00Z"}) == ["req-later"]
    assert listed(**{"changes-before": "2030-01-31T13:00:00"}) == [first.request_id]
    for query in ({"marker": "req-x"}, {"changes-since": "now"}, {"limit": "-1"}):
        assert api.get(path, token=MEMBER, **query).status_code == 400


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


@pytest.mark.parametrize(
    ("minor", "token", "is_shown"),
    [(50, MEMBER, False), (50, ADMIN, True), (51, MEMBER, True), (51, ADMIN, True)],
)
def test_events_are_for_administrators_until_2_50(
    minor: int, token: str | None, is_shown: bool, path: str, api: Api, conductor: SuperConductor
) -> None:
    """Later versions leave hosts and reasons out for others."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    one = f"{path}/{conductor.actions[0].request_id}"
    shown = api.send("GET", one, headers=headers, token=token).json["instanceAction"]
    assert ("events" in shown) is is_shown


def test_an_unknown_request_is_not_there(path: str, api: Api) -> None:
    """The message names both."""
    answer = api.get(f"{path}/req-nothing", token=MEMBER)
    assert answer.status_code == 404
    assert "req-nothing" in message(answer)


@pytest.mark.parametrize("below", ["", "/req-1"])
def test_another_projects_server_has_no_actions(below: str, path: str, api: Api) -> None:
    """It is not there at all."""
    assert api.get(path + below, token="u2:p2").status_code == 404
