"""Selection of hosts for the instances of equal requests one by one, and of alternates."""

import functools
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from objects.instances.group_claim import GroupMember
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.explain.reasons import EXPLAINED_MAX, Reasons
from scheduler.explain.trace import NO_ROOM
from scheduler.filters import BaseHostFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import Mask, Numbers
from scheduler.hosts.usage import Positions, Shortage
from scheduler.plugins import plugin_calls
from scheduler.selection.group_view import GroupView
from scheduler.weights import BaseHostWeigher
from scheduler.weights.ranking import Ranked, Ranking

CLAIM_ROUNDS_MAX = 30
"""Maximum number of rounds in which claims of one request are refused for lack of room.

Each but the last is followed by a retry on other hosts.
"""

GROUP_ROUNDS_MAX = 300
"""Maximum number of rounds of a request, those included that other group members cause."""

_SPREAD_DOUBLINGS_MAX = 10
_ALTERNATES_MAX = 50  # distinct ones per cell and request; bounds the size of the answer


class HostSelector:
    """Selects hosts for the instances of one request; each selection consumes resources.

    The hosts in ``ledger`` have passed all filters. The filters in ``repeated`` run again for hosts
    that were used, or for all hosts if the request belongs to a server group. ``group`` is the view
    of that group.
    """

    def __init__(
        self,
        ledger: HostLedger,
        spec: RequestSpec,
        group: GroupView | None,
        *,
        repeated: Sequence[BaseHostFilter],
        weighers: Sequence[BaseHostWeigher],
        subset_size: int,
        shuffle_ties: bool,
        rng: random.Random,
        retry_rng: random.Random | None = None,
        explained_max: int = EXPLAINED_MAX,
    ) -> None:
        self.ledger = ledger
        self.hosts = hosts = ledger.hosts
        self._spec = spec
        self.group = group
        self._repeated = repeated
        self._subset_size = subset_size
        self._shuffle_ties = shuffle_ties
        self._rng = rng
        self._retry_rng = retry_rng or rng
        self._explained_max = explained_max
        self._is_open = np.ones(len(hosts), dtype=np.bool_)  # no refused claim
        self._has_room = np.ones(len(hosts), dtype=np.bool_)
        self._passes = np.ones(len(hosts), dtype=np.bool_)
        self._changed: set[int] = set()
        self._is_stale = False  # all hosts must be evaluated again
        self._ranking = Ranking(weighers, hosts, spec, self._is_in, ledger.is_fallback)

    @functools.cached_property
    def _is_host_local(self) -> bool:
        """Whether a selection changes the answers of filters and weighers on its own host only."""
        return self._ranking.is_host_local_for and all(
            plugin_calls.ask(each, each.is_host_local_for, self._spec) for each in self._repeated
        )

    @property
    def _is_in(self) -> Mask:
        return self._is_open & self._has_room & self._passes

    def choose(self, instance_uuid: str, *, spread: int = 1, runners_up: int = 0) -> list[Ranked]:
        """Select and consume a host; return it and the runners-up, nothing if no host is left.

        ``spread`` widens the random subset after refused claims.
        """
        self._spec.instance_uuid = instance_uuid
        self.settle()
        subset_size = max(self._subset_size, spread)
        rng = self._retry_rng if spread > 1 else self._rng
        best = self._ranking.best(max(subset_size, runners_up + 1)).tolist()
        position = self._pick(best, subset_size, rng)
        if position is None:
            return []
        next_best = [each for each in best[: runners_up + 1] if each != position]
        ranked = [self._ranking.ranked(each) for each in (position, *next_best[:runners_up])]
        self.ledger.consume(position, instance_uuid)
        if self.group is not None:
            self.group.add(instance_uuid, self.hosts.value("host", position))
        self._changed.add(position)
        return ranked

    def _pick(self, best: Sequence[int], subset_size: int, rng: random.Random) -> int | None:
        """Return a random host among the best, which are sorted, or among all best ties."""
        if self._shuffle_ties and len(ties := self._ranking.ties()) > subset_size:
            return int(ties[rng.randrange(len(ties))])
        some = self._ranking.same_rank(best[:subset_size])
        if not some:
            return None
        return some[rng.randrange(len(some))] if len(some) > 1 else some[0]

    def settle(self) -> None:
        """Update filters and weights after selections."""
        if self._is_stale:
            self._has_room = self.ledger.fit_mask()
            self._changed.clear()
            self._recheck_all()
            self._is_stale = False
            return
        if not self._changed:
            return
        for position in self._changed:
            self._has_room[position] = self.ledger.fits(position)
        if self._is_host_local:
            for position in sorted(self._changed | self._nodes_beside()):
                self._recheck(position)
        else:
            self._recheck_all()
        self._changed.clear()

    def _nodes_beside(self) -> set[int]:
        """Return the other nodes of changed hosts, because group policies apply to hosts."""
        if self._spec.instance_group is None:
            return set()
        names = {self.hosts.value("host", position) for position in self._changed}
        return set(self.hosts.positions_named(names))

    def _recheck(self, position: int) -> None:
        is_in = self._is_open.item(position) and self._has_room.item(position)
        if is_in:
            is_in = all(
                filters.is_eligible(each, self.ledger, position, self._spec)
                for each in self._repeated
            )
            self._passes[position] &= is_in
        self._ranking.change(position, is_in)

    def _recheck_all(self) -> None:
        # Reset first: a refused claim may make hosts eligible that the group had excluded.
        self._passes[:] = True
        for each in self._repeated:
            self._passes &= filters.eligible_mask(each, self.ledger, self._spec)
        self._ranking.refresh(self._is_in)

    def note(self, position: int, instance_uuid: str, amounts: Mapping[str, int]) -> None:
        """Account for an instance for which another decision selected this host."""
        self.ledger.assume(position, instance_uuid, amounts)
        self._changed.add(position)
        if self.group is not None:
            host = self.hosts.value("host", position)
            self._is_stale |= self.group.note(instance_uuid, host)

    def learn(self, members: Iterable[GroupMember]) -> None:
        """Count the members of the request's server group that placement has."""
        assert self.group is not None
        self._is_stale = True
        for host, uuids in self.group.learn(members).items():
            for position in self.hosts.positions_named([host])[:1]:
                for uuid in set(uuids) - self.hosts.instances_at(position):
                    self.ledger.assume(position, uuid, {})

    def take_back(self, position: int, instance_uuid: str) -> None:
        """Undo a selection that will not be claimed."""
        self.ledger.undo(position, instance_uuid)
        if self.group is not None:
            self.group.remove(instance_uuid, self.hosts.value("host", position))
        self._is_stale = True

    def refuse(self, position: int, instance_uuid: str) -> None:
        """Undo a selection whose claim was refused.

        The host is excluded for the whole request, unless it has another candidate.
        """
        has_others = self.ledger.refuse(position, instance_uuid)
        if self.group is not None:
            self.group.remove(instance_uuid, self.hosts.value("host", position))
            self._is_stale = True  # hosts that the group had excluded may be eligible again
        self._is_open[position] = has_others
        self._changed.add(position)

    def alternate_areas(self) -> Numbers:
        """Return a number for each host; alternates are in the area of the host, part of a cell."""
        areas: Numbers = np.asarray(self.hosts.cell, dtype=np.int64)
        for each in self._repeated:
            groups = plugin_calls.ask(each, each.alternate_groups, self.hosts, self._spec)
            if groups is not None:
                pairs = np.stack([areas, groups], axis=1)
                areas = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        return areas

    def best_in_areas(
        self, areas: Numbers, wanted: dict[int, int], excluded: set[int]
    ) -> dict[int, list[int]]:
        """Return for each area at most ``wanted[area]`` best hosts, without the excluded ones."""
        is_free = np.ones(len(self.hosts), dtype=np.bool_)
        is_free[list(excluded)] = False
        return {
            area: self._ranking.best(count, among=is_free & (areas == area)).tolist()
            for area, count in wanted.items()
        }

    def why_none(self) -> Iterator[tuple[str, int, int, Reasons, list[str]]]:
        """Yield why hosts were lost after filtering, as a ``Report`` receives it."""
        left = np.ones(len(self.hosts), dtype=np.bool_)
        rules: list[tuple[str, Mask, str | BaseHostFilter]] = [
            ("claim", self._is_open, "claimed by other requests in the meantime"),
            (NO_ROOM, self._has_room, ""),
        ]
        for each in self._repeated:
            mask = filters.eligible_mask(each, self.ledger, self._spec)
            rules.append((type(each).__name__, mask, each))
        for name, mask, why in rules:
            removed = np.flatnonzero(left & ~mask)
            if len(removed):
                before = int(np.count_nonzero(left))
                if name == NO_ROOM:
                    reasons = _no_room(self.ledger.shortages(removed))
                else:
                    reasons = self._reasons(why, removed)
                yield name, before, len(removed), reasons, self.hosts.sample_names(removed)
            left &= mask

    def _reasons(self, why: str | BaseHostFilter, removed: Positions) -> Reasons:
        if isinstance(why, str):
            return [(why, len(removed))]
        return filters.reasons_of(
            why, self.hosts, removed, self._spec, explained_max=self._explained_max
        )


