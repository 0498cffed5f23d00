"""Created and deleted instances, as cells report them between pushes of host states."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import Signer
from scheduler.hosts.store.host_store import HostStore

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

    def update(self, hosts: Mapping[str, list[str]], signer: Signer | None = None) -> None:
        """Add these instances to their hosts."""
        if self._is_wanted(hosts, signer):
            self._ask_for(self._host_store.add_instances(hosts))

    def delete(self, hosts: Mapping[str, list[str]], signer: Signer | None = None) -> None:
        """Remove these instances from their hosts."""
        if self._is_wanted(hosts, signer):
            self._ask_for(self._host_store.drop_instances(hosts))

    def sync(self, hosts: Mapping[str, list[str]], signer: Signer | None = None) -> None:
        """Compare the complete instance lists of hosts with what is known."""
        if self._is_wanted(hosts, signer):
            self._ask_cells(self._host_store.cells_that_differ(hosts))

    def _is_wanted(self, hosts: Any, signer: Signer | None) -> bool:
        """Return whether to apply an update: tracking is on and the format is valid.

        Raises NotItsOwn if a cell's conductor signed it and a host is in another cell.
        """
        if not self._conf.filter_scheduler.track_instance_changes:
            return False
        is_sound = isinstance(hosts, Mapping) and all(
            isinstance(uuids, list) and all(isinstance(uuid, str) for uuid in uuids)
            for uuids in hosts.values()
        )
        if not is_sound:
            LOG.warning("Ignored an instance update: expected a dict of host to list of UUIDs")
        elif signer is not None and signer.scope is not None:
            self._refuse_foreign(hosts, signer.scope)
        return is_sound

    def _refuse_foreign(self, hosts: Mapping[str, list[str]], cell_uuid: str) -> None:
        foreign = self._host_store.hosts_elsewhere(hosts, cell_uuid)
        if foreign:
            raise exception.NotItsOwn(
                reason=f"host {min(foreign)} is in another cell than {cell_uuid}"
            )

    def _ask_for(self, unknown_hosts: set[str]) -> None:
        if unknown_hosts:
            LOG.debug("Instance update for unknown hosts: %s", sorted(unknown_hosts)[:10])
            self._ask_cells(self._host_store.cluster_metadata.enabled_cells)
