"""A fleet follows what cells push, in order, and lends snapshots that nothing disturbs."""

import numpy as np
import pytest

from armillary import exception
from objects.hosts.host_states import HostStateBatch
from objects.pci import pci
from objects.pci.pci import PciRequest
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.numa.numa_usage import CellDemand
from scheduler.hosts.store.host_store import HostStore, Outcome
from tests.builders import a_uuid
from tests.fleets import (
    CELL,
    OTHER_CELL,
    Clock,
    Host,
    a_batch,
    a_fleet,
    a_host,
    scheduling_conf,
    some_cluster_metadata,
    some_hosts,
)


def names(fleet: HostStore, *hosts: Host) -> list[str]:
    table, _known = fleet.view([host.uuid for host in hosts])
    found: list[str] = table.host
    return found


def free_ram_mb(fleet: HostStore, *hosts: Host) -> list[int]:
    table, _known = fleet.view([host.uuid for host in hosts])
    found: list[int] = table.free_ram_mb.tolist()
    return found


# Sequence numbers ---------------------------------------------------------------------------------


def test_a_batch_in_its_turn_is_applied() -> None:
    """The next one follows where it ended."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    assert fleet.apply(a_batch([host], first_seq=1, last_seq=4)) is Outcome.APPLIED
    assert fleet.seq_of(CELL) == 4
    assert free_ram_mb(fleet, host) == [2]


@pytest.mark.parametrize(("first_seq", "last_seq"), [(0, 1), (1, 1), (0, 0)])
def test_a_repeated_batch_changes_nothing(first_seq: int, last_seq: int) -> None:
    """What was applied once is stale."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    batch = a_batch([host], first_seq=first_seq, last_seq=last_seq)
    assert fleet.apply(batch) is Outcome.STALE
    assert free_ram_mb(fleet, host) == [1]


def test_a_batch_after_a_gap_is_not_applied() -> None:
    """The cell is to be asked for what came after the last number."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    assert fleet.apply(a_batch([host], first_seq=2, last_seq=3)) is Outcome.GAP
    assert fleet.seq_of(CELL) == 1
    assert free_ram_mb(fleet, host) == [1]


def test_batches_in_the_wrong_order_end_right() -> None:
    """The later one is a gap; the answer to a question may overlap the earlier one."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    second = a_batch([host], first_seq=1, last_seq=2)
    host.values["free_ram_mb"] = 3
    third = a_batch([host], first_seq=2, last_seq=3)
    answer = a_batch([host], first_seq=1, last_seq=3)
    assert fleet.apply(third) is Outcome.GAP
    assert fleet.apply(second) is Outcome.APPLIED
    assert fleet.apply(answer) is Outcome.APPLIED
    assert fleet.apply(third) is Outcome.STALE
    assert free_ram_mb(fleet, host) == [3]


def test_an_empty_batch_that_is_ahead_shows_a_gap() -> None:
    """A sign of life tells of lost pushes, too."""
    assert a_fleet([]).apply(a_batch([], first_seq=7, last_seq=7)) is Outcome.GAP


def test_a_full_batch_counts_whatever_its_number() -> None:
    """A cell whose numbers began again is believed; hosts that it does not name are gone."""
    first, second = some_hosts(2)
    fleet = a_fleet([first, second])
    fleet.apply(a_batch([], first_seq=1, last_seq=90))
    assert fleet.apply(a_batch([second], full=True, last_seq=1)) is Outcome.APPLIED
    assert fleet.seq_of(CELL) == 1
    assert names(fleet, first, second) == ["host2"]


def test_a_removed_node_is_gone_and_its_row_is_used_again() -> None:
    """Nothing of the old host shows in the new one."""
    first, second = some_hosts(2)
    fleet = a_fleet([first])
    fleet.apply(a_batch([], first_seq=1, last_seq=2, removed=[first.uuid]))
    assert names(fleet, first) == []
    fleet.apply(a_batch([second], first_seq=2, last_seq=3))
    assert names(fleet, first, second) == ["host2"]


def cells_of(fleet: HostStore, *hosts: Host) -> list[str]:
    table, _known = fleet.view([host.uuid for host in hosts])
    found: list[str] = table.cell_uuid
    return found


