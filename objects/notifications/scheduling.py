"""Notification payloads about scheduling: requests, their hosts, and failures."""

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
    fields = {
        **REQUEST,
        "state": fields.StringField(nullable=True),
        "reason": fields.StringField(),
    }
