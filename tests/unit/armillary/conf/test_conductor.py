"""Tests of the conductors' options."""

import pytest
from oslo_config import cfg

from armillary.conf import conductor
from tests.fixtures.configuration import parsed_conf


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return parsed_conf(conductor)


def test_a_conductor_is_the_super_conductor_unless_told_otherwise(conf: cfg.ConfigOpts) -> None:
    """And the zone of hosts in no other one is called as everywhere."""
    assert conf.conductor.role == conductor.SUPER
    assert conf.default_availability_zone == "nova"


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("conductor", "role", "other"),
        ("conductor", "lease_seconds", 0.5),
        ("conductor", "max_count", 0),
        ("cell", "uuid", "cell1"),
        (None, "default_availability_zone", "a:b"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(
    conf: cfg.ConfigOpts, group: str | None, name: str, value: object
) -> None:
    """When it is set, not when it is used."""
    with pytest.raises(ValueError, match=r"\w"):
        conf.set_override(name, value, group=group)
