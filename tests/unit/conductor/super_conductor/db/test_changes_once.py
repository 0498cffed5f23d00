"""A request whose process died before it had stored its answer is not refused for what it did."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from armillary.context import RequestContext
from conductor.super_conductor.db import models
from objects.images.image_record import ImageRecord
from objects.zones.zone_record import ZoneSettings
from tests import builders
from tests.fixtures.control_plane import RunningConductor, an_admin

IMAGE = builders.an_image("img")
CHANGES: dict[str, Callable[[Any, RequestContext], Any]] = {
    "create flavor": lambda api, by: api.create_flavor(by, builders.a_flavor("big")),
    "create flavor without an ID": lambda api, by: api.create_flavor(
        by, builders.a_flavor("huge", flavorid="", is_public=False)
    ),
    "allow project": lambda api, by: api.add_flavor_access(by, "private", "p9"),
    "refuse project": lambda api, by: api.remove_flavor_access(by, "private", "p8"),
    "create image": lambda api, by: api.create_image(
        by, ImageRecord(IMAGE, owner="p1", visibility="private")
    ),
    "create aggregate": lambda api, by: api.create_aggregate(by, "row", None),
    "add host": lambda api, by: api.add_aggregate_host(by, "1", "host1"),
    "remove host": lambda api, by: api.remove_aggregate_host(by, "1", "host1"),
    "create zone": lambda api, by: api.create_zone(
        by, "asia", ZoneSettings("rabbit://a:b@127.0.0.1:1/top"), verify=False
    ),
}


@pytest.fixture(scope="module")
def prepared(running: RunningConductor) -> RunningConductor:
    """Lend a conductor that has an aggregate and a private flavor."""
    running.run_task("discover-hosts")
    running.api.create_aggregate(an_admin(), "rack", None)
    running.api.create_flavor(an_admin(), builders.a_flavor("private", is_public=False))
    running.api.add_flavor_access(an_admin(), "private", "p8")
    return running


@pytest.mark.parametrize("change", CHANGES)
def test_a_repeat_gets_what_the_first_time_made(prepared: RunningConductor, change: str) -> None:
    """Its process was killed after the commit, before it had stored the answer for repeats."""
    context = an_admin()
    first = CHANGES[change](prepared.api, context)
    _lose_answer(prepared, context)
    again = CHANGES[change](prepared.api, context)
    assert repr(again) == repr(first)


def _lose_answer(running: RunningConductor, context: RequestContext) -> None:
    record = models.IdempotencyRecord
    with running.database.writer() as session:
        lost = session.execute(
            sa.update(record)
            .where(record.request_id == context.request_id, record.answer.startswith('{"answer"'))
            .values(answer=None, begun_at=0.0)
        )
        assert lost.rowcount == 1  # type: ignore[attr-defined]


def test_the_same_change_of_a_later_request_is_made(prepared: RunningConductor) -> None:
    """However often it was made before, and undone."""
    api, host = prepared.api, ("1", "host1")
    api.add_aggregate_host(an_admin(), *host)
    assert api.remove_aggregate_host(an_admin(), *host).hosts == []
    assert api.add_aggregate_host(an_admin(), *host).hosts == ["host1"]
    api.remove_aggregate_host(an_admin(), *host)
