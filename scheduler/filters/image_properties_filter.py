"""Filter that matches image properties against what a host can run."""

import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from objects.images import platform
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_CONDITION = re.compile(r"\s*(<=|>=|==|!=|<|>|=)\s*(\d{1,9}(?:\.\d{1,9}){0,2})\s*")


class ImagePropertiesFilter(filters.BaseHostFilter):
    """Pass hosts that can run the image.

    One of the triples that the host reports as ``supported_instances`` must contain all of the
    image's ``hw_architecture`` (or ``[filter_scheduler] image_properties_default_architecture``),
    ``img_hv_type`` and ``hw_vm_mode``, or in Glance's words ``architecture``, ``hypervisor_type``
    and ``vm_mode``. A host that reports no triples fails. The host must also
    meet ``img_hv_requested_version``, conditions on the hypervisor version such as ``>=6.0, <7``,
    and ``hw_maxphysaddr_bits``, as far as it reports these values. An image with none of the first
    three properties runs anywhere, and the last two are not checked. A condition or number that
    cannot be parsed fails every host for which it is checked.
    """

    host_attributes = ("supported_instances", "hypervisor_version", "cpu_info")

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        properties, wanted = self._wanted(spec)
        if not wanted:
            return np.ones(len(hosts), dtype=np.bool_)
        mask = filters.per_distinct(
            hosts.supported_instances, lambda triples: _supports(triples, wanted)
        )
        mask &= filters.per_distinct(
            hosts.hypervisor_version, lambda version: _version_fits(version, properties)
        )
        mask &= filters.per_distinct(hosts.cpu_info, lambda info: _bits_fit(info, properties))
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        properties, wanted = self._wanted(spec)
        if not _supports(host_state.supported_instances, wanted):
            return f"cannot run {', '.join(sorted(wanted))}"
        if not _version_fits(host_state.hypervisor_version, properties):
            asked = properties["img_hv_requested_version"]
            return f"its hypervisor version is {host_state.hypervisor_version}, requested {asked}"
        return f"has fewer than {properties['hw_maxphysaddr_bits']} physical address bits"

    def zone_lacks(self, attributes: Mapping[str, Any], spec: RequestSpec) -> str | None:
        wanted = _named(spec.image.properties if spec.image else {}, None)
        triples = attributes.get("supported_instances")
        if triples is None or not wanted or _supports(triples, wanted):
            return None
        return f"no host there can run {', '.join(sorted(wanted))}"

    def _wanted(self, spec: RequestSpec) -> tuple[Mapping[str, str], set[str]]:
        properties = spec.image.properties if spec.image else {}
        default: str | None = self._conf.filter_scheduler.image_properties_default_architecture
        return properties, _named(properties, default)


def _named(properties: Mapping[str, str], default_architecture: str | None) -> set[str]:
    """Return the values that one triple of a host must contain."""
    default = platform.canonical(default_architecture or "", platform.ARCHITECTURES)
    named = (
        platform.architecture(properties) or default,
        platform.hypervisor(properties),
        platform.mode(properties),
    )
    return {name for name in named if name}


def _supports(triples: Any, wanted: set[str]) -> bool:
    return any(wanted <= _offered(triple) for triple in triples or ())


def _offered(triple: Any) -> set[str]:
    if not isinstance(triple, list | tuple):
        return set()
    kinds = (platform.ARCHITECTURES, platform.HYPERVISORS, platform.MODES)
    return {platform.canonical(str(name), kind) for name, kind in zip(triple, kinds, strict=False)}


def _version_fits(version: Any, properties: Mapping[str, str]) -> bool:
    conditions = properties.get("img_hv_requested_version")
    if not version or not conditions:
        return True
    found = (version // 10**6, version // 10**3 % 10**3, version % 10**3)
    return all(_condition_holds(found, condition) for condition in conditions.split(","))


def _condition_holds(found: tuple[int, int, int], condition: str) -> bool:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return False
    parts = [int(part) for part in match[2].split(".")]
    return _COMPARISONS[match[1]](found, (*parts, *[0] * (3 - len(parts))))


def _bits_fit(cpu_info: Any, properties: Mapping[str, str]) -> bool:
    asked = properties.get("hw_maxphysaddr_bits")
    if not asked:
        return True
    try:
        reported = json.loads(cpu_info)["maxphysaddr"]["bits"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return True
    try:
        return int(reported) >= int(asked)
    except (ValueError, TypeError):
        return False
