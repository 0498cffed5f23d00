"""Tests of storing aggregates: names, hosts, and at most one zone for a host."""

from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings, metadata_seq
from conductor.super_conductor.db.catalogue import aggregates
from objects.aggregate import Aggregate, AggregateChanges
from tests.fixtures.control_plane import NOW

UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"


@pytest.fixture
def session(api_database: Database) -> Iterator[Session]:
    """Lend a transaction in which hosts h1 to h3 are mapped."""
    with api_database.writer() as session:
        cell = cells.create_cell(session, name="cell1", transport_url="x", now=NOW)
        host_mappings.map_hosts(session, cell.uuid, {f"h{n}": [] for n in (1, 2, 3)})
        yield session


def create(session: Session, name: str = "rack", zone: str | None = None) -> Aggregate:
    return aggregates.create_aggregate(session, name, zone, now=NOW)


def add(session: Session, name: str, host: str) -> Aggregate:
    (found,) = [one for one in aggregates.list_aggregates(session) if one.name == name]
    return aggregates.add_host(session, str(found.id), host, now=NOW)


def test_an_aggregate_is_found_by_id_and_by_uuid(session: Session) -> None:
    """Both come as text."""
    made = create(session, zone="east")
    for name in (str(made.id), made.uuid):
        found = aggregates.get_aggregate(session, name)
        assert (found.name, found.availability_zone, found.hosts) == ("rack", "east", [])


@pytest.mark.parametrize("name", ["99", "none", UNKNOWN, "9" * 30])
def test_an_unknown_aggregate_is_not_found(session: Session, name: str) -> None:
    """Whatever it is called."""
    with pytest.raises(exception.AggregateNotFound):
        aggregates.get_aggregate(session, name)


def test_a_name_is_taken_once(session: Session) -> None:
    """By creating and by renaming."""
    create(session)
    other = create(session, "other")
    with pytest.raises(exception.AggregateExists):
        create(session)
    with pytest.raises(exception.AggregateExists):
        aggregates.update_aggregate(session, other.uuid, AggregateChanges("rack"), now=NOW)


@pytest.mark.parametrize(
    ("name", "zone"),
    [("", None), ("n" * 256, None), ("rack", ""), ("rack", "a:b"), ("rack", "z" * 256)],
    ids=["no-name", "long-name", "no-zone", "colon", "long-zone"],
)
def test_bad_values_are_refused(session: Session, name: str, zone: str | None) -> None:
    """A colon takes a zone apart from a host."""
    with pytest.raises(exception.Invalid):
        create(session, name, zone)


def test_metadata_is_merged_and_null_removes(session: Session) -> None:
    """As the API has it."""
    made = create(session, zone="east")
    each: tuple[dict[str, str | None], ...] = ({"disk": "fast", "gone": "x"}, {"gone": None})
    for changes in each:
        changed = aggregates.update_aggregate(
            session, made.uuid, AggregateChanges(metadata=changes), now=NOW
        )
    assert changed.metadata == {"availability_zone": "east", "disk": "fast"}


def test_hosts_come_and_go(session: Session) -> None:
    """They are shown in order."""
    create(session)
    add(session, "rack", "h2")
    made = add(session, "rack", "h1")
    assert made.hosts == ["h1", "h2"]
    assert aggregates.remove_host(session, made.uuid, "h2", now=NOW).hosts == ["h1"]


def test_the_aggregates_of_a_host_are_read_without_its_neighbours(session: Session) -> None:
    """In the order in which they were made; others are not read at all."""
    for name, hosts in {"b": ("h1", "h2"), "a": ("h1",), "c": ("h2",), "d": ()}.items():
        create(session, name)
        for host in hosts:
            add(session, name, host)
    found = aggregates.list_aggregates_of(session, "h1")
    assert [(one.name, one.hosts) for one in found] == [("b", ["h1"]), ("a", ["h1"])]
    assert aggregates.list_aggregates_of(session, "h3") == []


