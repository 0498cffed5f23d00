"""Instances on the wire: the zone that one lives in is told where there is one."""

from objects.instance import Instance
from tests import builders


def test_an_instance_of_another_zone_says_so() -> None:
    """What the origin answers."""
    sent = builders.an_instance(zone="eu/eu-1").obj_to_primitive()
    assert Instance.obj_from_primitive(sent).zone == "eu/eu-1"


def test_a_zone_may_be_set_on_what_came_from_there() -> None:
    """As the origin does it with the answer of the owning zone."""
    came = Instance.obj_from_primitive(builders.an_instance().obj_to_primitive())
    came.zone = "eu"
    assert Instance.obj_from_primitive(came.obj_to_primitive()).zone == "eu"
