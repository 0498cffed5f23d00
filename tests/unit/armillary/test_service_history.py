"""The declared history: it is of what is served, and every number has its meaning."""

import pytest

from armillary.service_history import HISTORY
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.interface import SuperConductorAPI
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI


def test_the_last_row_is_what_this_release_serves() -> None:
    """A change that raises the version of an interface writes it there."""
    assert HISTORY[-1].interfaces == {
        "scheduler": SchedulerAPI.VERSION,
        "conductor": SuperConductorAPI.VERSION,
        "cell_conductor": CellConductorAPI.VERSION,
        "compute": ComputeAPI.VERSION,
        "placement": PlacementAPI.VERSION,
    }


def test_numbers_count_up_by_one() -> None:
    """From the first release on, none left out, each with the same interfaces."""
    assert [row.number for row in HISTORY] == list(range(1, len(HISTORY) + 1))
    assert {tuple(row.interfaces) for row in HISTORY} == {tuple(HISTORY[-1].interfaces)}


@pytest.mark.parametrize("interface", tuple(HISTORY[-1].interfaces))
def test_no_interface_ever_goes_back(interface: str) -> None:
    """A newer service serves what the older one did."""
    minors = [int(row.interfaces[interface].partition(".")[2]) for row in HISTORY]
    assert minors == sorted(minors)
