"""Leave hosts out whose service is disabled."""

from __future__ import annotations

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts


class DisabledHosts(request_filters.BaseRequestFilter):
    """Forbid the trait ``COMPUTE_STATUS_DISABLED``, which providers of disabled services have.

    It counts for forced hosts, too, which skip all filters.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        assert spec.request_level_params is not None
        spec.request_level_params.root_forbidden.append(os_traits.COMPUTE_STATUS_DISABLED)
