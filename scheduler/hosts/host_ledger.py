"""Ledger of a decision's hosts: what its own and other requests' selections have consumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from objects.allocations.allocation_candidates import AllocationRequest
from scheduler.explain.reasons import Report
from scheduler.hosts.host_table import AddedInstances, Column, HostTable, Mask, Numbers
from scheduler.hosts.numa.numa_usage import RATIOS, CellDemand, Cells, CellUsage
from scheduler.hosts.usage import Positions, Shortage, Usage

_FREE_DISK = "free_disk_mb"
_MB_IN_GB = 1024


class HostLedger:
    """The hosts of one decision and their usage. ``hosts`` shows both to filters and weighers.

    ``usage`` is what placement says is free and used. ``demand`` is what each instance needs of
    NUMA cells and devices. A ledger without usage has room for everything. ``is_fallback`` marks
    the hosts that are taken only when no other host is left; None if there is none.
    """

    def __init__(
        self,
        hosts: HostTable,
        usage: Usage | None = None,
        demand: CellDemand | None = None,
        is_fallback: Mask | None = None,
    ) -> None:
        self.is_fallback = is_fallback
        self._usage = usage
        self._demand = demand
        self._cell_usage = None if demand is None else CellUsage(demand)
        self._candidate_of: dict[str, int] = {}  # by selected instance
        used = {} if usage is None else usage.attributes()
        self._unwritable_mb: Numbers | None = None
        if _FREE_DISK in used:  # no more free disk than hosts say can be written
            writable = np.asarray(hosts.column("disk_available_least"), np.int64) * _MB_IN_GB
            self._unwritable_mb = np.maximum(used[_FREE_DISK] - writable, 0)
            used[_FREE_DISK] = used[_FREE_DISK] - self._unwritable_mb
        self._columns: dict[str, Column] = {**hosts.loaded(slice(None)), **used}
        self._added = AddedInstances()
        self.hosts = HostTable(hosts.snapshot, hosts.rows, self._columns, self._added)

    def __len__(self) -> int:
        return len(self.hosts)

    def take(self, positions: Positions) -> HostLedger:
        """Return a ledger of some of these hosts; only allowed before ``consume``."""
        usage = None if self._usage is None else self._usage.take(positions)
        is_fallback = None if self.is_fallback is None else self.is_fallback[positions]
        return HostLedger(self.hosts.take(positions), usage, self._demand, is_fallback)

    def keep(self, mask: Mask, rule: str, reason: str, report: Report) -> HostLedger:
        """Return the ledger of the hosts in ``mask``; report the others, if any, with a reason."""
        removed = np.flatnonzero(~mask)
        if not len(removed):
            return self
        kept = self.take(np.flatnonzero(mask))
        names = self.hosts.sample_names(removed)
        report(rule, len(self), len(removed), [(reason, len(removed))], names)
        return kept

    # Room -----------------------------------------------------------------------------------------

    def fits(self, position: int) -> bool:
        """Return whether one more instance of the request fits on a host."""
        return self._usage is None or self._usage.fits(position)

    def fit_mask(self) -> Mask:
        """Evaluate ``fits`` for all hosts."""
        if self._usage is None:
            return np.ones(len(self), dtype=np.bool_)
        return self._usage.fit_mask()

    def shortages(self, positions: Positions) -> list[Shortage]:
        """Return what hosts without room lack, each host counted once."""
        return [] if self._usage is None else self._usage.shortages(positions)

    # Instances ------------------------------------------------------------------------------------

    def consume(self, position: int, instance_uuid: str) -> None:
        """Add one more instance of this request to a host."""
        if self._usage is not None:
            self._candidate_of[instance_uuid] = self._usage.add(position)
        self._added.add(position, instance_uuid)
        self._show(position, 1)
        if self._cell_usage is not None:
            self._show_cells(position, self._with_one_more(position, instance_uuid))

    def assume(self, position: int, instance_uuid: str, amounts: Mapping[str, int]) -> None:
        """Add another request's instance, which uses these amounts, to a host."""
        if self._usage is not None:
            self._usage.use(position, amounts)
        self._added.add(position, instance_uuid)
        self._show(position, 1)

    def undo(self, position: int, instance_uuid: str) -> None:
        """Undo one ``consume``."""
        if self._cell_usage is not None:
            self._show_cells(position, self._cell_usage.remove(position, instance_uuid))
        if self._usage is not None:
            self._usage.subtract(position, self._candidate_of.pop(instance_uuid))
        self._added.remove(position, instance_uuid)
        self._show(position, -1)

    def refuse(self, position: int, instance_uuid: str) -> bool:
        """Undo a ``consume`` after a refused claim; return whether the host has candidates left."""
        has_others = self._usage is not None and self._usage.refuse(
            position, self._candidate_of[instance_uuid]
        )
        self.undo(position, instance_uuid)
        return has_others

    # Candidates -----------------------------------------------------------------------------------

    @property
    def has_several_candidates(self) -> bool:
        """Whether placement offers several candidates for a host, or uses other providers."""
        return self._usage is not None and self._usage.has_several_candidates

    def candidate_of(self, instance_uuid: str) -> int:
        """Return the index of the candidate used for an instance."""
        return self._candidate_of[instance_uuid]

    def candidate_at(self, position: int) -> int:
        """Return the index of the next candidate on a host."""
        assert self._usage is not None
        return self._usage.candidate_at(position)

    def allocation_request(self, candidate: int) -> AllocationRequest:
        """Return what claims a candidate, given its index; empty if placement was not asked."""
        return {} if self._usage is None else self._usage.request(candidate)

    def prune(self, position: int, by: str, keep: Callable[[AllocationRequest], bool]) -> bool:
        """Remove a host's candidates that a filter rejects; return whether any is left.

        A later call ``by`` the same filter may restore some.
        """
        if self._usage is None:
            return True
        before = self._usage.candidate_at(position)
        has_some = self._usage.prune(position, by, keep)
        if self._usage.candidate_at(position) != before:
            self._show_usage(position)
        return has_some

    # What the table shows -------------------------------------------------------------------------

    def _writable(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self.hosts.load(name)
        return column

    def _show(self, position: int, more: int) -> None:
        self._writable("num_instances")[position] += more
        self._writable("num_io_ops")[position] += more
        self._show_usage(position)

    def _show_usage(self, position: int) -> None:
        if self._usage is not None:
            for name, value in self._usage.attributes_at(position).items():
                self._columns[name][position] = value
            if self._unwritable_mb is not None:
                self._columns[_FREE_DISK][position] -= self._unwritable_mb[position]

    def _with_one_more(self, position: int, instance_uuid: str) -> Cells:
        assert self._cell_usage is not None
        hosts, allocations = self.hosts, None
        if self._usage is not None:
            allocations = self._usage.allocations(self._candidate_of[instance_uuid])
        return self._cell_usage.add(
            position,
            instance_uuid,
            Cells(hosts.value("numa_topology", position), hosts.value("pci_stats", position)),
            limits={name: hosts.value(name, position) for name in RATIOS},
            allocations=allocations,
        )

    def _show_cells(self, position: int, cells: Cells) -> None:
        for name, value in cells._asdict().items():
            self._writable(name)[position] = value
