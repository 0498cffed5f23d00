"""Paths that the Compute API had once: they are gone, which is another answer than not found."""

import pytest

from tests import builders
from tests.fixtures.http_api import Api

SERVER = f"/servers/{builders.a_uuid_of('server')}"
GONE = [
    ("GET", "/os-agents"),
    ("PUT", "/os-agents/1"),
    ("GET", "/os-cells"),
    ("GET", "/os-cells/detail"),
    ("GET", "/os-cells/c1/capacities"),
    ("POST", "/os-certificates"),
    ("GET", "/os-certificates/root"),
    ("GET", "/os-cloudpipe"),
    ("PUT", "/os-cloudpipe/configure-project"),
    ("GET", "/os-fixed-ips/192.0.2.1"),
    ("POST", "/os-fixed-ips/192.0.2.1/action"),
    ("GET", "/os-floating-ip-dns"),
    ("GET", "/os-floating-ip-dns/example.org/entries/web"),
    ("PUT", "/os-floating-ips-bulk/delete"),
    ("GET", "/os-fping"),
    ("POST", "/os-networks"),
    ("POST", "/os-networks/add"),
    ("DELETE", "/os-networks/private"),
    ("POST", "/os-networks/private/action"),
    ("POST", "/os-tenant-networks"),
    ("DELETE", "/os-tenant-networks/private"),
    ("GET", "/os-security-group-default-rules"),
    ("GET", f"{SERVER}/consoles"),
    ("GET", f"{SERVER}/os-virtual-interfaces"),
]


@pytest.mark.parametrize("version", ["2.1", "2.96"])
@pytest.mark.parametrize(("method", "path"), GONE, ids=[f"{m} {p}" for m, p in GONE])
def test_what_was_removed_is_gone_in_every_version(
    method: str, path: str, version: str, api: Api
) -> None:
    """Also with a project in the path."""
    headers = {"OpenStack-API-Version": f"compute {version}"}
    answer = api.send(method, f"/v2.1{path}", headers=headers)
    assert answer.json["computeFault"]["code"] == answer.status_code == 410
    assert api.send(method, f"/v2.1/admin{path}", headers=headers).status_code == 410


def test_what_never_was_is_not_found(api: Api) -> None:
    assert api.get("/v2.1/os-agent").status_code == 404


def test_early_versions_still_look_networks_up(api: Api) -> None:
    """Beside the methods that are gone."""
    headers = {"OpenStack-API-Version": "compute 2.1"}
    for path in ("/v2.1/os-networks", "/v2.1/os-tenant-networks"):
        assert api.send("GET", path, headers=headers).json == {"networks": []}
        assert api.send("GET", f"{path}/private", headers=headers).status_code == 404
        assert api.send("GET", path).status_code == 404


def test_what_was_removed_needs_a_valid_token(api: Api) -> None:
    """As any other path."""
    assert api.get("/v2.1/os-cells", token=":p1").status_code == 401
