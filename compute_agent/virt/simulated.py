"""Hosts on which nothing runs: to try, to teach, to test and to measure everything else."""

from __future__ import annotations

import fnmatch
import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg
from oslo_utils import timeutils

from armillary import exception
from compute_agent.instance_place import ANYWHERE, InstancePlace
from compute_agent.pci_devices import PciDevice
from compute_agent.virt import machine
from compute_agent.virt.driver import ComputeDriver, GuestInfo, HostResources, Readings
from compute_agent.virt.simulated_hosts import SimulatedHost, parse_hosts
from compute_agent.virt.simulated_store import SimulatedStore
from objects.instance import Instance
from objects.numa import HostCell

FILE_NAME = "simulated-guests.sqlite"
HYPERVISOR_TYPE = "simulated"
HYPERVISOR_VERSION = 1_000_000
ARCHITECTURE = "x86_64"


class SimulatedDriver(ComputeDriver):
    """One simulated host. Its guests are remembered over restarts of the agent, and never end.

    A build takes a while and may fail, by ``[simulated]`` options; how long and whether follows
    from the seed, the host and the instance, so a run can be repeated.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        declared: SimulatedHost,
        store: SimulatedStore,
        host_ip: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._conf = conf
        self._declared = declared
        self._store = store
        self._host_ip = host_ip
        self._sleep = sleep
        self._declared_at = timeutils.utcnow(with_timezone=True)  # declared values do not age

    @classmethod
    def make_hosts(cls, conf: cfg.ConfigOpts, state_path: Path) -> list[Self]:
        """Return a driver for each host that ``[simulated] hosts`` declares."""
        hosts = parse_hosts(conf.simulated.hosts)
        if not hosts:
            raise exception.ConfigurationError(
                reason="[simulated] hosts is empty, and [compute] driver asks for simulated hosts"
            )
        store = SimulatedStore(state_path / FILE_NAME)
        host_ip = conf.my_ip or machine.own_address()
        return [cls(conf, host, store, host_ip) for host in hosts]

    @property
    def host(self) -> str:
        return self._declared.name

    def init_host(self, instances: Iterable[Instance]) -> None:
        self._store.open()

    def get_resources(self) -> HostResources:
        return self._declared.resources

    def get_attributes(self) -> dict[str, Any]:
        cpu_info = {"arch": ARCHITECTURE, "model": "simulated", "vendor": "", "features": []}
        return {
            "hypervisor_type": HYPERVISOR_TYPE,
            "hypervisor_version": HYPERVISOR_VERSION,
            "hypervisor_hostname": self.host,
            "host_ip": self._host_ip,
            "cpu_info": json.dumps(cpu_info),
            "supported_instances": [[ARCHITECTURE, HYPERVISOR_TYPE, "hvm"]],
        }

    def get_traits(self) -> frozenset[str]:
        return self._declared.traits

    def get_numa_cells(self) -> Sequence[HostCell]:
        return self._declared.cells

    def get_pci_devices(self) -> Sequence[PciDevice]:
        return self._declared.devices

    def get_cpu_readings(self) -> Readings | None:
        if not self._declared.cpu_metrics:
            return None
        return Readings(self._declared.cpu_metrics, self._declared_at)

    def spawn(self, instance: Instance, place: InstancePlace = ANYWHERE) -> GuestInfo:
        if instance.uuid not in self._store.list_uuids(self.host):
            self._pretend_to_build(instance.uuid)
            self._store.add(self.host, instance.uuid)
        return GuestInfo(instance.uuid, "running")

    def destroy(self, instance_uuid: str) -> None:
        self._store.remove(self.host, instance_uuid)

    def list_guests(self) -> list[GuestInfo]:
        return [GuestInfo(uuid, "running") for uuid in self._store.list_uuids(self.host)]

    def close(self) -> None:
        self._store.close()

    def _pretend_to_build(self, uuid: str) -> None:
        options = self._conf.simulated
        dice = random.Random(f"{options.failure_seed}/{self.host}/{uuid}")  # noqa: S311
        shortest = options.build_delay_seconds_min
        self._sleep(dice.uniform(shortest, max(shortest, options.build_delay_seconds_max)))
        is_failing = any(fnmatch.fnmatchcase(self.host, glob) for glob in options.failing_hosts)
        if is_failing or dice.random() < options.failure_rate:
            raise exception.BuildFailed(
                instance_uuid=uuid, host=self.host, reason="simulated failure"
            )
