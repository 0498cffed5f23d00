"""Names of hosts that cells may be the first to use."""

from types import SimpleNamespace
from typing import Any

import pytest

from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from rpc.signing.trust import SERVICES, Identity, TrustList
from tests import builders

ONE, TWO, THREE = map(builders.a_uuid_of, ("cell1", "cell2", "cell3"))


def enrolments(*, is_required: bool = False, **patterns: tuple[str, list[str]]) -> CellEnrolments:
    """Return those of cell conductors' keys: name -> cell, patterns of hosts."""
    identities = [
        Identity(name, "cell_conductor", scope=cell, hosts=tuple(hosts))
        for name, (cell, hosts) in patterns.items()
    ]
    listed: Any = SimpleNamespace(current=lambda: TrustList(SERVICES, 1, identities))
    return CellEnrolments([listed], is_required=is_required)


@pytest.mark.parametrize(
    ("cell", "host", "expected"),
    [
        (ONE, "rack1-7", True),
        (ONE, "rack9-1", True),
        (ONE, "rack2-1", False),
        (ONE, "other", False),
        (TWO, "rack2-1", True),
        (TWO, "rack1-7", False),
        (THREE, "rack1-7", False),
        (THREE, "other", True),
    ],
)
def test_a_cell_has_the_names_that_it_is_enrolled_for(cell: str, host: str, expected: bool) -> None:
    """By any of its keys; one that is enrolled for none has what no other cell is enrolled for."""
    known = enrolments(
        a=(ONE, ["rack1-*"]), b=(ONE, ["rack9-1"]), c=(TWO, ["rack2-*"]), d=(THREE, [])
    )
    assert known.may_have(cell, host) is expected


@pytest.mark.parametrize("is_required", [True, False])
def test_no_cell_gets_a_name_that_two_cells_are_enrolled_for(is_required: bool) -> None:
    """An operator approves it; two keys of one cell do not collide."""
    known = enrolments(
        is_required=is_required,
        a=(ONE, ["*"]), b=(TWO, ["rack2-*"]), c=(TWO, ["rack?-1"]), d=(THREE, ["gen-1"]),
    )  # fmt: skip
    found = {
        host: [cell for cell in (ONE, TWO, THREE) if known.may_have(cell, host)]
        for host in ("rack2-1", "gen-1", "other")
    }
    assert found == {"rack2-1": [], "gen-1": [], "other": [ONE]}
    assert enrolments(b=(TWO, ["rack2-*"]), c=(TWO, ["rack?-1"])).may_have(TWO, "rack2-1")


def test_without_enrolments_a_cell_has_any_name() -> None:
    """As without signatures."""
    assert CellEnrolments().may_have(ONE, "rack1-7")
    assert enrolments(a=(ONE, [])).may_have(TWO, "rack1-7")


@pytest.mark.parametrize(
    ("cell", "host", "expected"),
    [(ONE, "rack1-7", True), (ONE, "other", False), (TWO, "other", False), (TWO, "rack1-7", False)],
)
def test_where_signatures_are_required_a_cell_has_enrolled_names_alone(
    cell: str, host: str, expected: bool
) -> None:
    """One that is enrolled for none has none, whether there are other cells or not."""
    assert enrolments(is_required=True, a=(ONE, ["rack1-*"])).may_have(cell, host) is expected
