"""Every answer that differs between versions, asked for at each version that changes it."""

from typing import Any

import pytest

from api.formats.addresses import port_id
from api.routes import ROUTES
from api.versions import MICROVERSIONS
from armillary.http.dispatch import Action, actions_of
from armillary.http.ranges import breakpoints
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.checks import answer_checks
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor
from tests.unit.api.handlers.servers.test_key_pair import KEY
from tests.unit.api.versions.test_versions_of_answers import PATHS, SERVER, stock

__all__ = ["stock"]

OTHER_PATHS = (
    f"{SERVER}/diagnostics",
    f"{SERVER}/os-interface",
    f"{SERVER}/os-interface/{{port}}",
    f"{SERVER}/migrations/{{migration}}",
    f"{SERVER}/os-volume_attachments",
    f"{SERVER}/os-volume_attachments/{{volume}}",
    "/os-aggregates/1",
    "/os-hypervisors/host1/search",
    "/os-hypervisors/host1/servers",
    "/os-keypairs",
    "/os-keypairs/key",
    "/os-quota-class-sets/default",
    "/os-quota-sets/p1/defaults",
    "/os-simple-tenant-usage",
    "/os-simple-tenant-usage/p1",
)
SERVICE = {"host": "host1", "binary": "nova-compute"}
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", SERVER, {"server": {"name": "other"}}),
    ("POST", f"{SERVER}/action", {"rebuild": {"imageRef": "{image}"}}),
    ("POST", f"{SERVER}/action", {"evacuate": {"onSharedStorage": False}}),
    ("POST", f"{SERVER}/action", {"createImage": {"name": "snapshot"}}),
    ("POST", f"{SERVER}/action",
     {"createBackup": {"name": "b", "backup_type": "daily", "rotation": 1}}),
    ("POST", "/flavors", {"flavor": {"name": "{new}", "ram": 1, "vcpus": 1, "disk": 1}}),
    ("PUT", "/flavors/id-small", {"flavor": {"description": "small"}}),
    ("PUT", "/os-services/enable", SERVICE),
    ("PUT", "/os-services/disable", SERVICE),
    ("PUT", "/os-services/disable-log-reason", {**SERVICE, "disabled_reason": "r"}),
    ("PUT", "/os-services/force-down", {**SERVICE, "forced_down": True}),
    ("PUT", "/os-services/{service}", {"status": "enabled"}),
    ("POST", "/os-aggregates", {"aggregate": {"name": "{new}"}}),
    ("PUT", "/os-aggregates/1", {"aggregate": {"name": "{new}"}}),
    ("POST", "/os-aggregates/1/action", {"add_host": {"host": "host1"}}),
    ("POST", "/os-aggregates/1/action", {"remove_host": {"host": "host1"}}),
    ("POST", "/os-aggregates/1/action", {"set_metadata": {"metadata": {"a": "b"}}}),
    ("POST", "/os-server-groups", {"server_group": {"name": "g", "policies": ["affinity"]}}),
    ("PUT", "/os-quota-sets/p1", {"quota_set": {"cores": 5}}),
    ("PUT", "/os-quota-class-sets/default", {"quota_class_set": {"cores": 5}}),
    ("POST", "/os-keypairs", {"keypair": {"name": "{new}", "public_key": KEY}}),
]  # fmt: skip
REFUSED = [("GET", "/os-hypervisors/1/uptime", None)]
"""What no driver can answer."""
REQUESTS = [*(("GET", path, None) for path in (*PATHS, *OTHER_PATHS)), *WRITES]


def action_of(method: str, path: str, body: Any) -> Action[Any]:
    return answer_checks._action(method, f"/v2.1{path}", body)[2]


def versions_of(action: Action[Any]) -> list[tuple[int, int]]:
    """Return the versions in which its answer changes, as far as it exists there."""
    ends = {action.since, (2, 1)} | set(breakpoints(action.answer))
    last = action.until or MICROVERSIONS.maximum
    first = max(action.since, (2, 1))
    return sorted(version for version in ends | {last} if first <= version <= last)


def test_all_answers_that_change_are_asked_for() -> None:
    """A new one has to be added to the requests above."""
    asked = {id(action_of(*request)) for request in (*REQUESTS, *REFUSED)}
    changing = [
        (method, path, action.handler.__name__)
        for path, methods in ROUTES.items()
        for method, found in methods.items()
        for action in actions_of(found)
        if action.answer is not None and len(breakpoints(action.answer)) > 1
        if id(action) not in asked
    ]
    assert changing == []


@pytest.mark.parametrize(
    ("method", "path", "body"), REQUESTS, ids=[f"{each[0]} {each[1]}" for each in REQUESTS]
)
def test_each_version_has_its_schema(
    method: str, path: str, body: Any, api: Api, conductor: SuperConductor
) -> None:
    """The fixture compares them."""
    action = action_of(method, path, body)
    api.post("/v2.1/os-keypairs", {"keypair": {"name": "key", "public_key": KEY}})
    (server,) = conductor.servers
    settings = ServerSettings.from_values(root_volume=builders.a_uuid())
    if method == "GET":
        conductor.servers = [server.with_values(settings=settings, host_ip="192.0.2.1")]
    for number, version in enumerate(versions_of(action)):
        members = ["host1"] if "remove_host" in (body or ()) else []
        conductor.aggregates = [builders.an_aggregate(hosts=members)]
        names = {
            "{image}": conductor.images[0].id, "{new}": f"new-{number}",
            "{service}": conductor.services[0].uuid, "{migration}": conductor.migrations[0].uuid,
            "{port}": port_id(server), "{volume}": str(settings.root_volume),
        }  # fmt: skip
        headers = {"OpenStack-API-Version": "compute {}.{}".format(*version)}
        sent = filled(body, names)
        if path == "/os-server-groups" and body and version >= (2, 64):
            sent = {"server_group": {"name": "g", "policy": "affinity"}}
        if "evacuate" in (body or ()) and version >= (2, 14):
            sent = {"evacuate": {}}
        answer = api.send(method, f"/v2.1{filled(path, names)}", headers=headers, json=sent)
        assert answer.status_code < 300, (version, answer.text)


def filled(value: Any, names: dict[str, str]) -> Any:
    """Return a path or a body with the names of things instead of their placeholders."""
    if isinstance(value, dict):
        return {name: filled(part, names) for name, part in value.items()}
    if isinstance(value, str):
        for placeholder, name in names.items():
            value = value.replace(placeholder, name)
    return value
