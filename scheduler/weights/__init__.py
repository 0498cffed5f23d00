"""Weighers: a number for a host; their base class, and the ranking that adds them up.

An answer depends on the host, the request and the configuration alone: no network, no database, no
clock, no dice. For one request it may change with the instances chosen so far only on their hosts,
unless the request belongs to a server group.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from oslo_config import cfg

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import plugin_attributes, plugin_calls, plugins
from scheduler.aggregate_metadata import NumberOverride
from scheduler.host_state import HostState
from scheduler.host_table import HostTable, Mask, Numbers
from scheduler.usage import Positions

__all__ = ["BaseHostWeigher", "Numbers", "Ranking", "RawWeights", "Share", "load_weighers"]

NAMESPACE = "armillary.scheduler.weighers"
ALL = "all_weighers"
"""Stands for every entry point in ``[filter_scheduler] weight_classes``."""

_FOR_GOOD = 2**62
_SHORTLIST_SIZE = 64

Share = dict[str, float]
"""One weigher's part of a host's weight: ``raw`` as the weigher gave it, ``normalised`` between 0
and 1 among the hosts that are in, and ``weight``, that multiplied; these add up to the total."""


class BaseHostWeigher:
    """Base of all weighers; one needs ``host_weight`` only. Higher is better; do not normalise."""

    multiplier_option: ClassVar[str | None] = None
    """The option of ``[filter_scheduler]`` that multiplies the normalised weight, and the key of
    aggregate metadata that overrides it; None multiplies by 1."""

    multiplier_sign: ClassVar[int] = 1
    """-1 for a weigher whose positive multiplier means: avoid."""

    minval: ClassVar[float | None] = None
    maxval: ClassVar[float | None] = None
    """Bounds of the scale, when it does not go from the least to the greatest weight of the hosts
    asked about; a weight beyond them counts as the bound."""

    is_steady: ClassVar[bool] = False
    """True when a host's weight does not change with the instances chosen in a request."""

    judges_apart: ClassVar[bool] = False
    """True when in a server group, too, a choice changes the weight on its own host only. Where all
    filters and weighers say so, other hosts are not asked again."""

    host_attributes: ClassVar[tuple[str, ...]] = ()
    """The attributes of ``HostState`` that it reads. A scheduler does not start with one that
    nobody declares."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._override = NumberOverride(self.multiplier_option) if self.multiplier_option else None

    def is_apart(self, spec: RequestSpec) -> bool:
        """Tell whether a choice changes the weight on its own host only, for a request."""
        return self.judges_apart or spec.instance_group is None

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        """Return how good a host is for one more instance of the request."""
        raise NotImplementedError

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        """Answer ``host_weight`` for all hosts at once; by default host by host."""
        return np.fromiter((self.host_weight(host, spec) for host in hosts), np.float64, len(hosts))

    def applies_to(self, spec: RequestSpec) -> bool:
        """Tell whether hosts can differ for a request; where not, the weigher is left out."""
        return True

    def multiplier(self) -> float:
        """Return the multiplier as configured."""
        if self.multiplier_option is None:
            return 1.0
        return float(self._conf.filter_scheduler[self.multiplier_option])

    def multipliers(self, hosts: HostTable) -> Numbers:
        """Return the effective multiplier of each host."""
        if self._override is None:
            return np.full(len(hosts), self.multiplier_sign * self.multiplier())
        return self.multiplier_sign * self._override.column(hosts, self.multiplier())


def load_weighers(conf: cfg.ConfigOpts) -> list[BaseHostWeigher]:
    """Make the weighers of ``[filter_scheduler] weight_classes``; raise as ``plugins.load``.

    Raises ``ConfigurationError``, too, when one relies on what nobody knows of hosts.
    """

    def make(each: type[BaseHostWeigher]) -> BaseHostWeigher:
        weigher = each(conf)
        _check_multiplier(weigher)
        return weigher

    names: list[str] = list(conf.filter_scheduler.weight_classes)
    if ALL in names:
        names.remove(ALL)
        names += [name for name in plugins.names(NAMESPACE) if name not in names]
    option = "[filter_scheduler] weight_classes"
    found = plugins.load(NAMESPACE, names, BaseHostWeigher, make=make, option=option)
    plugin_attributes.check(found, option)
    return found


class _Column:
    """One weigher's part in the weights: raw, normalised over the hosts that are in, multiplied."""

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
        """Take over that one host changed; return whether that changed the parts of all."""
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
        """Return one host's part, and what it comes from."""
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
        """Find the least and the greatest weight, and how many hosts have these."""
        low, high = self._weigher.minval, self._weigher.maxval
        least = float(np.min(self._raw, where=is_in, initial=math.inf)) if low is None else low
        most = float(np.max(self._raw, where=is_in, initial=-math.inf)) if high is None else high
        self._bounds = least, most
        # A bound that is given holds for good, as if there were always somebody.
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
    """What weighers say of hosts before anything is normalised: a row a host, a column a weigher.

    ``names`` are those of the weighers' classes; ``multipliers`` hold for each host.
    """

    names: list[str]
    raw: Numbers
    multipliers: Numbers


def raw_weights(
    weighers: Sequence[BaseHostWeigher], hosts: HostTable, spec: RequestSpec
) -> RawWeights:
    """Ask all weighers that weigh something for a request. Raises ``PluginBroke``."""
    found = [
        (weigher, multipliers)
        for weigher in weighers
        if (multipliers := _multipliers_of(weigher, hosts, spec)) is not None
    ]
    shape = len(hosts), len(found)
    raw, factors = np.zeros(shape), np.zeros(shape)
    for column, (weigher, multipliers) in enumerate(found):
        raw[:, column] = _clipped_weights_of(weigher, hosts, spec)
        factors[:, column] = multipliers
    return RawWeights([type(weigher).__name__ for weigher, _ in found], raw, factors)


