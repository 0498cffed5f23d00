"""A deployment for the console: two projects, six hosts, one that can die, pools on request."""

import contextlib
import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml
from oslo_policy import opts as policy_opts

from armillary.service import ServiceGroup
from objects.claims.resource_kinds import get_kind
from programs import up, wiring
from programs.bus_factory import bus_maker
from tests.fixtures import waiting
from tests.fixtures.access.token_files import token_entry, write_token_file
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.embedded import embedded_conf

HOSTS = "name=sim-{1..5}:vcpus=8:memory_mb=16384:disk_gb=100"
NUMA_HOST = "name=numa-1:vcpus=8:pcpus=8:memory_mb=16384:disk_gb=100:numa=2:pci=10de/20b0@4"
MORTAL = "mortal-1"
HOSTS_TOTAL = 7
USERS = {
    "root": ("admin", "admin"),
    "alice": ("astronomy", "member"),
    "bob": ("botany", "member"),
    "rita": ("astronomy", "reader"),
    "audra": ("astronomy", "reader auditor"),
}
"""User -> project and roles. A user's token is made from the name."""
POLICY = dict.fromkeys(
    (
        "os_compute_api:armillary:fleet:list", "os_compute_api:armillary:fleet:show_host",
        "os_compute_api:os-extended-server-attributes", "os_compute_api:armillary:explain:hosts",
    ),
    "role:admin or role:auditor",
)  # fmt: skip
"""What auditors may see, too; other rules are for administrators."""
REPORT_SECONDS, DOWN_SECONDS = 3, 12


def token_of(user: str) -> str:
    return f"token-of-{user}-{hashlib.sha256(user.encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class Deployment:
    """What tests need: APIs by user, IDs of a flavor and an image, and the agent that can die.

    ``placement_url`` is that of the Placement API.
    """

    apis: dict[str, Api]
    flavor: str
    greedy_flavor: str
    image: str
    mortal: ServiceGroup
    placement_url: str

    @property
    def url(self) -> str:
        return self.apis["root"].api_url

    def create(
        self,
        name: str,
        *,
        user: str = "root",
        flavor: str | None = None,
        image: str | None = None,
        host: str | None = None,
    ) -> str:
        """Create a server, on this host if one is given; return its ID."""
        asked = {
            "name": name,
            "flavorRef": flavor or self.flavor,
            "imageRef": image or self.image,
            "networks": "none",
            **({"host": host} if host else {}),
        }
        made = self.apis[user].post("/servers", {"server": asked})
        return str(made["server"]["id"])

    def add_pool(
        self,
        name: str,
        kind: str,
        totals: Mapping[str, int],
        *,
        traits: Sequence[str] = (),
        aggregates: Sequence[str] = (),
    ) -> str:
        """Make a pool by the Placement API, as an operator does; return its UUID."""
        owned = [get_kind(kind).trait, *traits]
        for path, names in (("traits", owned), ("resource_classes", totals)):
            for custom in (each for each in names if each.startswith("CUSTOM_")):
                self._place("PUT", f"/{path}/{custom}")
        pool_uuid = str(self._place("POST", "/resource_providers", {"name": name})["uuid"])
        parts = {
            "traits": owned,
            "aggregates": [*aggregates],
            "inventories": {each: {"total": total} for each, total in totals.items()},
        }
        for generation, (part, value) in enumerate(parts.items()):
            asked = {part: value, "resource_provider_generation": generation}
            self._place("PUT", f"/resource_providers/{pool_uuid}/{part}", asked)
        return pool_uuid

    def claim(self, name: str, user: str = "root", **asked: Any) -> str:
        """Claim resources of a pool; return the claim's ID when it is decided which, or none."""
        api = self.apis[user]
        made = api.post("/armillary/claims", {"claim": {"name": name, **asked}})["claim"]["id"]

        def is_decided() -> bool:
            found = api.get(f"/armillary/claims/{made}")["claim"]
            return bool(found["status"] != "PENDING")

        wait_for(is_decided, f"claim {name} has its pool, or none")
        return str(made)

    def _place(self, method: str, path: str, body: Any = None) -> Any:
        headers = {
            "X-Auth-Token": token_of("root"), "OpenStack-API-Version": "placement 1.39",
        }  # fmt: skip
        answer = requests.request(
            method,
            f"{self.placement_url}{path}",
            json=body,
            headers=headers,
            timeout=waiting.seconds(30),
        )
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def wait_for_status(self, server: str, status: str) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            shown: dict[str, Any] = self.apis["root"].get(f"/servers/{server}")["server"]
            return shown if shown["status"] == status else None

        shown: dict[str, Any] = wait_for(found, f"{server} is {status}")
        return shown


