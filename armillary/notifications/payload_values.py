"""Payloads of notifications: plain values read at once, since their objects keep changing.

Objects are read by attribute, so versioned objects and table rows both work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
_FLAVOR = ("name", "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap_mb")
_IMAGE = ("id", "name")


def of_instance(instance: Any) -> dict[str, Any]:
    """Return the payload of an instance."""
    facts = _read(instance, _INSTANCE)
    facts["state"] = _value(instance, "vm_state")
    facts["flavor"] = _some(_value(instance, "flavor"), _FLAVOR)
    facts["image"] = _some(_value(instance, "image"), _IMAGE)
    facts["metadata"] = _metadata(instance)
    return facts


def of_fault(fault: Any) -> dict[str, Any] | None:
    """Return the user-visible part of a fault; its details are for administrators only."""
    return None if fault is None else _read(fault, ("code", "message", "attempt", "host"))


def of_service(service: Any) -> dict[str, Any]:
    """Return the payload of a service."""
    return _read(service, _SERVICE)


def of_aggregate(aggregate: Any) -> dict[str, Any]:
    """Return the payload of an aggregate."""
    more = {"hosts": list(aggregate.hosts), "metadata": dict(aggregate.metadata)}
    return {**_read(aggregate, _AGGREGATE), **more}


def of_group(group: Any) -> dict[str, Any]:
    """Return the payload of a server group."""
    more = {"rules": dict(group.rules), "members": list(group.members)}
    return {**_read(group, _GROUP), **more}


def of_request(spec: Any, instance_uuids: Sequence[str]) -> dict[str, Any]:
    """Return the payload of a request spec."""
    names = ("num_instances", "project_id", "user_id", "availability_zone")
    return {
        **_read(spec, names),
        "instance_uuids": list(instance_uuids),
        "flavor": _some(_value(spec, "flavor"), _FLAVOR),
        "image": _some(_value(spec, "image"), _IMAGE),
    }


def _read(thing: Any, names: Sequence[str]) -> dict[str, Any]:
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


def _some(thing: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """Return selected values of an object, or of the wire form in which a table stores it."""
    if thing is None:
        return None
    if isinstance(thing, Mapping):
        data = next((value for key, value in thing.items() if key.endswith(".data")), thing)
        return {name: data.get(name) for name in names if name in data}
    return {name: value for name in names if (value := _value(thing, name)) is not None}
