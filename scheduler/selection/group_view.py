"""A decision's view of the server group of its request: where the members are."""

from collections.abc import Collection, Iterable

from objects.instances.group_claim import GroupClaim, GroupMember, GroupRule
from objects.instances.instance_group import AFFINITY, ANTI_AFFINITY, InstanceGroup
from objects.request_spec import RequestSpec

_RULES = {
    AFFINITY: GroupRule.ELSEWHERE,
    "soft-affinity": GroupRule.ELSEWHERE,
    ANTI_AFFINITY: GroupRule.HERE,
    "soft-anti-affinity": GroupRule.HERE,
}
"""Members that were not counted and make a choice wrong, by policy; anywhere for all others."""


class GroupView:
    """The members that a decision counts in the group of its spec.

    ``own`` are the instances of the decision: what placement has of them does not count.
    ``is_outdated`` is whether placement refused a claim because of members not counted here.
    """

    def __init__(self, group: InstanceGroup, own: Collection[str], *, is_forced: bool) -> None:
        self.uuid = group.uuid
        self.is_outdated = False
        self._group = group
        self._own = frozenset(own)
        self._rule = (
            GroupRule.NOWHERE if is_forced else _RULES.get(group.policy, GroupRule.ANYWHERE)
        )
        self._limit = group.max_server_per_host if group.policy == ANTI_AFFINITY else 0
        self._as_of = 0
        self._selected: dict[str, str] = {}

    def learn(self, members: Iterable[GroupMember]) -> dict[str, list[str]]:
        """Count the members that placement has; return them by host."""
        self.is_outdated = False
        group, found = self._group, dict[str, list[str]]()
        for member in members:
            self._as_of = max(self._as_of, member.as_of)
            if member.instance_uuid not in self._own:
                found.setdefault(member.host, []).append(member.instance_uuid)
        known = (uuid for uuids in found.values() for uuid in uuids)
        group.members = list(dict.fromkeys((*group.members, *known)))
        group.hosts = [*group.hosts, *sorted(found.keys() - set(group.hosts))]
        return found

    def add(self, instance_uuid: str, host: str) -> None:
        """Count an instance of the decision, which selected a host for it."""
        self._group.hosts.append(host)
        self._selected[instance_uuid] = host

    def remove(self, instance_uuid: str, host: str) -> None:
        """Undo ``add``."""
        self._group.hosts.remove(host)
        self._selected.pop(instance_uuid, None)

    def note(self, instance_uuid: str, host: str) -> bool:
        """Count a member for which another decision selected a host; return whether it is one."""
        if instance_uuid not in self._group.members:
            return False
        self._group.hosts.append(host)
        self._selected[instance_uuid] = host
        return True

    def claim_for(self, instance_uuid: str, host: str) -> GroupClaim:
        """Return the group's part of a claim on a host."""
        return GroupClaim(
            host,
            group_uuid=self.uuid,
            rule=self._rule,
            limit=self._limit,
            as_of=self._as_of,
            counted={
                uuid: place
                for uuid, place in self._selected.items()
                if uuid != instance_uuid and self._concerns(host, place)
            },
        )

    def _concerns(self, host: str, other: str) -> bool:
        if self._rule == GroupRule.ANYWHERE:
            return True
        return (other == host) == (self._rule == GroupRule.HERE)


def view_of(spec: RequestSpec, own: Collection[str] = ()) -> GroupView | None:
    """Return the view of a request's server group, or None without a group."""
    if spec.instance_group is None:
        return None
    return GroupView(spec.instance_group, own, is_forced=spec.is_forced)
