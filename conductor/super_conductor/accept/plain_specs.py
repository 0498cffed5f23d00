"""Request specs written by people in JSON: validated, with references resolved."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db.catalogue import flavors, images, server_groups
from objects import numa
from objects.base import ArmillaryObject
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.instance_group import InstanceGroup
from objects.instances.local_resources import local_resources_of
from objects.pci import pci
from objects.request_spec import (
    Destination,
    RequestLevelParams,
    RequestSpec,
    SchedulerLimits,
    SchedulerRetries,
)

T = TypeVar("T", bound=ArmillaryObject)

_PARTS: dict[str, type[ArmillaryObject]] = {
    "requested_destination": Destination,
    "limits": SchedulerLimits,
    "retry": SchedulerRetries,
    "request_level_params": RequestLevelParams,
}
_MADE_UP = "made-up"


def _is_topology(value: Any) -> bool:
    return value is None or bool(numa.InstanceTopology.from_plain(value))


def _are_devices(value: Any) -> bool:
    return isinstance(value, list) and all(pci.PciRequest.from_plain(each) for each in value)


def _are_networks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each["network"], str) and isinstance(each.get("remote_managed", False), bool)
        for each in value
    )


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list) and [type(name) for name in each] == [str, str] for each in value
    )


_SHAPES: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("numa_topology", "a topology of NUMA cells", _is_topology),
    ("pci_requests", "a list of requests for PCI devices", _are_devices),
    ("requested_networks", "a list of networks: network, remote_managed", _are_networks),
)
"""Fields with arbitrary JSON: name, expected content, and the function that checks it."""


def read(
    session: Session, conf: cfg.ConfigOpts, context: RequestContext, plain: Mapping[str, Any]
) -> RequestSpec:
    """Return the request spec of a JSON object, whose fields are those of ``RequestSpec``.

    ``flavor`` and ``image`` are an ID or a name, or an object with the relevant fields.
    ``instance_group`` is the UUID of a server group. Missing fields get the defaults of a request
    by the caller; NUMA cells and devices follow from flavor and image. Raises Invalid,
    FlavorNotFound, ImageNotFound, ServerGroupNotFound.
    """
    values = dict(plain)
    if "flavor" not in values:
        raise exception.Invalid(reason="request_spec.flavor is missing")
    values["flavor"] = _flavor(session, context, values["flavor"])
    values["image"] = _image(session, context, values.get("image"))
    values["instance_group"] = _group(session, context, values.get("instance_group"))
    values["scheduler_hints"] = _hints(values.get("scheduler_hints"))
    for name, kind in _PARTS.items():
        if values.get(name) is not None:
            values[name] = _made(kind, values[name], f"request_spec.{name}")
    left_out = {
        "project_id": context.project_id,
        "user_id": context.user_id,
        "availability_zone": conf.default_schedule_zone,
        **local_resources_of(values["flavor"], values["image"], pci.parse_aliases(conf.pci.alias)),
    }
    made = _made(RequestSpec, {**left_out, **values}, "request_spec")
    for name, what, is_right in _SHAPES:
        if not _holds(is_right, getattr(made, name)):
            raise exception.Invalid(reason=f"request_spec.{name} must be {what}")
    if made.request_level_params is not None:
        _check_member_of(made.request_level_params.member_of)
    if made.retry is not None and not _holds(_are_pairs, made.retry.hosts):
        raise exception.Invalid(
            reason="request_spec.retry.hosts must be a list of pairs: a host and one of its nodes"
        )
    return made


def _flavor(session: Session, context: RequestContext, value: Any) -> Flavor:
    if isinstance(value, str):
        return flavors.get_flavor(session, value, context)
    return _made(Flavor, value, "request_spec.flavor", flavorid=_MADE_UP, name=_MADE_UP)


def _image(session: Session, context: RequestContext, value: Any) -> ImageMeta | None:
    if value is None:
        return None
    if isinstance(value, str):
        return images.get_image(session, value, context)
    return _made(ImageMeta, value, "request_spec.image", id=str(uuid.uuid4()), name=_MADE_UP)


def _group(session: Session, context: RequestContext, value: Any) -> InstanceGroup | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise exception.Invalid(reason="request_spec.instance_group must be a server group's UUID")
    return server_groups.get_group(session, value, context.visible_project)


def _hints(value: Any) -> dict[str, list[str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise exception.Invalid(reason="request_spec.scheduler_hints must be an object")
    hints = {name: [each] if isinstance(each, str) else each for name, each in value.items()}
    for name, texts in hints.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise exception.Invalid(
                reason=f"request_spec.scheduler_hints.{name} must be a string or a list of strings"
            )
    return hints


def _holds(is_right: Callable[[Any], bool], value: Any) -> bool:
    """Return whether a value passes a check; a check that fails with an error is not passed."""
    try:
        return is_right(value)
    except (LookupError, TypeError, ValueError, AttributeError, exception.Invalid):
        return False


def _check_member_of(value: Any) -> None:
    if not isinstance(value, list) or not all(
        isinstance(group, list) and all(isinstance(each, str) for each in group) for group in value
    ):
        raise exception.Invalid(
            reason="request_spec.request_level_params.member_of must be a list of lists of UUIDs"
        )


def _made(kind: type[T], value: Any, where: str, **defaults: Any) -> T:
    """Return an object made from plain fields.

    Raises Invalid, naming the wrong or missing field.
    """
    if not isinstance(value, dict):
        raise exception.Invalid(reason=f"{where} must be an object")
    if unknown := sorted(value.keys() - kind.fields.keys()):
        raise exception.Invalid(
            reason=f"{where} has no field {', '.join(unknown)}; "
            f"known: {', '.join(sorted(kind.fields))}"
        )
    try:
        made = kind.from_values({**defaults, **value})
    except (ValueError, TypeError) as error:
        raise exception.Invalid(reason=f"{where}: {error}") from error
    missing = [name for name in kind.fields if not made.obj_attr_is_set(name)]
    if missing:
        raise exception.Invalid(reason=f"{where} lacks {', '.join(missing)}")
    return made
