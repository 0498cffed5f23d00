"""Notifications: type, priority, payload, and nothing at all without listeners."""

from typing import Any

import pytest

from armillary.context import RequestContext
from objects.instances.instance_fault import InstanceFault
from objects.instances.instance_group import InstanceGroup
from objects.request_spec import RequestSpec
from rpc.notifications.notification import Notification
from rpc.notifications.notifier import SILENT, Notifier
from tests import builders

CONTEXT = RequestContext(request_id="req-1")


class Box:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[Notification] = []

    def put(self, notification: Notification) -> None:
        self.told.append(notification)

    def stop(self, grace_seconds: float) -> None:
        """Have nothing to end."""


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def notifier(box: Box) -> Notifier:
    return a_notifier(box)


def a_notifier(box: Box, on_change: str | None = None) -> Notifier:
    return Notifier("armillary-conductor:h", box, notify_on_state_change=on_change, now=lambda: 1.5)


def test_an_action_is_told_with_the_facts_of_that_moment(notifier: Notifier, box: Box) -> None:
    """The instance goes on changing before it is sent."""
    instance = builders.an_instance(task_state="spawning", metadata={"a": "1"})
    notifier.instance_action(CONTEXT, instance, "create", "start")
    instance.task_state = None
    (told,) = box.told
    assert (told.event_type, told.priority) == ("instance.create.start", "INFO")
    assert (told.publisher_id, told.request_id) == ("armillary-conductor:h", "req-1")
    data = told.versioned()["armillary_object.data"]
    assert (data["task_state"], data["state"], data["host"]) == ("spawning", "active", "host1")
    assert data["flavor"] == {
        "name": "small", "vcpus": 1, "memory_mb": 512, "root_gb": 1, "ephemeral_gb": 0,
    } | {name: data["flavor"][name] for name in ("swap_mb",) if name in data["flavor"]}  # fmt: skip
    assert data["metadata"] == {"a": "1"}


def test_a_failure_is_an_error_with_what_users_may_know(notifier: Notifier, box: Box) -> None:
    """Details name the infrastructure."""
    instance = builders.an_instance()
    fault = builders.a_fault(instance.uuid)
    notifier.instance_action(CONTEXT, instance, "create", "error", fault)
    (told,) = box.told
    assert told.priority == "ERROR"
    assert told.versioned()["armillary_object.data"]["fault"]["message"] == "The build failed."
    assert "no space left" not in str(told.versioned())
    assert told.line()["reason"] == "The build failed."


@pytest.mark.parametrize(
    ("on_change", "old", "sent"),
    [
        (None, ("building", None), "feed"),
        ("vm_state", ("building", None), "bus"),
        ("vm_state", ("active", "spawning"), None),
        ("vm_and_task_state", ("active", "spawning"), "bus"),
        ("vm_and_task_state", ("active", None), None),
    ],
    ids=["unset", "state", "task, not asked for", "task", "no change"],
)
def test_a_change_of_state_is_sent_as_operators_want_it(
    box: Box, on_change: str | None, old: tuple[str, str | None], sent: str | None
) -> None:
    """The feed shows states in any case, and tasks where they are wanted."""
    instance = builders.an_instance(vm_state="active")
    a_notifier(box, on_change).instance_update(
        CONTEXT, instance, old_state=old[0], old_task_state=old[1]
    )
    assert [told.feed_only for told in box.told] == ([] if sent is None else [sent == "feed"])


def test_a_request_is_told_without_what_a_scheduler_makes_of_it(
    notifier: Notifier, box: Box
) -> None:
    """Reset fields do not concern third parties."""
    spec = RequestSpec.from_values(flavor=builders.a_flavor(), project_id="p1", num_instances=2)
    uuids = [builders.a_uuid(), builders.a_uuid()]
    notifier.select_destinations(CONTEXT, spec, uuids, "start")
    notifier.select_destinations(CONTEXT, spec, uuids, "end", hosts=["a", "b"])
    start, end = box.told
    assert start.event_type == "scheduler.select_destinations.start"
    data = end.versioned()["armillary_object.data"]
    assert (data["instance_uuids"], data["hosts"]) == (uuids, ["a", "b"])
    assert set(data) == {
        "instance_uuids", "num_instances", "project_id", "user_id", "availability_zone", "flavor",
        "image", "hosts", "kind",
    }  # fmt: skip
    assert (end.line()["servers"], end.line()["host"]) == (uuids, "a, b")


