"""Payloads about decisions: what was asked of a scheduler, and what could not be scheduled."""

from __future__ import annotations

from typing import Any

from objects import fields
from objects.notifications.base import NotificationPayload, register

REQUEST: dict[str, Any] = {
    "instance_uuids": fields.ListOfStringsField(),
    "num_instances": fields.IntegerField(nullable=True),
    "project_id": fields.StringField(nullable=True),
    "user_id": fields.StringField(nullable=True),
    "availability_zone": fields.StringField(nullable=True),
    "flavor": fields.JSONField(nullable=True),
    "image": fields.JSONField(nullable=True),
}
"""What was asked for; nothing of what a scheduler makes of it on its way."""


@register
class RequestSpecPayload(NotificationPayload):
    """A scheduler was asked for hosts, or has found them; ``hosts`` has one for each instance."""

    VERSION = "1.0"
    fields = {**REQUEST, "hosts": fields.ListOfStringsField(nullable=True)}


@register
class ComputeTaskPayload(NotificationPayload):
    """A request found no host: ``reason`` says why, ``state`` is what its instances are now."""

    VERSION = "1.0"
    fields = {
        **REQUEST,
        "state": fields.StringField(nullable=True),
        "reason": fields.StringField(),
    }
