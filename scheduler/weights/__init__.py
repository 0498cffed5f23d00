"""Weighers: a number for a host; their base class, and the ranking that adds them up.

An answer depends on the host, the request and the configuration alone: no network, no database, no
clock, no dice. For one request it may change with the instances chosen so far only on their hosts,
unless the request belongs to a server group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import plugins
from scheduler.aggregate_metadata import NumberOverride
from scheduler.host_state import HostState
from scheduler.host_table import HostTable, Mask, Numbers
from scheduler.usage import Positions

__all__ = ["BaseHostWeigher", "Numbers", "Ranking", "load_weighers"]

NAMESPACE = "armillary.scheduler.weighers"


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

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._override = NumberOverride(self.multiplier_option) if self.multiplier_option else None

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
    """Make the weighers of ``[filter_scheduler] weight_classes``; raise as ``plugins.load``."""

    def make(each: type[BaseHostWeigher]) -> BaseHostWeigher:
        weigher = each(conf)
        weigher.multiplier()  # its option is there
        return weigher

    return plugins.load(
        NAMESPACE,
        conf.filter_scheduler.weight_classes,
        BaseHostWeigher,
        make=make,
        option="[filter_scheduler] weight_classes",
    )


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
        self._raw = self._clamped(_weights_of(weigher, hosts, spec))
        self._multipliers = multipliers
        self._bounds = self._bounds_now(is_in)
        self.parts = self._all_parts()

    def change(self, position: int, host_state: HostState, spec: RequestSpec, is_in: Mask) -> bool:
        """Take over that one host changed; return whether that changed the parts of all."""
        low, high = self._bounds
        old = new = self._raw[position]
        if is_in[position]:
            weight = np.array([_weight_of(self._weigher, host_state, spec)])
            new = self._raw[position] = self._clamped(weight)[0]
        if old <= low or old >= high or new < low or new > high:
            bounds = self._bounds_now(is_in)
            if bounds != self._bounds:
                self._bounds = bounds
                self.parts = self._all_parts()
                return True
        self.parts[position] = self._multipliers[position] * self._normalised(new)
        return False

    def _clamped(self, raw: Numbers) -> Numbers:
        low, high = self._weigher.minval, self._weigher.maxval
        return raw if low is None and high is None else np.clip(raw, low, high)

    def _bounds_now(self, is_in: Mask) -> tuple[float, float]:
        low, high = self._weigher.minval, self._weigher.maxval
        return (
            float(np.min(self._raw, where=is_in, initial=math.inf)) if low is None else low,
            float(np.max(self._raw, where=is_in, initial=-math.inf)) if high is None else high,
        )

    def _all_parts(self) -> Numbers:
        low, high = self._bounds
        if low == high:
            return np.zeros(len(self._raw))
        return self._multipliers * ((self._raw - low) / (high - low))

    def _normalised(self, raw: float) -> float:
        low, high = self._bounds
        return 0.0 if low == high else (raw - low) / (high - low)


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
            if weigher.applies_to(spec) and (multipliers := weigher.multipliers(hosts)).any()
        ]
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
        changes = [c.change(position, host_state, self._spec, self._is_in) for c in self._columns]
        if any(changes):
            self._add_up()
        else:
            self._totals[position] = self._total_at(position) if is_in else -math.inf

    def weight(self, position: int) -> float:
        """Return the weight of a host that is in."""
        return float(self._totals[position])

    def shares(self, position: int) -> dict[str, float]:
        """Return each weigher's part of a host's weight; without those that weigh nothing here."""
        return {column.name: float(column.parts[position]) for column in self._columns}

    def ties(self) -> Positions:
        """Return all hosts with the best weight, in the order of the candidates."""
        if self._count == 0:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._totals == self._totals.max())

    def best(self, count: int, among: Mask | None = None) -> Positions:
        """Return at most ``count`` best hosts, best first, ties in the order of the candidates."""
        totals = self._totals if among is None else np.where(among, self._totals, -math.inf)
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

    def _add_up(self) -> None:
        self._totals = np.zeros(len(self._hosts))
        for column in self._columns:
            self._totals += column.parts
        self._totals[~self._is_in] = -math.inf

    def _total_at(self, position: int) -> float:
        total = 0.0
        for column in self._columns:
            total += float(column.parts[position])
        return total


def _weights_of(weigher: BaseHostWeigher, hosts: HostTable, spec: RequestSpec) -> Numbers:
    try:
        weights = np.array(weigher.host_weights(hosts, spec), dtype=np.float64)
    except Exception as error:
        raise plugins.PluginBroke(weigher, error) from error
    if weights.shape != (len(hosts),):
        raise plugins.PluginBroke(
            weigher, f"host_weights gave {weights.shape} for {len(hosts)} hosts"
        )
    if not np.all(np.isfinite(weights)):
        raise plugins.PluginBroke(weigher, "a weight is not a finite number")
    return weights


def _weight_of(weigher: BaseHostWeigher, host_state: HostState, spec: RequestSpec) -> float:
    try:
        weight = float(weigher.host_weight(host_state, spec))
    except Exception as error:
        raise plugins.PluginBroke(weigher, error) from error
    if not math.isfinite(weight):
        raise plugins.PluginBroke(weigher, "a weight is not a finite number")
    return weight
