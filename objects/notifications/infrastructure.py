"""Notification payloads about infrastructure: services, aggregates, groups, host metrics."""

from __future__ import annotations

from objects import fields
from objects.notifications.base import NotificationPayload, register


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
