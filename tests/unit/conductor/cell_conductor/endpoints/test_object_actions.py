"""Remotable methods: run for the agent whose instance it is, and only what is remotable."""

from __future__ import annotations

from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.endpoints.object_actions import ObjectActions
from objects.base import Binding
from objects.flavor import Flavor
from objects.instance import Instance
from tests import builders
from tests.fixtures.cell import CELL_UUID, Cell, a_build_request


@pytest.fixture
def actions(cell: Cell) -> ObjectActions:
    """Return what a conductor does for agents."""
    return ObjectActions(database=cell.database, cell_uuid=CELL_UUID, now=cell.clock)


@pytest.fixture
def instance(cell: Cell) -> Instance:
    """Return an instance that runs on host a, as its agent has it."""
    cell.add_agent("a")
    cell.add_agent("b")
    request = a_build_request("a", "b")
    cell.hand_over(request)
    cell.settle()
    return cell.get(request.instance_uuid)


def run(actions: ObjectActions, target: Any, method: str = "save", agent: str = "a") -> Any:
    return actions.run(admin_context(), agent, target, method, [], {})


def test_save_writes_the_changed_fields(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """And answers what the caller's object has to take over: no change is left."""
    instance.power_state = "shutdown"
    updates, result = run(actions, instance)
    assert cell.get(instance.uuid).power_state == "shutdown"
    assert (updates["obj_what_changed"], result) == ([], None)


def test_save_through_an_indirection_leaves_the_caller_s_object_clean(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """As an agent does it: the object itself has no way to a database."""

    class Indirection:
        def object_action(
            self, context: Any, objinst: Any, objmethod: str, args: Any, kwargs: Any
        ) -> Any:
            received = cell.cell_bus.sent(objinst)
            return cell.cell_bus.sent(actions.run(context, "a", received, objmethod, args, kwargs))

    instance.bind(Binding(indirection=Indirection()))
    instance._context = admin_context()
    instance.task_state = "spawning"
    instance.save()
    assert instance.obj_what_changed() == set()
    assert cell.get(instance.uuid).task_state == "spawning"


def test_refresh_answers_what_changed_meanwhile(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """In wire form, by name."""
    cell.ask_delete(instance.uuid)
    updates, _result = run(actions, instance, "refresh")
    assert updates["task_state"] == "deleting"


def test_a_method_that_is_not_remotable_is_refused(
    actions: ObjectActions, instance: Instance
) -> None:
    """Nor is one that does not exist, or an attribute."""
    for method in ("with_values", "no_such", "store", "__init__"):
        with pytest.raises(exception.Invalid, match="remotable"):
            run(actions, instance, method)


def test_an_object_that_is_no_instance_is_refused(actions: ObjectActions) -> None:
    """Nothing else has work to be done here."""
    flavor: Flavor = builders.a_flavor()
    with pytest.raises(exception.Invalid, match="Flavor"):
        run(actions, flavor)


def test_another_agent_s_instance_is_refused(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """To write, and to read."""
    instance.power_state = "shutdown"
    for method in ("save", "refresh"):
        with pytest.raises(exception.Forbidden, match="agent b"):
            run(actions, instance, method, agent="b")
    assert cell.get(instance.uuid).power_state == "running"


def test_an_instance_on_no_host_belongs_to_no_agent(cell: Cell, actions: ObjectActions) -> None:
    """Its builds all failed: whoever had it has no say any more."""
    cell.add_agent("a")
    cell.failing["a"] = False
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    with pytest.raises(exception.Forbidden):
        run(actions, cell.get(request.instance_uuid), "refresh")


def test_an_instance_that_moved_on_is_not_saved(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """Neither for another attempt than the present one nor for another host."""
    for stale in ({"attempt": 0}, {"host": "b"}):
        old = instance.with_values(**stale)
        old.obj_reset_changes()
        old.power_state = "shutdown"
        with pytest.raises(exception.Conflict, match="attempt 1"):
            run(actions, old)


def test_an_instance_being_deleted_is_not_saved(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """Its state says that it is going, and must go on saying so."""
    cell.ask_delete(instance.uuid)
    instance.task_state = None
    instance.power_state = "shutdown"
    with pytest.raises(exception.Conflict, match="being deleted"):
        run(actions, instance)


def test_a_deleted_instance_is_not_saved(
    cell: Cell, actions: ObjectActions, instance: Instance
) -> None:
    """It is not found."""
    cell.ask_delete(instance.uuid)
    cell.settle()
    instance.power_state = "shutdown"
    with pytest.raises(exception.InstanceNotFound):
        run(actions, instance)


@pytest.mark.parametrize(
    "change",
    [
        {"vm_state": "active"},
        {"host": "b"},
        {"attempt": 2},
        {"task_state": "deleting"},
        {"power_state": "on fire"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_host_may_not_write_is_refused(
    cell: Cell, actions: ObjectActions, instance: Instance, change: dict[str, Any]
) -> None:
    """States that decide about an instance go through reports."""
    for name, value in change.items():
        setattr(instance, name, value)
    before = cell.get(instance.uuid).to_plain()
    with pytest.raises(exception.Invalid):
        run(actions, instance)
    assert cell.get(instance.uuid).to_plain() == before


def test_an_object_is_rewritten_in_the_versions_that_a_peer_knows(
    actions: ObjectActions, instance: Instance
) -> None:
    """The wire form names the version that was asked for."""
    versions = {"Instance": "1.0", "Flavor": "1.0", "ImageMeta": "1.0", "InstanceFault": "1.0"}
    primitive = actions.backport(instance, versions)
    assert primitive[Instance.primitive_key("version")] == "1.0"
    assert Instance.obj_from_primitive(primitive).uuid == instance.uuid


@pytest.mark.parametrize("target", ["text", {"a": "dict"}], ids=["text", "dict"])
def test_what_is_no_object_is_not_rewritten(actions: ObjectActions, target: Any) -> None:
    """An error of the caller."""
    with pytest.raises(exception.Invalid, match="not a versioned object"):
        actions.backport(target, {})


def test_an_object_whose_version_was_not_asked_for_is_not_rewritten(
    actions: ObjectActions, instance: Instance
) -> None:
    """The peer has to say what it knows."""
    with pytest.raises(exception.Invalid, match="no target version of Instance"):
        actions.backport(instance, {"Flavor": "1.0"})
