"""Operations on simulated guests that stay on their host: power, resize and console."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.simulated import simulated_console
from compute_agent.virt.simulated.simulated_delays import SimulatedDelays, failed
from compute_agent.virt.simulated.simulated_guest import SimulatedGuest
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from objects.flavor import Flavor
from objects.instance import Instance


class SimulatedPower:
    """Implementation of ``ComputeDriver`` for one host's guests: check, wait, then write.

    Each write is computed from the guest's current state in one transaction, so concurrent calls
    and crashes leave no partial changes. ``now`` returns the time in UTC.
    """

    def __init__(
        self, host: str, store: SimulatedStore, pace: SimulatedDelays, now: Callable[[], datetime]
    ) -> None:
        self._host = host
        self._store = store
        self._pace = pace
        self._now = now

    def power_off(self, uuid: str) -> GuestInfo:
        guest = self._get("power_off", uuid)
        if guest.is_running:
            self._pace.operation("power_off", uuid)
            guest = self._change("power_off", uuid, lambda guest: guest.off(self._now()))
        return guest.info()

    def power_on(self, instance: Instance) -> GuestInfo:
        guest = self._get("power_on", instance.uuid)
        if not guest.is_running:
            self._pace.operation("power_on", instance.uuid)
            guest = self._change(
                "power_on", instance.uuid, lambda guest: self._on(guest, instance.flavor)
            )
        return guest.info()

    def reboot(self, instance: Instance) -> GuestInfo:
        self._get("reboot", instance.uuid)
        self._pace.operation("reboot", instance.uuid)
        guest = self._change(
            "reboot",
            instance.uuid,
            lambda guest: guest.off(self._now()).sized(instance.flavor).booted(self._now()),
        )
        return guest.info()

    def resize(self, instance: Instance, *, is_on: bool) -> GuestInfo:
        return self.settle("resize", instance, is_on=is_on)

    def settle(self, operation: str, instance: Instance, *, is_on: bool) -> GuestInfo:
        """Apply the flavor and power state to a guest of this host; unchanged if it has both."""

        def make(guest: SimulatedGuest) -> SimulatedGuest:
            guest = guest.resized(instance.flavor, self._now())
            return self._on(guest, instance.flavor) if is_on else guest.off(self._now())

        guest = self._get(operation, instance.uuid)
        if make(guest) != guest:
            self._pace.operation(operation, instance.uuid)
            guest = self._change(operation, instance.uuid, make)
        return guest.info()

    def console(self, uuid: str, lines: int | None) -> str:
        guest = self._get("get_console_output", uuid)
        kept = simulated_console.lines(self._host, guest)
        wanted = kept if lines is None else kept[max(0, len(kept) - lines) :]
        return "".join(f"{line}\n" for line in wanted)

    def _on(self, guest: SimulatedGuest, flavor: Flavor) -> SimulatedGuest:
        return guest if guest.is_running else guest.sized(flavor).booted(self._now())

    def _get(self, operation: str, uuid: str) -> SimulatedGuest:
        return self._ours(operation, uuid, self._store.find(self._host, uuid))

    def _change(
        self, operation: str, uuid: str, make: Callable[[SimulatedGuest], SimulatedGuest]
    ) -> SimulatedGuest:
        return self._store.change(
            self._host, uuid, lambda guest: make(self._ours(operation, uuid, guest))
        )

    def _ours(self, operation: str, uuid: str, guest: SimulatedGuest | None) -> SimulatedGuest:
        if guest is None:
            raise failed(operation, uuid, self._host, "the guest does not exist on the host")
        if not guest.is_ours:
            raise failed(operation, uuid, self._host, f"the guest is not here: {guest.role.value}")
        return guest
