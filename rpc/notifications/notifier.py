"""Notifier: one non-blocking method per kind of event, called by services.

No method raises or blocks, whatever the state of the message bus. With notifications turned off,
each costs one comparison. Payloads are plain values read immediately, since their objects keep
changing; objects are read by attribute, so versioned objects and table rows both work.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from armillary.conf.notifications import VM_AND_TASK_STATE, VM_STATE
from armillary.context import RequestContext
from objects.notifications import (
    AggregateCachePayload,
    AggregatePayload,
    ComputeTaskPayload,
    ExceptionPayload,
    InstanceActionPayload,
    InstanceUpdatePayload,
    MetricsPayload,
    NotificationPayload,
    RequestSpecPayload,
    ServerGroupPayload,
    ServiceStatusPayload,
)
from rpc.notifications.notification import ERROR, INFO, Notification

START = "start"
END = "end"
FAILED = "error"


class NotificationQueue(Protocol):
    """A queue of notifications to be sent."""

    def put(self, notification: Notification) -> None: ...

    def stop(self, grace_seconds: float) -> None: ...


class Notifier:
    """Send notifications of a process as ``publisher_id`` (``<binary>:<host>``)."""

    def __init__(
        self,
        publisher_id: str,
        outbox: NotificationQueue | None,
        *,
        default_level: str = INFO,
        notify_on_state_change: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._publisher_id = publisher_id
        self._outbox = outbox
        self._level = default_level
        self._on_change = notify_on_state_change
        self._now = now

    @property
    def is_silent(self) -> bool:
        """Whether nothing is sent, so that callers need not collect payloads."""
        return self._outbox is None

    def stop(self, grace_seconds: float) -> None:
        """Send what is queued within the time given; later notifications are discarded."""
        if self._outbox is not None:
            self._outbox.stop(grace_seconds)
            self._outbox = None

    # Instances ------------------------------------------------------------------------------------

    def instance_action(
        self,
        context: RequestContext | None,
        instance: Any,
        action: str,
        phase: str | None,
        fault: Any = None,
    ) -> None:
        """Notify that an action (create, delete, ...) reached ``start``, ``end`` or ``error``.

        ``phase`` None is for actions without phases.
        """
        if self._outbox is None:
            return
        told = _of_instance(instance)
        told["action"], told["fault"] = action, fault and _read(fault, _FAULT)
        name = action if phase is None else f"{action}.{phase}"
        self._tell(context, f"instance.{name}", InstanceActionPayload, told)

    def instance_update(
        self,
        context: RequestContext | None,
        instance: Any,
        *,
        old_state: str | None,
        old_task_state: str | None,
    ) -> None:
        """Notify that an instance's states differ from the old ones."""
        if self._outbox is None:
            return
        told = _of_instance(instance)
        is_other_state = told["state"] != old_state
        is_other_task = told["task_state"] != old_task_state
        if not is_other_state and not is_other_task:
            return
        wanted = {VM_STATE: is_other_state, VM_AND_TASK_STATE: True}.get(self._on_change or "")
        if not wanted and not is_other_state:
            return
        told["old_state"], told["old_task_state"] = old_state, old_task_state
        self._tell(context, "instance.update", InstanceUpdatePayload, told, feed_only=not wanted)

    def compute_exception(
        self, context: RequestContext | None, host: str | None, error: Any, *, instance_uuid: str
    ) -> None:
        """Notify that work on an instance failed on a host; ``error`` is a fault or exception."""
        if self._outbox is None:
            return
        fault = _read(error, _FAULT)
        number = fault.get("attempt")
        is_attempt = isinstance(number, int) and number > 0  # others are operations
        told = {
            "exception": type(error).__name__,
            "message": str(fault.get("message") or error),
            "host": host,
            "instance_uuid": instance_uuid,
            "attempt": number if is_attempt else None,
        }
        self._tell(context, "compute.exception", ExceptionPayload, told, level=ERROR)

    def driver_lost(self, host: str, error: Exception) -> None:
        """Notify that a host's driver is unavailable because its hypervisor is gone."""
        if self._outbox is None:
            return
        told = {
            "exception": type(error).__name__,
            "message": str(error),
            "host": host,
            "instance_uuid": None,
            "attempt": None,
        }
        self._tell(None, "virt_driver.connect.error", ExceptionPayload, told)

    # Scheduling -----------------------------------------------------------------------------------

    def select_destinations(
        self,
        context: RequestContext | None,
        spec: Any,
        instance_uuids: Sequence[str],
        phase: str,
        hosts: Sequence[str] | None = None,
    ) -> None:
        """Notify that a scheduler was asked for hosts or pools (start), or has selected (end)."""
        if self._outbox is None:
            return
        told = _of_request(spec, instance_uuids)
        told["kind"] = _value(spec, "kind")
        told["hosts"] = None if hosts is None else list(hosts)
        self._tell(context, f"scheduler.select_destinations.{phase}", RequestSpecPayload, told)

    def compute_task_failed(
        self,
        context: RequestContext | None,
        task: str,
        instance_uuids: Sequence[str],
        reason: str,
        *,
        state: str | None = FAILED,
        spec: Any = None,
    ) -> None:
        """Notify that build_instances, migrate_server or rebuild_server found no host."""
        if self._outbox is None:
            return
        told = _of_request(spec, instance_uuids)
        told["reason"], told["state"] = reason, state
        self._tell(context, f"compute_task.{task}.error", ComputeTaskPayload, told)

    # Infrastructure -------------------------------------------------------------------------------

    def service(self, context: RequestContext | None, action: str, service: Any) -> None:
        """Notify that a service was created, changed or removed: create, update, delete."""
        if self._outbox is not None:
            told = _read(service, _SERVICE)
            self._tell(context, f"service.{action}", ServiceStatusPayload, told)

    def aggregate(
        self, context: RequestContext | None, action: str, aggregate: Any, phase: str = END
    ) -> None:
        """Notify of create, delete, add_host, remove_host, update_metadata, update_prop."""
        if self._outbox is not None:
            told = _read(aggregate, _AGGREGATE)
            told["hosts"], told["metadata"] = list(aggregate.hosts), dict(aggregate.metadata)
            self._tell(context, f"aggregate.{action}.{phase}", AggregatePayload, told)

    def cache_images(
        self,
        context: RequestContext | None,
        aggregate: Any,
        image_ids: Sequence[str],
        phase: str,
        *,
        host: str | None = None,
        cached: Sequence[str] = (),
        failed: Sequence[str] = (),
        index: int | None = None,
        total: int | None = None,
    ) -> None:
        """Notify that hosts of an aggregate fetch images: start, end, or progress of one host."""
        if self._outbox is not None:
            told = _read(aggregate, _AGGREGATE)
            told["hosts"], told["image_ids"] = list(aggregate.hosts), list(image_ids)
            told["host"], told["index"], told["total"] = host, index, total
            told["images_cached"], told["images_failed"] = list(cached), list(failed)
            self._tell(context, f"aggregate.cache_images.{phase}", AggregateCachePayload, told)

    def server_group(self, context: RequestContext | None, action: str, group: Any) -> None:
        """Notify of create, delete, add_member."""
        if self._outbox is not None:
            told = _read(group, _GROUP)
            told["rules"], told["members"] = dict(group.rules), list(group.members)
            self._tell(context, f"server_group.{action}", ServerGroupPayload, told)

    def metrics_update(
        self, host: str, nodename: str | None, metrics: Sequence[Mapping[str, Any]]
    ) -> None:
        """Notify of a host's metrics as measured by monitors."""
        if self._outbox is not None and metrics:
            told = {"host": host, "nodename": nodename, "metrics": [dict(one) for one in metrics]}
            self._tell(None, "metrics.update", MetricsPayload, told)

    def _tell(
        self,
        context: RequestContext | None,
        event_type: str,
        payload: type[NotificationPayload],
        told: Mapping[str, Any],
        *,
        level: str | None = None,
        feed_only: bool = False,
    ) -> None:
        outbox = self._outbox
        if outbox is None:
            return
        if level is None:
            level = ERROR if event_type.endswith(".error") else self._level
        request_id = getattr(context, "request_id", None)
        outbox.put(
            Notification(
                event_type, level, self._publisher_id, request_id, self._now(), payload, told,
                feed_only,
            )
        )  # fmt: skip


