"""Filter that isolates some images on some hosts."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class IsolatedHostsFilter(filters.BaseHostFilter):
    """Pass ``[filter_scheduler] isolated_hosts`` for ``isolated_images``, other hosts for others.

    If ``restrict_isolated_hosts_to_isolated_images`` is off, other images may also use isolated
    hosts. A request without an image counts as one whose image is not isolated. If there are no
    isolated images, isolated hosts receive no instances, unless that option is off.
    """

    host_attributes = ("host",)

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        isolated = hosts.named(self._hosts)
        return np.where(isolated, self._passes(True, spec), self._passes(False, spec))

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        is_isolated = host_state.host in self._hosts
        return "is reserved for isolated images" if is_isolated else "is not for isolated images"

    def _passes(self, is_isolated: bool, spec: RequestSpec) -> bool:
        options = self._conf.filter_scheduler
        if spec.image is not None and spec.image.id in options.isolated_images:
            return is_isolated
        return not (is_isolated and options.restrict_isolated_hosts_to_isolated_images)

    @property
    def _hosts(self) -> set[str]:
        return set(self._conf.filter_scheduler.isolated_hosts)
