"""Services on the command line."""

from typing import Any

import pytest

from armillary.service_history import CURRENT_VERSION
from objects.cell_mapping import CELL0_UUID
from objects.hosts.service import Service
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture
def service(conductor: BuildingSuperConductor) -> Service:
    """Have one service on host1."""
    conductor.services = [builders.a_service("host1")]
    return conductor.services[0]


def test_services_are_listed(
    armillary: Armillary, service: Service, conductor: BuildingSuperConductor
) -> None:
    """Filters go to the API."""
    conductor.services.append(builders.a_service("host2", up=False))
    rows = armillary("service", "list", "--long", "-f", "json").json
    assert [(row["Host"], row["State"]) for row in rows] == [("host1", "up"), ("host2", "down")]
    assert rows[0]["Version"] == CURRENT_VERSION
    rows = armillary("service", "list", "--host", "host2", "-f", "json").json
    assert [row["Host"] for row in rows] == ["host2"]
    assert armillary("service", "list", "--binary", "other", "-f", "json").json == []


def test_the_conductor_of_a_cell_is_told_from_the_super_conductor(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """By the name of its cell: both have the same binary, and perhaps the same host."""
    own = builders.a_service("host1", binary="armillary-conductor")
    top = builders.a_service("host1", binary="armillary-conductor", cell_uuid=CELL0_UUID)
    conductor.services, conductor.cell_names = [own, top], {str(own.cell_uuid): "cell1"}
    rows = armillary("service", "list", "-f", "json").json
    assert [(row["Binary"], row["Cell"]) for row in rows] == [
        ("armillary-conductor", "cell1"), ("armillary-conductor", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("--disable", "--reason", "new disk"), {"disabled": True, "disabled_reason": "new disk"}),
        (("--disable",), {"disabled": True}),
        (("--enable",), {"disabled": False}),
        (("--down",), {"forced_down": True}),
        (("--up", "--enable"), {"forced_down": False, "disabled": False}),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["host", "uuid"])
def test_a_service_is_changed(
    name: str,
    words: tuple[str, ...],
    changed: dict[str, Any],
    armillary: Armillary,
    conductor: BuildingSuperConductor,
    service: Service,
) -> None:
    """By host or id."""
    assert armillary("service", "set", getattr(service, name), *words).code == 0
    assert {field: getattr(conductor.services[0], field) for field in changed} == changed


@pytest.mark.parametrize(
    "words", [(), ("--reason", "x"), ("--enable", "--reason", "x")], ids=" ".join
)
def test_a_change_that_is_none_is_wrong_usage(
    words: tuple[str, ...], armillary: Armillary, service: Service
) -> None:
    """A reason is for disabling."""
    assert armillary("service", "set", "host1", *words).code == 2


def test_a_service_is_deleted(
    armillary: Armillary, conductor: BuildingSuperConductor, service: Service
) -> None:
    """With its host."""
    assert armillary("service", "delete", "host1").code == 0
    assert conductor.services == []


def test_a_host_names_its_compute_service(
    armillary: Armillary, service: Service, conductor: BuildingSuperConductor
) -> None:
    """Others there go by their id."""
    other = builders.a_service(service.host, binary="armillary-scheduler")
    conductor.services.append(other)
    assert armillary("service", "set", service.host, "--disable").code == 0
    assert [one.disabled for one in conductor.services] == [True, False]
    assert armillary("service", "delete", other.uuid).code == 0
    assert [one.binary for one in conductor.services] == ["armillary-compute"]
