"""Ranking of hosts: the sum of their normalised weights, each times its weigher's multiplier."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from objects.request_spec import RequestSpec
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.usage import Positions
from scheduler.plugins import loading, plugin_calls
from scheduler.weights import BaseHostWeigher

_FOR_GOOD = 2**62
_SHORTLIST_SIZE = 64

Share = dict[str, float]
"""One weigher's part of a host's weight: ``raw`` as returned by the weigher, ``normalised`` between
0 and 1 among the eligible hosts, and ``weight``, normalised times multiplier. The weights add up to
the host's total."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ranked:
    """A host with its weight and each weigher's part of it."""

    position: int
    weight: float
    shares: dict[str, Share]


class _Column:
    """One weigher's part of the weights: raw, normalised over the eligible hosts, multiplied."""

    def __init__(
        self,
        weigher: BaseHostWeigher,
        multipliers: Numbers,
        hosts: HostTable,
        spec: RequestSpec,
        is_in: Mask,
    ) -> None:
        self._weigher = weigher
        self.name = type(weigher).__name__
        self._raw = _clipped_weights_of(weigher, hosts, spec)
        self._multipliers = multipliers
        self._set_bounds(is_in)
        self.parts = self._all_parts()

    def change(self, position: int, host_state: HostState, spec: RequestSpec, is_in: Mask) -> bool:
        """Apply a change of one host; return whether that changed the parts of all hosts."""
        is_left = is_in.item(position)
        if is_left and self._weigher.is_steady:
            return False
        old = self._raw.item(position)
        new = self._clamped(_weight_of(self._weigher, host_state, spec)) if is_left else old
        if is_left and new == old:
            return False
        self._raw[position] = new
        low, high = bounds = self._bounds
        self._at_low += (is_left and new == low) - (old == low)
        self._at_high += (is_left and new == high) - (old == high)
        if not low <= new <= high or not self._at_low or not self._at_high:
            self._set_bounds(is_in)
            if bounds != self._bounds:
                self.parts = self._all_parts()
                return True
        self.parts[position] = self._multipliers[position] * self._normalised(new)
        return False

    def share(self, position: int) -> Share:
        """Return one host's part and how it is composed."""
        raw = self._raw.item(position)
        return {
            "raw": raw,
            "normalised": self._normalised(raw),
            "weight": self.parts.item(position),
        }

    def _clamped(self, raw: float) -> float:
        low, high = self._weigher.minval, self._weigher.maxval
        raw = raw if low is None else max(low, raw)
        return raw if high is None else min(high, raw)

    def _set_bounds(self, is_in: Mask) -> None:
        """Find the least and the greatest weight, and how many hosts have each."""
        low, high = self._weigher.minval, self._weigher.maxval
        least = float(np.min(self._raw, where=is_in, initial=math.inf)) if low is None else low
        most = float(np.max(self._raw, where=is_in, initial=-math.inf)) if high is None else high
        self._bounds = least, most
        # A configured bound never moves, whether or not a host is at it.
        self._at_low, self._at_high = (
            int(np.count_nonzero(is_in & (self._raw == bound))) + _FOR_GOOD * (given is not None)
            for bound, given in ((least, low), (most, high))
        )

    def _all_parts(self) -> Numbers:
        low, high = self._bounds
        if low == high:
            return np.zeros(len(self._raw))
        return self._multipliers * ((self._raw - low) / (high - low))

    def _normalised(self, raw: float) -> float:
        low, high = self._bounds
        return 0.0 if low == high else (raw - low) / (high - low)


@dataclasses.dataclass(frozen=True, slots=True)
class RawWeights:
    """Weights before normalisation: one row per host, one column per weigher.

    ``names`` are the weighers' class names; ``multipliers`` are per host.
    """

    names: list[str]
    raw: Numbers
    multipliers: Numbers


def raw_weights(
    weighers: Sequence[BaseHostWeigher], hosts: HostTable, spec: RequestSpec
) -> RawWeights:
    """Run all weighers that apply to a request. Raises ``PluginFailed``."""
    found = _applicable(weighers, hosts, spec)
    shape = len(hosts), len(found)
    raw, factors = np.zeros(shape), np.zeros(shape)
    for column, (weigher, multipliers) in enumerate(found):
        raw[:, column] = _clipped_weights_of(weigher, hosts, spec)
        factors[:, column] = multipliers
    return RawWeights([type(weigher).__name__ for weigher, _ in found], raw, factors)


