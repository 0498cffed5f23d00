"""Request filter for accelerators and device profiles."""

import os_traits
from oslo_config import cfg

from armillary import exception
from armillary.conf import accelerators, register
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request import device_profiles
from scheduler.request_filters import requirements


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
        self._profiles = device_profiles.parse(conf.accelerators.device_profile)

    def apply(self, spec: RequestSpec, facts: ClusterMetadata) -> None:
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
        asked = device_profiles.as_extra_specs(groups)
        spec.flavor.extra_specs = {**spec.flavor.extra_specs, **asked}
