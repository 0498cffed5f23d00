"""The fleet is made complete in the background: metadata, then each cell, then what is missing."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from armillary import exception
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.state_sync import StateSync
from tests.builders import an_aggregate
from tests.fleets import CELL, OTHER_CELL, a_batch, a_host, scheduling_conf

SECONDS_MAX = 60


class Conductors:
    """Super conductor and cells: answers that a test prepares, and who was asked for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.checked: list[tuple[str, list[str]]] = []
        self.owners: dict[str, str] = {}
        """Host -> its cell; any other is that of the cell that names it."""
        self._waited_for = 0
        self.changed = threading.Condition()
        self.cluster_metadata: dict[str, Any] = {
            "seq": 5,
            "cells": [{"uuid": CELL, "name": "cell1", "disabled": False}],
            "aggregates": [],
        }
        self.host = a_host()
        self.seq = 7
        self.is_down = False
        self.on_ask: Callable[[], None] = lambda: None

    def get_cluster_metadata(self, context: object) -> dict[str, Any]:
        self._note("cluster_metadata", 0)
        return self.cluster_metadata

    def map_hosts(self, context: object, cell_uuid: str, hosts: dict[str, list[str]]) -> list[str]:
        self.checked.append((cell_uuid, sorted(hosts)))
        if self.is_down:
            raise exception.RpcTimeout(method="map_hosts", topic="conductor", timeout_seconds=1)
        return [
            node
            for host, nodes in hosts.items()
            for node in nodes
            if self.owners.get(host, cell_uuid) != cell_uuid
        ]

    def get_host_states(
        self, context: object, cell_uuid: str, *, after_seq: int, timeout_seconds: float
    ) -> HostStateBatch:
        self._note(cell_uuid, after_seq)
        return a_batch(
            [self.host], cell=cell_uuid, first_seq=after_seq, last_seq=self.seq, full=after_seq == 0
        )

    def wait_for(self, *asked: tuple[str, int]) -> None:
        """Wait until `asked` was asked in a row, after what was waited for before."""
        with self.changed:
            assert self.changed.wait_for(lambda: self._is_asked(list(asked)), SECONDS_MAX), (
                self.asked
            )

    def _is_asked(self, asked: list[tuple[str, int]]) -> bool:
        for start in range(self._waited_for, len(self.asked) - len(asked) + 1):
            if self.asked[start : start + len(asked)] == asked:
                self._waited_for = start + len(asked)
                return True
        return False

    def _note(self, what: str, after_seq: int) -> None:
        with self.changed:
            self.asked.append((what, after_seq))
            self.changed.notify_all()
        self.on_ask()
        if self.is_down:
            raise exception.RpcTimeout(method="get", topic=what, timeout_seconds=1)


@pytest.fixture
def conductors() -> Conductors:
    return Conductors()


@pytest.fixture
def fleet() -> HostStore:
    return HostStore(scheduling_conf(), clock=lambda: 0.0)


@pytest.fixture
def sync(conductors: Conductors, fleet: HostStore) -> Iterator[StateSync]:
    sync = StateSync(
        scheduling_conf(),
        host_store=fleet,
        super_conductor=conductors,  # type: ignore[arg-type]
        host_states=conductors,  # type: ignore[arg-type]
    )
    yield sync
    sync.stop(SECONDS_MAX)


def cells(*uuids: str, disabled: str | None = None) -> list[dict[str, Any]]:
    return [{"uuid": uuid, "name": uuid[-1], "disabled": uuid == disabled} for uuid in uuids]