class Ranking:
    """The weights of all hosts of a request, updated as hosts are used or become ineligible.

    After ``change`` it equals a ranking computed from scratch. With fewer than two eligible hosts
    nothing is weighed and weights are 0. Hosts in ``is_fallback`` come behind all others.
    """

    def __init__(
        self,
        weighers: Sequence[BaseHostWeigher],
        hosts: HostTable,
        spec: RequestSpec,
        is_in: Mask,
        is_fallback: Mask | None = None,
    ) -> None:
        self._is_fallback = is_fallback
        self._hosts = hosts
        self._spec = spec
        self._weighers = _applicable(weighers, hosts, spec)
        self._shortlist: _Shortlist | None = None
        self.refresh(is_in)

    def refresh(self, is_in: Mask) -> None:
        """Recompute all weights; hosts that are not eligible have none."""
        self._is_in = is_in.copy()
        self._count = int(np.count_nonzero(is_in))
        self._columns: list[_Column] = []
        if self._count > 1:
            self._columns = [
                _Column(weigher, multipliers, self._hosts, self._spec, self._is_in)
                for weigher, multipliers in self._weighers
            ]
        self._add_up()

    @property
    def is_host_local_for(self) -> bool:
        """Whether a selection changes weights on its own host only, apart from normalisation."""
        return all(
            plugin_calls.ask(weigher, weigher.is_host_local_for, self._spec)
            for weigher, _ in self._weighers
        )

    def change(self, position: int, is_in: bool) -> None:
        """Apply a change of one host; an ineligible host stays ineligible."""
        if not self._is_in[position]:
            return
        self._is_in[position] = is_in
        if not is_in:
            self._count -= 1
        if self._count <= 1:
            self._columns = []
            self._add_up()
            return
        host_state = self._hosts[position]
        has_changed_all = False
        for column in self._columns:
            has_changed_all |= column.change(position, host_state, self._spec, self._is_in)
        if has_changed_all:
            self._add_up()
        else:
            self._totals[position] = self._total_at(position) if is_in else -math.inf
            self._shares.pop(position, None)
            if self._shortlist is not None:
                self._shortlist.note(position)

    def ranked(self, position: int) -> Ranked:
        """Return an eligible host with its weight; callers share ``shares``: do not modify it."""
        shares = self._shares.get(position)
        if shares is None:
            shares = {column.name: column.share(position) for column in self._columns}
            self._shares[position] = shares
        return Ranked(position, self._totals.item(position), shares)

    def ties(self) -> Positions:
        """Return all hosts with the best weight, in candidate order."""
        best = self.best(1)
        if not len(best):
            return best
        is_tied = self._totals == self._totals[best]
        if self._is_fallback is not None:
            is_tied &= self._is_fallback == self._is_fallback[best]
        return np.flatnonzero(is_tied)

    def best(self, count: int, among: Mask | None = None) -> Positions:
        """Return at most ``count`` best hosts, best first, ties in candidate order."""
        if self._is_fallback is not None:
            eligible = True if among is None else among
            first = _best(np.where(eligible & ~self._is_fallback, self._totals, -math.inf), count)
            rest = _best(
                np.where(eligible & self._is_fallback, self._totals, -math.inf), count - len(first)
            )
            return np.concatenate([first, rest])
        if among is not None:
            return _best(np.where(among, self._totals, -math.inf), count)
        count = min(count, self._count)
        if count <= 0:
            return np.empty(0, dtype=np.int64)
        found = self._shortlist.best(count) if self._shortlist is not None else None
        if found is None:
            self._shortlist = _Shortlist(self._totals, max(_SHORTLIST_SIZE, 2 * count))
            found = self._shortlist.best(count)
            assert found is not None
        return found

    def same_rank(self, positions: Sequence[int]) -> list[int]:
        """Return those of the best hosts that come before the fallback hosts, as the first does."""
        if self._is_fallback is None or not positions:
            return list(positions)
        is_fallback = self._is_fallback
        return [each for each in positions if is_fallback[each] == is_fallback[positions[0]]]

    def _add_up(self) -> None:
        self._totals = np.zeros(len(self._hosts))
        for column in self._columns:
            self._totals += column.parts
        self._totals[~self._is_in] = -math.inf
        self._shortlist = None
        self._shares: dict[int, dict[str, Share]] = {}

    def _total_at(self, position: int) -> float:
        total = 0.0
        for column in self._columns:
            total += column.parts.item(position)
        return total


