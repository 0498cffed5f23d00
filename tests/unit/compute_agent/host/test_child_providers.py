"""Parts of a host as providers: NUMA cells, cards with their functions, where they hang."""

import dataclasses

import pytest

from armillary import exception
from compute_agent.host.child_providers import (
    check_devices,
    children_of,
    counted,
    named,
    unclaimed_in,
)
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.host.pci_devices import PHYSICAL_FUNCTION, VIRTUAL_FUNCTION, PciDevice
from objects.numa import HostCell
from tests import builders
from tests.fixtures.agent import Agent

NODE_UUID = "5b0a8f3e-6a55-4c5c-9a5f-0b5e2b8d9f10"
CARD = "0000:06:00.0"


class Driver:
    """A host of these cells and devices."""

    node = "host-1"

    def __init__(self, *devices: PciDevice, cells: int = 0) -> None:
        self._devices = devices
        self._cells = tuple(HostCell(id=number) for number in range(cells))

    def get_numa_cells(self) -> tuple[HostCell, ...]:
        return self._cells

    def get_pci_devices(self) -> tuple[PciDevice, ...]:
        return self._devices


def a_device(address: str = CARD, **values: object) -> PciDevice:
    return dataclasses.replace(PciDevice(address, "8086", "10ed"), **values)  # type: ignore[arg-type]


def functions(count: int, **values: object) -> list[PciDevice]:
    return [
        a_device(f"0000:06:10.{number}", dev_type=VIRTUAL_FUNCTION, parent=CARD, **values)
        for number in range(count)
    ]


@pytest.fixture
def reporting(agent: Agent) -> Agent:
    """Return an agent that reports all parts of its hosts."""
    agent.conf.set_override("numa_nodes_in_placement", True, group="compute")
    agent.conf.set_override("report_in_placement", True, group="pci")
    return agent


def parts(agent: Agent, driver: Driver) -> dict[str, tuple[str, dict[str, int], set[str]]]:
    """Return name -> name of the parent, class -> total, traits."""
    children = children_of(agent.conf, driver, NODE_UUID)  # type: ignore[arg-type]
    names = {NODE_UUID: "host-1"} | {child.uuid: child.name for child in children}
    return {
        child.name: (
            names[child.parent_uuid],
            {name: int(one["total"]) for name, one in child.inventories.items()},
            set(child.traits),
        )
        for child in children
    }


def test_nothing_is_reported_unless_it_is_asked_for(agent: Agent) -> None:
    """The host's provider alone, as it always was."""
    assert parts(agent, Driver(a_device(), cells=2)) == {}


def test_cells_are_below_the_host_and_devices_in_their_cell(reporting: Agent) -> None:
    """A device of no known cell is below the host."""
    driver = Driver(
        a_device("0000:06:00.0", numa_node=1), a_device("0000:07:00.0"),
        a_device("0000:08:00.0", numa_node=7), cells=2,
    )  # fmt: skip
    device = ({"CUSTOM_PCI_8086_10ED": 1}, {"COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"})
    assert parts(reporting, driver) == {
        "host-1_NUMA0": ("host-1", {}, {"HW_NUMA_ROOT"}),
        "host-1_NUMA1": ("host-1", {}, {"HW_NUMA_ROOT"}),
        "host-1_0000:06:00.0": ("host-1_NUMA1", *device),
        "host-1_0000:07:00.0": ("host-1", *device),
        "host-1_0000:08:00.0": ("host-1", *device),
    }


def test_devices_hang_below_the_host_where_cells_are_not_reported(reporting: Agent) -> None:
    """There is nothing between them."""
    reporting.conf.set_override("numa_nodes_in_placement", False, group="compute")
    driver = Driver(a_device(numa_node=0), cells=1)
    assert [parent for parent, _, _ in parts(reporting, driver).values()] == ["host-1"]


def test_functions_are_inventory_of_their_card(reporting: Agent) -> None:
    """By class; it has the traits that all of them have."""
    some = functions(3, traits=frozenset({"CUSTOM_FAST", "CUSTOM_RED"}))
    other = dataclasses.replace(
        functions(4)[3], resource_class="CUSTOM_NIC", traits=frozenset({"CUSTOM_FAST"})
    )
    assert parts(reporting, Driver(*some, other)) == {
        f"host-1_{CARD}": (
            "host-1",
            {"CUSTOM_NIC": 1, "CUSTOM_PCI_8086_10ED": 3},
            {"CUSTOM_FAST", "COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"},
        )
    }


def test_uuids_follow_from_the_node(reporting: Agent) -> None:
    """The same after each restart, others on each node."""
    driver = Driver(a_device(), cells=1)

    def uuids(node: str) -> list[str]:
        return [child.uuid for child in children_of(reporting.conf, driver, node)]  # type: ignore[arg-type]

    assert uuids(NODE_UUID) == uuids(NODE_UUID)
    assert not set(uuids(NODE_UUID)) & set(uuids(builders.a_uuid()))


def test_a_card_and_its_functions_cannot_both_be_offered(reporting: Agent) -> None:
    """They are the same thing: refused at the start, and later the functions count alone."""
    card = a_device(dev_type=PHYSICAL_FUNCTION)
    devices = [card, *functions(2)]
    with pytest.raises(exception.ConfigurationError, match=CARD):
        check_devices("host-1", devices)
    check_devices("host-1", [card])
    check_devices("host-1", functions(2))
    found = parts(reporting, Driver(*devices))
    assert found[f"host-1_{CARD}"][1] == {"CUSTOM_PCI_8086_10ED": 2}
    assert counted(devices) == functions(2)


def test_what_instances_have_without_a_claim_is_reserved(reporting: Agent) -> None:
    """No other instance gets it; what was claimed is placement's to count."""
    first, second, third = functions(3)
    claimed = dataclasses.replace(second, rp_uuid=builders.a_uuid())
    unclaimed = unclaimed_in(
        [InstancePlacement(None, (first,)), InstancePlacement(None, (claimed,))]
    )
    (card,) = children_of(
        reporting.conf, Driver(first, second, third), NODE_UUID, unclaimed=unclaimed  # type: ignore[arg-type]
    )  # fmt: skip
    inventory = card.inventories["CUSTOM_PCI_8086_10ED"]
    assert (inventory["total"], inventory["reserved"]) == (3, 1)


def test_devices_know_the_provider_that_counts_them(reporting: Agent) -> None:
    """So pools are split by provider, and schedulers know which of them a claim means."""
    devices = [a_device("0000:06:00.0"), a_device("0000:07:00.0")]
    kinds = [device.kind for device in named(devices, NODE_UUID)]
    reported = children_of(reporting.conf, Driver(*devices), NODE_UUID)  # type: ignore[arg-type]
    assert [kind["rp_uuid"] for kind in kinds] == [child.uuid for child in reported]
    assert "rp_uuid" not in a_device().kind
