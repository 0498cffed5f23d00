"""Users kept to their projects and roles, at each declared path of running services."""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from programs.http_client import IDEMPOTENCY_HEADER
from tests.integration.trust import hostile_requests as hostile
from tests.integration.trust.hostile_requests import UNKNOWN, Answer, Names, Route
from tests.integration.trust.hostile_world import (
    MEMBER,
    OTHER,
    READER,
    SPARE_HOST,
    World,
    running_world,
)

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

OF_A_PROJECT = (
    "server_id", "consumer_uuid", "server_group_id", "keypair", "image_id", "project_id", "user_id",
    "member_id", "id",
)  # fmt: skip
"""Parts of paths that name what a project has, or itself."""
_REQUEST_ID = re.compile(r"req-[0-9a-f-]{36}")
OWN = ("os-keypairs", "auth/tokens", "console-links", "application_credentials")
"""Parts of paths where readers make what is theirs alone, and no project's."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("projects")) as lent:
        yield lent


@pytest.fixture(autouse=True)
def quiet(world: World) -> Iterator[None]:
    """Bob's project is the same after each test, and nothing failed."""
    estate = world.estates[OTHER]
    estate.names()
    before = estate.shown()
    yield
    assert estate.shown() == before
    assert world.new_errors() == []


def unknown_in(names: Names) -> dict[str, str]:
    """Return names of things that do not exist, where the given ones are a project's."""
    return {**names, **dict.fromkeys(OF_A_PROJECT, UNKNOWN)}


def told(answer: Answer, names: Names) -> tuple[int, str]:
    """Return what an answer says, apart from the names that were asked for."""
    text = _REQUEST_ID.sub("", answer.text)
    for name in sorted({names[part] for part in OF_A_PROJECT}, key=len, reverse=True):
        text = text.replace(name, "NAME")
    return answer.status, text


def bodies_for(route: Route, names: Names) -> list[Any]:
    """Return right bodies: with all that may be said, and with what must be; none for others."""
    if not route.body:
        return []
    whole = hostile.right(route.body, names)
    return [whole, hostile.lean(whole, route.body)]


def test_what_another_project_has_is_as_if_it_did_not_exist(world: World) -> None:
    """At each path, with right bodies: neither shown nor changed, nor told from nothing."""
    theirs, secret = world.names(OTHER), world.estates[OTHER].secret
    nothing = unknown_in(theirs)
    routes = [each for each in hostile.ROUTES if not {*OF_A_PROJECT}.isdisjoint(each.parameters)]
    assert len(routes) > 100
    found = []
    with world.client(MEMBER) as client:
        for route in routes:
            about = client.send(hostile.request_to(route, theirs))
            other = client.send(hostile.request_to(route, nothing))
            wrong = hostile.fault_of(about, [secret])
            if wrong is None and told(about, theirs) != told(other, nothing):
                wrong = f"is told from {other}"
            if wrong is not None:
                found.append(f"{route.name}: {about}: {wrong}")
    assert not found, "\n".join(found)


def test_what_another_project_has_can_be_named_in_no_body(world: World) -> None:
    """At paths of the own project, and of none: it is not found there either."""
    theirs, secret = world.names(OTHER), world.estates[OTHER].secret
    found = []
    with world.client(MEMBER) as client:
        for route in hostile.ROUTES:
            path = hostile.request_to(route, world.names(MEMBER))
            bodies = bodies_for(route, theirs)
            asked = [hostile.with_body(path, body) for body in bodies]
            found += client.complaints(asked, secrets=[secret])
    assert not found, "\n".join(found)


def named(theirs: Names, kind: str) -> Mapping[str, Any]:
    """Return a server that names one of these things."""
    hints: dict[str, Any] = {
        "server_group_id": {"group": theirs["server_group_id"]},
        "same_host": {"same_host": [theirs["server_id"]]},
    }
    server = {"name": "a", "flavorRef": theirs["flavor_id"], "networks": "none"}
    more = {
        "image_id": {"imageRef": theirs["image_id"]}, "keypair": {"key_name": theirs["keypair"]},
    }.get(kind, {})  # fmt: skip
    return {"server": {**server, **more}, "os:scheduler_hints": hints.get(kind, {})}