def test_a_cell_takes_no_node_of_another(caplog: pytest.LogCaptureFixture) -> None:
    """A stolen conductor's key could move other cells' hosts; the cell's own row is applied."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    own = a_host("own", free_ram_mb=3)
    for first in (0, 1):
        batch = a_batch([host, own], cell=OTHER_CELL, full=not first, first_seq=first, last_seq=9)
        fleet.apply(batch)
    assert cells_of(fleet, host, own) == [CELL, OTHER_CELL]
    assert free_ram_mb(fleet, host, own) == [1, 3]
    assert len(caplog.records) == 1
    fleet.apply(a_batch([], cell=OTHER_CELL, first_seq=9, last_seq=10, removed=[host.uuid]))
    assert cells_of(fleet, host) == [CELL]


def test_a_node_that_moved_is_its_new_cells_once_the_old_one_has_removed_it() -> None:
    """The old cell's farewell may come after the new cell's greeting: that cell is asked again."""
    fleet = a_fleet([host := a_host()])
    fleet.apply(a_batch([host], cell=OTHER_CELL, full=True, last_seq=7))
    fleet.apply(a_batch([], first_seq=1, last_seq=2, removed=[host.uuid]))
    assert cells_of(fleet, host) == []
    heartbeat = a_batch([], cell=OTHER_CELL, first_seq=7, last_seq=8)
    assert fleet.apply(heartbeat) is Outcome.GAP
    fleet.apply(a_batch([host], cell=OTHER_CELL, full=True, last_seq=8))
    assert cells_of(fleet, host) == [OTHER_CELL]


def test_more_hosts_than_rows_make_room() -> None:
    """All of three hundred hosts are there, with their values."""
    hosts = [a_host(f"host{n}", free_ram_mb=n) for n in range(300)]
    fleet = a_fleet(hosts)
    assert len(fleet) == 300
    assert free_ram_mb(fleet, *hosts) == list(range(300))


# Values -------------------------------------------------------------------------------------------


def test_a_value_that_is_null_or_nonsense_is_the_default() -> None:
    """One host's bad report does not spoil the batch."""
    host = a_host(free_ram_mb=None, cpu_allocation_ratio=float("nan"), num_io_ops="many")
    table, _known = a_fleet([host, other := a_host("host2")]).view([host.uuid, other.uuid])
    assert table.free_ram_mb.tolist() == [0, 32768]
    assert table.cpu_allocation_ratio.tolist() == [1.0, 1.0]
    assert table.num_io_ops.tolist() == [0, 0]


def test_an_attribute_that_the_cell_does_not_know_is_the_default() -> None:
    """An older cell reports fewer attributes."""
    batch = a_batch([host := a_host()], full=True)
    del batch.attributes["hypervisor_version"]
    fleet = a_fleet([])
    fleet.apply(batch)
    table, _known = fleet.view([host.uuid])
    assert table.hypervisor_version.tolist() == [0]


def test_a_batch_with_columns_of_different_lengths_changes_nothing() -> None:
    """It is refused with the name of the column."""
    fleet = a_fleet([host := a_host(free_ram_mb=1)])
    host.values["free_ram_mb"] = 2
    batch = a_batch([host], first_seq=1, last_seq=2)
    batch.attributes["metrics"] = []
    with pytest.raises(exception.Invalid, match="0 values of metrics"):
        fleet.apply(batch)
    assert free_ram_mb(fleet, host) == [1]
    assert fleet.seq_of(CELL) == 1


def test_equal_descriptions_are_kept_once() -> None:
    """What drivers report is one object for all hosts that say the same."""
    hosts = some_hosts(3)
    for host in hosts:
        host.values["supported_instances"] = [["x86_64", "kvm", "hvm"]]
    table, _known = a_fleet(hosts).view([host.uuid for host in hosts])
    assert len({id(value) for value in table.supported_instances}) == 1


# Snapshots ----------------------------------------------------------------------------------------


def test_unknown_nodes_are_left_out_of_a_view() -> None:
    """The known ones come with their places in the question."""
    first, second = some_hosts(2)
    table, known = a_fleet([first, second]).view([a_uuid(), second.uuid, a_uuid(), first.uuid])
    assert table.host == ["host2", "host1"]
    assert known.tolist() == [1, 3]


def test_pushes_do_not_disturb_a_view() -> None:
    """Columns that were not looked at before the push show the old values, too."""
    fleet = a_fleet([host := a_host(free_ram_mb=1, instance_uuids=["a"])])
    table, _known = fleet.view([host.uuid])
    fleet.apply(a_batch([host], first_seq=1, last_seq=2, removed=[]))
    host.values.update(free_ram_mb=2, instance_uuids=["b"])
    fleet.apply(a_batch([host], first_seq=2, last_seq=3))
    fleet.apply(a_batch([], first_seq=3, last_seq=4, removed=[host.uuid]))
    fleet.apply(a_batch([a_host("host2")], first_seq=4, last_seq=5))
    assert table.free_ram_mb.tolist() == [1]
    assert table[0].instances == {"a"}
    assert table.host == ["host1"]


def test_a_view_does_not_disturb_the_fleet() -> None:
    """What a decision consumes is its own."""
    fleet = a_fleet([host := a_host(num_instances=3)])
    ledger = HostLedger(fleet.view([host.uuid])[0])
    ledger.consume(0, a_uuid())
    again, _known = fleet.view([host.uuid])
    assert (ledger.hosts.num_instances[0], again.num_instances[0]) == (4, 3)


