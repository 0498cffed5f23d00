"""Network proxies of early versions over HTTP: there is no network service."""

from typing import Any

import pytest
from falcon import testing

from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.super_conductor import SuperConductor

UUID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    conductor.servers = [builders.an_instance("web")]


def version(text: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"compute {text}"}


def ask(
    api: Api, path: str, method: str = "GET", body: dict[str, Any] | None = None
) -> testing.Result:
    return api.send(method, f"/v2.1{path}", headers=version("2.1"), json=body)


PROXIES: dict[str, tuple[str, str, dict[str, Any] | None, int, str]] = {
    "new group": ("POST", "/os-security-groups", {"security_group": {"name": "web"}}, 400,
                  "No security group can be created"),
    "other group": ("PUT", f"/os-security-groups/{UUID}", {"security_group": {"name": "web"}}, 404,
                    f"Security group {UUID} could not be found"),
    "no group": ("DELETE", f"/os-security-groups/{UUID}", None, 404, "could not be found"),
    "rule": ("POST", "/os-security-group-rules",
             {"security_group_rule": {"parent_group_id": UUID, "ip_protocol": "tcp"}}, 404,
             f"Security group {UUID} could not be found"),
    "no rule": ("DELETE", f"/os-security-group-rules/{UUID}", None, 404, "Rule"),
    "address": ("GET", f"/os-floating-ips/{UUID}", None, 404, f"Floating IP {UUID}"),
    "release": ("DELETE", f"/os-floating-ips/{UUID}", None, 404, f"Floating IP {UUID}"),
    "pool": ("POST", "/os-floating-ips", {"pool": "public"}, 404, "Floating IP pool public"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "why"), PROXIES.values(), ids=PROXIES)
def test_what_early_versions_ask_of_a_network_service_is_refused(
    method: str, path: str, body: dict[str, Any] | None, status: int, why: str, api: Api
) -> None:
    """As Nova would: what does not exist was not found; later versions do not have the path."""
    answer = ask(api, path, method, body)
    assert (answer.status_code, why in message(answer)) == (status, True)
    later = api.send(method, f"/v2.1{path}", headers=version("2.36"), json=body)
    assert later.status_code == 404
    assert "2.35" in message(later)


def test_there_are_no_floating_ips(api: Api, conductor: SuperConductor) -> None:
    """Lists are empty; a server gets none, and no other address."""
    assert ask(api, "/os-floating-ips").json == {"floating_ips": []}
    assert ask(api, "/os-floating-ip-pools").json == {"floating_ip_pools": []}
    path = f"/servers/{conductor.servers[0].uuid}/action"
    for action in ("addFloatingIp", "removeFloatingIp"):
        refused = ask(api, path, "POST", {action: {"address": "192.0.2.9"}})
        assert refused.status_code == 404
        assert "Floating IP 192.0.2.9 could not be found" in message(refused)
    for body in ({"addFixedIp": {"networkId": UUID}}, {"removeFixedIp": {"address": "192.0.2.9"}}):
        refused = ask(api, path, "POST", body)
        assert refused.status_code == 400
        assert "cannot be changed" in message(refused)
    later = api.send("POST", f"/v2.1{path}", headers=version("2.44"), json=body)
    assert (later.status_code, "2.43" in message(later)) == (404, True)


def test_no_security_group_of_a_server_has_an_identifier(
    api: Api, conductor: SuperConductor
) -> None:
    """Ansible's module looks each of them up in the network service, which is not there."""
    path = f"/servers/{conductor.servers[0].uuid}/os-security-groups"
    for asked in ("2.1", "2.96"):
        answer = api.send("GET", f"/v2.1{path}", headers=version(asked))
        assert answer.json == {"security_groups": []}


def test_the_default_security_group_is_not_changed(api: Api) -> None:
    """Neither deleted, nor given a rule."""
    (group,) = ask(api, "/os-security-groups").json["security_groups"]
    rule = {"security_group_rule": {"parent_group_id": group["id"]}}
    for refused in (
        ask(api, f"/os-security-groups/{group['id']}", "DELETE"),
        ask(api, "/os-security-group-rules", "POST", rule),
    ):
        assert refused.status_code == 400
        assert "without a network service" in message(refused)
