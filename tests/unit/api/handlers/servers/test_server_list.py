"""Lists of servers: what query parameters ask of the super conductor, by microversion."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from objects.instances.server_order import SortKey
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/servers"


def asked(conductor: SuperConductor) -> dict[str, Any]:
    """Return the given filters of the last call."""
    filters: dict[str, Any] = conductor.requests[-1]["filters"]
    return filters


FILTERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "address": ({"ip": "^10.0", "ip6": "fe80"}, {"ip": "^10.0", "ip6": "fe80"}),
    "texts": ({"key_name": "k", "node": "n"}, {"equal": {"key_name": "k", "node": "n"}}),
    "numbers": ({"power_state": "4"}, {"equal": {"power_state": 4}}),
    "flags": ({"locked": "true", "config_drive": "0"}, {"equal": {"config_drive": 0, "locked": 1}}),
    "disk": ({"auto_disk_config": "true"}, {"equal": {"disk_config": "AUTO"}}),
    "times": (
        {"launched_at": "2030-01-31T12:00:00Z"}, {"equal": {"launched_at": "2030-01-31 12:00:00"}}
    ),
    "soft deleted": ({"soft_deleted": "1"}, {"equal": {"vm_state": "soft-delete"}}),
    "constant": ({"progress": "0", "kernel_id": ""}, {"equal": None}),
    "no constant": ({"kernel_id": "x"}, {"equal": {"uuid": ""}}),
    "tags": (
        {"tags": "a,b", "not-tags-any": "c"}, {"tags": ["a", "b"], "not_tags_any": ["c"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), FILTERS.values(), ids=FILTERS)
def test_a_parameter_is_a_filter(
    query: dict[str, str], expected: dict[str, Any], api: Api, conductor: SuperConductor
) -> None:
    """None is lost."""
    assert api.get(PATH, **query).status_code == 200
    assert {name: asked(conductor).get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=ACTIVE&status=error", "ACTIVE,ERROR"),
        ("status=bogus&status=ERROR", "BOGUS,ERROR"),
        ("status=ACTIVE,ERROR", "ACTIVE ERROR"),
        ("status=DELETED&status=ACTIVE", "DELETED,ACTIVE"),
    ],
)
def test_several_statuses_are_asked_for(
    query: str, expected: str, api: Api, conductor: SuperConductor
) -> None:
    """By repeating the parameter, not with commas; one that is unknown matches nothing."""
    headers = {"OpenStack-API-Version": "compute 2.37"}
    assert api.send("GET", PATH, query_string=query, headers=headers).status_code == 200
    assert asked(conductor)["status"] == expected


def test_each_of_several_statuses_has_to_be_known(api: Api) -> None:
    """Since microversion 2.38."""
    headers = {"OpenStack-API-Version": "compute 2.38"}
    answer = api.send("GET", PATH, query_string="status=ACTIVE&status=x", headers=headers)
    assert (answer.status_code, "Value: X." in message(answer)) == (400, True)


ORDERS: dict[str, tuple[str, list[SortKey] | None]] = {
    "": ("", None),
    "newest first": ("sort_key=created_at&sort_dir=desc", None),
    "only a direction": ("sort_dir=asc", [SortKey("created_at", False)]),
    "one": ("sort_key=display_name&sort_dir=asc", [SortKey("name", False)]),
    "several": (
        "sort_key=vm_state&sort_dir=desc&sort_key=uuid&sort_dir=asc",
        [SortKey("vm_state"), SortKey("uuid", False)],
    ),
    "first direction for all": (
        "sort_key=vm_state&sort_key=uuid&sort_dir=asc",
        [SortKey("vm_state", False), SortKey("uuid", False)],
    ),
    "ignored": ("sort_key=memory_mb", None),
    "locked": ("sort_key=locked", [SortKey("locked")]),
}


@pytest.mark.parametrize(("query", "expected"), ORDERS.values(), ids=ORDERS)
def test_a_list_is_sorted_as_asked(
    query: str, expected: list[SortKey] | None, api: Api, conductor: SuperConductor
) -> None:
    """By one key or several, each with its direction."""
    assert api.send("GET", PATH, query_string=query).status_code == 200
    found = asked(conductor).get("sort")
    assert found == expected


@pytest.mark.parametrize(
    "query", ["sort_key=color", "sort_dir=up", "sort_key=uuid&sort_dir=asc&sort_dir=asc"]
)
def test_what_cannot_be_sorted_by_is_refused(query: str, api: Api) -> None:
    """Before the super conductor is asked."""
    answer = api.send("GET", PATH, query_string=query)
    assert answer.status_code == 400
    assert "sort_" in message(answer)


@pytest.mark.parametrize(
    ("status", "asked_by", "expected"),
    [("Active", "2.38", 200), ("unknown", "2.96", 200), ("color", "2.37", 200),
     ("color", "2.38", 400), ("", "2.96", 400)],
)  # fmt: skip
def test_an_unknown_status_is_refused_since_2_38(
    status: str, asked_by: str, expected: int, api: Api
) -> None:
    """In earlier versions no server has it."""
    query = f"status={status}"
    answer = api.send("GET", PATH, query_string=query, headers=version(asked_by))
    assert answer.status_code == expected
    if expected == 400:
        assert "It must be one of ACTIVE, BUILD, DELETED" in message(answer)


@pytest.mark.parametrize("query", ["sort_key=name", "sort_key=uuid&sort_key=name"])
def test_an_unknown_sort_key_is_answered_with_those_there_are(query: str, api: Api) -> None:
    """Columns of clients have other names."""
    answer = api.send("GET", PATH, query_string=query)
    assert "'name' is not one of [" in message(answer)
    assert "'display_name'" in message(answer)


@pytest.mark.parametrize("query", ["sort_key=host", "node=n1", "sort_key=uuid&sort_key=node"])
def test_hosts_are_for_administrators(query: str, api: Api) -> None:
    """Also as sort keys."""
    assert api.send("GET", PATH, query_string=query, token=MEMBER).status_code == 403


@pytest.mark.parametrize(
    ("query", "hides"),
    [("", True), ("status=SOFT_DELETED", False), ("vm_state=soft-delete", False),
     ("soft_deleted=1", False), ("deleted=1&status=SOFT_DELETED", True)],
)  # fmt: skip
def test_soft_deleted_servers_are_listed_with_the_deleted_ones(
    query: str, hides: bool, api: Api, conductor: SuperConductor
) -> None:
    """Unless their state is asked for; our own clients see them with the others."""
    api.send("GET", PATH, query_string=query, headers=version("2.96"))
    assert asked(conductor).get("soft_deleted_is_deleted", False) is hides
    api.send("GET", PATH, query_string=query)
    assert "soft_deleted_is_deleted" not in asked(conductor)


def test_earlier_versions_ignore_later_filters(api: Api, conductor: SuperConductor) -> None:
    """As any parameter that they do not know; since 2.75 that is an error."""
    api.send("GET", PATH, query_string="tags=a&locked=1", headers=version("2.25"))
    assert not {"tags", "equal"} & set(asked(conductor))
    refused = api.send("GET", PATH, query_string="color=blue", headers=version("2.75"))
    assert refused.status_code == 400


def test_the_link_to_the_next_page_keeps_the_order(api: Api, conductor: SuperConductor) -> None:
    """All keys of it."""
    conductor.servers = [builders.an_instance() for _ in range(3)]
    query = "all_tenants=1&limit=2&sort_key=vm_state&sort_key=uuid&sort_dir=asc"
    link = api.send("GET", PATH, query_string=query).json["servers_links"][0]["href"]
    found = parse_qs(urlsplit(link).query)
    assert (found["sort_key"], found["sort_dir"]) == (["vm_state", "uuid"], ["asc"])


def version(text: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"compute {text}"}
