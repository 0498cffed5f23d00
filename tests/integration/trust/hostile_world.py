"""A running deployment with users of several projects, each with one thing of every kind."""

import contextlib
import functools
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.fixtures.asking import Api
from tests.fixtures.deployment import deployed
from tests.integration.trust import hostile_requests as hostile
from tests.integration.trust.hostile_requests import Client, Names, Request, Route
from tests.integration.trust.token_deployment import ADMINISTRATOR, Account, TokenDeployment

MEMBER, READER, OTHER = "alice", "rita", "bob"
ACCOUNTS = {
    ADMINISTRATOR: Account(ADMINISTRATOR, "ops", ("admin",)),
    MEMBER: Account(MEMBER, "stars", ("member",)),
    READER: Account(READER, "stars", ("reader",)),
    OTHER: Account(OTHER, "moons", ("member",)),
}
SPARE_HOST = "host-4"
"""What administrators do to hosts, they do to this one."""
HOSTS = {"cell1": {"agent-1": ["name=host-{1..4}:vcpus=64:memory_mb=131072:disk_gb=2000"]}}
OPTIONS = """
[filter_scheduler]
enabled_filters = ComputeFilter,SameHostFilter,DifferentHostFilter,ServerGroupAffinityFilter
"""


def a_public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


class Estate:
    """What a project has: one thing of each kind, with text that no other user may read."""

    def __init__(self, api: Api, account: Account, flavor: str) -> None:
        self.secret = f"secret{secrets.token_hex(8)}"
        self._key = f"key-of-{account.user}"
        self._api = api
        self._account = account
        self._flavor = flavor
        group = {"name": self.secret, "policy": "soft-affinity"}
        self._group = str(
            api.post("/os-server-groups", {"server_group": group})["server_group"]["id"]
        )
        key = {"name": self._key, "public_key": f"{a_public_key()} {self.secret}"}
        api.post("/os-keypairs", {"keypair": key})
        self._image = str(self._at_image_service("POST", "", json={"name": self.secret})["id"])
        self._server = self._new_server()

    def _at_image_service(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        url = f"{self._api.api_url}/image/v2/images{path}"
        response = self._api._session.request(method, url, timeout=60, **more)
        assert response.ok, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def _new_server(self) -> str:
        (uuid,) = self._api.create_servers(
            self._flavor, 1, name=self.secret, metadata={"a": self.secret}, tags=["a", self.secret]
        )
        shown = self._api.wait_for_status(uuid, "ACTIVE", "ERROR")
        assert shown["status"] == "ACTIVE", self._api.why(uuid)
        return uuid

    def names(self) -> Names:
        """Return the names of all that there is; the server is a new one, if it was deleted."""
        if not self._api.request("GET", f"/servers/{self._server}").ok:
            self._server = self._new_server()
        return {
            "server_id": self._server, "consumer_uuid": self._server, "flavor_id": self._flavor,
            "server_group_id": self._group, "keypair": self._key, "image_id": self._image,
            "project_id": self._account.project, "user_id": self._account.user,
            "key": "a", "tag": "a", "member_id": self._account.project, "id": self._account.project,
            "role_id": "member",
            "quota_class": "default", "before": "2030-01-01", "power_action": "reboot",
            "host": SPARE_HOST, "host_name": SPARE_HOST, "zone_name": "nova", "alias": "os-hosts",
            "network": "private", "aggregate_id": "1", "resource_class": "VCPU", "name": "VCPU",
        }  # fmt: skip

    def shown(self) -> list[Any]:
        """Return all that the project is shown of what it has."""
        server = f"/servers/{self._server}"
        paths = (
            "/servers/detail", server, f"{server}/metadata", f"{server}/tags",
            f"{server}/os-instance-actions", "/os-server-groups", "/os-keypairs", "/limits",
            f"/os-simple-tenant-usage/{self._account.project}?start=2020-01-01&end=2020-01-02",
        )  # fmt: skip
        image = f"/{self._image}"
        return [
            *(self._api.get(path) for path in paths),
            self._at_image_service("GET", image),
            self._at_image_service("GET", f"{image}/members"),
        ]


class World:
    """A running deployment, three accounts, and what they have."""

    def __init__(self, deployment: TokenDeployment) -> None:
        self.deployment = deployment
        flavor = deployment.create_flavor("small", vcpus=1, ram=64, disk=1)
        deployment.post("/os-aggregates", {"aggregate": {"name": "racks"}})
        for account in ACCOUNTS.values():  # whatever the defaults of all projects become
            quotas = {"quota_set": {"instances": -1, "cores": -1, "ram": -1}}
            deployment.put(f"/os-quota-sets/{account.project}", quotas)
        self.estates = {
            user: Estate(deployment.as_user(user), account, flavor)
            for user, account in ACCOUNTS.items()
            if user != READER
        }
        self._of_hosts = self._names_of_the_spare_host()
        compute, placement = (
            urlsplit(deployment.api_url).netloc,
            urlsplit(deployment.placement_url).netloc,
        )
        self._addresses = {
            "compute": compute,
            "identity": compute,
            "image": compute,
            "placement": placement,
        }
        self._errors = Counter[str]()

    def _names_of_the_spare_host(self) -> dict[str, str]:
        services = self.deployment.get("/os-services", host=SPARE_HOST)["services"]
        nodes = self.deployment.get("/os-hypervisors")["hypervisors"]
        (node,) = [each["id"] for each in nodes if each["hypervisor_hostname"] == SPARE_HOST]
        return {"service_id": services[0]["id"], "hypervisor_id": node, "uuid": node}

    def names(self, user: str) -> Names:
        return {**self.estates[user].names(), **self._of_hosts}

    @contextlib.contextmanager
    def client(self, user: str) -> Iterator[Client]:
        """Lend what sends requests as a user."""
        with contextlib.closing(Client(self._addresses, ACCOUNTS[user].token)) as lent:
            yield lent

    def secrets_from(self, user: str) -> list[str]:
        """Return what a user may not be shown."""
        others = [] if user == ADMINISTRATOR else [each for each in self.estates if each != user]
        return [self.estates[each].secret for each in others]

    def send(
        self, user: str, routes: list[Route], make: Callable[[Route, Names], Iterator[Request]]
    ) -> None:
        """Send requests to each route. Fails with what is wrong with the answers."""
        found: list[str] = []
        with self.client(user) as client:
            for route in routes:
                requests = list(make(route, self.names(user)))
                found += client.complaints(requests, secrets=self.secrets_from(user))
        assert not found, f"{len(found)} answers are wrong:\n" + "\n".join(found)

    def new_errors(self) -> list[str]:
        """Return the lines of logs, since the last time, that tell a failure or are forged."""
        lines = [
            *self.deployment.errors(),
            *(
                f"{each.name}: {line}"
                for each in self.deployment.processes.values()
                for line in each.log.read_text(errors="replace").splitlines()
                if line.lstrip().startswith(hostile.FORGED)
            ),
        ]
        new = Counter(lines) - self._errors
        self._errors += new
        return [*new.elements()]


@contextlib.contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """Lend a deployment with what its users have."""
    kind = functools.partial(TokenDeployment, accounts=ACCOUNTS)
    with deployed(folder, HOSTS, kind=kind, schedulers=1, options=OPTIONS) as running:
        yield World(running)
