"""A deployment in this process that requires signatures: a key of its own for each program.

Its keys can be stolen: ``bus`` signs with any of them, on either broker.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import requests
from oslo_config import cfg

from armillary.service import ServiceGroup
from conductor.cell_conductor.interface import CellConductorAPI
from programs import up, wiring
from programs.bus_factory import bus_maker
from rpc.interface import Interface
from rpc.signing.message_signer import MessageSigner
from rpc.signing.place import TOP, zone_scope
from rpc.signing.trust import AGENTS, SERVICES
from rpc.transport import Bus
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.embedded import embedded_conf
from tests.fixtures.signing import Authority

HOST, OTHER_HOST = "host1", "host2"
"""Agents, and the one host that each has; the second does not run."""
ZONE = "eu"
CELL, OTHER_CELL = (f"5f3a4b1e-0000-4000-8000-00000000000{number}" for number in (1, 2))
PROGRAMS = {
    "placement": ("placement", None),
    "cell-conductor": ("cell_conductor", CELL),
    "super-conductor": ("conductor", None),
    "scheduler": ("scheduler", None),
    "compute": ("compute", HOST),
    "api": ("api", None),
}
"""Program -> its role and scope."""
STOLEN = {
    "operator": ("operator", None),
    "other-cell": ("cell_conductor", OTHER_CELL),
    "other-agent": ("compute", OTHER_HOST),
    "parent": ("parent_zone", "world"),
    "child": ("child_zone", "asia"),
}
"""Further identities, of which no process runs."""


class SignedSystem(Api):
    """The running deployment, its authority, and the ways to its brokers."""

    def __init__(self, folder: Path) -> None:
        super().__init__("", requests.Session())
        self.authority = Authority(folder / "authority")
        for name, (role, scope) in (PROGRAMS | STOLEN).items():
            self.authority.enrol(role, name=name, scope=scope)
        self.world = Authority(folder / "world")
        """That of the parent zone, which knows this zone's super conductor as a child's."""
        self.world.vouch_for(self.authority, "super-conductor", "child_zone", ZONE)
        made = uuid.uuid4()
        self.top_url, self.cell_url = (f"kombu+memory:////{each}-{made}" for each in ("t", "c"))
        self._folder = folder
        self._buses: list[Bus] = []

    def conf(self, name: str) -> cfg.ConfigOpts:
        """Return the configuration of a program."""
        trusted = {kind: self._folder / f"{name}-{kind}.json" for kind in (SERVICES, AGENTS)}
        for kind, path in trusted.items():
            path.write_text(self.authority.path(kind).read_text())
        values: dict[tuple[str | None, str], Any] = {
            (None, "host"): HOST,
            ("cell", "uuid"): CELL,
            ("cell", "transport_url"): self.cell_url,
            ("zones", "name"): ZONE,
            ("simulated", "hosts"): [f"name={HOST}:vcpus=8:memory_mb=16384:disk_gb=100"],
            ("image", "endpoint"): "http://127.0.0.1:9/image",
            ("signing", "mode"): "required",
            ("signing", "key_file"): str(self.authority.key_path(name)),
            ("signing", "trust_file"): str(trusted[SERVICES]),
            ("signing", "root_keys"): [self.authority.root.public.text],
        }
        if name.endswith("conductor"):
            values["signing", "compute_trust_file"] = str(trusted[AGENTS])
        return embedded_conf(self._folder, values)

    def bus(self, interface: type[Interface], name: str | None) -> Bus:
        """Return a bus on an interface's broker that signs with a key of that name, or not."""
        signer = None if name is None else self._signer(name, interface)
        is_on_top = interface is not CellConductorAPI and interface.TOPIC != "compute"
        url, scope = (self.top_url, TOP) if is_on_top else (self.cell_url, CELL)
        if interface.TOPIC == "zone":
            scope = zone_scope(ZONE)
        self._buses.append(Bus(messaging_conf(), url, message_signer=signer, scope=scope))
        return self._buses[-1]

    def _signer(self, name: str, interface: type[Interface]) -> MessageSigner:
        authority = self.world if (name, interface.TOPIC) == ("parent", "zone") else self.authority
        key = self.authority.private[name]
        return authority.signer(name, key=key, nonces="stolen-nonces")

    def close(self) -> None:
        for bus in self._buses:
            bus.close()


def refusals(topic: str, reason: str) -> float:
    """Return how many messages the services of this process have refused."""
    labels = {"topic": topic, "reason": reason}
    name = "armillary_rpc_refused_total"
    return prometheus_client.REGISTRY.get_sample_value(name, labels) or 0.0


@contextlib.contextmanager
def signed_system(folder: Path) -> Iterator[SignedSystem]:
    """Lend a running deployment whose host is up."""
    system = SignedSystem(folder)
    bound: list[tuple[str, int]] = []
    up.make_tables(system.conf("super-conductor"))
    with contextlib.ExitStack() as stack:
        stack.callback(system.close)
        for name in PROGRAMS:
            stack.enter_context(running_program(system, name, bound.append))
        system.api_url = f"http://{bound[0][0]}:{bound[0][1]}"
        wait_for(lambda: system.up_hosts() == 1, "the host is up", 30)
        yield system


@contextlib.contextmanager
def running_program(
    system: SignedSystem, name: str, on_bound: Callable[[tuple[str, int]], None] = lambda _: None
) -> Iterator[None]:
    """Run a program of the deployment, or one more of its kind."""
    group = _group(system, name, on_bound)
    group.start()
    try:
        yield
    finally:
        group.stop(5)


def _group(
    system: SignedSystem, name: str, on_bound: Callable[[tuple[str, int]], None]
) -> ServiceGroup:
    conf = system.conf(name)
    binary = f"armillary-{name.removeprefix('cell-').removeprefix('super-')}"
    way = {"cell_url": system.cell_url} if name == "compute" else {"top_url": system.top_url}
    arguments: dict[str, Any] = {**way, "make_bus": bus_maker(conf, binary)}
    if name == "api":
        arguments["on_bound"] = on_bound
    make = getattr(wiring, f"make_{name.replace('-', '_')}")
    return ServiceGroup(conf, [(binary, lambda: make(conf, **arguments))])