def test_at_the_start_cluster_metadata_and_then_all_cells_are_asked_for(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """Then decisions may begin."""
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    assert conductors.asked == [("cluster_metadata", 0), (CELL, 0)]
    assert len(fleet) == 1
    assert fleet.seq_of(CELL) == 7


def test_a_disabled_cell_is_not_waited_for(sync: StateSync, conductors: Conductors) -> None:
    """Nor asked."""
    conductors.cluster_metadata["cells"] = cells(CELL, OTHER_CELL, disabled=OTHER_CELL)
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    assert conductors.asked == [("cluster_metadata", 0), (CELL, 0)]


def test_without_cluster_metadata_nothing_is_ready(sync: StateSync, conductors: Conductors) -> None:
    """And they are asked for again in time."""
    conductors.is_down = True
    sync.start()
    conductors.wait_for(("cluster_metadata", 0))
    assert not sync.wait_ready(0)
    assert not sync.has_cluster_metadata
    conductors.is_down = False
    while not sync.wait_ready(0.01):
        sync.fetch_missing()
    assert sync.has_cluster_metadata


def test_a_cell_that_does_not_answer_is_not_waited_for_twice(
    sync: StateSync, conductors: Conductors, fleet: HostStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Others can be used meanwhile; it is asked again, and said to be away once."""
    conductors.is_down = True
    with caplog.at_level(logging.WARNING):
        sync.take_cluster_metadata(conductors.cluster_metadata)
        assert sync.wait_ready(SECONDS_MAX)
        conductors.is_down = False
        while not len(fleet):
            sync.fetch_missing()
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "Cell cell1's conductor is unavailable, retrying"
    ]


def test_a_gap_is_asked_for_immediately(sync: StateSync, conductors: Conductors) -> None:
    """From the last number that is known."""
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    conductors.seq = 12
    sync.apply_batch(a_batch([], first_seq=11, last_seq=12))
    conductors.wait_for((CELL, 7))


def test_a_gap_that_shows_while_the_cell_is_asked_is_asked_for_again(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """Its answer may have been made before."""
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    conductors.seq = 9

    def push_more() -> None:
        conductors.on_ask = lambda: None
        sync.apply_batch(a_batch([], first_seq=12, last_seq=13))

    conductors.on_ask = push_more
    sync.apply_batch(a_batch([], first_seq=8, last_seq=9))
    conductors.wait_for((CELL, 7), (CELL, 9))


def test_pushes_in_order_need_no_question(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """Nor does one that is repeated."""
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    conductors.host.values["free_ram_mb"] = 5
    batch = a_batch([conductors.host], first_seq=7, last_seq=8)
    sync.apply_batch(batch)
    sync.apply_batch(batch)
    sync.stop(SECONDS_MAX)
    assert len(conductors.asked) == 2
    assert fleet.view([conductors.host.uuid])[0].free_ram_mb.tolist() == [5]


def test_a_push_of_an_unknown_cell_makes_the_cluster_metadata_suspicious(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """Its hosts count when the metadata name it."""
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    sync.apply_batch(a_batch([a_host("new")], cell=OTHER_CELL))
    assert len(fleet) == 1
    conductors.cluster_metadata = {
        **conductors.cluster_metadata,
        "seq": 6,
        "cells": cells(CELL, OTHER_CELL),
    }
    sync.fetch_missing()
    conductors.wait_for(("cluster_metadata", 0), (OTHER_CELL, 0))


def test_silent_cells_are_asked(conductors: Conductors) -> None:
    """In case their pushes get lost."""
    seconds = [0.0]
    fleet = HostStore(scheduling_conf(), clock=lambda: seconds[0])
    sync = StateSync(
        scheduling_conf(),
        host_store=fleet,
        super_conductor=conductors,  # type: ignore[arg-type]
        host_states=conductors,  # type: ignore[arg-type]
    )
    sync.start()
    assert sync.wait_ready(SECONDS_MAX)
    sync.fetch_missing()
    assert len(conductors.asked) == 2
    seconds[0] = 16.0
    sync.fetch_missing()
    conductors.wait_for((CELL, 7))
    sync.stop(SECONDS_MAX)


class CutOff:
    """A scheduler that has not heard its one cell for longer than a cell may be silent."""

    def __init__(self, conductors: Conductors) -> None:
        self.seconds = 0.0
        self.conductors = conductors
        self.store = HostStore(scheduling_conf(), clock=lambda: self.seconds)
        self.sync = StateSync(
            scheduling_conf(),
            host_store=self.store,
            super_conductor=conductors,  # type: ignore[arg-type]
            host_states=conductors,  # type: ignore[arg-type]
        )
        self.sync.start()
        assert self.sync.wait_ready(SECONDS_MAX)
        self.be_silent()

    def be_silent(self) -> None:
        self.seconds += 100.0

    def is_up(self) -> bool:
        return bool(self.store.view([self.conductors.host.uuid])[0].service_up[0])


@pytest.fixture
def cut_off(conductors: Conductors) -> Iterator[CutOff]:
    made = CutOff(conductors)
    yield made
    made.sync.stop(SECONDS_MAX)


def test_a_cell_that_was_silent_like_all_others_is_asked_before_it_is_down(
    cut_off: CutOff, conductors: Conductors
) -> None:
    """The request that asked goes on once it has answered."""
    assert not cut_off.is_up()
    cut_off.sync.wait_for_cells_in_doubt(SECONDS_MAX)
    assert cut_off.is_up()
    assert conductors.asked[-1] == (CELL, 7)


def test_a_request_goes_on_with_the_next_push_of_a_cell_in_doubt(
    cut_off: CutOff, conductors: Conductors
) -> None:
    """Whether or not the cell answers what it is asked."""
    conductors.is_down = True
    waiting = threading.Thread(target=cut_off.sync.wait_for_cells_in_doubt, args=(SECONDS_MAX,))
    waiting.start()
    conductors.wait_for((CELL, 7))
    cut_off.sync.apply_batch(a_batch([], first_seq=7, last_seq=7))
    waiting.join(SECONDS_MAX / 2)
    assert not waiting.is_alive()
    assert cut_off.is_up()


def test_a_cell_in_doubt_is_waited_for_once(cut_off: CutOff, conductors: Conductors) -> None:
    """Then it counts as down, until it is heard and all are silent again."""
    conductors.is_down = True
    cut_off.sync.wait_for_cells_in_doubt(0.05)
    asked = len(conductors.asked)
    cut_off.sync.wait_for_cells_in_doubt(3600.0)
    assert (len(conductors.asked), cut_off.is_up()) == (asked, False)
    cut_off.sync.apply_batch(a_batch([], first_seq=7, last_seq=7))
    cut_off.be_silent()
    conductors.is_down = False
    cut_off.sync.wait_for_cells_in_doubt(SECONDS_MAX)
    assert cut_off.is_up()


def test_older_cluster_metadata_that_are_pushed_late_are_ignored(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """A message may be overtaken."""
    sync.take_cluster_metadata({**conductors.cluster_metadata, "seq": 9})
    sync.take_cluster_metadata({**conductors.cluster_metadata, "seq": 8, "cells": []})
    assert fleet.cluster_metadata.seq == 9
    assert fleet.cluster_metadata.enabled_cells == {CELL}


def test_cluster_metadata_that_went_back_are_believed_when_asked_for(
    sync: StateSync, conductors: Conductors, fleet: HostStore
) -> None:
    """The super conductor's database was put back."""
    sync.take_cluster_metadata({**conductors.cluster_metadata, "seq": 9})
    sync.refresh_cluster_metadata()
    conductors.wait_for(("cluster_metadata", 0))
    sync.stop(SECONDS_MAX)
    assert fleet.cluster_metadata.seq == 5


def test_an_answer_that_cannot_be_used_is_logged_and_asked_for_again(
    sync: StateSync, conductors: Conductors, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing ends by it."""
    good = conductors.cluster_metadata
    conductors.cluster_metadata = {}
    sync.start()
    conductors.wait_for(("cluster_metadata", 0))
    conductors.cluster_metadata = good
    while not sync.wait_ready(0.01):
        sync.fetch_missing()
    assert "The super conductor: the fetch failed" in caplog.text


@pytest.mark.parametrize(
    ("seq", "names", "seq_after", "asks"),
    [
        (6, ["new"], 6, False),  # the next change
        (None, ["new"], 5, False),  # of a caller that counts no changes
        (5, [], 5, False),  # known already
        (7, [], 5, True),  # the one before it is missing
    ],
    ids=["next", "uncounted", "stale", "gap"],
)
def test_a_change_of_aggregates_counts_in_its_turn(
    sync: StateSync,
    fleet: HostStore,
    conductors: Conductors,
    seq: int | None,
    names: list[str],
    seq_after: int,
    asks: bool,
) -> None:
    """Else the metadata are asked for, which have it all."""
    sync.start()
    conductors.wait_for(("cluster_metadata", 0), (CELL, 0))
    assert sync.wait_ready(SECONDS_MAX)
    asked = len(conductors.asked)
    made = an_aggregate("new", hosts=["a"])
    sync.take_aggregates([made], [], seq)
    assert [each.name for each in fleet.cluster_metadata.aggregates] == names
    assert (fleet.cluster_metadata.seq, fleet.cluster_metadata.enabled_cells) == (seq_after, {CELL})
    if asks:
        conductors.wait_for(("cluster_metadata", 0))
        return
    assert len(conductors.asked) == asked
    sync.take_aggregates([], [made.uuid], None)
    assert fleet.cluster_metadata.aggregates == ()
