"""Moves of simulated guests to another host, off or running, perhaps of another agent.

Each host only stores its own view. Cold migration: the source is ``detached`` before the
destination can take the guest over. Live migration: the destination is ``arriving`` while the guest
runs at the source. After the copy, the source becomes ``left`` and the guest runs nowhere; then, on
request, the destination becomes ``here``. Each transition is a single write, and each step is
idempotent. A guest never runs on both hosts as long as the steps come in order; if both hosts
belong to one agent, the last step checks that the guest has really left the source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from armillary import exception
from compute_agent.virt.driver import GuestInfo, LiveWatch
from compute_agent.virt.simulated.simulated_delays import SimulatedDelays, failed
from compute_agent.virt.simulated.simulated_guest import Role, SimulatedGuest
from compute_agent.virt.simulated.simulated_power import SimulatedPower
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from objects.instance import Instance

DRIVER = "simulated"
"""Driver name in migration payloads and descriptions."""


class SimulatedMoves:
    """Implementation of ``ComputeDriver`` for guests that move from or to one host."""

    def __init__(
        self,
        host: str,
        store: SimulatedStore,
        pace: SimulatedDelays,
        power: SimulatedPower,
        now: Callable[[], datetime],
    ) -> None:
        self._host = host
        self._store = store
        self._pace = pace
        self._power = power
        self._now = now

    def detach(self, uuid: str) -> dict[str, Any]:
        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is None or not guest.is_ours:
                raise failed("detach", uuid, self._host, "the guest does not exist on the host")
            return guest.off(self._now()).moved(Role.DETACHED)

        guest = self._store.find(self._host, uuid)
        if guest is None or guest.role is not Role.DETACHED:
            make(guest)
            self._pace.operation("detach", uuid)
            self._store.change(self._host, uuid, make)
        return {"driver": DRIVER, "host": self._host}

    def attach(
        self, instance: Instance, migration_payload: Mapping[str, Any], *, is_on: bool
    ) -> GuestInfo:
        self._check_kind("attach", instance.uuid, migration_payload)
        guest = self._store.find(self._host, instance.uuid)
        if guest is not None and guest.is_ours:  # already taken over, or it never left
            return self._power.settle("attach", instance, is_on=is_on)
        self._pace.operation("attach", instance.uuid)

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.is_ours:
                return guest
            new = SimulatedGuest(instance.uuid, is_running=False).sized(instance.flavor)
            return new.booted(self._now()) if is_on else new

        return self._store.change(self._host, instance.uuid, make).info()

    def describe_live(self, uuid: str) -> dict[str, Any]:
        guest = self._running("describe_live", uuid, self._store.find(self._host, uuid))
        return {"driver": DRIVER, "host": self._host, "memory_mb": guest.memory_mb}

    def prepare_live(self, instance: Instance, source: Mapping[str, Any]) -> dict[str, Any]:
        uuid = instance.uuid
        self._check_kind("prepare_live", uuid, source)
        came_from = str(source.get("host"))
        if came_from == self._host:
            raise failed("prepare_live", uuid, self._host, "the guest already runs on this host")

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is not None and guest.is_ours:
                if guest.role is Role.HERE and guest.source == came_from:
                    return guest  # it has arrived in the meantime
                raise failed("prepare_live", uuid, self._host, "the host already has this guest")
            new = SimulatedGuest(uuid, Role.ARRIVING, is_running=False, source=came_from)
            return new.sized(instance.flavor)

        guest = self._store.find(self._host, uuid)
        if make(guest) != guest:
            self._pace.operation("prepare_live", uuid)
            self._store.change(self._host, uuid, make)
        return {"driver": DRIVER, "host": self._host}

    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        uuid = instance.uuid
        guest = self._store.find(self._host, uuid)
        if guest is not None and guest.role is Role.LEFT:
            return
        self._check_kind("live_migrate", uuid, destination)
        total_mb = self._running("live_migrate", uuid, guest).memory_mb or instance.flavor.memory_mb
        for left_mb in self._pace.copy(uuid, total_mb):
            watch.progress(total_mb=total_mb, remaining_mb=left_mb)
            if watch.is_aborted():
                raise exception.LiveMigrationAborted(instance_uuid=uuid)
            guest = self._store.find(self._host, uuid)
            if guest is not None and guest.role is Role.LEFT:
                return  # a concurrent call has moved it
            self._running("live_migrate", uuid, guest)
        self._store.change(self._host, uuid, lambda guest: self._leave(uuid, guest))

    def complete_live(self, instance: Instance) -> GuestInfo:
        uuid = instance.uuid

        def make(guest: SimulatedGuest | None) -> SimulatedGuest:
            if guest is None or guest.role in (Role.LEFT, Role.DETACHED):
                raise failed("complete_live", uuid, self._host, "it was not prepared here")
            if guest.role is Role.HERE:
                return guest
            source = self._store.find(str(guest.source), uuid)
            if source is not None and source.is_running:
                reason = f"it did not arrive and still runs on {guest.source}"
                raise failed("complete_live", uuid, self._host, reason)
            return guest.sized(instance.flavor).arrived(self._now())

        guest = self._store.find(self._host, uuid)
        arrived = make(guest)
        if arrived != guest:
            self._pace.operation("complete_live", uuid)
            arrived = self._store.change(self._host, uuid, make)
        return arrived.info()

    def _leave(self, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is not None and guest.role is Role.LEFT:
            return guest
        return dataclasses.replace(
            self._running("live_migrate", uuid, guest).moved(Role.LEFT), source=None
        )

    def _running(self, operation: str, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is None or not guest.is_running:
            raise failed(operation, uuid, self._host, "the guest is not running on the host")
        return guest

    def _check_kind(self, operation: str, uuid: str, told: Mapping[str, Any]) -> None:
        if told.get("driver") != DRIVER:
            reason = f"the other host uses a different driver: {told.get('driver')}"
            raise failed(operation, uuid, self._host, reason)
