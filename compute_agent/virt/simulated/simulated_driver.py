"""Simulated driver: hosts without real guests, for trials, tests and measurements."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg
from oslo_utils import timeutils

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import (
    ComputeDriver,
    Feature,
    GuestInfo,
    HostResources,
    LiveWatch,
    Readings,
)
from compute_agent.virt.machine import machine
from compute_agent.virt.metrics import METRICS, Kind
from compute_agent.virt.simulated.simulated_delays import SimulatedDelays, check_patterns
from compute_agent.virt.simulated.simulated_guest import SimulatedGuest
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost, parse_hosts
from compute_agent.virt.simulated.simulated_moves import SimulatedMoves
from compute_agent.virt.simulated.simulated_power import SimulatedPower
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from objects.instance import Instance
from objects.numa import HostCell

FILE_NAME = "simulated-guests.sqlite"
HYPERVISOR_TYPE = "simulated"
HYPERVISOR_VERSION = 1_000_000
ARCHITECTURE = "x86_64"
CPU_INFO = json.dumps({"arch": ARCHITECTURE, "model": "simulated", "vendor": "", "features": []})


class SimulatedDriver(ComputeDriver):
    """One simulated host. Its guests survive restarts of the agent, and never stop by themselves.

    Operations take time and may fail, as configured in ``[simulated]``. Durations and failures are
    derived from the seed, the host and the instance, so a run can be repeated. A guest only has a
    power state, its sizes and a console.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        declared: SimulatedHost,
        store: SimulatedStore,
        host_ip: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._declared = declared
        self._store = store
        self._host_ip = host_ip
        self._pace = SimulatedDelays(conf, self.host, sleep)
        self._power = SimulatedPower(self.host, store, self._pace, _now)
        self._moves = SimulatedMoves(self.host, store, self._pace, self._power, _now)
        self._declared_at = _now()  # declared metrics are constant

    @classmethod
    def make_hosts(cls, conf: cfg.ConfigOpts, state_path: Path) -> list[Self]:
        """Return a driver for each host that ``[simulated] hosts`` declares."""
        hosts = parse_hosts(conf.simulated.hosts)
        if not hosts:
            raise exception.ConfigurationError(
                reason="[simulated] hosts is empty, but [compute] driver includes simulated hosts"
            )
        check_patterns(conf.simulated.failing_operations)
        store = SimulatedStore(state_path / FILE_NAME)
        host_ip = conf.my_ip or machine.own_address()
        return [cls(conf, host, store, host_ip) for host in hosts]

    @property
    def host(self) -> str:
        return self._declared.name

    def init_host(self, instances: Iterable[Instance]) -> None:
        self._store.open()
        for instance in instances:
            self._learn_sizes(instance)

    def get_resources(self) -> HostResources:
        return self._declared.resources

    def get_attributes(self) -> dict[str, Any]:
        return {
            "hypervisor_type": HYPERVISOR_TYPE,
            "hypervisor_version": HYPERVISOR_VERSION,
            "hypervisor_hostname": self.host,
            "host_ip": self._host_ip,
            "cpu_info": CPU_INFO,
            "supported_instances": [[ARCHITECTURE, HYPERVISOR_TYPE, "hvm"]],
        }

    def get_traits(self) -> frozenset[str]:
        return self._declared.traits

    def get_numa_cells(self) -> Sequence[HostCell]:
        return self._declared.cells

    def get_pci_devices(self) -> Sequence[PciDevice]:
        return self._declared.devices

    def get_readings(self, kind: Kind) -> Readings | None:
        declared = self._declared.metrics
        values = {name: declared[name] for name in METRICS[kind] if name in declared}
        return Readings(values, self._declared_at) if values else None

    def spawn(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        guest = self._store.find(self.host, instance.uuid)
        if guest is not None and guest.is_ours:
            return guest.info()
        self._pace.build(instance.uuid)
        return self._store.change(
            self.host, instance.uuid, lambda guest: _built(instance, guest)
        ).info()

    def destroy(self, instance_uuid: str) -> None:
        self._store.remove(self.host, instance_uuid)

    def list_guests(self) -> list[GuestInfo]:
        return [guest.info() for guest in self._store.list_guests(self.host)]

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset(Feature)

    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        return self._power.power_off(instance_uuid)

    def power_on(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        return self._power.power_on(instance)

    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        return self._power.reboot(instance)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        return self._power.console(instance_uuid, lines)

    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, Any]:
        return self._moves.detach(instance_uuid)

    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        return self._moves.attach(instance, migration_payload, is_on=is_on)

    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        return self._power.resize(instance, is_on=is_on)

    def describe_live(self, instance_uuid: str) -> dict[str, Any]:
        return self._moves.describe_live(instance_uuid)

    def prepare_live(
        self, instance: Instance, place: InstancePlacement, source: Mapping[str, Any]
    ) -> dict[str, Any]:
        return self._moves.prepare_live(instance, source)

    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        self._moves.live_migrate(instance, destination, watch)

    def complete_live(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        return self._moves.complete_live(instance)

    def close(self) -> None:
        self._store.close()

    def _learn_sizes(self, instance: Instance) -> None:
        """Set the sizes of a guest from a version that did not store them."""
        guest = self._store.find(self.host, instance.uuid)
        if guest is not None and not guest.vcpus:
            sized = guest.sized(instance.flavor)
            self._store.change(self.host, instance.uuid, lambda _: sized)


def _built(instance: Instance, guest: SimulatedGuest | None) -> SimulatedGuest:
    if guest is not None and guest.is_ours:
        return guest
    return _new(instance).booted(_now())


def _new(instance: Instance) -> SimulatedGuest:
    return SimulatedGuest(instance.uuid).sized(instance.flavor)


def _now() -> datetime:
    return timeutils.utcnow(with_timezone=True)
