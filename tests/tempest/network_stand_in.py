"""Stand-in for a network service: it keeps what clients post, beside one shared network.

Test classes that Tempest skips without a network service start with it. Servers' ports are not
here: Armillary needs no network service.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from armillary.http.wsgi.server import HttpServer
from tests.fixtures.programs.serving import serving
from tests.tempest.settings import NETWORK_NAME

SINGULAR = {
    "networks": "network", "subnets": "subnet", "ports": "port", "routers": "router",
    "security-groups": "security_group", "security-group-rules": "security_group_rule",
    "floatingips": "floatingip",
}  # fmt: skip
FILTERS = ("name", "id", "network_id", "device_id", "tenant_id", "project_id")
NETWORK, SUBNET = str(uuid.uuid4()), str(uuid.uuid4())

Document = dict[str, Any]


class NetworkStandIn:
    """Listens on a free port of this machine."""

    def __init__(self) -> None:
        self._server: HttpServer
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, Document]] = {kind: {} for kind in SINGULAR}
        self._kept["networks"][NETWORK] = {
            "id": NETWORK, "name": NETWORK_NAME, "status": "ACTIVE", "admin_state_up": True,
            "shared": True, "subnets": [SUBNET], "tenant_id": "ap0", "project_id": "ap0",
            "router:external": False, "mtu": 1500, "port_security_enabled": True,
        }  # fmt: skip
        self._kept["subnets"][SUBNET] = {
            "id": SUBNET, "name": "subnet1", "network_id": NETWORK, "cidr": "10.0.0.0/24",
            "ip_version": 4, "gateway_ip": "10.0.0.1", "enable_dhcp": True, "tenant_id": "ap0",
            "project_id": "ap0", "allocation_pools": [], "dns_nameservers": [], "host_routes": [],
        }  # fmt: skip

    @property
    def url(self) -> str:
        host, port = self._server.address
        return f"http://{host}:{port}"

    @contextmanager
    def running(self) -> Iterator[NetworkStandIn]:
        with serving(self._respond, threads=4) as server:
            self._server = server
            yield self

    def _respond(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        parts = environ["PATH_INFO"].strip("/").split("/")
        query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        with self._lock:
            status, document = self._answer(
                environ["REQUEST_METHOD"], parts, query, json.loads(raw or b"{}")
            )
        data = b"" if document is None else json.dumps(document).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        start_response(f"{status} -", headers)
        return [data]

    def _answer(
        self, method: str, parts: list[str], query: dict[str, str], body: Document
    ) -> tuple[int, Document | None]:
        if parts in ([""], ["v2.0"]):
            return 200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]}
        if parts == ["v2.0", "extensions"]:
            return 200, {"extensions": []}
        if len(parts) < 2 or parts[1] not in SINGULAR:
            return _not_found("/".join(parts))
        kind, kept = parts[1], self._kept[parts[1]]
        if len(parts) == 2:
            return self._create(kind, body) if method == "POST" else self._list(kind, query)
        if parts[2] not in kept:
            return _not_found(parts[2])
        if method == "DELETE":
            del kept[parts[2]]
            return 204, None
        if method == "PUT":
            kept[parts[2]].update(body.get(SINGULAR[kind], {}))
        return 200, {SINGULAR[kind]: kept[parts[2]]}

    def _list(self, kind: str, query: dict[str, str]) -> tuple[int, Document]:
        wanted = [(name, value) for name, value in query.items() if name in FILTERS]
        found = [
            each
            for each in self._kept[kind].values()
            if all(str(each.get(name)) == value for name, value in wanted)
        ]
        return 200, {kind.replace("-", "_"): found}

    def _create(self, kind: str, body: Document) -> tuple[int, Document]:
        number, made_id = len(self._kept[kind]), str(uuid.uuid4())
        more: dict[str, Document] = {
            "ports": {
                "fixed_ips": [{"subnet_id": SUBNET, "ip_address": f"10.0.0.{10 + number}"}],
                "mac_address": f"fa:16:3e:00:00:{number % 256:02x}",
                "device_id": "",
                "device_owner": "",
            },
            "security-groups": {"security_group_rules": []},
            "networks": {"subnets": []},
        }
        made = {
            "name": "", "description": "", "status": "ACTIVE", "tenant_id": "p", "project_id": "p",
            **more.get(kind, {}), **body.get(SINGULAR[kind], {}), "id": made_id,
        }  # fmt: skip
        self._kept[kind][made_id] = made
        return 201, {SINGULAR[kind]: made}


def _not_found(what: str) -> tuple[int, Document]:
    error = {"type": "NotFound", "message": f"{what} could not be found.", "detail": ""}
    return 404, {"NeutronError": error}
