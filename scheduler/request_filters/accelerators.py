"""Leave hosts out that cannot attach accelerators, and ask for those of a device profile."""

from __future__ import annotations

import os_traits
from oslo_config import cfg

from armillary import exception
from armillary.conf import accelerators
from objects.request_spec import RequestSpec
from scheduler import device_profiles, request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class Accelerators(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_ACCELERATORS`` when the flavor names an ``accel:device_profile``.

    Each group of the profile, as ``[accelerators] device_profile`` has it, is asked for as if the
    flavor had a group of resources and traits with a suffix of its own: one provider of the host's
    tree serves it, and the claim takes it there. A name that is none of these finds no host.
    Without the option, profiles are known to others only, and no amounts are asked for.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        accelerators.register_opts(conf)
        self._profiles = device_profiles.parse(conf.accelerators.device_profile)

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        name = spec.flavor.extra_specs.get("accel:device_profile")
        if not name:
            return
        demands.require(spec, os_traits.COMPUTE_ACCELERATORS)
        if not self._profiles:
            return
        groups = self._profiles.get(name)
        if groups is None:
            raise exception.RequestFilterFailed(
                reason=f"flavor {spec.flavor.name}: there is no device profile {name[:80]}"
            )
        asked = device_profiles.as_extra_specs(groups)
        spec.flavor.extra_specs = {**spec.flavor.extra_specs, **asked}