class _Shortlist:
    """A cache of the best hosts, and of those that improved since it was built.

    ``totals`` is the ranking's own array; each change to it must be reported with ``note``.
    """

    def __init__(self, totals: Numbers, size: int) -> None:
        self._totals = totals
        chosen = _best(totals, size)
        self._worst = (math.inf, -1)  # all eligible hosts are in the shortlist
        if len(chosen) == size:
            self._worst = self._place_of(int(chosen[-1]))
        self._near = np.sort(chosen)

    def note(self, position: int) -> None:
        """Record that a host's total changed."""
        if self._place_of(position) <= self._worst:
            place = int(np.searchsorted(self._near, position))
            if place == len(self._near) or self._near[place] != position:
                self._near = np.insert(self._near, place, position)

    def best(self, count: int) -> Positions | None:
        """Return the best hosts, or None if hosts outside the shortlist may be among them."""
        if count > len(self._near):
            return None
        order = (-self._totals[self._near]).argsort(kind="stable")
        found: Positions = self._near[order[:count]]
        return found if self._place_of(found.item(-1)) <= self._worst else None

    def _place_of(self, position: int) -> tuple[float, int]:
        return -self._totals.item(position), position


def _best(totals: Numbers, count: int) -> Positions:
    """Return the positions of the greatest finite totals, ties in candidate order."""
    count = min(count, int(np.count_nonzero(totals > -math.inf)))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    if count == 1:
        return np.array([np.argmax(totals)])
    least = np.partition(totals, -count)[-count]
    contenders = np.flatnonzero(totals >= least)
    order = np.argsort(-totals[contenders], kind="stable")
    found: Positions = contenders[order[:count]]
    return found


def _applicable(
    weighers: Sequence[BaseHostWeigher], hosts: HostTable, spec: RequestSpec
) -> list[tuple[BaseHostWeigher, Numbers]]:
    """Return the weighers that apply to a request, with each host's multiplier."""
    return [
        (weigher, multipliers)
        for weigher in weighers
        if (multipliers := _multipliers_of(weigher, hosts, spec)) is not None
    ]


def _multipliers_of(
    weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec
) -> Numbers | None:
    """Return each host's multiplier; None if the weigher does not apply."""

    def ask() -> Numbers | None:
        if not weigher.applies_to(spec):
            return None
        return np.asarray(weigher.multipliers(hosts), dtype=np.float64)

    multipliers = plugin_calls.ask(weigher, ask)
    if multipliers is None:
        return None
    if multipliers.shape != (len(hosts),):
        raise loading.PluginFailed(
            weigher, f"multipliers returned shape {multipliers.shape} for {len(hosts)} hosts"
        )
    if not np.all(np.isfinite(multipliers)):
        raise loading.PluginFailed(weigher, "a multiplier is not a finite number")
    return multipliers if multipliers.any() else None


def _weights_of(weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec) -> Numbers:
    weights: Numbers = plugin_calls.ask(
        weigher, lambda: np.array(weigher.host_weights(hosts, spec), dtype=np.float64)
    )
    if weights.shape != (len(hosts),):
        raise loading.PluginFailed(
            weigher, f"host_weights returned shape {weights.shape} for {len(hosts)} hosts"
        )
    if not np.all(np.isfinite(weights)):
        raise loading.PluginFailed(weigher, "a weight is not a finite number")
    return weights


def _clipped_weights_of(weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec) -> Numbers:
    weights = _weights_of(weigher, hosts, spec)
    if weigher.minval is None and weigher.maxval is None:
        return weights
    clipped: Numbers = np.clip(weights, weigher.minval, weigher.maxval)
    return clipped


def _weight_of(weigher: BaseHostWeigher, host_state: HostState, spec: RequestSpec) -> float:
    weight = plugin_calls.ask(weigher, lambda: float(weigher.host_weight(host_state, spec)))
    if not math.isfinite(weight):
        raise loading.PluginFailed(weigher, "a weight is not a finite number")
    return weight
