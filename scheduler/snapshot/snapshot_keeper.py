"""Contents of a scheduler's snapshot: written periodically, read at the start."""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary.files import private_files
from armillary.logs.outage_log import OutageLog
from armillary.version import version_string
from objects.aggregate import Aggregate
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.store.host_store import HostStore
from scheduler.snapshot import snapshot_file
from scheduler.snapshot.snapshot_file import Record, SnapshotUnusable
from scheduler.zones.children import Children

LOG = logging.getLogger(__name__)

_FORMAT = 1
_ROWS_MAX = 250
"""Hosts in one record: encoding one keeps other threads waiting for some milliseconds."""
_WORK_SHARE_MAX = 0.25
"""Maximum share of one CPU's time while the file is written."""
_PAUSE_SECONDS_MAX = 0.1
_FRESH_INTERVALS = 1.5
"""Intervals for which a file of another worker counts as fresh."""


class SnapshotKeeper:
    """Writes what this process knows to a file, and reads what an earlier one knew.

    The file has the hosts of all cells with their sequence numbers, cells and aggregates, and the
    child zones with their last summaries; no secrets. It is ignored unless it was written by the
    same version for the same deployment, zone and host. ``broker`` names the deployment's broker.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        broker: str,
        host_store: HostStore,
        children: Children | None,
        now: Callable[[], datetime],
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._children = children
        self._now = now
        name = re.sub(r"[^a-zA-Z0-9._-]", "_", str(conf.host))
        self.path = Path(conf.state_path) / f"scheduler-{name}.snapshot"
        self._header = {
            "format": _FORMAT,
            "version": version_string(),
            "deployment": hashlib.sha256(broker.encode()).hexdigest(),
            "zone": str(conf.zones.name),
            "host": str(conf.host),
        }
        self._last_write: int | None = None
        self._outage = OutageLog(LOG, f"The scheduler's snapshot {self.path}")

    def restore(self) -> bool:
        """Take over what an earlier process knew; return whether there was a usable file."""
        if not self._conf.scheduler.snapshot_interval_seconds:
            return False
        started = time.monotonic()
        try:
            records = snapshot_file.read(self.path, self._header)
            hosts = self._take(records)
        except Exception as error:  # whatever is wrong with it, the cells know all of it
            LOG.info("No snapshot of an earlier scheduler at %s: %s", self.path, error)
            return False
        LOG.info(
            "Restored %d hosts as of %s from %s in %.2f s",
            hosts, records[0]["written_at"], self.path, time.monotonic() - started,
        )  # fmt: skip
        return True

    def write(self) -> None:
        """Replace the file; a failure is logged. Does nothing before any host is known.

        Of the workers of a host one writes: the others do nothing while its file is fresh.
        """
        if not len(self._host_store) or self._host_store.cluster_metadata.is_restored:
            return
        if self._is_written_by_another():
            return
        header = {**self._header, "written_at": self._now().isoformat()}
        try:
            private_files.make_directory(self.path.parent)
            snapshot_file.write(self.path, header, self._records(), _Pacer().pause)
            self._last_write = self.path.stat().st_mtime_ns
        except (OSError, SnapshotUnusable) as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()

    def _is_written_by_another(self) -> bool:
        """Return whether the file is another worker's, and that one still writes it."""
        try:
            written = self.path.stat().st_mtime_ns
        except OSError:
            return False
        age = time.time() - written / 1e9
        fresh = self._conf.scheduler.snapshot_interval_seconds * _FRESH_INTERVALS
        return written != self._last_write and 0 <= age < fresh

    def _records(self) -> Iterator[Record]:
        cluster_metadata = self._host_store.cluster_metadata
        yield {
            "cells": [
                {"uuid": uuid, "name": name, "disabled": uuid not in cluster_metadata.enabled_cells}
                for uuid, name in cluster_metadata.cell_names.items()
            ],
            "aggregates": [each.obj_to_primitive() for each in cluster_metadata.aggregates],
        }
        for batch in self._host_store.dump(_ROWS_MAX):
            yield {
                "cell": batch.cell_uuid,
                "seq": batch.last_seq,
                "uuids": batch.node_uuids,
                "hosts": batch.hosts,
                "nodes": batch.nodes,
                "attributes": batch.attributes,
            }
        for child in self._children.dump() if self._children is not None else ():
            yield {"child": child}

    def _take(self, records: list[Record]) -> int:
        header, cluster_metadata, *others = records
        metadata = ClusterMetadata(
            seq=ClusterMetadata.RESTORED_SEQ,
            cells=cluster_metadata["cells"],
            aggregates=[
                Aggregate.obj_from_primitive(each) for each in cluster_metadata["aggregates"]
            ],
        )
        batches = [_batch(each) for each in others if "cell" in each]
        as_of = str(header["written_at"])
        for batch in batches:
            self._host_store.restore(batch, as_of)
        if self._children is not None:
            self._children.restore(each["child"] for each in others if "child" in each)
        self._host_store.set_cluster_metadata(metadata)
        return sum(len(batch.node_uuids) for batch in batches)


def _batch(record: Mapping[str, Any]) -> HostStateBatch:
    return HostStateBatch.from_values(
        cell_uuid=record["cell"],
        first_seq=record["seq"],
        last_seq=record["seq"],
        node_uuids=record["uuids"],
        hosts=record["hosts"],
        nodes=record["nodes"],
        attributes=record["attributes"],
    )


class _Pacer:
    """Pauses in proportion to the work done, so that decisions get most of the processor."""

    def __init__(self) -> None:
        self._since = time.thread_time()

    def pause(self) -> None:
        worked = time.thread_time() - self._since
        time.sleep(min(_PAUSE_SECONDS_MAX, worked * (1 / _WORK_SHARE_MAX - 1)))
        self._since = time.thread_time()
