"""Base classes of commands."""

from collections.abc import Callable

from objects.instance import Instance
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_a_list_says_which_cell_is_missing(
    armillary: Armillary, conductor: BuildingSuperConductor, a_server: Callable[..., Instance]
) -> None:
    """Once, however many pages there are."""
    conductor.down_cells = ["cell2"]
    for _ in range(7):
        a_server()
    ended = armillary("server", "list")
    assert ended.code == 0
    assert ended.err == "armillary: Cell cell2 does not answer; its items are not shown.\n"


def test_a_list_says_which_zone_is_missing(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """And which cell of one."""
    conductor.down_cells = ["zone eu/eu-1", "cell1 of zone us"]
    err = armillary("server", "list").err
    assert "armillary: Zone eu/eu-1 does not answer" in err
    assert "armillary: Cell cell1 of zone us does not answer" in err
