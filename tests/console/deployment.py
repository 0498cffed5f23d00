"""A deployment for the console: two projects, six hosts, and one host that can die."""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml
from oslo_policy import opts as policy_opts

from armillary.service import ServiceGroup
from programs import up, wiring
from programs.bus_factory import bus_maker
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
    """What tests need: APIs by user, IDs of a flavor and an image, and the agent that can die."""

    apis: dict[str, Api]
    flavor: str
    greedy_flavor: str
    image: str
    mortal: ServiceGroup

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
    group = ServiceGroup(conf, up.embedded_services(conf, top_url=top_url, on_bound=bound.append))
    group.start()
    mortal = _mortal(folder / "mortal", conf.cell.uuid, cell_url)
    mortal.start()
    try:
        apis = {user: _api(f"http://{bound[0][0]}:{bound[0][1]}", user) for user in USERS}
        root = apis["root"]
        wait_for(lambda: _hosts_up(root) >= hosts_total, f"{hosts_total} hosts are up", 180)
        yield Deployment(
            apis,
            add_flavor(root, "small", 1),
            add_flavor(root, "greedy", 640),
            image_of(root),
            mortal,
        )
    finally:
        mortal.stop(5)
        group.stop(5)


def _policy(folder: Path) -> Path:
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(POLICY))
    return path


def _tokens(folder: Path) -> Path:
    path = folder / "tokens.yaml"
    entries = [
        {
            "sha256": hashlib.sha256(token_of(user).encode()).hexdigest(),
            "user": user,
            "project": project,
            "roles": roles.split(),
        }
        for user, (project, roles) in USERS.items()
    ]
    path.write_text(yaml.safe_dump({"tokens": entries}))
    path.chmod(0o600)
    return path


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
