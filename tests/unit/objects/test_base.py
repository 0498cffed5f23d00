"""Objects as services use them: plain values, on the wire and in JSON."""

import uuid

import pytest

from objects.flavor import Flavor
from objects.instance import Instance


def an_instance(**values):
    return Instance.from_values(
        {
            "uuid": str(uuid.uuid4()),
            "name": "web",
            "project_id": "p",
            "user_id": "u",
            "reservation_id": "r-1",
            "flavor": Flavor.from_values(flavorid="1", name="small", vcpus=1, memory_mb=512),
            **values,
        }
    )


def test_from_values_ignores_keys_that_are_not_fields():
    """Rows of a database can be given as they are."""
    assert Flavor.from_values(flavorid="1", name="a", vcpus=1, memory_mb=1, pk=7).vcpus == 1


def test_from_values_leaves_no_change_pending():
    """What was just read is not written again."""
    assert an_instance().obj_what_changed() == set()


def test_defaults_are_not_shared_between_objects():
    """A mutable default of one object never shows up in another."""
    first, second = an_instance(), an_instance()
    first.metadata["a"] = "b"
    assert second.metadata == {}


def test_what_was_received_is_of_the_types_that_were_declared():
    """A peer may send a number where a text is meant, and the other way round."""
    wire = an_instance().obj_to_primitive()
    wire[Instance.primitive_key("data")].update(name=7, launch_index="3", locked=1)
    received = Instance.obj_from_primitive(wire)
    assert (received.name, received.launch_index, received.locked) == ("7", 3, True)


def test_null_is_refused_where_a_value_has_to_be():
    """On receipt as when it is set."""
    wire = an_instance().obj_to_primitive()
    wire[Instance.primitive_key("data")]["name"] = None
    with pytest.raises(ValueError, match="name"):
        Instance.obj_from_primitive(wire)


def test_a_change_within_is_a_change_of_the_object_around_it():
    """However deep it is."""
    made = an_instance()
    made.flavor.name = "other"
    assert made.obj_what_changed() == {"flavor"}


def test_plain_values_are_ready_for_json():
    """Nested objects become dicts, times become texts."""
    plain = an_instance(created_at="2026-01-02T03:04:05Z").to_plain()
    assert plain["flavor"]["vcpus"] == 1
    assert plain["created_at"] == "2026-01-02T03:04:05Z"


def test_a_copy_is_equal_and_shares_nothing_that_can_change():
    """Neither a nested object, nor a dictionary, nor the notes of what was changed."""
    instance = an_instance(metadata={"a": "b"})
    instance.name = "renamed"
    copied = instance.obj_clone()
    assert copied.obj_to_primitive() == instance.obj_to_primitive()
    copied.metadata["a"] = copied.flavor.extra_specs["c"] = "d"
    copied.flavor.vcpus = 8
    copied.launch_index = 3
    assert (instance.metadata, instance.flavor.extra_specs) == ({"a": "b"}, {})
    assert (instance.flavor.vcpus, instance.obj_what_changed()) == (1, {"name"})


def test_containers_of_a_copy_take_only_what_their_field_does():
    """As those of the original."""
    copied = an_instance(metadata={"a": "b"}).obj_clone()
    copied.metadata["number"] = 7
    assert copied.metadata["number"] == "7"
