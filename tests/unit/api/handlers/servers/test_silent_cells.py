"""Servers of cells that do not answer."""

from typing import Any

import pytest

from armillary.http.microversion import HEADER
from objects.instance import UNKNOWN as UNKNOWN_STATE
from objects.instance import Instance
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor
from tests.unit.api.handlers.servers.server_requests import PATH, stock

__all__ = ["stock"]


def test_a_cell_that_does_not_answer_is_named_to_administrators(
    api: Api, conductor: SuperConductor
) -> None:
    """Others learn that the list is not whole."""
    conductor.down_cells = ["cell7"]
    assert api.get(PATH).json["armillary:down_cells"] == ["cell7"]
    theirs = api.get(PATH, token=MEMBER).json
    assert theirs["armillary:partial"] is True
    assert "cell7" not in str(theirs)


def an_unknown_server(**values: Any) -> Instance:
    return Instance.from_values(
        uuid=builders.a_uuid(), project_id="p1", user_id="u1", vm_state=UNKNOWN_STATE,
        created_at=builders.A_TIME, **values,
    )  # fmt: skip


def test_a_server_of_a_silent_cell_is_listed_as_unknown(
    api: Api, conductor: SuperConductor
) -> None:
    """With the fields that Nova has, from the microversion that has them."""
    unknown = an_unknown_server()
    conductor.servers.append(unknown)
    (brief,) = api.get(PATH, all_tenants=True).json["servers"]
    assert sorted(brief) == ["id", "links", "status"]
    (found,) = api.get(f"{PATH}/detail", all_tenants=True).json["servers"]
    assert sorted(found) == ["created", "id", "links", "status", "tenant_id"]
    assert (found["status"], found["tenant_id"]) == ("UNKNOWN", "p1")


def test_changes_of_a_server_of_a_silent_cell_are_accepted(
    api: Api, conductor: SuperConductor
) -> None:
    """In every microversion; the super conductor stores them."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    path = f"{PATH}/{unknown.uuid}"
    assert api.post(f"{path}/action", {"os-stop": None}).status_code == 202
    assert api.delete(path).status_code == 204
    assert [one[:2] for one in conductor.operations] == [
        (unknown.uuid, "stop"), (unknown.uuid, "delete"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "answer"),
    [
        ("PUT", "/metadata", {"metadata": {"a": "1"}}, 200, {"metadata": {"a": "1"}}),
        ("POST", "/metadata", {"metadata": {"a": "1"}}, 200, {"metadata": {"a": "1"}}),
        ("PUT", "/metadata/a", {"meta": {"a": "1"}}, 200, {"meta": {"a": "1"}}),
        ("DELETE", "/metadata/a", None, 204, None),
        ("PUT", "/tags", {"tags": ["x"]}, 200, {"tags": ["x"]}),
        ("DELETE", "/tags/x", None, 204, None),
        ("PUT", "/tags/x", None, 201, None),
        ("DELETE", "/tags", None, 204, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_of_metadata_or_tags_of_a_silent_cell_is_answered_with_what_was_asked_for(
    api: Api, conductor: SuperConductor, method: str, path: str, body: dict[str, Any] | None,
    status: int, answer: dict[str, Any] | None,
) -> None:  # fmt: skip
    """The super conductor stores the change."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    answered = api.send(method, f"{PATH}/{unknown.uuid}{path}", json=body)
    assert answered.status_code == status
    assert answer is None or answered.json == answer
    assert [one[:2] for one in conductor.operations] == [(unknown.uuid, "update")]


def test_a_server_of_a_silent_cell_is_renamed_rebuilt_and_rescued_later(
    api: Api, conductor: SuperConductor
) -> None:
    """Answers have what is known of it."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    path = f"{PATH}/{unknown.uuid}"
    renamed = api.send("PUT", path, json={"server": {"name": "db"}})
    assert (renamed.status_code, renamed.json["server"]["status"]) == (200, "UNKNOWN")
    conductor.images.append(builders.an_image("loop"))
    rebuild = {"rebuild": {"imageRef": conductor.images[0].id}}
    rebuilt = api.post(f"{path}/action", rebuild)
    assert (rebuilt.status_code, rebuilt.json["server"]["status"]) == (202, "UNKNOWN")
    assert api.post(f"{path}/action", {"rescue": None}).status_code == 200
    assert [one[1] for one in conductor.operations] == ["update", "rebuild", "rescue"]


def test_a_server_of_a_silent_cell_is_shown_as_far_as_it_is_known(
    api: Api, conductor: SuperConductor
) -> None:
    """What was asked for is known; nothing of its present state is."""
    unknown = an_unknown_server(
        flavor=builders.a_flavor("small"), pinned_availability_zone="east",
        availability_zone="east", scheduler_hints={"group": ["g"]},
    )  # fmt: skip
    conductor.servers.append(unknown)
    found = api.get(f"{PATH}/{unknown.uuid}").json["server"]
    assert found["flavor"]["original_name"] == "small"
    assert found["OS-EXT-AZ:availability_zone"] == found["pinned_availability_zone"] == "east"
    assert found["armillary:scheduler_hints"] == {"group": ["g"]}
    assert (found["OS-EXT-STS:power_state"], found["image"]) == (0, "")
    assert not {"name", "hostId", "addresses", "updated", "OS-EXT-STS:vm_state"} & set(found)


@pytest.mark.parametrize(("version", "asked"), [("2.68", False), ("2.69", True)])
def test_unknown_servers_are_asked_for_by_versions_that_have_them(
    api: Api, conductor: SuperConductor, version: str, asked: bool
) -> None:
    """Before, a list leaves them out, and one cannot be shown."""
    conductor.servers = [builders.an_instance()]
    for path in (PATH, f"{PATH}/detail", f"{PATH}/{conductor.servers[0].uuid}"):
        conductor.asked_for_display.clear()
        headers = {HEADER: f"compute {version}"}
        assert api.send("GET", path, headers=headers).status_code == 200
        assert conductor.asked_for_display == [asked]
