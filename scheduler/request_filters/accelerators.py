"""Request filter for device profiles: accelerators that flavors request by name.

Flavors use ``accel:device_profile``. Each group of a profile is served by one provider and lists
its requirements as flavor extra specs do: ``resources:FPGA`` = 1, ``trait:CUSTOM_FPGA_FAST`` =
``required``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import os_traits
from oslo_config import cfg

from armillary import exception
from armillary.conf import register
from armillary.conf.scheduling import accelerators
from objects.extra_specs import extra_specs
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements

Group = Mapping[str, str]
"""Extra specs of one group, with keys that have no suffix."""

GROUPS_MAX = 64

_FOR_OTHERS = "accel:"
"""Keys of this scope are for the service that prepares the accelerator."""


def parse(texts: Iterable[str]) -> dict[str, Sequence[Group]]:
    """Return the groups of the profiles of ``[accelerators] device_profile``, by name.

    Each text is a JSON object with ``name`` and ``groups``, a list of objects. Raises
    ``ConfigurationError``, which quotes the invalid text.
    """
    profiles: dict[str, Sequence[Group]] = {}
    for text in texts:
        name, groups = _read(text)
        if name in profiles:
            raise _wrong(text, f"profile {name} is defined twice")
        profiles[name] = [_group(group, text) for group in groups]
    return profiles


def as_extra_specs(groups: Sequence[Group]) -> dict[str, str]:
    """Return extra specs that request all groups, each with its own suffix."""
    found = {}
    for number, group in enumerate(groups):
        for key, value in group.items():
            scope, _colon, name = key.partition(":")
            found[f"{scope}_device_profile_{number}:{name}"] = value
    return found


def _read(text: str) -> tuple[str, list[Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(text, f"not valid JSON ({error})") from error
    if not isinstance(found, dict) or found.keys() != {"name", "groups"}:
        raise _wrong(text, "must be a JSON object with name and groups")
    name, groups = found["name"], found["groups"]
    if not isinstance(name, str) or not name.strip():
        raise _wrong(text, "name must be a non-empty string")
    if not isinstance(groups, list) or not 1 <= len(groups) <= GROUPS_MAX:
        raise _wrong(text, f"groups must be a list of 1 to {GROUPS_MAX} objects")
    return name, groups


def _group(group: Any, text: str) -> Group:
    if not isinstance(group, dict):
        raise _wrong(text, "each group must be an object of extra specs")
    asked = {key: str(value) for key, value in group.items() if not key.startswith(_FOR_OTHERS)}
    for key, value in asked.items():
        scope_suffix_name = extra_specs.group_key(key)
        if scope_suffix_name is None or scope_suffix_name[1]:
            raise _wrong(text, f"{key[:80]} is neither resources:CLASS nor trait:TRAIT")
        if (why := extra_specs.mistake(key, value)) is not None:
            raise _wrong(text, f"{key[:80]} = {value[:80]}: {why}")
    if not any(key.startswith("resources:") for key in asked):
        raise _wrong(text, "a group requests no resources")
    return asked


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"[accelerators] device_profile '{text[:200]}': {why}"
    )


class Accelerators(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_ACCELERATORS`` if the flavor names an ``accel:device_profile``.

    Each group of the profile in ``[accelerators] device_profile`` is requested as if the flavor had
    a group of resources and traits with its own suffix: one provider of the host's tree serves it,
    and the claim allocates from that provider. A profile name that is not in the option finds no
    host. If the option is empty, profiles are managed by another service, and no resources are
    requested.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        register(conf, accelerators)
        self._profiles = parse(conf.accelerators.device_profile)

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        name = spec.flavor.extra_specs.get("accel:device_profile")
        if not name:
            return
        requirements.require(spec, os_traits.COMPUTE_ACCELERATORS)
        if not self._profiles:
            return
        groups = self._profiles.get(name)
        if groups is None:
            raise exception.RequestFilterFailed(
                reason=f"flavor {spec.flavor.name}: device profile {name[:80]} does not exist"
            )
        asked = as_extra_specs(groups)
        spec.flavor.extra_specs = {**spec.flavor.extra_specs, **asked}
