"""Places of the members of server groups, and the claims that these rule out. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from objects.instances.group_claim import GroupClaim, GroupRule


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """The host of a member of a server group.

    A migration that holds a member's old allocations has the place of that member. ``epoch`` is
    that of the write that put the member there; ``limit`` as in ``GroupClaim``.
    """

    group_uuid: str
    member_uuid: str
    host: str
    limit: int
    epoch: int

    def stored(self) -> str:
        """Return the form of the database, which has the group in a column of its own."""
        return json.dumps([self.member_uuid, self.host, self.limit, self.epoch])


def place_from(group_uuid: str | None, stored: str | None) -> GroupPlace | None:
    """Return a place from its columns, or None for a consumer without a group."""
    if group_uuid is None or stored is None:
        return None
    return GroupPlace(group_uuid, *json.loads(stored))


def place_of(
    consumer: str, claim: GroupClaim, present: GroupPlace | None, *, epoch: int
) -> GroupPlace | None:
    """Return the place of a consumer after a claim; None if it is in no group."""
    if claim.group_uuid is not None:
        return GroupPlace(claim.group_uuid, consumer, claim.host, claim.limit, epoch)
    if present is None:
        return None
    return replace(present, host=claim.host, epoch=epoch)


@dataclass
class GroupPlaces:
    """Places by group and consumer. It must contain the groups of everything that it is asked."""

    places: dict[str, dict[str, GroupPlace]] = field(default_factory=lambda: defaultdict(dict))
    _group_of: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, places: Iterable[tuple[str, GroupPlace]]) -> GroupPlaces:
        """Return the places of these consumers."""
        found = cls()
        for consumer, place in places:
            found.put(consumer, place)
        return found

    def put(self, consumer: str, place: GroupPlace | None) -> None:
        """Set the place of a consumer."""
        before = self._group_of.pop(consumer, None)
        if before is not None:
            del self.places[before][consumer]
        if place is not None:
            self._group_of[consumer] = place.group_uuid
            self.places[place.group_uuid][consumer] = place

    def refusal(self, consumer: str, claim: GroupClaim, present: GroupPlace | None) -> str | None:
        """Return why a claim is refused because of other members of its group, or None."""
        group_uuid = claim.group_uuid or (present.group_uuid if present else None)
        if group_uuid is None:
            return None
        others = [
            place
            for place in self.places.get(group_uuid, {}).values()
            if place.member_uuid != consumer
        ]
        if claim.group_uuid is None:
            assert present is not None
            return _too_many(others, claim.host, present.limit)
        for place in others:
            if not _is_counted(place, claim) and _concerns(claim, place.host):
                return (
                    f"member {place.member_uuid} of server group {group_uuid} was placed on "
                    f"{place.host} in the meantime"
                )
        return None


def _is_counted(place: GroupPlace, claim: GroupClaim) -> bool:
    known: Mapping[str, str] = claim.counted
    return place.epoch <= claim.as_of or known.get(place.member_uuid) == place.host


def _concerns(claim: GroupClaim, host: str) -> bool:
    if claim.rule == GroupRule.HERE:
        return host == claim.host
    if claim.rule == GroupRule.ELSEWHERE:
        return host != claim.host
    return claim.rule == GroupRule.ANYWHERE


def _too_many(others: Iterable[GroupPlace], host: str, limit: int) -> str | None:
    members = {place.member_uuid for place in others if place.host == host}
    if not limit or len(members) < limit:
        return None
    return f"{host} has {len(members)} of at most {limit} members of the server group"
