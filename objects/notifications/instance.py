"""Notification payloads about instances: actions and state changes."""

from __future__ import annotations

from typing import Any

from objects import fields
from objects.notifications.base import NotificationPayload, register

FACTS: dict[str, Any] = {
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
    fields = {
        **FACTS,
        "action": fields.StringField(),
        "fault": fields.JSONField(nullable=True),
    }


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
