"""Which nodes a request names itself is known before placement is asked."""

from __future__ import annotations

from typing import Any

import pytest

from armillary import exception
from objects.request_spec import Destination
from scheduler.request import candidates
from tests.fleets import OTHER_CELL, a_fleet, a_host, a_request_spec

HOSTS = [a_host("web1"), a_host("Web2", cell=OTHER_CELL), a_host("web2")]
WEB1, WEB2, WEB2_LOWER = range(3)


def nodes(**values: Any) -> set[int] | None:
    """Return which of the hosts are named, by position."""
    named = candidates.nodes_named(a_request_spec(**values), a_fleet(HOSTS))
    uuids = [host.uuid for host in HOSTS]
    return None if named is None else {uuids.index(uuid) for uuid in named}


def destination(**values: Any) -> dict[str, Destination]:
    return {"requested_destination": Destination.from_values(**values)}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, None),
        (destination(host=None), None),
        ({"ignore_hosts": ["web1"]}, None),
        ({"force_hosts": ["web1"]}, {WEB1}),
        ({"force_hosts": ["WEB2"]}, {WEB2, WEB2_LOWER}),
        ({"force_nodes": ["web2.example.org"]}, {WEB2_LOWER}),
        ({"force_hosts": ["web2"], "force_nodes": ["Web2.example.org"]}, {WEB2}),
        (destination(host="web2"), {WEB2_LOWER}),
        (destination(node="web1.example.org"), {WEB1}),
        ({"force_hosts": ["web2", "web1"], **destination(host="web1")}, {WEB1}),
    ],
    ids=str,
)
def test_names_are_compared_as_preselection_does(
    values: dict[str, Any], found: set[int] | None
) -> None:
    """Forced hosts without regard to case, all others exactly."""
    assert nodes(**values) == found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"force_hosts": ["web9"]}, "Host web9 was requested, but the scheduler knows no such"),
        (destination(host="WEB1"), "Host WEB1 was requested"),
        (
            {"force_hosts": ["web1"], "force_nodes": ["web2.example.org"]},
            "Host web1 and node web2.example.org was requested",
        ),
    ],
    ids=str,
)
def test_an_unknown_name_fails_the_request(values: dict[str, Any], sentence: str) -> None:
    """Before anything is asked."""
    with pytest.raises(exception.RequestFilterFailed, match=sentence):
        nodes(**values)


def test_a_removed_node_is_not_found() -> None:
    fleet = a_fleet([a_host("web1")])
    fleet.set_facts(fleet.facts.from_plain({"seq": 2, "cells": [], "aggregates": []}))
    with pytest.raises(exception.RequestFilterFailed):
        candidates.nodes_named(a_request_spec(force_hosts=["web1"]), fleet)
