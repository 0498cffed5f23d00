"""Snapshots of what a scheduler knows: the next process knows the same, and says how old it is."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from objects.hosts import host_attributes
from scheduler.hosts.store.host_store import HostStore, Outcome
from scheduler.snapshot.snapshot_keeper import SnapshotKeeper
from scheduler.zones.children import Children
from tests.builders import a_uuid, an_aggregate
from tests.fixtures.zones.zone_trees import Zone
from tests.fleets import (
    CELL,
    OTHER_CELL,
    Clock,
    a_batch,
    a_host,
    scheduling_conf,
    some_cluster_metadata,
    some_hosts,
)

NOW = datetime(2030, 1, 31, tzinfo=UTC)


class Process:
    """A scheduler's memory, and its snapshot in a folder."""

    def __init__(self, folder: Path, *, broker: str = "broker/top", **options: Any) -> None:
        conf = scheduling_conf(state_path=str(folder), **options)
        self.interval = conf.scheduler.snapshot_interval_seconds
        self.clock = Clock()
        self.store = HostStore(conf, clock=self.clock)
        self.children = Children(conf, clock=self.clock, now=lambda: NOW)
        self.keeper = SnapshotKeeper(
            conf, broker=broker, host_store=self.store, children=self.children, now=lambda: NOW
        )

    def fill(self) -> Process:
        hosts = [
            *some_hosts(3),
            a_host("other", cell=OTHER_CELL, instance_uuids=[a_uuid()], metrics=[{"value": 1.5}]),
        ]
        self.store.set_cluster_metadata(
            some_cluster_metadata([an_aggregate(hosts=["host1"])], seq=7)
        )
        self.store.apply(a_batch(hosts[:3], last_seq=5, full=True))
        self.store.apply(a_batch(hosts[3:], cell=OTHER_CELL, last_seq=9, full=True))
        self.children.set_known([{"name": "leaf", "disabled": False}])
        self.children.take("leaf", Zone("leaf", hosts).summary())
        return self


def written(column: Any) -> str:
    """Return a column in the form in which cells send it."""
    return json.dumps(column.tolist() if isinstance(column, np.ndarray) else column, default=list)


@pytest.fixture
def saved(tmp_path: Path) -> Process:
    """Return a process that has written its snapshot."""
    made = Process(tmp_path).fill()
    made.keeper.write()
    return made


def test_the_next_process_knows_the_same(saved: Process, tmp_path: Path) -> None:
    """L08: hosts with all attributes, cells, aggregates, children; marked as old."""
    other = Process(tmp_path)
    assert other.keeper.restore()
    before, after = saved.store.view_all(), other.store.view_all()
    for name in ("host", "uuid", *(each.name for each in host_attributes.HOST_ATTRIBUTES)):
        assert written(before.column(name)) == written(after.column(name)), name
    assert other.store.cluster_metadata.cell_names == saved.store.cluster_metadata.cell_names
    (aggregate,) = other.store.cluster_metadata.aggregates_of("host1")
    assert aggregate.uuid == saved.store.cluster_metadata.aggregates_of("host1")[0].uuid
    assert other.store.cluster_metadata.is_restored
    (child,) = other.children.all()
    assert child.is_restored
    assert child.summary is not None
    assert child.summary.counts["hosts"] == 4
    assert other.store.restored_cells() == {
        CELL: (3, NOW.isoformat()), OTHER_CELL: (1, NOW.isoformat()),
    }  # fmt: skip


def test_only_changes_are_asked_for_afterwards(saved: Process, tmp_path: Path) -> None:
    """The sequence goes on; an answer of a cell ends the mark."""
    other = Process(tmp_path)
    other.keeper.restore()
    assert (other.store.seq_of(CELL), other.store.seq_of(OTHER_CELL)) == (5, 9)
    assert other.store.apply(a_batch([], first_seq=5, last_seq=5)) is Outcome.STALE
    change = a_batch([a_host("new", cell=OTHER_CELL)], cell=OTHER_CELL, first_seq=9, last_seq=10)
    assert other.store.apply(change) is Outcome.APPLIED
    assert other.store.restored_cells() == {}


