"""Server groups: create, show, delete."""

from __future__ import annotations

from armillary.context import RequestContext
from armillary.notifications import SILENT, Notifier
from conductor.super_conductor.accept.server_groups import Groups
from objects.instances.instance_group import InstanceGroup


class ServerGroupsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, groups: Groups, notifier: Notifier = SILENT) -> None:
        self._groups = groups
        self._notifier = notifier

    def create_server_group(
        self, context: RequestContext, name: str, policy: str, rules: dict[str, str]
    ) -> InstanceGroup:
        made = self._groups.create(context, name, policy, rules)
        self._notifier.server_group(context, "create", made)
        return made

    def list_server_groups(
        self, context: RequestContext, all_projects: bool = False
    ) -> list[InstanceGroup]:
        return self._groups.list(context, all_projects=all_projects)

    def get_server_group(self, context: RequestContext, group: str) -> InstanceGroup:
        return self._groups.get(context, group)

    def delete_server_group(self, context: RequestContext, group: str) -> None:
        gone = None if self._notifier.is_silent else self._groups.get(context, group)
        self._groups.delete(context, group)
        if gone is not None:
            self._notifier.server_group(context, "delete", gone)
