"""A scheduler as it is deployed, to be measured: processes on PostgreSQL and RabbitMQ.

Placement and any number of schedulers are programs of their own. Cells, aggregates and hosts come
from this process, in the place of the conductors.
"""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from objects.allocations.allocation import AllocationClaim
from objects.hosts.host_states import HostStateBatch
from placement.interface import PlacementAPI
from programs.bus_factory import bus_maker
from rpc.signing.place import TOP
from rpc.signing.trust import SERVICES
from rpc.transport import Bus
from scheduler.interface import SchedulerAPI
from tests.bench.placement import placement_fleet
from tests.bench.placement.placement_service import (
    bench_conf,
    empty_database,
    running_program,
    running_service,
)
from tests.builders import a_uuid
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.signing import Authority
from tests.fleets import CELL, Host, a_batch


@dataclass(frozen=True)
class Enrolled:
    """One process as its configuration has it."""

    options: dict[str, str]

    def section(self) -> str:
        """Return the section of a configuration file."""
        return "\n".join(["[signing]", *(f"{k} = {v}" for k, v in self.options.items()), ""])

    def set_on(self, conf: cfg.ConfigOpts) -> None:
        """Set the options of a configuration without files."""
        for name, value in self.options.items():
            conf.set_override(name, [value] if name == "root_keys" else value, group="signing")


class Signing:
    """Keys under a folder; without ``is_on`` no process signs."""

    def __init__(self, folder: Path, *, is_on: bool) -> None:
        self._authority = Authority(folder / "authority") if is_on else None
        self._enrolled: dict[str, Enrolled] = {}

    def enrol(self, role: str, *, name: str | None = None, scope: str | None = None) -> None:
        """Give a process a key; all have theirs before the first one starts."""
        name = name or role
        if self._authority is None:
            self._enrolled[name] = Enrolled({"mode": "off"})
            return
        self._authority.enrol(role, name=name, scope=scope)
        self._enrolled[name] = Enrolled(
            {
                "mode": "required",
                "key_file": str(self._authority.key_path(name)),
                "trust_file": str(self._authority.path(SERVICES)),
                "root_keys": self._authority.root.public.text,
            }
        )

    def of(self, name: str) -> Enrolled:
        """Return what a process is told."""
        return self._enrolled[name]


CALL_SECONDS_MAX = 120.0
START_SECONDS_MAX = 60.0

_CONFIGURATION = """
[DEFAULT]
transport_url = {transport_url}
host = bench{number}
state_path = {folder}
[scheduler]
workers = 1
sync_interval_seconds = 1
[filter_scheduler]
{options}
"""


@dataclass
class Deployment:
    """Placement and schedulers that run; ``bus`` is this process's own."""

    bus: Bus
    conf: cfg.ConfigOpts
    placement: int
    schedulers: list[subprocess.Popen[bytes]]

    def pids(self) -> list[int]:
        """Return all processes of the programs."""
        roots = [self.placement, *(each.pid for each in self.schedulers)]
        return [
            each.pid
            for root in roots
            for each in (psutil.Process(root), *psutil.Process(root).children(recursive=True))
        ]

    def placement_api(self) -> PlacementAPI:
        return PlacementAPI(self.bus, timeout_seconds=CALL_SECONDS_MAX)

    def claim_one(self, placement: PlacementAPI) -> None:
        """Claim for a new consumer on the first host."""
        provider = placement_fleet.uuid_of(1)
        claim = AllocationClaim(
            consumer_uuid=a_uuid(),
            project_id="bench",
            user_id="bench",
            allocations={provider: {"resources": {"VCPU": 1, "MEMORY_MB": 64}}},
        )
        placement.claim(admin_context(), [claim])

    def api(self) -> SchedulerAPI:
        return SchedulerAPI(self.bus, timeout_seconds=CALL_SECONDS_MAX)