@pytest.mark.parametrize("kind", ["image_id", "keypair", "server_group_id", "same_host"])
def test_a_server_is_made_of_nothing_that_is_another_project_s(kind: str, world: World) -> None:
    """Of its image, key pair or group, or beside its server: refused as unknown ones are."""
    theirs = world.names(OTHER)
    nothing = unknown_in(theirs)
    api = world.deployment.as_user(MEMBER)
    ended = []
    for names in (theirs, nothing):
        answer = api.request("POST", "/servers", json=named(names, kind))
        if answer.ok:  # it finds no host
            made = answer.json()["server"]["id"]
            ended.append((api.wait_for_status(made, "ERROR", "ACTIVE")["status"], ""))
            api.delete_servers(made)
        else:
            ended.append(told(Answer(answer.status_code, {}, answer.text), names))
    assert ended[0] == ended[1]
    assert ended[0][0] in (400, 404, "ERROR")


def test_a_user_chooses_no_host(world: World) -> None:
    """By no field that names one; and is not told which there are."""
    api, own = world.deployment.as_user(MEMBER), world.names(MEMBER)
    server = {"name": "a", "flavorRef": own["flavor_id"], "networks": "none"}
    for host in (SPARE_HOST, "host-77"):
        asked: list[tuple[str, Any]] = [
            (f"/servers/{own['server_id']}/action", {"unshelve": {"host": host}}),
            (f"/servers/{own['server_id']}/action", {"migrate": {"host": host}}),
            (f"/servers/{own['server_id']}/action", {"evacuate": {"host": host}}),
            ("/servers", {"server": {**server, "host": host}}),
            ("/servers", {"server": {**server, "hypervisor_hostname": host}}),
            ("/servers", {"server": {**server, "availability_zone": f"nova:{host}"}}),
        ]
        for path, body in asked:
            answer = api.request("POST", path, json=body)
            assert (answer.status_code, host in answer.text) == (403, False), (body, answer.text)


@pytest.mark.parametrize(
    "path",
    [
        "/servers",
        "/servers/detail",
        "/os-server-groups",
        "/images",
        "/os-keypairs",
        "/armillary/claims",
    ],
)
def test_a_marker_of_another_project_is_none(path: str, world: World) -> None:
    """As one that does not exist."""
    theirs = world.names(OTHER)
    marker = {
        "/os-server-groups": "server_group_id",
        "/images": "image_id",
        "/os-keypairs": "keypair",
    }
    api = world.deployment.as_user(MEMBER)
    answers = []
    for names in (theirs, unknown_in(theirs)):
        asked = names[marker.get(path, "server_id")]
        answer = api.request("GET", path, params={"marker": asked, "limit": 5})
        answers.append(told(Answer(answer.status_code, {}, answer.text), names))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("other", [OTHER, READER])
def test_a_key_for_repeats_is_of_one_user(other: str, world: World) -> None:
    """Another one who knows it, of another project or the same one, gets another answer."""
    key, body = str(uuid.uuid4()), {"server_group": {"name": "a", "policy": "affinity"}}
    answers = [
        world.deployment.as_user(user).request(
            "POST", "/os-server-groups", json=body, headers={IDEMPOTENCY_HEADER: key}
        )
        for user in (MEMBER, other)
    ]
    assert answers[0].ok
    assert "Idempotent-Replayed" not in answers[1].headers
    assert answers[1].text != answers[0].text
    _delete_group(world, MEMBER, answers[0])
    if answers[1].ok:
        _delete_group(world, other, answers[1])


def _delete_group(world: World, user: str, made: requests.Response) -> None:
    group = made.json()["server_group"]["id"]
    assert world.deployment.as_user(user).request("DELETE", f"/os-server-groups/{group}").ok


def test_a_reader_changes_nothing_of_the_project(world: World) -> None:
    """By no path, with its names and bodies that are right."""
    names, estate = world.names(MEMBER), world.estates[MEMBER]
    before = estate.shown()
    allowed: list[str] = []
    with world.client(READER) as client:
        for route in filter(is_of_projects, hostile.ROUTES):
            request = hostile.request_to(route, names)
            asked = [hostile.with_body(request, body) for body in bodies_for(route, names)]
            for each in asked or [request]:
                answer = client.send(each)
                if answer.status < 400:
                    allowed.append(f"{route.name}: {answer.status} {answer.text[:200]}")
    assert not allowed, "\n".join(allowed)
    assert estate.shown() == before


def is_of_projects(route: Route) -> bool:
    """Return whether a request changes something that more than one user has."""
    return route.method not in ("GET", "HEAD") and not any(part in route.path for part in OWN)
