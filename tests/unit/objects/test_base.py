"""Objects as services use them: plain values, bindings, remotable methods."""

from __future__ import annotations

import uuid

import pytest

from armillary.context import admin_context
from objects.base import Binding
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


class RecordingIndirection:
    """Stands for the conductor: keeps what it was asked and answers changed fields."""

    def __init__(self):
        self.asked = []

    def object_action(self, context, objinst, objmethod, args, kwargs):
        self.asked.append((objmethod, objinst.obj_what_changed()))
        return {"power_state": "running", "obj_what_changed": []}, None


class RecordingStore:
    """Stands for the database of the owner."""

    def __init__(self):
        self.saved = []

    def save_instance(self, context, instance):
        self.saved.append(instance.obj_get_changes())


def test_from_values_ignores_keys_that_are_no_field():
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


def test_save_goes_through_the_indirection_where_one_is_bound():
    """A service that owns no database sends the changed fields to the conductor."""
    indirection = RecordingIndirection()
    instance = an_instance().bind(Binding(indirection=indirection))
    instance._context = admin_context()
    instance.task_state = "spawning"
    instance.save()
    assert indirection.asked == [("save", {"task_state"})]
    assert instance.power_state == "running"


def test_save_goes_to_the_store_where_the_database_is():
    """The owner's binding runs the body of the method."""
    store = RecordingStore()
    instance = an_instance().bind(Binding(store=store))
    instance._context = admin_context()
    instance.task_state = "spawning"
    instance.save()
    assert store.saved == [{"task_state": "spawning"}]
    assert instance.obj_what_changed() == set()


def test_binding_one_object_leaves_others_alone():
    """Several services in one process each bind their own objects."""
    bound = an_instance().bind(Binding(store=RecordingStore()))
    assert an_instance().store is None
    assert bound.store is not None


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


def test_objects_within_are_bound_and_changed_with_the_one_around_them():
    """However they got there."""
    made = an_instance().bind(Binding(store=RecordingStore()))
    made.flavor.name = "other"
    assert made.flavor.store is made.store
    assert made.obj_what_changed() == {"flavor"}


def test_plain_values_are_ready_for_json():
    """Nested objects become dicts, times become texts."""
    plain = an_instance(created_at="2026-01-02T03:04:05Z").to_plain()
    assert plain["flavor"]["vcpus"] == 1
    assert plain["created_at"] == "2026-01-02T03:04:05Z"
