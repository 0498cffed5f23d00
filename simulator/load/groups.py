"""Server groups of a simulation: members and their hosts."""

from objects.instances.instance_group import InstanceGroup
from simulator.fleet.host_report import uuid_of
from simulator.fleet.host_states import Host
from simulator.load.load import Request


class Groups:
    """Groups by name, with the hosts of their placed members."""

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, str]] = {}

    def group_of(self, request: Request) -> InstanceGroup | None:
        """Return the current state of the group that a request names."""
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
        if group is not None:
            self._hosts.setdefault(group, {})[instance_uuid] = host.name

    def leave(self, group: str | None, instance_uuid: str) -> None:
        """Remove a member; a group without members is dropped."""
        if group is None:
            return
        members = self._hosts.get(group, {})
        members.pop(instance_uuid, None)
        if not members:
            self._hosts.pop(group, None)
