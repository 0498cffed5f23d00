"""Requests for servers to accept, and what they left in the database."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from armillary.context import RequestContext
from conductor.super_conductor.accept.acceptance import Accepted
from conductor.super_conductor.db import models, request_specs
from conductor.super_conductor.db.catalogue import quotas
from objects.instances.new_servers import NewServers
from objects.request_spec import RequestSpec
from tests.fixtures.control_plane import ControlPlane, a_user

UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"
Accept = Callable[..., Accepted]


@pytest.fixture
def accept(plane: ControlPlane) -> Accept:
    """Return a function that asks for one small server, or what is said otherwise."""

    def ask(context: RequestContext | None = None, **request: Any) -> Accepted:
        asked = NewServers(**{"name": "web", "flavor": "small", **request})
        return plane.acceptance.accept(context or a_user(), asked)

    return ask


def spec_of(plane: ControlPlane, accepted: Accepted) -> RequestSpec:
    return plane.database.read(request_specs.get_spec, accepted.instances[0].uuid)


def set_limit(plane: ControlPlane, **limits: int) -> None:
    with plane.database.writer() as session:
        quotas.set_limits(session, "p1", limits)


def rows(plane: ControlPlane) -> int:
    """Return how many rows there are of all that a request leaves behind."""
    tables = (models.Reservation, models.BuildRequest, models.RequestSpec, models.InstanceMapping)
    with plane.database.reader() as session:
        counts = [session.scalar(sa.select(sa.func.count()).select_from(one)) for one in tables]
    return sum(count or 0 for count in counts)


def a_group(plane: ControlPlane, project_id: str = "p1") -> str:
    return plane.add_group(project_id=project_id, max_server_per_host="2").uuid
