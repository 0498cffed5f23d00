"""A project's usage while requests are accepted: each counts on top of the ones before it."""

import dataclasses

from conductor.super_conductor.accept import quotas
from conductor.super_conductor.accept.server_requests import ServerRequest

_NO_ITEMS = {"metadata_items": 0}


@dataclasses.dataclass
class ProjectUsage:
    """A project's limits and usage, including the requests accepted so far."""

    limits: dict[str, int]
    used: dict[str, int]
    group_members: dict[str, int] = dataclasses.field(default_factory=dict)

    def take(self, found: ServerRequest) -> int:
        """Count a request; return how many of its servers fit. Raises QuotaExceeded."""
        items = {"metadata_items": len(found.metadata)}
        quotas.fitting_count(self.limits, _NO_ITEMS, items, min_count=1, max_count=1)
        if found.settings is not None:
            quotas.check_files(self.limits, found.settings.files)
        used = dict(self.used)
        per_server = {
            "instances": 1, "cores": found.flavor.vcpus, "ram": found.flavor.memory_mb,
        }  # fmt: skip
        if found.group is not None:
            used["server_group_members"] = self.group_members[found.group.uuid]
            per_server["server_group_members"] = 1
        count = quotas.fitting_count(
            self.limits, used, per_server, min_count=found.min_count, max_count=found.max_count
        )
        for name, amount in per_server.items():
            used[name] += amount * count
        if found.group is not None:
            self.group_members[found.group.uuid] = used.pop("server_group_members")
        self.used = used
        return count
