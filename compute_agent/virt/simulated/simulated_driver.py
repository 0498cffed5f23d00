"""Simulated driver: hosts without real guests, for trials, tests and measurements.

An operation checks the guest, waits, then writes its new state. Each write is computed from the
guest's current state in one transaction, so that concurrent calls and crashes leave no partial
changes, and each step may run again.

A guest moves to another host, perhaps of another agent; each host stores only its own view. Cold
migration: the source is ``detached`` before the destination can take the guest over. Live
migration: the destination is ``arriving`` while the guest runs at the source. After the copy, the
source becomes ``left`` and the guest runs nowhere; then, on request, the destination becomes
``here``. A guest never runs on both hosts as long as the steps come in order; if both hosts belong
to one agent, the last step checks that the guest has really left the source.
"""

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg
from oslo_utils import timeutils

from armillary import exception
from armillary.files import private_files
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import (
    PAUSED,
    RUNNING,
    SHUTDOWN,
    SUSPENDED,
    ComputeDriver,
    Feature,
    GuestInfo,
    HostResources,
    LiveWatch,
    Readings,
)
from compute_agent.virt.machine import machine
from compute_agent.virt.metrics import METRICS, Kind
from compute_agent.virt.simulated.simulated_delays import SimulatedDelays, check_patterns, failed
from compute_agent.virt.simulated.simulated_guest import Role, SimulatedGuest, console_lines
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost, parse_hosts
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics
from objects.numa import HostCell

