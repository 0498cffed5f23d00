"""Addresses of guests, as drivers find them, told to the cell conductor when they change."""

import logging
from collections.abc import Iterator

from armillary import exception
from armillary.context import admin_context
from compute_agent.environment import Environment
from objects.instances.guest_addresses import ADDRESSES_MAX, GuestAddresses

LOG = logging.getLogger(__name__)

GUESTS_PER_MESSAGE_MAX = 500


class AddressReports:
    """Remembers in memory what was told; a new run of the agent tells all once more.

    Addresses that are not found any more are not taken back: a guest that is off keeps its own.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._told: dict[tuple[str, str], GuestAddresses] = {}

    def run(self) -> None:
        """Tell what was found since the last time; what cannot be told is tried the next time."""
        if not self._env.is_admitted():
            return
        found = {(one.host, one.instance_uuid): one for one in self._find()}
        new = [one for key, one in found.items() if self._told.get(key) != one]
        for first in range(0, len(new), GUESTS_PER_MESSAGE_MAX):
            batch = new[first : first + GUESTS_PER_MESSAGE_MAX]
            try:
                self._env.conductor.report_addresses(admin_context(), self._env.agent, batch)
            except exception.ArmillaryError as error:
                LOG.info("Cannot report the addresses of %d guests: %s", len(batch), error)
                found = {key: one for key, one in found.items() if one not in batch}
        self._told = found

    def _find(self) -> Iterator[GuestAddresses]:
        running = self._env.journal.list_running()
        for host, driver in self._env.drivers.items():
            if host not in running:
                continue
            try:
                by_guest = driver.list_addresses()
            except exception.Unavailable:  # the driver has said so
                continue
            except Exception:
                LOG.exception("Cannot list the addresses of the guests of host %s", host)
                continue
            for uuid, addresses in by_guest.items():
                attempt = running[host].get(uuid)
                if attempt is not None and addresses:
                    yield GuestAddresses(host, uuid, attempt, list(addresses[:ADDRESSES_MAX]))