def test_a_host_is_added_once(session: Session) -> None:
    """Twice is a conflict."""
    create(session)
    add(session, "rack", "h1")
    with pytest.raises(exception.AggregateHostExists):
        add(session, "rack", "h1")


def test_an_unknown_host_cannot_be_added(session: Session) -> None:
    """No cell has it."""
    create(session)
    with pytest.raises(exception.HostNotFound):
        add(session, "rack", "nowhere")


def test_a_host_that_is_not_in_it_cannot_be_removed(session: Session) -> None:
    """Though it exists."""
    made = create(session)
    with pytest.raises(exception.AggregateHostNotFound):
        aggregates.remove_host(session, made.uuid, "h1", now=NOW)


def test_an_aggregate_with_hosts_cannot_be_deleted(session: Session) -> None:
    """An empty one can."""
    made = create(session)
    add(session, "rack", "h1")
    with pytest.raises(exception.AggregateInUse, match="h1"):
        aggregates.delete_aggregate(session, made.uuid)
    aggregates.remove_host(session, made.uuid, "h1", now=NOW)
    aggregates.delete_aggregate(session, made.uuid)
    assert aggregates.list_aggregates(session) == []


# Zones


def test_a_host_is_in_one_zone_at_most(session: Session) -> None:
    """Adding it to an aggregate of another zone is refused."""
    create(session, "e", "east")
    create(session, "w", "west")
    add(session, "e", "h1")
    with pytest.raises(exception.HostInOtherZone, match="east"):
        add(session, "w", "h1")


def test_a_host_may_be_in_several_aggregates_of_a_zone(session: Session) -> None:
    """And in any number of those that name none."""
    for name, zone in (("e1", "east"), ("e2", "east"), ("fast", None)):
        create(session, name, zone)
        add(session, name, "h1")
    assert aggregates.zones_of_hosts(session) == {"h1": "east"}


@pytest.mark.parametrize("before", [None, "north"])
def test_metadata_cannot_put_a_host_into_a_second_zone(
    session: Session, before: str | None
) -> None:
    """Neither a first zone nor another one."""
    create(session, "e", "east")
    other = create(session, "o")
    add(session, "e", "h1")
    add(session, "o", "h1")
    with pytest.raises(exception.HostInOtherZone):
        aggregates.update_aggregate(
            session, other.uuid, AggregateChanges(metadata={"availability_zone": "west"}), now=NOW
        )


def test_a_zone_may_be_taken_away(session: Session) -> None:
    """Its hosts are in the default one then."""
    made = create(session, "e", "east")
    add(session, "e", "h1")
    changes = AggregateChanges(metadata={"availability_zone": None})
    aggregates.update_aggregate(session, made.uuid, changes, now=NOW)
    assert aggregates.zones_of_hosts(session) == {}
    assert aggregates.zone_names(session) == set()


def test_zones_are_those_that_aggregates_name(session: Session) -> None:
    """With or without hosts."""
    create(session, "e", "east")
    create(session, "x")
    assert aggregates.zone_names(session) == {"east"}


def test_a_host_that_is_gone_is_in_no_aggregate(session: Session) -> None:
    """It is taken out of all."""
    for name in ("a", "b"):
        create(session, name)
        add(session, name, "h1")
    aggregates.remove_host_everywhere(session, "h1")
    assert [one.hosts for one in aggregates.list_aggregates(session)] == [[], []]


def test_every_change_is_counted(session: Session) -> None:
    """Schedulers are told by that number."""
    seen = [metadata_seq.get_seq(session)]
    made = create(session)
    seen.append(metadata_seq.get_seq(session))
    add(session, "rack", "h1")
    seen.append(metadata_seq.get_seq(session))
    aggregates.remove_host(session, made.uuid, "h1", now=NOW)
    seen.append(metadata_seq.get_seq(session))
    aggregates.update_aggregate(session, made.uuid, AggregateChanges("shelf"), now=NOW)
    seen.append(metadata_seq.get_seq(session))
    aggregates.delete_aggregate(session, made.uuid)
    seen.append(metadata_seq.get_seq(session))
    assert seen == sorted(set(seen))