FILE_NAME = "simulated-guests.sqlite"
HYPERVISOR_TYPE = "simulated"
"""Also the driver's name in what it sends to another host."""
HYPERVISOR_VERSION = 1_000_000
CLAIMED_DRIVER = "libvirt"
"""Driver in diagnostics."""
ARCHITECTURE = "x86_64"
CPU = {"arch": ARCHITECTURE, "model": "simulated", "vendor": "", "features": []}


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

    def get_resources(self) -> HostResources:
        return self._declared.resources

    def get_attributes(self) -> dict[str, object]:
        return {
            "hypervisor_type": HYPERVISOR_TYPE,
            "hypervisor_version": HYPERVISOR_VERSION,
            "hypervisor_hostname": self.host,
            "host_ip": self._host_ip,
            "cpu_info": json.dumps({**CPU, "topology": self._topology()}),
            "supported_instances": [[ARCHITECTURE, HYPERVISOR_TYPE, "hvm"]],
        }

    def _topology(self) -> dict[str, int]:
        return {"sockets": 1, "cores": self._declared.resources.vcpus, "threads": 1}

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
        guest = self._find(instance.uuid)
        if guest is not None and guest.is_ours:
            return guest.info()
        self._pace.build(instance.uuid)

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.is_ours:
                return guest
            return SimulatedGuest(instance.uuid).sized(instance).booted(_now())

        return self._store.change(self.host, instance.uuid, make).info()

    @contextlib.contextmanager
    def ready_to_rebuild(self, instance: Instance) -> Iterator[bool]:
        guest = self._find(instance.uuid)
        yield guest is not None and (guest.is_ours or guest.role is Role.ASIDE)

    def set_aside(self, instance_uuid: str) -> None:
        """Mark it; ``spawn`` replaces it once the new guest runs."""

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.role is Role.ASIDE:
                return guest
            return dataclasses.replace(self._ours("rebuild", instance_uuid, guest), role=Role.ASIDE)

        self._store.change(self.host, instance_uuid, make)

    def put_back(self, instance: Instance, place: InstancePlacement) -> bool | None:
        guest = self._find(instance.uuid)
        if guest is None or guest.role is not Role.ASIDE:
            return None
        was_on, now = guest.power_state == RUNNING, _now()
        back = dataclasses.replace(guest, role=Role.HERE).off(now)
        self._store.change(
            self.host, instance.uuid, lambda _guest: back.booted(now) if was_on else back
        )
        return was_on

    def drop_aside(self, instance_uuid: str) -> None:
        """Do nothing: the new guest has replaced it."""

    def destroy(self, instance_uuid: str) -> None:
        self._store.remove(self.host, instance_uuid)

    def list_guests(self) -> list[GuestInfo]:
        return [guest.info() for guest in self._store.list_guests(self.host)]

    def close(self) -> None:
        self._store.close()

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset(Feature) - {
            Feature.SERIAL_CONSOLE, Feature.IMAGE_CACHE, Feature.CRASH_DUMP,
        }  # fmt: skip

    # Guests on this host --------------------------------------------------------------------------

    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        guest = self._get("power_off", instance_uuid)
        if not guest.is_off:
            self._pace.operation("power_off", instance_uuid)
            guest = self._change("power_off", instance_uuid, lambda guest: guest.off(_now()))
        return guest.info()

    def power_on(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        guest = self._get("power_on", instance.uuid)
        if not guest.is_running:
            self._pace.operation("power_on", instance.uuid)
            guest = self._change("power_on", instance.uuid, lambda guest: _on(guest, instance))
        return guest.info()

    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        self._get("reboot", instance.uuid)
        self._pace.operation("reboot", instance.uuid)
        guest = self._change(
            "reboot", instance.uuid, lambda guest: guest.off(_now()).sized(instance).booted(_now())
        )
        return guest.info()

    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        return self._settle("resize", instance, is_on=is_on)

    def pause(self, instance_uuid: str) -> GuestInfo:
        return self._hold("pause", instance_uuid, PAUSED)

    def unpause(self, instance_uuid: str) -> GuestInfo:
        return self._continue("unpause", instance_uuid)

    def suspend(self, instance_uuid: str) -> GuestInfo:
        return self._hold("suspend", instance_uuid, SUSPENDED)

    def resume(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        return self._continue("resume", instance.uuid)

    def _hold(self, operation: str, uuid: str, power_state: str) -> GuestInfo:
        def make(guest: SimulatedGuest) -> SimulatedGuest:
            if guest.is_off:
                self._running(operation, uuid, guest)
            return guest.held(power_state, _now())

        return self._paced(operation, uuid, make)

    def _continue(self, operation: str, uuid: str) -> GuestInfo:
        return self._paced(operation, uuid, lambda guest: guest.continued(_now()))

    def _paced(
        self, operation: str, uuid: str, make: Callable[[SimulatedGuest], SimulatedGuest]
    ) -> GuestInfo:
        """Change a guest of this host after the operation's delay, if there is one."""
        guest = self._get(operation, uuid)
        if make(guest) != guest:
            self._pace.operation(operation, uuid)
            guest = self._change(operation, uuid, make)
        return guest.info()

    def rescue(
        self, instance: Instance, place: InstancePlacement, image: ImageMeta, *,
        grace_seconds: float,
    ) -> GuestInfo:  # fmt: skip
        return self._paced("rescue", instance.uuid, lambda guest: guest.off(_now()).rescued(_now()))

    def unrescue(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        return self._paced(
            "unrescue", instance.uuid, lambda guest: guest.off(_now()).booted(_now())
        )

    def snapshot(self, instance_uuid: str, image: ImageMeta, path: Path) -> None:
        """Write the guest's sizes: it has no data."""
        guest = self._get("snapshot", instance_uuid)
        self._pace.operation("snapshot", instance_uuid)
        sizes = {"vcpus": guest.vcpus, "memory_mb": guest.memory_mb, "disk_gb": guest.disk_gb}
        with open(path, "x", encoding="utf-8", opener=private_files.opener) as file:
            json.dump({"uuid": guest.uuid, **sizes}, file)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        kept = console_lines(self.host, self._get("get_console_output", instance_uuid))
        wanted = kept if lines is None else kept[max(0, len(kept) - lines) :]
        return "".join(f"{line}\n" for line in wanted)

    def get_diagnostics(self, instance_uuid: str) -> Diagnostics:
        """Return the guest's sizes; it uses nothing. The driver is one that clients know."""
        guest = self._get("get_diagnostics", instance_uuid)
        return Diagnostics(
            driver=CLAIMED_DRIVER,
            power_state=guest.power_state,
            hypervisor=HYPERVISOR_TYPE,
            hypervisor_os="linux",
            cpu_seconds=[0.0] * guest.vcpus if guest.is_running else [],
            memory_max_mb=guest.memory_mb,
            memory_used_mb=0,
            disks=[DiskDiagnostics(0, 0, 0, 0, 0)],
        )

    def set_admin_password(self, instance_uuid: str, password: str) -> None:
        """Do nothing: there is no administrator in a simulated guest."""
        self._get("set_admin_password", instance_uuid)

    # Moves ----------------------------------------------------------------------------------------

    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, object]:
        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is None or not guest.is_ours:
                raise self._failed("detach", instance_uuid, "the guest does not exist on the host")
            return guest.off(_now()).moved(Role.DETACHED)

        guest = self._find(instance_uuid)
        if guest is None or guest.role is not Role.DETACHED:
            make(guest)
            self._pace.operation("detach", instance_uuid)
            self._store.change(self.host, instance_uuid, make)
        return {"driver": HYPERVISOR_TYPE, "host": self.host}

    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        self._check_kind("attach", instance.uuid, migration_payload)
        guest = self._find(instance.uuid)
        if guest is not None and guest.is_ours:  # already taken over, or it never left
            return self._settle("attach", instance, is_on=is_on)
        self._pace.operation("attach", instance.uuid)

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.is_ours:
                return guest
            new = SimulatedGuest(instance.uuid, power_state=SHUTDOWN).sized(instance)
            return new.booted(_now()) if is_on else new

        return self._store.change(self.host, instance.uuid, make).info()

    def describe_live(self, instance_uuid: str) -> dict[str, object]:
        guest = self._movable("describe_live", instance_uuid, self._find(instance_uuid))
        return {
            "driver": HYPERVISOR_TYPE, "host": self.host, "memory_mb": guest.memory_mb,
            "power_state": guest.power_state,
        }  # fmt: skip

    def prepare_live(
        self, instance: Instance, place: InstancePlacement, source: Mapping[str, Any]
    ) -> dict[str, object]:
        uuid = instance.uuid
        self._check_kind("prepare_live", uuid, source)
        came_from = str(source.get("host"))
        if came_from == self.host:
            raise self._failed("prepare_live", uuid, "the guest already runs on this host")

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.is_ours:
                if guest.role is Role.HERE and guest.source == came_from:
                    return guest  # it has arrived in the meantime
                raise self._failed("prepare_live", uuid, "the host already has this guest")
            power_state = PAUSED if source.get("power_state") == PAUSED else SHUTDOWN
            new = SimulatedGuest(uuid, Role.ARRIVING, power_state=power_state, source=came_from)
            return new.sized(instance)

        guest = self._find(uuid)
        if make(guest) != guest:
            self._pace.operation("prepare_live", uuid)
            self._store.change(self.host, uuid, make)
        return {"driver": HYPERVISOR_TYPE, "host": self.host}

    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        uuid = instance.uuid
        guest = self._find(uuid)
        if guest is not None and guest.role is Role.LEFT:
            return
        self._check_kind("live_migrate", uuid, destination)
        total_mb = self._movable("live_migrate", uuid, guest).memory_mb
        for left_mb in self._pace.copy(uuid, total_mb):
            watch.progress(total_mb=total_mb, remaining_mb=left_mb)
            if watch.is_aborted():
                raise exception.LiveMigrationAborted(instance_uuid=uuid)
            if watch.is_forced():
                watch.progress(total_mb=total_mb, remaining_mb=0)
                break
            guest = self._find(uuid)
            if guest is not None and guest.role is Role.LEFT:
                return  # a concurrent call has moved it
            self._movable("live_migrate", uuid, guest)
        self._store.change(self.host, uuid, lambda guest: self._leave(uuid, guest))

    def complete_live(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        uuid = instance.uuid

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is None or guest.role in (Role.LEFT, Role.DETACHED):
                raise self._failed("complete_live", uuid, "it was not prepared here")
            if guest.role is Role.HERE:
                return guest
            source = self._store.find(str(guest.source), uuid)
            if source is not None and source.is_movable_live:
                reason = f"it did not arrive and still runs on {guest.source}"
                raise self._failed("complete_live", uuid, reason)
            return guest.sized(instance).arrived(_now())

        guest = self._find(uuid)
        arrived = make(guest)
        if arrived != guest:
            self._pace.operation("complete_live", uuid)
            arrived = self._store.change(self.host, uuid, make)
        return arrived.info()

    # Parts ----------------------------------------------------------------------------------------

    def _find(self, uuid: str) -> SimulatedGuest | None:
        return self._store.find(self.host, uuid)

    def _get(self, operation: str, uuid: str) -> SimulatedGuest:
        return self._ours(operation, uuid, self._find(uuid))

    def _change(
        self, operation: str, uuid: str, make: Callable[[SimulatedGuest], SimulatedGuest]
    ) -> SimulatedGuest:
        return self._store.change(
            self.host, uuid, lambda guest: make(self._ours(operation, uuid, guest))
        )

    def _settle(self, operation: str, instance: Instance, *, is_on: bool) -> GuestInfo:
        """Apply the flavor and power state to a guest of this host; unchanged if it has both."""

        def make(guest: SimulatedGuest) -> SimulatedGuest:
            guest = guest.resized(instance, _now())
            return _on(guest, instance) if is_on else guest.off(_now())

        return self._paced(operation, instance.uuid, make)

    def _leave(self, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is not None and guest.role is Role.LEFT:
            return guest
        return dataclasses.replace(
            self._movable("live_migrate", uuid, guest).moved(Role.LEFT), source=None
        )

    def _ours(self, operation: str, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is None:
            raise self._failed(operation, uuid, "the guest does not exist on the host")
        if not guest.is_ours:
            raise self._failed(operation, uuid, f"the guest is not here: {guest.role.value}")
        return guest

    def _running(self, operation: str, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is None or not guest.is_running:
            raise self._failed(operation, uuid, "the guest is not running on the host")
        return guest

    def _movable(self, operation: str, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is None or not guest.is_movable_live:
            reason = "the guest is not running on the host, and not paused"
            raise self._failed(operation, uuid, reason)
        return guest

    def _check_kind(self, operation: str, uuid: str, told: Mapping[str, Any]) -> None:
        if told.get("driver") != HYPERVISOR_TYPE:
            reason = f"the other host uses a different driver: {told.get('driver')}"
            raise self._failed(operation, uuid, reason)

    def _failed(self, operation: str, uuid: str, reason: str) -> exception.OperationFailed:
        return failed(operation, uuid, self.host, reason)


def _on(guest: SimulatedGuest, instance: Instance) -> SimulatedGuest:
    return guest if guest.is_running else guest.off(_now()).sized(instance).booted(_now())


def _now() -> datetime:
    return timeutils.utcnow(with_timezone=True)
