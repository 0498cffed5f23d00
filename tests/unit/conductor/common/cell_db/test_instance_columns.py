"""Sort keys and filters of lists: SQL on every engine agrees with the order in Python."""

from datetime import timedelta
from typing import Any

import pytest

from armillary.db import Database
from conductor.common.cell_db import compute_nodes, instance_columns, instances
from objects.instance import Instance
from objects.instances import server_order
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters
from objects.instances.server_order import KEYS, SortKey
from objects.instances.server_settings import ServerSettings
from tests.builders import A_TIME, a_uuid, an_image, an_instance

NAMES = ("b", "B", "a", "Zebra", "ärger", "_x", "a-1", "null", "日本")


def settings(**values: Any) -> ServerSettings:
    return ServerSettings.from_values(**values)


def a_mixture() -> list[Instance]:
    """Return instances with and without each attribute, with letters that collations fold."""
    made = [
        an_instance(
            name,
            created_at=A_TIME + timedelta(seconds=number // 2),
            updated_at=A_TIME + timedelta(microseconds=number * 400_000),
            launch_index=number % 3,
            locked=number % 2 == 0,
            power_state=("running", "shutdown", None)[number % 3],
            image=an_image() if number % 2 else None,
            settings=settings(
                key_name=name, description=name.upper(), config_drive=number % 2 == 1,
                access_ip_v4=f"192.0.2.{number}", hostname=name if number % 2 else None,
            ),
        )
        for number, name in enumerate(NAMES)
    ]  # fmt: skip
    bare = an_instance(
        "bare", host=None, node=None, availability_zone=None, power_state=None, launched_at=None
    )
    return [*made, bare]


def listed(database: Database, **filters: Any) -> list[Instance]:
    return database.read(
        instances.list_page, filters=ServerFilters(**filters), limit=100, cell_uuid=None
    )


def names(database: Database, **filters: Any) -> list[str]:
    return sorted(one.name for one in listed(database, **filters))


def test_every_key_has_a_column() -> None:
    """One that only one of both knows would be lost."""
    assert set(instance_columns.COLUMNS) == set(KEYS)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("is_descending", [True, False], ids=["descending", "ascending"])
def test_sorted_pages_join_up_in_the_order_of_python(
    database: Database, is_descending: bool
) -> None:
    """Lists of several cells are merged in Python, so all engines must agree with it."""
    made = a_mixture()
    database.run_in_writer(instances.insert, made, now=A_TIME)
    for key in KEYS:
        sort = [SortKey(key, is_descending), SortKey("vm_state", not is_descending)]
        expected = sorted(
            made,
            key=lambda one: server_order.position(
                sort, server_order.values_of(one, sort), one.created_at or A_TIME, one.uuid
            ),
        )
        assert [one.name for one in _in_pages(database, sort)] == [one.name for one in expected], (
            key
        )


def _in_pages(database: Database, sort: list[SortKey]) -> list[Instance]:
    found: list[Instance] = []
    marker = None
    while len(found) <= len(NAMES) + 1:
        page = database.read(
            instances.list_page,
            filters=ServerFilters(sort=sort),
            limit=3,
            marker=marker,
            cell_uuid=None,
        )
        if not page:
            break
        found += page
        last = page[-1]
        assert last.created_at is not None
        values = server_order.values_of(last, sort)
        marker = InstanceMarker(last.created_at, last.uuid, values)
    return found


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": ["a"]}, ["one", "two"]),
        ({"tags": ["a", "b"]}, ["two"]),
        ({"tags_any": ["b", 'q"uote']}, ["quoted", "two"]),
        ({"not_tags": ["a", "b"]}, ["none", "one", "quoted"]),
        ({"not_tags_any": ["a", "b"]}, ["none", "quoted"]),
        ({"tags": ["A"]}, []),
        ({"tags": ["ä"]}, ["quoted"]),
        ({"equal": {"locked": 1}}, ["one"]),
        ({"equal": {"key_name": "mine", "power_state": 4}}, ["two"]),
        ({"equal": {"config_drive": 1}}, ["two"]),
        ({"equal": {"launched_at": server_order.moment(A_TIME)}}, ["one", "two"]),
        ({"description": "^Web"}, ["one"]),
        ({"hostname": "two"}, ["two"]),
        ({"hostname": "given"}, ["one"]),
        ({"ip": "^192.0.2"}, ["one"]),
        ({"ip": "2001"}, []),
        ({"ip6": "2001:db8"}, ["two"]),
    ],
    ids=str,
)
def test_filters_by_attributes_choose_what_is_listed(
    database: Database, filters: dict[str, Any], expected: list[str]
) -> None:
    """Tags as they are written; an address is that of the host."""
    made = [
        an_instance("one", locked=True, host="h1", node="h1",
                    settings=settings(tags=["a"], description="web server", hostname="given")),
        an_instance("two", host="h2", node="h2", power_state="shutdown",
                    settings=settings(tags=["a", "b"], key_name="mine", config_drive=True)),
        an_instance("quoted", launched_at=None, settings=settings(tags=['q"uote', "ä"])),
        an_instance("none", launched_at=None, host=None, node=None),
    ]  # fmt: skip
    nodes = [
        {"uuid": a_uuid(), "host": host, "node": host, "seq": 1, "provider_digest": "",
         "inventories": {}, "sent_traits": {}, "allocation_ratios": {}, "traits": [],
         "attributes": {"host_ip": address}, "created_at": A_TIME}
        for host, address in (("h1", "192.0.2.7"), ("h2", "2001:db8::7"))
    ]  # fmt: skip
    database.run_in_writer(instances.insert, made, now=A_TIME)
    database.run_in_writer(compute_nodes.add, nodes)
    assert names(database, **filters) == expected