def _no_room(shortages: Sequence[Shortage]) -> Reasons:
    return [
        (
            f"no room for another instance: {each.resource_class}: {each.asked:,} asked, "
            f"{each.best:,} free at most",
            each.hosts,
        )
        for each in shortages
    ]


def spread_of(claim_round: int) -> int:
    """Return among how many best hosts a claim round selects at random; rounds start at 0."""
    return int(2 ** min(max(claim_round - 1, 0), _SPREAD_DOUBLINGS_MAX))


def pick_alternates(
    selector: HostSelector, positions: Sequence[int], count: int, *, is_one_request: bool
) -> list[list[int]]:
    """Return up to ``count`` alternates for each selected host: the next best hosts in its area.

    That is its cell, or the part of it that filters allow (``alternate_groups``).

    The hosts of one request's instances are never alternates; hosts selected for other requests may
    be. Selections in an area rotate through the next best hosts, so that they do not all fall back
    to the same ones.
    """
    if count <= 0:
        return [[] for _ in positions]
    if len(positions) > 1:
        selector.settle()
    own = 0 if is_one_request else 1  # a request's own host may be among the best
    areas = selector.alternate_areas()
    area_of = [int(areas[position]) for position in positions]
    wanted: dict[int, int] = defaultdict(lambda: own)
    for area in area_of:
        wanted[area] = min(wanted[area] + count, max(count, _ALTERNATES_MAX) + own)
    best = selector.best_in_areas(areas, wanted, set(positions) if is_one_request else set())
    turn: dict[int, int] = defaultdict(int)
    alternates = []
    for area, chosen in zip(area_of, positions, strict=True):
        hosts, start = best[area], turn[area]
        turn[area] += count
        next_best = (hosts[(start + index) % len(hosts)] for index in range(len(hosts)))
        others = (position for position in next_best if position != chosen)
        alternates.append(list(itertools.islice(others, count)))
    return alternates
