"""Domains of hosts, such as racks, and the members of a server group in each.

A domain is a value of an aggregate metadata key; hosts in aggregates with several values of it are
a domain of their own.
"""

import dataclasses

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler.hosts.aggregate_metadata import words
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_table import Column, HostTable, Mask, Numbers, Snapshot

NO_DOMAIN = -1
_ZONE_FILTER = "AvailabilityZoneFilter"
"""Keeps requests for the default availability zone out of the others."""
_LABEL_MAX = 2**61


@dataclasses.dataclass(frozen=True, slots=True)
class MembersInDomains:
    """``here`` is the number of members in each host's domain, ``NO_DOMAIN`` without one.

    ``least`` is the number in the domain that has fewest.
    """

    here: Numbers
    least: int

    def exceeds(self, max_skew: int) -> Mask:
        """Return where one more member would exceed the skew; also hosts without a domain."""
        mask: Mask = (self.here == NO_DOMAIN) | (self.here + 1 - self.least > max_skew)
        return mask


@dataclasses.dataclass(frozen=True, slots=True)
class _Labels:
    """The domains of all nodes, as numbers, valid while metadata and names of hosts are these."""

    cluster_metadata: ClusterMetadata
    names: Column
    key: str
    of_rows: Numbers
    count: int


class TopologyDomains:
    """Counts members by domain, of all hosts that the scheduler knows. Keeps the latest labels."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._default_zone: str = conf.default_availability_zone
        enabled = {name.rpartition(".")[2] for name in conf.filter_scheduler.enabled_filters}
        self._keeps_to_default_zone = _ZONE_FILTER in enabled
        self._labels: _Labels | None = None
        self._all: HostTable | None = None

    def members(self, hosts: HostTable, spec: RequestSpec) -> MembersInDomains:
        """Return the members of the request's group, without the instance itself, by domain.

        A domain counts if the request's availability zone has a host of it that is up and enabled,
        whether or not the instance fits there: a full rack is not forgotten.
        """
        group = spec.instance_group
        assert group is not None
        everything = self._everything(hosts.snapshot)
        labels = self._labelled(everything, group.topology_key)
        members, names = set(group.members) - {spec.instance_uuid}, set(group.hosts)
        placed = np.maximum(everything.count_instances(members), everything.named(names))
        # Only the table of the decision has the instances that it has selected hosts for.
        placed[hosts.rows] = np.maximum(hosts.count_instances(members), hosts.named(names))
        is_in_one = labels.of_rows != NO_DOMAIN
        found = np.bincount(
            labels.of_rows[is_in_one], weights=placed[is_in_one], minlength=labels.count
        ).astype(np.int64)
        counting = labels.of_rows[is_in_one & self._is_available(everything, spec)]
        least = int(found[np.unique(counting)].min()) if len(counting) else 0
        own = labels.of_rows[hosts.rows]
        here = np.where(own == NO_DOMAIN, NO_DOMAIN, found[own] if labels.count else NO_DOMAIN)
        return MembersInDomains(here, least)

    def of_hosts(self, hosts: HostTable, key: str) -> Numbers:
        """Return the number of each host's domain, ``NO_DOMAIN`` without one."""
        labels = self._labelled(self._everything(hosts.snapshot), key)
        found: Numbers = labels.of_rows[hosts.rows]
        return found

    def _everything(self, snapshot: Snapshot) -> HostTable:
        """Return a table with a position for each row of the snapshot."""
        table = self._all
        if table is None or table.snapshot is not snapshot:
            self._all = table = HostTable(snapshot, np.arange(len(snapshot.columns["uuid"])))
        return table

    def _is_available(self, everything: HostTable, spec: RequestSpec) -> Mask:
        is_up = np.asarray(everything.column("service_up"))
        mask: Mask = is_up & ~np.asarray(everything.column("service_disabled"))
        zone = spec.availability_zone
        if zone is None or (zone == self._default_zone and not self._keeps_to_default_zone):
            return mask  # hosts of all zones are allowed
        zones = [
            everything.cluster_metadata.zone_of(name, self._default_zone)
            for name in everything.host
        ]
        return mask & np.array([each == zone for each in zones], dtype=np.bool_)

    def _labelled(self, everything: HostTable, key: str) -> _Labels:
        cluster_metadata, names = everything.cluster_metadata, everything.snapshot.columns["host"]
        known = self._labels
        if (
            known
            and known.cluster_metadata is cluster_metadata
            and known.names is names
            and known.key == key
        ):
            return known
        of_rows, count = _label(everything, key)
        self._labels = _Labels(cluster_metadata, names, key, of_rows, count)
        return self._labels


def _label(hosts: HostTable, key: str) -> tuple[Numbers, int]:
    """Return the number of each host's domain, and of domains."""
    combined = np.zeros(len(hosts), dtype=np.int64)
    for aggregate in hosts.cluster_metadata.aggregates_with(key):
        if len(combined) and combined.max() > _LABEL_MAX:
            combined = np.unique(combined, return_inverse=True)[1] + 1
        combined = combined * 2 + hosts.in_aggregate(aggregate)
    _values, firsts, where = np.unique(combined, return_index=True, return_inverse=True)
    numbers: dict[frozenset[str], int] = {}
    of_combined = []
    for position in firsts.tolist():
        domain = frozenset(words(hosts.aggregates_at(position), key)) - {""}
        of_combined.append(numbers.setdefault(domain, len(numbers)) if domain else NO_DOMAIN)
    labels: Numbers = np.array(of_combined, dtype=np.int64)[where]
    return labels, len(numbers)
