"""Versioned payloads of notifications to third parties."""

from collections.abc import Mapping
from typing import Any, Self

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects.fields import Field

from objects import fields

register = ovo.VersionedObjectRegistry.register


class NotificationPayload(ovo.VersionedObject):
    """Payload of one kind of notification; each change of its fields is a new version.

    No Armillary process receives it, so it needs no binding and no conversion to older versions.
    """

    OBJ_SERIAL_NAMESPACE = "armillary_object"
    OBJ_PROJECT_NAMESPACE = "armillary"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Make a payload of plain values; values without a field are ignored."""
        return cls(**{name: facts[name] for name in cls.fields if name in facts})

    def wire_form(self) -> dict[str, Any]:
        """Return name, namespace, version and data, without the list of changes."""
        self.obj_reset_changes(recursive=True)
        return dict(self.obj_to_primitive())


# Infrastructure: services, aggregates, groups, host metrics ---------------------------------------


@register
class ServiceStatusPayload(NotificationPayload):
    """A service was registered, changed (fields have its current state), or removed."""

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(nullable=True),
        "host": fields.StringField(),
        "binary": fields.StringField(),
        "version": fields.IntegerField(nullable=True),
        "up": fields.BooleanField(nullable=True),
        "disabled": fields.BooleanField(nullable=True),
        "disabled_reason": fields.StringField(nullable=True),
        "forced_down": fields.BooleanField(nullable=True),
        "last_seen_up": fields.DateTimeField(nullable=True),
    }


@register
class AggregatePayload(NotificationPayload):
    """An aggregate was created, changed or removed; ``metadata`` and ``hosts`` are current."""

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(nullable=True),
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "hosts": fields.ListOfStringsField(nullable=True),
        "metadata": fields.DictOfStringsField(nullable=True),
    }


@register
class ServerGroupPayload(NotificationPayload):
    """A server group was created or removed, or got a member."""

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "name": fields.StringField(nullable=True),
        "project_id": fields.StringField(nullable=True),
        "user_id": fields.StringField(nullable=True),
        "policy": fields.StringField(nullable=True),
        "rules": fields.DictOfStringsField(nullable=True),
        "members": fields.ListOfStringsField(nullable=True),
    }


@register
class MetricsPayload(NotificationPayload):
    """Measurements of a host's monitors: dicts of name, value, timestamp and source."""

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "nodename": fields.StringField(nullable=True),
        "metrics": fields.JSONField(),
    }


# Instances: actions and state changes -------------------------------------------------------------


FACTS: dict[str, Field[Any]] = {
    "uuid": fields.UUIDField(),
    "name": fields.StringField(nullable=True),
    "project_id": fields.StringField(nullable=True),
    "user_id": fields.StringField(nullable=True),
    "request_id": fields.StringField(nullable=True),
    "reservation_id": fields.StringField(nullable=True),
    "cell_uuid": fields.UUIDField(nullable=True),
    "host": fields.StringField(nullable=True),
    "node": fields.StringField(nullable=True),
    "availability_zone": fields.StringField(nullable=True),
    "state": fields.StringField(nullable=True),
    "task_state": fields.StringField(nullable=True),
    "power_state": fields.StringField(nullable=True),
    "attempt": fields.IntegerField(nullable=True),
    "flavor": fields.JSONField(nullable=True),
    "image": fields.JSONField(nullable=True),
    "metadata": fields.JSONField(nullable=True),
    "created_at": fields.DateTimeField(nullable=True),
    "updated_at": fields.DateTimeField(nullable=True),
    "launched_at": fields.DateTimeField(nullable=True),
    "deleted_at": fields.DateTimeField(nullable=True),
}
"""Fields of every payload about an instance. ``flavor`` has name, vcpus, memory_mb, root_gb,
ephemeral_gb and swap_mb; ``image`` has id and name."""


@register
class InstanceActionPayload(NotificationPayload):
    """An action of an instance started, ended or failed; ``fault`` has message and code."""

    VERSION = "1.0"
    fields = {**FACTS, "action": fields.StringField(), "fault": fields.JSONField(nullable=True)}


@register
class InstanceUpdatePayload(NotificationPayload):
    """The state of an instance changed from the old states to ``state`` and ``task_state``."""

    VERSION = "1.0"
    fields = {
        **FACTS,
        "old_state": fields.StringField(nullable=True),
        "old_task_state": fields.StringField(nullable=True),
    }


@register
class ExceptionPayload(NotificationPayload):
    """An error on a host, perhaps while it worked on an instance."""

    VERSION = "1.0"
    fields = {
        "exception": fields.StringField(),
        "message": fields.StringField(),
        "host": fields.StringField(nullable=True),
        "instance_uuid": fields.UUIDField(nullable=True),
        "attempt": fields.IntegerField(nullable=True),
    }


# Scheduling: requests, their hosts, and failures --------------------------------------------------


REQUEST: dict[str, Field[Any]] = {
    "instance_uuids": fields.ListOfStringsField(),
    "num_instances": fields.IntegerField(nullable=True),
    "project_id": fields.StringField(nullable=True),
    "user_id": fields.StringField(nullable=True),
    "availability_zone": fields.StringField(nullable=True),
    "flavor": fields.JSONField(nullable=True),
    "image": fields.JSONField(nullable=True),
}
"""Fields of the request, without what a scheduler adds."""


@register
class RequestSpecPayload(NotificationPayload):
    """A scheduler received a request, or answered it with ``hosts``, one for each instance."""

    VERSION = "1.0"
    fields = {**REQUEST, "hosts": fields.ListOfStringsField(nullable=True)}


@register
class ComputeTaskPayload(NotificationPayload):
    """A request found no host; ``state`` is the current state of its instances."""

    VERSION = "1.0"
    fields = {**REQUEST, "state": fields.StringField(nullable=True), "reason": fields.StringField()}
