"""Weigher by the images of the instances on a host."""

import functools
import threading
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.weight_setting import WeightSetting

_PROPERTIES_MAX = 64
"""Maximum number of image properties whose counts are cached, at 8 bytes per host each."""


class ImagePropertiesWeigher(weights.BaseHostWeigher):
    """Prefers hosts that run instances of similar images; a negative multiplier avoids them.

    For each property of the requested image, it counts the instances on a host whose image had the
    same property with the same value, compared as text. With ``[filter_scheduler]
    image_props_weight_setting`` only the properties named there count, each times its ratio. A
    host's counts are those in its agent's last report.

    The default multiplier 0 disables the weigher, even for aggregates with the metadata
    ``image_props_weight_multiplier``: the metadata only overrides a multiplier other than 0.
    """

    host_attributes = ("instance_image_properties",)

    is_host_local = True

    multiplier_option = "image_props_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._setting = WeightSetting("[filter_scheduler] image_props_weight_setting")
        self._counts = _Counts()

    def applies_to(self, spec: RequestSpec) -> bool:
        return self.multiplier() != 0 and bool(self._wanted(spec))

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        counts = host_state.instance_image_properties
        wanted = self._wanted(spec).items()
        return float(sum(_count(counts, key) * ratio for key, ratio in wanted))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        found = np.zeros(len(hosts))
        with np.errstate(over="ignore", invalid="ignore"):  # as for one host
            for key, ratio in self._wanted(spec).items():
                found += self._counts.column(hosts, key) * ratio
        return found

    def _wanted(self, spec: RequestSpec) -> dict[str, float]:
        """Return a map from ``name=value`` to the weight of one instance with it."""
        properties = spec.image.properties if spec.image else {}
        ratios = self._setting.parsed(self._conf.filter_scheduler.image_props_weight_setting)
        if not ratios:
            return {f"{name}={value}": 1.0 for name, value in sorted(properties.items())}
        return {
            f"{name}={properties[name]}": ratio
            for name, ratio in sorted(ratios.items())
            if name in properties
        }


class _Counts:
    """Number of instances with a property on each host; recently used properties are cached."""

    def __init__(self) -> None:
        self._reports = Reports("instance_image_properties")
        self._lock = threading.Lock()
        self._derived: dict[str, Derived] = {}  # by "name=value", most recently used last

    def column(self, hosts: HostTable, key: str) -> weights.Numbers:
        """Return the count of each host."""
        with self._lock:
            derived = self._derived.pop(key, None) or Derived(functools.partial(_count, key=key))
            self._derived[key] = derived
            if len(self._derived) > _PROPERTIES_MAX:
                del self._derived[next(iter(self._derived))]
        return self._reports.numbers(hosts, derived)


def _count(counts: Any, key: str) -> float:
    return 1.0 * counts.get(key, 0) if counts else 0.0