@contextlib.contextmanager
def deployed(
    hosts: int, *, schedulers: int = 1, options: Sequence[str] = (), is_signed: bool = False
) -> Iterator[Deployment]:
    """Run all on so many equal hosts, and return when each scheduler knows all of them.

    A scheduler is one process, whatever the number of processors.

    With ``is_signed`` each process has a key, and takes signed messages alone.
    """
    with (
        empty_database() as url,
        tempfile.TemporaryDirectory() as name,
        contextlib.ExitStack() as running,
    ):
        folder = Path(name)
        placement_fleet.fill_plain(url, hosts)
        signing = _signing(folder, schedulers, is_signed=is_signed)
        service = running.enter_context(
            running_service(folder, url, options=signing.of("placement").section())
        )
        conf = _own_conf(folder, signing.of("conductor"))
        bus = bus_maker(conf, "bench-conductor")(service.transport_url, TOP)
        running.callback(bus.close)
        cell_conf = _own_conf(folder, signing.of("cell_conductor"))
        cell_bus = bus_maker(cell_conf, "bench-cell")(service.transport_url, TOP)
        running.callback(cell_bus.close)
        for server in (
            an_rpc_server(bus, SuperConductorAPI, "bench", _Facts()),
            an_rpc_server(cell_bus, HostStatesAPI, CELL, _HostStates(fleet_of(hosts))),
        ):
            server.start()
            running.callback(server.wait)
            running.callback(server.stop)
        programs = [
            running.enter_context(
                _scheduler(folder, service.transport_url, number, options, signing)
            )
            for number in range(schedulers)
        ]
        found = Deployment(bus, conf, service.process.pid, programs)
        for number in range(schedulers):
            _wait_until_it_answers(found.api(), f"bench{number}", folder)
        time.sleep(3.0)  # its questions are answered, and the hosts are in its table
        yield found


def fleet_of(hosts: int) -> list[Host]:
    """Return the hosts whose providers ``placement_fleet.fill_plain`` writes."""
    values = {
        "vcpus_total": 64, "total_usable_ram_mb": 262_144, "free_ram_mb": 262_144,
        "total_usable_disk_gb": 2_000, "free_disk_mb": 2_048_000,
    }  # fmt: skip
    return [
        Host(f"host{number:06}", uuid=placement_fleet.uuid_of(number), values=values)
        for number in range(1, hosts + 1)
    ]


def _wait_until_it_answers(api: SchedulerAPI, server: str, folder: Path) -> None:
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < give_up_at:
        with contextlib.suppress(exception.Unavailable):
            api.ping(admin_context(), server=server, timeout_seconds=1.0)
            return
        time.sleep(0.1)  # the broker answers immediately as long as it has no queue for that
    logs = "\n".join(path.read_text()[-2000:] for path in folder.glob("scheduler*.log"))
    raise RuntimeError(f"{server} did not start:\n{logs}")


class _Facts:
    def get_cluster_metadata(self, context: RequestContext) -> dict[str, Any]:
        cell = {"uuid": CELL, "name": "cell1", "disabled": False}
        return {"seq": 1, "cells": [cell], "aggregates": []}

    def map_hosts(
        self, context: RequestContext, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
    ) -> list[str]:
        return []

    def report_service(
        self,
        context: RequestContext,
        host: str,
        binary: str,
        *,
        service_version: int,
        worker: int = 0,
        figures: Any = None,
    ) -> dict[str, int]:
        return {}


class _HostStates:
    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = hosts

    def get_host_states(self, context: RequestContext, after_seq: int) -> HostStateBatch:
        if after_seq:
            return a_batch([], first_seq=after_seq, last_seq=after_seq)
        return a_batch(self._hosts, full=True)


def _signing(folder: Path, schedulers: int, *, is_signed: bool) -> Signing:
    signing = Signing(folder, is_on=is_signed)
    signing.enrol("placement")
    signing.enrol("conductor")
    signing.enrol("cell_conductor", scope=CELL)
    for number in range(schedulers):
        signing.enrol("scheduler", name=f"scheduler{number}")
    return signing


def _own_conf(folder: Path, enrolled: Enrolled) -> cfg.ConfigOpts:
    conf = bench_conf(folder)
    enrolled.set_on(conf)
    return conf


@contextlib.contextmanager
def _scheduler(
    folder: Path, transport_url: str, number: int, options: Sequence[str], signing: Signing
) -> Iterator[subprocess.Popen[bytes]]:
    configuration = folder / f"scheduler{number}.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            transport_url=transport_url, folder=folder, number=number, options="\n".join(options)
        )
        + signing.of(f"scheduler{number}").section()
    )
    log = folder / f"scheduler{number}.log"
    with running_program("armillary-scheduler", configuration, log) as process:
        yield process
