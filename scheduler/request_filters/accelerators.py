"""Leave hosts out that cannot attach accelerators."""

from __future__ import annotations

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class Accelerators(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_ACCELERATORS`` when the flavor names an ``accel:device_profile``."""

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if spec.flavor.extra_specs.get("accel:device_profile"):
            demands.require(spec, os_traits.COMPUTE_ACCELERATORS)
