"""Tests of storing request specs, on every engine."""

import pytest

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import request_specs
from conductor.super_conductor.db.request_specs import NewSpec
from objects.request_spec import RequestSpec
from tests import builders

ONE, TWO = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


def a_row(uuid: str, zone: str) -> NewSpec:
    spec = RequestSpec.from_values(
        instance_uuid=uuid, project_id="p1", user_id="u1", flavor=builders.a_flavor(),
        availability_zone=zone,
    )  # fmt: skip
    return NewSpec(uuid, spec.obj_to_primitive())


def test_specs_are_kept_until_they_are_forgotten(any_api_database: Database) -> None:
    """What is there is not replaced by what was missing."""
    with any_api_database.writer() as session:
        request_specs.add_specs(session, [a_row(ONE, "east")])
        request_specs.add_missing_specs(session, [a_row(ONE, "west"), a_row(TWO, "west")])
        zones = [request_specs.get_spec(session, uuid).availability_zone for uuid in (ONE, TWO)]
        assert zones == ["east", "west"]
        request_specs.delete_specs(session, [ONE])
        with pytest.raises(exception.InstanceNotFound):
            request_specs.get_spec(session, ONE)
