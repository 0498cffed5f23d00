"""Updates about single instances, between the pushes of their hosts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg

from scheduler.hosts.host_store import HostStore

LOG = logging.getLogger(__name__)


class InstanceInfo:
    """Applies created and deleted instances to the host store before the cell's push. Thread-safe.

    A push overrides these updates. An unknown host, or one whose instances differ, means that a
    push was missed: ``ask_cells`` requests it from the cells. If ``[filter_scheduler]
    track_instance_changes`` is off, updates are ignored.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        host_store: HostStore,
        ask_cells: Callable[[Iterable[str]], None],
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._ask_cells = ask_cells

    def update(self, hosts: Mapping[str, list[str]]) -> None:
        """Add these instances to their hosts."""
        if self._is_wanted(hosts):
            self._ask_for(self._host_store.add_instances(hosts))

    def delete(self, hosts: Mapping[str, list[str]]) -> None:
        """Remove these instances from their hosts."""
        if self._is_wanted(hosts):
            self._ask_for(self._host_store.drop_instances(hosts))

    def sync(self, hosts: Mapping[str, list[str]]) -> None:
        """Compare the complete instance lists of hosts with what is known."""
        if self._is_wanted(hosts):
            self._ask_cells(self._host_store.cells_that_differ(hosts))

    def _is_wanted(self, hosts: Any) -> bool:
        """Return whether to apply an update: tracking is on and the format is valid."""
        if not self._conf.filter_scheduler.track_instance_changes:
            return False
        is_sound = isinstance(hosts, Mapping) and all(
            isinstance(uuids, list) and all(isinstance(uuid, str) for uuid in uuids)
            for uuids in hosts.values()
        )
        if not is_sound:
            LOG.warning("Ignored an instance update: expected a dict of host to list of UUIDs")
        return is_sound

    def _ask_for(self, unknown_hosts: set[str]) -> None:
        if unknown_hosts:
            LOG.debug("Instance update for unknown hosts: %s", sorted(unknown_hosts)[:10])
            self._ask_cells(self._host_store.facts.enabled_cells)
