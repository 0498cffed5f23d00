"""The server groups of a simulation: who is in one, and on which hosts."""

from __future__ import annotations

from armillary.cli.simulate.host_book import Host, uuid_of
from armillary.cli.simulate.load import Request
from objects.instance_group import InstanceGroup


class Groups:
    """Groups by their names, with the hosts of those members that have one."""

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, str]] = {}

    def group_of(self, request: Request) -> InstanceGroup | None:
        """Return the group that a request names, as it stands now."""
        if request.group is None or request.group_rules is None:
            return None
        members = self._hosts.get(request.group, {})
        return InstanceGroup.from_values(
            uuid=uuid_of("group", request.group),
            name=request.group,
            project_id=request.project,
            user_id=request.project,
            policy=request.group_rules.policy,
            rules=request.group_rules.rules,
            members=list(members),
            hosts=sorted(set(members.values())),
        )

    def enter(self, group: str | None, instance_uuid: str, host: Host) -> None:
        """Note where a member is."""
        if group is not None:
            self._hosts.setdefault(group, {})[instance_uuid] = host.name

    def leave(self, group: str | None, instance_uuid: str) -> None:
        """Forget a member; of a group without any, nothing is kept."""
        if group is None:
            return
        members = self._hosts.get(group, {})
        members.pop(instance_uuid, None)
        if not members:
            self._hosts.pop(group, None)