@contextlib.contextmanager
def deployment(
    folder: Path,
    *,
    hosts: Sequence[str] = (HOSTS, NUMA_HOST),
    hosts_total: int = HOSTS_TOTAL,
    report_seconds: int = REPORT_SECONDS,
    down_seconds: int = DOWN_SECONDS,
) -> Iterator[Deployment]:
    """Lend a running deployment with its hosts up."""
    cell_url, top_url = f"kombu+memory:////cell-{uuid.uuid4()}", f"kombu+memory:////{uuid.uuid4()}"
    conf = embedded_conf(
        folder,
        {
            ("simulated", "hosts"): [*hosts],
            ("simulated", "build_delay_seconds_min"): 1.5,
            ("simulated", "build_delay_seconds_max"): 1.5,
            ("api", "auth_strategy"): "token_file",
            ("api", "token_file"): str(_tokens(folder)),
            (None, "report_interval"): report_seconds,
            (None, "service_down_time"): down_seconds,
            ("cell", "transport_url"): cell_url,
        },
    )
    policy_opts.set_defaults(conf, policy_file=str(_policy(folder)))
    up.make_tables(conf)
    bound: list[tuple[str, int]] = []
    placement_bound: list[tuple[str, int]] = []
    services = up.embedded_services(
        conf, top_url=top_url, on_bound=bound.append, on_placement_bound=placement_bound.append
    )
    group = ServiceGroup(conf, services)
    group.start()
    mortal = _mortal(folder / "mortal", conf.cell.uuid, cell_url)
    mortal.start()
    try:
        apis = {user: _api(_url(bound[0]), user) for user in USERS}
        root = apis["root"]
        wait_for(lambda: _hosts_up(root) >= hosts_total, f"{hosts_total} hosts are up", 180)
        yield Deployment(
            apis,
            add_flavor(root, "small", 1),
            add_flavor(root, "greedy", 640),
            image_of(root),
            mortal,
            _url(placement_bound[0]),
        )
    finally:
        mortal.stop(5)
        group.stop(5)


def _url(address: tuple[str, int]) -> str:
    return f"http://{address[0]}:{address[1]}"


def _policy(folder: Path) -> Path:
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(POLICY))
    return path


def _tokens(folder: Path) -> Path:
    entries = [
        token_entry(token_of(user), user, project, roles.split())
        for user, (project, roles) in USERS.items()
    ]
    return write_token_file(folder, entries)


def _mortal(folder: Path, cell_uuid: str, cell_url: str) -> ServiceGroup:
    """Return an agent with one host, apart from the others."""
    folder.mkdir()
    conf = embedded_conf(
        folder,
        {
            (None, "host"): f"agent-of-{MORTAL}",
            ("cell", "uuid"): cell_uuid,
            ("cell", "transport_url"): cell_url,
            ("simulated", "hosts"): [f"name={MORTAL}:vcpus=8:memory_mb=16384:disk_gb=100"],
        },
    )
    make_bus = bus_maker(conf, "armillary-compute")
    return ServiceGroup(
        conf,
        [
            (
                "compute agent",
                lambda: wiring.make_compute(conf, cell_url=cell_url, make_bus=make_bus),
            )
        ],
    )


def _hosts_up(api: Api) -> int:
    """Return how many hosts are up, with their resources known."""
    hosts = api.get("/armillary/fleet")["hosts"]
    capacity = hosts["capacity"].get("VCPU", [])
    return sum(
        state == "up" and bool(vcpus)
        for state, vcpus in zip(hosts["state"], capacity, strict=False)
    )


def _api(url: str, user: str) -> Api:
    session = requests.Session()
    session.headers["X-Auth-Token"] = token_of(user)
    return Api(url, session)


def add_flavor(api: Api, name: str, vcpus: int, ram: int = 512, disk: int = 1) -> str:
    """Create a flavor and return its ID."""
    asked = {"name": name, "vcpus": vcpus, "ram": ram, "disk": disk}
    return str(api.post("/flavors", {"flavor": asked})["flavor"]["id"])


def image_of(api: Api) -> str:
    """Make an image and return its ID."""
    return str(api.post("/images", {"image": {"name": "sleeper"}})["image"]["id"])
