"""All hosts as columns for the view of the fleet."""

from scheduler.hosts import host_columns
from tests.fleets import CELL, a_fleet, a_host


def test_columns_say_of_each_host_what_the_scheduler_knows() -> None:
    """Its cell, whether it is up and disabled, and its servers."""
    hosts = [
        a_host(num_instances=3, service_up=True),
        a_host(service_up=False, service_disabled=True),
    ]
    found = host_columns.of(a_fleet(hosts).view_all())
    rows = {uuid: row for row, uuid in enumerate(found.node_uuids)}
    first, second = rows[hosts[0].uuid], rows[hosts[1].uuid]
    assert [found.cells[number] for number in found.cell] == [CELL, CELL]
    assert (found.up[first], found.disabled[first], found.servers[first]) == (True, False, 3)
    assert (found.up[second], found.disabled[second]) == (False, True)


def test_a_fleet_without_hosts_can_be_sent() -> None:
    """A scheduler that has just started has none."""
    found = host_columns.of(a_fleet([]).view_all())
    sent = type(found).obj_from_primitive(found.obj_to_primitive())
    assert (sent.node_uuids, sent.cells) == ([], [])