def test_a_pool_is_told_from_a_host(notifier: Notifier, box: Box) -> None:
    """And a claim from a server: who follows one of these hears nothing of the others."""
    spec, claim = RequestSpec.from_values(kind="storage", project_id="p1"), builders.a_uuid()
    notifier.select_destinations(CONTEXT, spec, [claim], "end", hosts=["array1"])
    (told,) = box.told
    line = told.line()
    assert (line["kind"], line["pool"], line["claims"]) == ("storage", "array1", [claim])
    assert (line["host"], line["servers"]) == (None, [])


def test_a_request_without_hosts_is_an_error_with_its_reason(notifier: Notifier, box: Box) -> None:
    """No request spec is needed to say so."""
    uuid = builders.a_uuid()
    notifier.compute_task_failed(CONTEXT, "build_instances", [uuid], "All hosts lack VCPU.")
    (told,) = box.told
    assert (told.event_type, told.priority) == ("compute_task.build_instances.error", "ERROR")
    assert told.line()["reason"] == "All hosts lack VCPU."
    assert told.versioned()["armillary_object.data"]["instance_uuids"] == [uuid]


def a_group() -> InstanceGroup:
    return InstanceGroup.from_values(uuid=builders.a_uuid(), name="g", policy="affinity")


@pytest.mark.parametrize(
    ("tell", "event_type", "payload"),
    [
        (
            lambda n: n.service(None, "update", builders.a_service("a")),
            "service.update",
            "ServiceStatusPayload",
        ),
        (
            lambda n: n.aggregate(None, "add_host", builders.an_aggregate(hosts=["a"])),
            "aggregate.add_host.end",
            "AggregatePayload",
        ),
        (
            lambda n: n.server_group(None, "create", a_group()),
            "server_group.create",
            "ServerGroupPayload",
        ),
        (
            lambda n: n.metrics_update("a", "a", [{"name": "cpu.percent", "value": 0.5}]),
            "metrics.update",
            "MetricsPayload",
        ),
        (
            lambda n: n.compute_exception(
                None, "a", ValueError("full"), instance_uuid=builders.a_uuid()
            ),
            "compute.exception",
            "ExceptionPayload",
        ),
    ],
    ids=["service", "aggregate", "group", "metrics", "exception"],
)
def test_each_kind_has_its_payload(
    notifier: Notifier, box: Box, tell: Any, event_type: str, payload: str
) -> None:
    """In all three forms."""
    tell(notifier)
    (told,) = box.told
    assert told.event_type == event_type
    assert told.versioned()["armillary_object.name"] == payload
    assert told.unversioned().keys() >= told.versioned()["armillary_object.data"].keys()
    assert told.line()["type"] == event_type


@pytest.mark.parametrize(("number", "told"), [(2, 2), (0, None), (-1, None)])
def test_only_an_attempt_has_a_number(
    notifier: Notifier, box: Box, number: int, told: int | None
) -> None:
    """Faults of a whole request and of operations are counted in another way."""
    fault = InstanceFault(instance_uuid=builders.a_uuid(), message="full", attempt=number)
    notifier.compute_exception(None, "a", fault, instance_uuid=fault.instance_uuid)
    assert box.told[0].line()["attempt"] == told


def test_without_anybody_to_tell_nothing_is_read() -> None:
    """A service without listeners pays a comparison."""
    SILENT.instance_action(CONTEXT, None, "create", "start")
    SILENT.service(CONTEXT, "update", None)
    SILENT.metrics_update("a", None, [{}])
    SILENT.stop(0.0)
    assert SILENT.is_silent


def test_who_has_stopped_tells_nothing(notifier: Notifier, box: Box) -> None:
    """Work that ends late may still call it."""
    notifier.stop(0.0)
    notifier.instance_action(CONTEXT, builders.an_instance(), "create", "start")
    assert box.told == []
