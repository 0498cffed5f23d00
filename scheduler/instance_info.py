"""What is told of single instances between two pushes of their hosts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg

from scheduler.fleet import Fleet

LOG = logging.getLogger(__name__)


class InstanceInfo:
    """Lets the fleet show which instances came and went before its cell's push does. Thread-safe.

    The push has the last word. A host that is not known, or that has other instances than it should
    have, means that a push was missed: ``ask_cells`` asks these cells for it. With ``[filter_
    scheduler] track_instance_changes`` off nothing is taken over.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        fleet: Fleet,
        ask_cells: Callable[[Iterable[str]], None],
    ) -> None:
        self._conf = conf
        self._fleet = fleet
        self._ask_cells = ask_cells

    def update(self, hosts: Mapping[str, list[str]]) -> None:
        """Show these instances on their hosts, beside others."""
        if self._is_wanted(hosts):
            self._ask_for(self._fleet.add_instances(hosts))

    def delete(self, hosts: Mapping[str, list[str]]) -> None:
        """Show these instances on their hosts no more."""
        if self._is_wanted(hosts):
            self._ask_for(self._fleet.drop_instances(hosts))

    def sync(self, hosts: Mapping[str, list[str]]) -> None:
        """Compare: these are all instances of their hosts."""
        if self._is_wanted(hosts):
            self._ask_cells(self._fleet.cells_that_differ(hosts))

    def _is_wanted(self, hosts: Any) -> bool:
        """Tell whether to listen; who sends something else may be of another make."""
        if not self._conf.filter_scheduler.track_instance_changes:
            return False
        is_sound = isinstance(hosts, Mapping) and all(
            isinstance(uuids, list) and all(isinstance(uuid, str) for uuid in uuids)
            for uuids in hosts.values()
        )
        if not is_sound:
            LOG.warning("Ignored what was told of instances: it is no dict of host to UUIDs")
        return is_sound

    def _ask_for(self, unknown_hosts: set[str]) -> None:
        if unknown_hosts:
            LOG.debug("told of hosts that are not known here: %s", sorted(unknown_hosts)[:10])
            self._ask_cells(self._fleet.facts.enabled_cells)
