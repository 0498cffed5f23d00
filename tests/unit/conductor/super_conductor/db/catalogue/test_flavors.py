"""Tests of storing flavors."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db.catalogue import flavors
from objects.flavor import Flavor
from tests import builders
from tests.fixtures.control_plane import NOW, a_user


@pytest.fixture
def session(api_database: Database) -> Iterator[Session]:
    with api_database.writer() as session:
        yield session


def create(session: Session, name: str = "small", **values: Any) -> Flavor:
    return flavors.create_flavor(session, builders.a_flavor(name, **values), now=NOW)


def test_a_flavor_is_found_by_id_and_by_name(session: Session) -> None:
    """It comes back as it was stored."""
    create(session, extra_specs={"trait:HW": "required"}, swap_mb=64)
    for name in ("id-small", "small"):
        found = flavors.get_flavor(session, name, a_user())
        assert (found.flavorid, found.swap_mb, found.extra_specs, found.created_at) == (
            "id-small", 64, {"trait:HW": "required"}, NOW,
        )  # fmt: skip


def test_an_empty_id_becomes_a_uuid(session: Session) -> None:
    """It can be found by it."""
    made = create(session, flavorid="")
    assert len(made.flavorid) == 36
    assert flavors.get_flavor(session, made.flavorid, a_user()).name == "small"


def test_flavors_are_listed_by_id(session: Session) -> None:
    """Whatever their names."""
    create(session, "b", flavorid="1")
    create(session, "a", flavorid="2")
    assert [one.name for one in flavors.list_flavors(session, a_user())] == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "flavorid", "field"),
    [("small", "new", "name"), ("new", "id-small", "ID")],
    ids=["name", "id"],
)
def test_name_and_id_are_taken_once(session: Session, name: str, flavorid: str, field: str) -> None:
    """The error names the one that is."""
    create(session)
    with pytest.raises(exception.FlavorExists) as raised:
        create(session, name, flavorid=flavorid)
    assert raised.value.kwargs["field"] == field


@pytest.mark.parametrize(
    "values",
    [{"vcpus": 0}, {"memory_mb": 0}, {"root_gb": -1}, {"ephemeral_gb": -1}, {"swap_mb": -1},
     {"memory_mb": 2**31}],
    ids=lambda values: "-".join(values),
)  # fmt: skip
def test_sizes_have_bounds(session: Session, values: dict[str, Any]) -> None:
    """No flavor without a vCPU or memory, none that a column cannot hold."""
    with pytest.raises(exception.Invalid, match=next(iter(values))):
        create(session, **values)


def test_a_blank_name_is_refused(session: Session) -> None:
    """No request could name it."""
    with pytest.raises(exception.Invalid):
        create(session, " ")


@pytest.mark.parametrize("flavor", ["id-small", "small"])
def test_extra_specs_are_set_and_deleted_one_by_one(session: Session, flavor: str) -> None:
    """Others are kept."""
    create(session, extra_specs={"a": "1", "b": "2", "c": "3"})
    changes = {"b": None, "c": "4", "d": "5", "e": None}
    changed = flavors.change_extra_specs(session, flavor, changes, now=NOW)
    assert changed.extra_specs == {"a": "1", "c": "4", "d": "5"}


def test_two_together_change_the_extra_specs_of_a_flavor(any_api_database: Database) -> None:
    """The second waits for the first; what both have set is there."""
    with any_api_database.writer() as session:
        create(session)
    first_has_set = threading.Event()

    def second() -> None:
        first_has_set.wait(60)
        any_api_database.run_in_writer(flavors.change_extra_specs, "small", {"b": "2"}, now=NOW)

    thread = threading.Thread(target=second)
    thread.start()
    with any_api_database.writer() as session:
        flavors.change_extra_specs(session, "small", {"a": "1"}, now=NOW)
        first_has_set.set()
        thread.join(0.3)
    thread.join(60)
    found = any_api_database.read(flavors.get_flavor, "small", a_user())
    assert found.extra_specs == {"a": "1", "b": "2"}


def test_a_deleted_flavor_is_unknown(session: Session) -> None:
    """And cannot be deleted again."""
    create(session)
    flavors.delete_flavor(session, "small")
    with pytest.raises(exception.FlavorNotFound):
        flavors.delete_flavor(session, "small")