SILENT = Notifier("silent", None)
"""Sends nothing: for notifications that are turned off, and as default."""


_INSTANCE = (
    "uuid", "name", "project_id", "user_id", "request_id", "reservation_id", "cell_uuid", "host",
    "node", "availability_zone", "task_state", "power_state", "attempt", "created_at", "updated_at",
    "launched_at", "deleted_at",
)  # fmt: skip
_SERVICE = (
    "uuid", "host", "binary", "version", "up", "disabled", "disabled_reason", "forced_down",
    "last_seen_up",
)  # fmt: skip
_AGGREGATE = ("id", "uuid", "name")
_GROUP = ("uuid", "name", "project_id", "user_id", "policy")
_FAULT = ("code", "message", "attempt", "host")
"""The part of a fault that users may see; its details are for administrators only."""
_FLAVOR = ("name", "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap_mb")
_IMAGE = ("id", "name")


def _of_instance(instance: Any) -> dict[str, object]:
    facts = _read(instance, _INSTANCE)
    facts["state"] = _value(instance, "vm_state")
    facts["flavor"] = _some(_value(instance, "flavor"), _FLAVOR)
    facts["image"] = _some(_value(instance, "image"), _IMAGE)
    facts["metadata"] = _metadata(instance)
    return facts


def _of_request(spec: Any, instance_uuids: Sequence[str]) -> dict[str, object]:
    names = ("num_instances", "project_id", "user_id", "availability_zone")
    return {
        **_read(spec, names),
        "instance_uuids": list(instance_uuids),
        "flavor": _some(_value(spec, "flavor"), _FLAVOR),
        "image": _some(_value(spec, "image"), _IMAGE),
    }


def _read(thing: Any, names: Sequence[str]) -> dict[str, object]:
    return {name: _value(thing, name) for name in names}


def _value(thing: Any, name: str) -> Any:
    """Return an attribute, None if it is missing or not set."""
    try:
        return getattr(thing, name, None)
    except NotImplementedError:  # an unset field of an object
        return None


def _metadata(instance: Any) -> dict[str, str]:
    found = _value(instance, "metadata_")  # SQLAlchemy reserves the name metadata
    return dict(_value(instance, "metadata") if found is None else found)


def _some(thing: Any, names: Sequence[str]) -> dict[str, object] | None:
    """Return selected values of an object, or of the wire form in which a table stores it."""
    if thing is None:
        return None
    thing = getattr(thing, "primitive", thing)  # a column with a versioned object
    if isinstance(thing, Mapping):
        data = next((value for key, value in thing.items() if key.endswith(".data")), thing)
        return {name: data.get(name) for name in names if name in data}
    return {name: value for name in names if (value := _value(thing, name)) is not None}