# Cells --------------------------------------------------------------------------------------------


def test_hosts_of_a_silent_cell_count_as_down() -> None:
    """After service_down_time without a word, until the next one."""
    clock = Clock()
    fleet = a_fleet([host := a_host()], clock=clock)
    clock.seconds += 59
    assert fleet.view([host.uuid])[0].service_up.tolist() == [True]
    clock.seconds += 1
    assert fleet.view([host.uuid])[0].service_up.tolist() == [False]
    fleet.apply(a_batch([], first_seq=1, last_seq=1))
    assert fleet.view([host.uuid])[0].service_up.tolist() == [True]


def test_hosts_of_a_cell_that_is_gone_are_forgotten() -> None:
    """Other metadata without the cell take its hosts along."""
    here, there = a_host(), a_host("host2", cell=OTHER_CELL)
    fleet = a_fleet([here, there])
    cluster_metadata = some_cluster_metadata()
    del cluster_metadata.cell_names[OTHER_CELL]
    fleet.set_cluster_metadata(cluster_metadata)
    assert names(fleet, here, there) == ["host1"]
    assert fleet.seq_of(OTHER_CELL) == 0


# Claimed and not reported yet ---------------------------------------------------------------------


def test_a_claimed_instance_counts_until_it_is_reported() -> None:
    """It is one of its host's, once, before and after the report."""
    fleet = a_fleet([host := a_host(num_instances=1, instance_uuids=["a"])])
    fleet.remember([(host.uuid, "b")])
    table, _known = fleet.view([host.uuid])
    assert (table.num_instances[0], table.num_io_ops[0]) == (2, 1)
    assert table[0].instances == {"a", "b"}
    host.values.update(num_instances=2, instance_uuids=["a", "b"])
    fleet.apply(a_batch([host], first_seq=1, last_seq=2))
    table, _known = fleet.view([host.uuid])
    assert (table.num_instances[0], table.num_io_ops[0]) == (2, 0)
    assert table[0].instances == {"a", "b"}


def test_a_claimed_instance_that_is_reported_elsewhere_is_no_more_here() -> None:
    """Its build failed here and an alternate has it."""
    first, second = some_hosts(2)
    fleet = a_fleet([first, second])
    fleet.remember([(first.uuid, "a")])
    second.values.update(num_instances=1, instance_uuids=["a"])
    fleet.apply(a_batch([second], first_seq=1, last_seq=2))
    table, _known = fleet.view([first.uuid, second.uuid])
    assert table.num_instances.tolist() == [0, 1]


def test_a_claimed_instance_that_is_never_reported_is_forgotten() -> None:
    """It was deleted before its cell learned of it."""
    clock = Clock()
    fleet = a_fleet(
        [host := a_host()], clock=clock, conf=scheduling_conf(scheduler__claimed_instance_seconds=9)
    )
    fleet.remember([(host.uuid, "a"), (a_uuid(), "b")])
    clock.seconds += 8
    assert fleet.view([host.uuid])[0].num_instances.tolist() == [1]
    clock.seconds += 1
    assert fleet.view([host.uuid])[0].num_instances.tolist() == [0]


POOL = {"vendor_id": "8086", "product_id": "10ed", "dev_type": "type-PCI", "numa_node": 0}
DEVICES = [{**POOL, "count": 9}]
DEMAND = CellDemand(None, (PciRequest("nic", 1, ({"vendor_id": "8086"},)),))


def demands_of(fleet: HostStore, *hosts: Host) -> int:
    """Return the number of devices that are shown as used, of hosts that report all as free."""
    table, _known = fleet.view([host.uuid for host in hosts], counts_demands=True)
    return sum(9 - pci.count_free(pools) for pools in table.pci_stats)


def test_claimed_devices_count_until_the_agent_counts_them() -> None:
    """The cell reports an instance when its build starts, which is before its agent places it."""
    fleet = a_fleet([host := a_host(pci_stats=DEVICES, placed_instances=[])])
    fleet.remember([(host.uuid, "a")], DEMAND)
    host.values.update(num_instances=1, instance_uuids=["a"])
    fleet.apply(a_batch([host], first_seq=1, last_seq=2))
    assert demands_of(fleet, host) == 1
    host.values.update(placed_instances=["a"])
    fleet.apply(a_batch([host], first_seq=2, last_seq=3))
    assert demands_of(fleet, host) == 0