def test_restored_hosts_are_up_as_long_as_a_silent_cells(saved: Process, tmp_path: Path) -> None:
    """After service_down_time without an answer they are down."""
    other = Process(tmp_path)
    other.keeper.restore()
    assert other.store.view_all().service_up.all()
    other.clock.seconds += 61
    assert not other.store.view_all().service_up.any()


def test_a_cell_that_differs_from_its_push_is_asked_for_all(tmp_path: Path) -> None:
    """What was changed beside the pushes cannot be told from the file."""
    process = Process(tmp_path).fill()
    (uuid,) = process.store.view_all().column("instance_uuids")[3]
    process.store.drop_instances({"other": [uuid]})
    process.keeper.write()
    other = Process(tmp_path)
    other.keeper.restore()
    assert (other.store.seq_of(CELL), other.store.seq_of(OTHER_CELL)) == (5, 0)


@pytest.mark.parametrize(
    "change",
    [{"broker": "broker/other"}, {"zones__name": "eu"}, {"host": "another"}],
    ids=["another deployment", "another zone", "another host"],
)
def test_a_snapshot_from_elsewhere_is_ignored(
    saved: Process, tmp_path: Path, change: dict[str, str]
) -> None:
    """And costs nothing but the wait."""
    other = Process(tmp_path, **change)
    saved.keeper.path.rename(other.keeper.path) if "host" in change else None
    assert not other.keeper.restore()
    assert len(other.store) == 0


def test_another_version_is_ignored(
    saved: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its objects may have another form."""
    monkeypatch.setattr("scheduler.snapshot.snapshot_keeper.version_string", lambda: "9.9.9")
    assert not Process(tmp_path).keeper.restore()


def test_it_can_be_turned_off(saved: Process, tmp_path: Path) -> None:
    """Then an old file is not read either."""
    assert not Process(tmp_path, scheduler__snapshot_interval_seconds=0).keeper.restore()


def test_a_process_that_knows_nothing_keeps_the_former_file(saved: Process, tmp_path: Path) -> None:
    """It may be restarted again before it has heard anything."""
    Process(tmp_path).keeper.write()
    again = Process(tmp_path)
    assert again.keeper.restore()
    again.keeper.write()
    assert len(again.store) == 4


def test_one_worker_of_a_host_writes_and_another_takes_over(saved: Process, tmp_path: Path) -> None:
    """It leaves a file alone that another one still writes; its own it replaces each time."""
    other = Process(tmp_path).fill()
    first = saved.keeper.path.stat().st_mtime_ns
    other.keeper.write()
    assert saved.keeper.path.stat().st_mtime_ns == first
    saved.keeper.write()
    second = saved.keeper.path.stat().st_mtime_ns
    assert second != first
    long_ago = time.time() - 2 * Process(tmp_path).interval
    os.utime(saved.keeper.path, (long_ago, long_ago))
    other.keeper.write()
    assert saved.keeper.path.stat().st_mtime_ns > second


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    """The addresses of child zones, which have passwords, stay in the API database."""
    process = Process(tmp_path).fill()
    cluster_metadata = process.store.cluster_metadata
    cluster_metadata.zones = (
        {"name": "leaf", "transport_url": "rabbit://u:SECRET@h/", "disabled": False},
    )
    process.keeper.write()
    assert b"SECRET" not in process.keeper.path.read_bytes()


def test_a_full_disk_is_logged_and_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The state directory is a file here: nothing can be written."""
    blocked = tmp_path / "state"
    blocked.write_text("")
    process = Process(blocked).fill()
    process.keeper.write()
    assert "The scheduler's snapshot" in caplog.text