class Ranking:
    """The weights of all hosts of a request, kept up to date as hosts are used or drop out.

    After ``change`` it is what it would be if it were made anew. Without a choice (no host or one)
    nothing is weighed and weights are 0.
    """

    def __init__(
        self,
        weighers: Sequence[BaseHostWeigher],
        hosts: HostTable,
        spec: RequestSpec,
        is_in: Mask,
    ) -> None:
        self._hosts = hosts
        self._spec = spec
        self._weighers = [
            (weigher, multipliers)
            for weigher in weighers
            if (multipliers := _multipliers_of(weigher, hosts, spec)) is not None
        ]
        self._shortlist: _Shortlist | None = None
        self.refresh(is_in)

    def refresh(self, is_in: Mask) -> None:
        """Weigh all hosts anew; those that are not in have no weight."""
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
    def is_apart(self) -> bool:
        """Whether a choice changes weights on its own host only, but for their scale."""
        return all(
            plugin_calls.ask(weigher, weigher.is_apart, self._spec) for weigher, _ in self._weighers
        )

    def change(self, position: int, is_in: bool) -> None:
        """Take over that one host changed; a host that was out stays out."""
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

    def weight(self, position: int) -> float:
        """Return the weight of a host that is in."""
        return self._totals.item(position)

    def shares(self, position: int) -> dict[str, Share]:
        """Return each weigher's part of a host's weight; without those that weigh nothing here.

        The same dict is given to all who ask; nobody changes it.
        """
        found = self._shares.get(position)
        if found is None:
            found = {column.name: column.share(position) for column in self._columns}
            self._shares[position] = found
        return found

    def ties(self) -> Positions:
        """Return all hosts with the best weight, in the order of the candidates."""
        if self._count == 0:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._totals == self._totals.max())

    def best(self, count: int, among: Mask | None = None) -> Positions:
        """Return at most ``count`` best hosts, best first, ties in the order of the candidates."""
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
    """The best hosts as of a moment, and those that got better since: enough to go on for long.

    ``totals`` is the ranking's own; each change to it, one host at a time, is to be noted here.
    """

    def __init__(self, totals: Numbers, size: int) -> None:
        self._totals = totals
        chosen = _best(totals, size)
        self._worst = (math.inf, -1)  # all that are in are here
        if len(chosen) == size:
            self._worst = self._place_of(int(chosen[-1]))
        self._near = np.sort(chosen)

    def note(self, position: int) -> None:
        """Take over that a host's total changed."""
        if self._place_of(position) <= self._worst:
            place = int(np.searchsorted(self._near, position))
            if place == len(self._near) or self._near[place] != position:
                self._near = np.insert(self._near, place, position)

    def best(self, count: int) -> Positions | None:
        """Return the best hosts, or None when others may be among them by now."""
        if count > len(self._near):
            return None
        order = (-self._totals[self._near]).argsort(kind="stable")
        found: Positions = self._near[order[:count]]
        return found if self._place_of(found.item(-1)) <= self._worst else None

    def _place_of(self, position: int) -> tuple[float, int]:
        return -self._totals.item(position), position


def _best(totals: Numbers, count: int) -> Positions:
    """Return the positions of the greatest finite totals, ties in their order."""
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


def _check_multiplier(weigher: BaseHostWeigher) -> None:
    """Raise ``ConfigurationError`` for a multiplier that is no number, and what it raises."""
    name = type(weigher).__name__
    option = f"[filter_scheduler] {weigher.multiplier_option}, which multiplies {name},"
    try:
        multiplier = float(weigher.multiplier())
    except (TypeError, ValueError) as error:
        raise exception.ConfigurationError(reason=f"{option} is no number: {error}") from error
    if not math.isfinite(multiplier):
        raise exception.ConfigurationError(reason=f"{option} is {multiplier}, which is not finite")


def _multipliers_of(
    weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec
) -> Numbers | None:
    """Return each host's multiplier; None when the weigher weighs nothing here."""

    def ask() -> Numbers | None:
        if not weigher.applies_to(spec):
            return None
        return np.asarray(weigher.multipliers(hosts), dtype=np.float64)

    multipliers = plugin_calls.ask(weigher, ask)
    if multipliers is None:
        return None
    if multipliers.shape != (len(hosts),):
        raise plugins.PluginBroke(
            weigher, f"multipliers gave {multipliers.shape} for {len(hosts)} hosts"
        )
    if not np.all(np.isfinite(multipliers)):
        raise plugins.PluginBroke(weigher, "a multiplier is not a finite number")
    return multipliers if multipliers.any() else None


def _weights_of(weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec) -> Numbers:
    weights: Numbers = plugin_calls.ask(
        weigher, lambda: np.array(weigher.host_weights(hosts, spec), dtype=np.float64)
    )
    if weights.shape != (len(hosts),):
        raise plugins.PluginBroke(
            weigher, f"host_weights gave {weights.shape} for {len(hosts)} hosts"
        )
    if not np.all(np.isfinite(weights)):
        raise plugins.PluginBroke(weigher, "a weight is not a finite number")
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
        raise plugins.PluginBroke(weigher, "a weight is not a finite number")
    return weight
