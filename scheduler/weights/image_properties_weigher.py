"""Bring instances of similar images together, or keep them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable
from scheduler.weight_setting import WeightSetting


class ImagePropertiesWeigher(weights.BaseHostWeigher):
    """Prefers hosts that run instances of similar images; a negative multiplier avoids them.

    For each property of the requested image, the instances on a host count whose image had the same
    property with the same value, compared as text. With ``[filter_scheduler]
    image_props_weight_setting`` only the properties named there count, each times its ratio. A
    host's figures are those that its agent reported last.

    The default multiplier 0 turns it off, also where an aggregate has the metadata
    ``image_props_weight_multiplier``: that overrides another number only.
    """

    judges_apart = True

    multiplier_option = "image_props_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._setting = WeightSetting("[filter_scheduler] image_props_weight_setting")

    def applies_to(self, spec: RequestSpec) -> bool:
        return bool(self._wanted(spec))

    def multipliers(self, hosts: HostTable) -> weights.Numbers:
        if self.multiplier() == 0:
            return np.zeros(len(hosts))
        return super().multipliers(hosts)

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return _weight(host_state.instance_image_properties, self._wanted(spec))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        wanted = self._wanted(spec)
        if not wanted:
            return np.zeros(len(hosts))
        counts = hosts.instance_image_properties
        return np.fromiter((_weight(each, wanted) for each in counts), np.float64, len(hosts))

    def _wanted(self, spec: RequestSpec) -> dict[str, float]:
        """Return ``name=value`` -> what an instance with it counts."""
        properties = spec.image.properties if spec.image else {}
        ratios = self._setting.parsed(self._conf.filter_scheduler.image_props_weight_setting)
        if not ratios:
            return {f"{name}={value}": 1.0 for name, value in sorted(properties.items())}
        return {
            f"{name}={properties[name]}": ratio
            for name, ratio in sorted(ratios.items())
            if name in properties
        }


def _weight(counts: Any, wanted: dict[str, float]) -> float:
    if not counts:
        return 0.0
    return float(sum(counts.get(key, 0) * ratio for key, ratio in wanted.items()))
