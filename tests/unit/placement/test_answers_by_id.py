"""The law of answers by id: with what client and placement remember, they say what plain ones say.

A client that is kept asks two engines of one database, whatever is written between its questions;
each answer is compared with that of an engine which has just read everything and names UUIDs.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary import exception
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.base import ArmillaryObject
from objects.packed.provider_uuids import UUIDCache, complete
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import engines, placement_conf
from tests.fixtures.placement.placement_law import LAW_PHASES
from tests.fixtures.plugins.examples import examples

HOSTS = [f"c0ffee00-0000-4000-8000-{number:012}" for number in range(4)]
PER_HOST = ("total", "reserved", "used", "ratio")
QUESTIONS = [
    a_query(resources={"VCPU": 2}),
    a_query(resources={"VCPU": 2, "DISK_GB": 3}),
    a_query(resources={"DISK_GB": 1}, limit=2),
    a_query(resources={"VCPU": 3}),
]

inventories = st.fixed_dictionaries(
    {"total": st.sampled_from([8, 8, 8, 16]), "allocation_ratio": st.sampled_from([1.0, 1.0, 2.5])},
    optional={"reserved": st.just(1), "step_size": st.just(2)},
)
hosts = st.sampled_from(HOSTS)
writes = st.one_of(
    st.tuples(
        st.just("set"),
        st.sets(hosts, min_size=1),
        st.dictionaries(st.sampled_from(["VCPU", "DISK_GB"]), inventories, min_size=1),
    ),
    st.tuples(st.just("claim"), hosts, st.integers(1, 3)),
    st.tuples(st.just("delete"), hosts, st.none()),
)


class _Client:
    """A client and one engine it asks, through the wire, by ids."""

    def __init__(self) -> None:
        self._book = UUIDCache()

    def ask(self, engine: PlacementEngine, query: ResourceQuery) -> AllocationCandidates:
        wire = json.dumps(engine.get_candidates(query, by_id=True).obj_to_primitive())
        found = ArmillaryObject.obj_from_primitive(json.loads(wire))
        assert isinstance(found, AllocationCandidates)
        assert complete(found, self._book, engine.get_provider_uuids)
        return found


def write(engine: PlacementEngine, what: str, whom: Any, how: Any) -> None:
    if what == "set":
        reports = [a_provider(uuid=uuid, name=f"of-{uuid}", inventories=how) for uuid in whom]
        engine.providers.set_providers(reports)
    elif what == "claim":
        engine.claims.claim([a_claim(whom, vcpus=how)])
    else:
        try:
            engine.providers.delete(whom)
        except exception.InUse:
            return


def hosts_of(found: AllocationCandidates) -> dict[str, Any]:
    """Return what is said about each host; their order is each engine's own: rows are reused."""
    columns = [np.asarray(getattr(found, name)).tolist() for name in PER_HOST]
    said = dict(zip(found.provider_uuids, zip(*columns, strict=True), strict=True))
    assert len(said) == len(found.provider_uuids)
    return said


def rest_of(found: AllocationCandidates) -> list[Any]:
    """Return what is said about all hosts together; those that a rule refused come in any order."""
    rest = ("resource_classes", "providers_total", "templates")
    refused = [
        {**each, "providers": sorted(each.get("providers") or [])} for each in found.ruled_out
    ]
    return [found.amounts.tolist(), refused, *(getattr(found, name) for name in rest)]


@settings(
    max_examples=examples(12),
    deadline=None,
    phases=LAW_PHASES,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=st.lists(
        st.tuples(writes, st.integers(0, 1), st.integers(0, 1), st.sampled_from(QUESTIONS)),
        min_size=3,
        max_size=8,
    )
)
def test_answers_by_id_say_what_answers_by_uuid_say(
    placement_template: Path, tmp_path: Path, steps: list[Any]
) -> None:
    """Whichever engine writes, in any order, and whichever of the two is asked."""
    path = shutil.copy(placement_template, tmp_path / "placement.sqlite")
    with engines(f"sqlite:///{path}") as new_engine:
        both, client = (new_engine(), new_engine()), _Client()
        for change, writer, asked, query in steps:
            write(both[writer], *change)
            fresh = PlacementEngine(placement_conf(), both[0]._database)
            found = client.ask(both[asked], query)
            every = fresh.get_candidates(query.with_values(limit=None))
            assert rest_of(found) == rest_of(every)
            said, known = hosts_of(found), hosts_of(every)
            assert said.items() <= known.items()
            assert len(said) == min(len(known), query.limit or len(known))


@pytest.mark.parametrize("used", [0, 3], ids=["unused", "one used"])
def test_alike_providers_are_one_row_until_one_differs(placement_url: str, used: int) -> None:
    """What all have in common is computed again when it may have changed."""
    with engines(placement_url) as new_engine:
        engine, client = new_engine(), _Client()
        write(engine, "set", HOSTS, {"VCPU": {"total": 8, "allocation_ratio": 1.0}})
        found = client.ask(engine, QUESTIONS[0])
        assert found.total.strides[0] == found.used.strides[0] == 0
        if used:
            write(engine, "claim", HOSTS[1], used)
        else:
            write(engine, "set", HOSTS[1:2], {"VCPU": {"total": 9, "allocation_ratio": 1.0}})
        found = client.ask(engine, QUESTIONS[0])
        column = found.used if used else found.total
        assert sorted(column[:, 0].tolist()) == ([0, 0, 0, 3] if used else [8, 8, 8, 9])
