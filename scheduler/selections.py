"""Choose a host for one instance after another, claim for all at once, and pick alternates."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter
from scheduler.host_table import HostTable, Mask
from scheduler.weights import BaseHostWeigher, Ranking

CLAIM_ROUNDS_MAX = 30
"""So often are hosts chosen again for instances whose claims were refused."""

_SPREAD_DOUBLINGS_MAX = 10
_ALTERNATES_MAX = 50  # different ones in a cell for one request; more make the answer long


class NoHostLeft(Exception):
    """No host is left for an instance; ``placed`` of the request's instances had one before."""

    def __init__(self, placed: int) -> None:
        super().__init__(f"no host is left after {placed} instances")
        self.placed = placed


@dataclasses.dataclass(frozen=True, slots=True)
class Ranked:
    """A host with its weight, and each weigher's share in it."""

    position: int
    weight: float
    shares: dict[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The host chosen for an instance, and the next best ones."""

    chosen: Ranked
    runners_up: list[Ranked]


class Chooser:
    """Chooses hosts for the instances of one request; each choice uses its host up a little.

    ``hosts`` have passed all filters once; those in ``repeated`` are asked again about the hosts
    that were used, or about all hosts when the request belongs to a server group.
    """

    def __init__(
        self,
        hosts: HostTable,
        spec: RequestSpec,
        *,
        repeated: Sequence[BaseHostFilter],
        weighers: Sequence[BaseHostWeigher],
        subset_size: int,
        shuffle_ties: bool,
        dice: random.Random,
    ) -> None:
        self.hosts = hosts
        self._spec = spec
        self._repeated = repeated
        self._subset_size = subset_size
        self._shuffle_ties = shuffle_ties
        self._dice = dice
        self._is_open = np.ones(len(hosts), dtype=np.bool_)  # no claim was refused there
        self._has_room = np.ones(len(hosts), dtype=np.bool_)
        self._passes = np.ones(len(hosts), dtype=np.bool_)
        self._changed: set[int] = set()
        self._ranking = Ranking(weighers, hosts, spec, self._is_in)

    @property
    def _is_in(self) -> Mask:
        return self._is_open & self._has_room & self._passes

    def choose(self, instance_uuid: str, *, spread: int = 1, runners_up: int = 0) -> Choice | None:
        """Choose a host and use it; None when none is left. ``spread`` widens the random subset."""
        self._spec.instance_uuid = instance_uuid
        self.settle()
        position = self._pick(max(self._subset_size, spread))
        if position is None:
            return None
        next_best = self._ranking.best(runners_up + 1) if runners_up else ()
        choice = Choice(
            self._ranked(position),
            [self._ranked(int(each)) for each in next_best if each != position][:runners_up],
        )
        self._use(position, instance_uuid)
        return choice

    def refuse(self, position: int, instance_uuid: str) -> None:
        """Take a choice back whose claim was refused.

        The host is out for the whole request, unless placement offers it in another way, too.
        """
        has_others = self.hosts.refuse(position, instance_uuid)
        if self._spec.instance_group is not None:
            self._spec.instance_group.hosts.remove(self.hosts[position].host)
        self._is_open[position] = has_others
        self._changed.add(position)

    def settle(self) -> None:
        """Bring filters and weights up to date with the choices so far."""
        if not self._changed:
            return
        for position in self._changed:
            self._has_room[position] = self.hosts.fits(position)
        if self._spec.instance_group is not None:
            self._recheck_all()
        else:
            for position in sorted(self._changed):
                self._recheck(position)
        self._changed.clear()

    def best_in_cells(self, wanted: dict[int, int], excluded: set[int]) -> dict[int, list[int]]:
        """Return for each cell at most so many best hosts as wanted, without the excluded ones."""
        cells = self.hosts.cell
        is_free = np.ones(len(self.hosts), dtype=np.bool_)
        is_free[list(excluded)] = False
        return {
            cell: self._ranking.best(count, among=is_free & (cells == cell)).tolist()
            for cell, count in wanted.items()
        }

    def why_none(self) -> Iterator[tuple[str, int, int, str | None]]:
        """Yield what took hosts away since they passed all filters: name, before, removed, why."""
        left = np.ones(len(self.hosts), dtype=np.bool_)
        reasons: list[tuple[str, Mask, str | None]] = [
            ("claim", self._is_open, "taken by other requests meanwhile"),
            ("room", self._has_room, "filled by this request's own instances"),
        ]
        for each in self._repeated:
            mask = filters.mask_of(each, self.hosts, self._spec)
            failed = np.flatnonzero(left & ~mask)
            reason = None
            if len(failed):
                reason = filters.explain(each, self.hosts[failed[0]], self._spec)
            reasons.append((type(each).__name__, mask, reason))
        for name, mask, reason in reasons:
            before = int(np.count_nonzero(left))
            left &= mask
            removed = before - int(np.count_nonzero(left))
            if removed:
                yield name, before, removed, reason

    def _pick(self, subset_size: int) -> int | None:
        if self._shuffle_ties and len(ties := self._ranking.ties()) > subset_size:
            best = ties
        else:
            best = self._ranking.best(subset_size)
        if len(best) == 0:
            return None
        return int(best[self._dice.randrange(len(best))] if len(best) > 1 else best[0])

    def _ranked(self, position: int) -> Ranked:
        return Ranked(position, self._ranking.weight(position), self._ranking.shares(position))

    def _use(self, position: int, instance_uuid: str) -> None:
        self.hosts.consume(position, instance_uuid)
        if self._spec.instance_group is not None:
            self._spec.instance_group.hosts.append(self.hosts[position].host)
        self._changed.add(position)

    def _recheck(self, position: int) -> None:
        is_in = bool(self._is_open[position] and self._has_room[position])
        if is_in:
            host_state = self.hosts[position]
            is_in = all(filters.passes(each, host_state, self._spec) for each in self._repeated)
            self._passes[position] &= is_in
        self._ranking.change(position, is_in)

    def _recheck_all(self) -> None:
        # Not cumulative: a refused claim may give the group back the hosts that it had ruled out.
        self._passes[:] = True
        for each in self._repeated:
            self._passes &= filters.mask_of(each, self.hosts, self._spec)
        self._ranking.refresh(self._is_in)


@dataclasses.dataclass(slots=True)
class Wanted:
    """One instance that needs a host."""

    instance_uuid: str
    fence: int
    position: int = -1
    is_claimed: bool = False


def choose_and_claim(
    instances: Sequence[Wanted],
    *,
    choose: Callable[[Wanted, int], bool],
    claim: Callable[[list[Wanted]], list[Wanted]],
) -> None:
    """Choose and claim hosts for all instances, and again for those whose claims are refused.

    ``choose`` gives an instance a position, spread over so many best hosts, or answers False;
    ``claim`` claims them all at once and returns those that were refused. From the second refusal
    on choices are spread: whoever was faster reads the same ranking. Raises ``NoHostLeft``, and
    ``Unavailable`` when other requests keep being faster; what was claimed by then is marked so.
    """
    waiting = list(instances)
    for claim_round in range(CLAIM_ROUNDS_MAX):
        spread = 2 ** min(max(claim_round - 1, 0), _SPREAD_DOUBLINGS_MAX)
        for index, wanted in enumerate(waiting):
            if not choose(wanted, spread):
                raise NoHostLeft(len(instances) - len(waiting) + index)
        waiting = claim(waiting)
        if not waiting:
            return
    raise exception.Unavailable(
        reason=f"claims were refused {CLAIM_ROUNDS_MAX} times in a row, other requests were faster"
    )


def pick_alternates(chooser: Chooser, positions: Sequence[int], count: int) -> list[list[int]]:
    """Return for each chosen host ``count`` alternates, or fewer: the next best hosts in its cell.

    A host that was chosen for any instance is never an alternate. Several instances in a cell take
    turns through the next best hosts, so that they do not all fall back on the same ones.
    """
    if count <= 0:
        return [[] for _ in positions]
    if len(positions) > 1:
        chooser.settle()
    cell_of = [int(chooser.hosts.cell[position]) for position in positions]
    wanted: dict[int, int] = defaultdict(int)
    for cell in cell_of:
        wanted[cell] = min(wanted[cell] + count, max(count, _ALTERNATES_MAX))
    best = chooser.best_in_cells(wanted, set(positions))
    turn: dict[int, int] = defaultdict(int)
    alternates = []
    for cell in cell_of:
        hosts, start = best[cell], turn[cell]
        turn[cell] += count
        taken = min(count, len(hosts))
        alternates.append([hosts[(start + index) % len(hosts)] for index in range(taken)])
    return alternates
