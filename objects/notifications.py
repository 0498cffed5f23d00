"""Versioned payloads of notifications to third parties."""

from collections.abc import Mapping
from typing import Any, Self

from oslo_versionedobjects import base as ovo

from objects import base, fields

register = ovo.VersionedObjectRegistry.register


class NotificationPayload(base.DeclaredFields):
    """Payload of one kind of notification; each change of its fields is a new version.

    No Armillary process receives it, so it needs no binding and no conversion to older versions.
    """

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Make a payload of plain values; values without a field are ignored."""
        return cls(**{name: facts[name] for name in cls.fields if name in facts})

    def wire_form(self) -> dict[str, object]:
        """Return name, namespace, version and data, without the list of changes."""
        self.obj_reset_changes(recursive=True)
        return dict(self.obj_to_primitive())


# Infrastructure: services, aggregates, groups, host metrics ---------------------------------------


@register
class ServiceStatusPayload(NotificationPayload):
    """A service was registered, changed (fields have its current state), or removed."""

    uuid = fields.UUIDField(nullable=True)
    host = fields.StringField()
    binary = fields.StringField()
    version = fields.IntegerField(nullable=True)
    up = fields.BooleanField(nullable=True)
    disabled = fields.BooleanField(nullable=True)
    disabled_reason = fields.StringField(nullable=True)
    forced_down = fields.BooleanField(nullable=True)
    last_seen_up = fields.DateTimeField(nullable=True)


@register
class AggregatePayload(NotificationPayload):
    """An aggregate was created, changed or removed; ``metadata`` and ``hosts`` are current."""

    id = fields.IntegerField(nullable=True)
    uuid = fields.UUIDField()
    name = fields.StringField()
    hosts = fields.ListOfStringsField(nullable=True)
    metadata = fields.DictOfStringsField(nullable=True)


@register
class AggregateCachePayload(NotificationPayload):
    """Hosts of an aggregate fetch images; ``host`` has ended, as number ``index`` of ``total``."""

    id = fields.IntegerField(nullable=True)
    uuid = fields.UUIDField()
    name = fields.StringField()
    hosts = fields.ListOfStringsField()
    image_ids = fields.ListOfStringsField()
    host = fields.StringField(nullable=True)
    images_cached = fields.ListOfStringsField()
    images_failed = fields.ListOfStringsField()
    index = fields.IntegerField(nullable=True)
    total = fields.IntegerField(nullable=True)


@register
class ServerGroupPayload(NotificationPayload):
    """A server group was created or removed, or got a member."""

    uuid = fields.UUIDField()
    name = fields.StringField(nullable=True)
    project_id = fields.StringField(nullable=True)
    user_id = fields.StringField(nullable=True)
    policy = fields.StringField(nullable=True)
    rules = fields.DictOfStringsField(nullable=True)
    members = fields.ListOfStringsField(nullable=True)


@register
class MetricsPayload(NotificationPayload):
    """Measurements of a host's monitors: dicts of name, value, timestamp and source."""

    host = fields.StringField()
    nodename = fields.StringField(nullable=True)
    metrics = fields.JSONField()


# Instances: actions and state changes -------------------------------------------------------------


class InstancePayload(NotificationPayload):
    """Fields of every payload about an instance.

    ``flavor`` has name, vcpus, memory_mb, root_gb, ephemeral_gb and swap_mb; ``image`` has id and
    name.
    """

    uuid = fields.UUIDField()
    name = fields.StringField(nullable=True)
    project_id = fields.StringField(nullable=True)
    user_id = fields.StringField(nullable=True)
    request_id = fields.StringField(nullable=True)
    reservation_id = fields.StringField(nullable=True)
    cell_uuid = fields.UUIDField(nullable=True)
    host = fields.StringField(nullable=True)
    node = fields.StringField(nullable=True)
    availability_zone = fields.StringField(nullable=True)
    state = fields.StringField(nullable=True)
    task_state = fields.StringField(nullable=True)
    power_state = fields.StringField(nullable=True)
    attempt = fields.IntegerField(nullable=True)
    flavor = fields.JSONField(nullable=True)
    image = fields.JSONField(nullable=True)
    metadata = fields.JSONField(nullable=True)
    created_at = fields.DateTimeField(nullable=True)
    updated_at = fields.DateTimeField(nullable=True)
    launched_at = fields.DateTimeField(nullable=True)
    deleted_at = fields.DateTimeField(nullable=True)


@register
class InstanceActionPayload(InstancePayload):
    """An action of an instance started, ended or failed; ``fault`` has message and code."""

    action = fields.StringField()
    fault = fields.JSONField(nullable=True)


@register
class InstanceUpdatePayload(InstancePayload):
    """The state of an instance changed from the old states to ``state`` and ``task_state``."""

    old_state = fields.StringField(nullable=True)
    old_task_state = fields.StringField(nullable=True)


@register
class ExceptionPayload(NotificationPayload):
    """An error on a host, perhaps while it worked on an instance."""

    exception = fields.StringField()
    message = fields.StringField()
    host = fields.StringField(nullable=True)
    instance_uuid = fields.UUIDField(nullable=True)
    attempt = fields.IntegerField(nullable=True)


# Scheduling: requests, their hosts, and failures --------------------------------------------------


class RequestPayload(NotificationPayload):
    """Fields of the request, without what a scheduler adds."""

    instance_uuids = fields.ListOfStringsField()
    num_instances = fields.IntegerField(nullable=True)
    project_id = fields.StringField(nullable=True)
    user_id = fields.StringField(nullable=True)
    availability_zone = fields.StringField(nullable=True)
    flavor = fields.JSONField(nullable=True)
    image = fields.JSONField(nullable=True)


@register
class RequestSpecPayload(RequestPayload):
    """A scheduler received a request, or answered it with ``hosts``, one for each instance.

    Where ``kind`` is set, the request is for pools of that kind: ``hosts`` are names of pools, and
    ``instance_uuids`` those of claims.
    """

    kind = fields.StringField(nullable=True)
    hosts = fields.ListOfStringsField(nullable=True)


@register
class ComputeTaskPayload(RequestPayload):
    """A request found no host; ``state`` is the current state of its instances."""

    state = fields.StringField(nullable=True)
    reason = fields.StringField()