def test_claimed_devices_count_until_the_instance_leaves_its_host() -> None:
    """Its build failed after it was reported."""
    fleet = a_fleet([host := a_host(pci_stats=DEVICES, placed_instances=[])])
    fleet.remember([(host.uuid, "a")], DEMAND)
    for last_seq, uuids, counted in ((2, [], 1), (3, ["a"], 1), (4, [], 0)):
        host.values.update(num_instances=len(uuids), instance_uuids=uuids)
        fleet.apply(a_batch([host], first_seq=last_seq - 1, last_seq=last_seq))
        assert demands_of(fleet, host) == counted


def test_claimed_devices_count_after_an_update_of_the_instance() -> None:
    """Its agent says that it is there before it reports its devices."""
    fleet = a_fleet([host := a_host(pci_stats=DEVICES, placed_instances=[])])
    fleet.remember([(host.uuid, "a")], DEMAND)
    fleet.add_instances({"host1": ["a"]})
    assert demands_of(fleet, host) == 1


def test_claimed_devices_of_a_deleted_instance_count_until_the_next_report() -> None:
    """A report made before the deletion may come after it, with the devices in use."""
    fleet = a_fleet([host := a_host(pci_stats=DEVICES, placed_instances=[])])
    fleet.remember([(host.uuid, "a")], DEMAND)
    fleet.drop_instances({"host1": ["a"]})
    assert demands_of(fleet, host) == 1
    fleet.apply(a_batch([host], first_seq=1, last_seq=2))
    assert demands_of(fleet, host) == 0


def test_claimed_devices_that_are_reported_elsewhere_are_free() -> None:
    """An alternate has the instance."""
    first, second = some_hosts(2, pci_stats=DEVICES)
    fleet = a_fleet([first, second])
    fleet.remember([(first.uuid, "a")], DEMAND)
    second.values.update(num_instances=1, instance_uuids=["a"], placed_instances=[])
    fleet.apply(a_batch([second], first_seq=1, last_seq=2))
    assert demands_of(fleet, first, second) == 0


def test_claimed_devices_of_an_agent_that_does_not_say_what_it_counts() -> None:
    """An older agent is taken to count every instance of its host."""
    fleet = a_fleet([host := a_host(pci_stats=DEVICES, placed_instances=None)])
    fleet.remember([(host.uuid, "a")], DEMAND)
    host.values.update(num_instances=1, instance_uuids=["a"])
    fleet.apply(a_batch([host], first_seq=1, last_seq=2))
    assert demands_of(fleet, host) == 0


def test_claimed_devices_are_free_after_their_time_or_with_their_host() -> None:
    """What is never counted is not kept for ever."""
    clock = Clock()
    fleet = a_fleet(
        [
            host := a_host(pci_stats=DEVICES, placed_instances=[]),
            other := a_host(pci_stats=DEVICES, placed_instances=[]),
        ],
        clock=clock,
        conf=scheduling_conf(scheduler__claimed_instance_seconds=9),
    )
    fleet.remember([(host.uuid, "a"), (other.uuid, "b")], DEMAND)
    for each, uuid in ((host, "a"), (other, "b")):
        each.values.update(num_instances=1, instance_uuids=[uuid])
    fleet.apply(a_batch([host, other], first_seq=1, last_seq=2))
    assert demands_of(fleet, host, other) == 2
    fleet.apply(a_batch([], first_seq=2, last_seq=3, removed=[other.uuid]))
    assert demands_of(fleet, host) == 1
    clock.seconds += 9
    assert demands_of(fleet, host) == 0


def test_an_instance_claimed_again_counts_on_its_last_host() -> None:
    """A request that was taken up again leaves nothing on the first host."""
    first, second = some_hosts(2)
    fleet = a_fleet([first, second])
    fleet.remember([(first.uuid, "a")])
    fleet.remember([(second.uuid, "a")])
    table, _known = fleet.view([first.uuid, second.uuid])
    assert table.num_instances.tolist() == [0, 1]


def test_claims_on_a_host_that_is_removed_go_with_it() -> None:
    """A host that comes back is empty."""
    fleet = a_fleet([host := a_host()])
    fleet.remember([(host.uuid, "a")])
    fleet.apply(a_batch([], first_seq=1, last_seq=2, removed=[host.uuid]))
    fleet.apply(a_batch([host], first_seq=2, last_seq=3))
    assert fleet.view([host.uuid])[0].num_instances.tolist() == [0]


def test_a_batch_survives_the_wire() -> None:
    """What a cell sends is what a fleet applies."""
    host = a_host(free_ram_mb=7, instance_uuids=["a"])
    sent = a_batch([host], full=True).obj_to_primitive()
    fleet = a_fleet([])
    assert fleet.apply(HostStateBatch.obj_from_primitive(sent)) is Outcome.APPLIED
    table, _known = fleet.view([host.uuid])
    assert np.array_equal(table.free_ram_mb, [7])
    assert table[0].instances == {"a"}
