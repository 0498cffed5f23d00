"""Utilisation, fragmentation and balance of hosts: averages over time, and samples."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simulator.fleet.host_states import Amounts, HostStates
from simulator.results.outcome_counts import OutcomeCounts

SAMPLES = 200
HOST_VALUES_MAX = 300_000
"""Maximum number of values in the samples of single hosts; large fleets have fewer samples."""
LOAD_CLASSES = ("VCPU", "PCPU", "MEMORY_MB")


class _HostSample(NamedTuple):
    seconds: float
    amounts: np.ndarray
    """One row for each host: the used amount of each class, instances, whether it is up."""


class Meter:
    """Measure the hosts of a book. Fragmentation is computed for ``flavors``."""

    def __init__(
        self, book: HostStates, tally: OutcomeCounts, flavors: Mapping[str, Amounts]
    ) -> None:
        self._book = book
        self._tally = tally
        self._flavors = flavors
        self._measured_until = 0.0
        self._area = np.zeros(len(book.classes))
        self._peak = np.zeros(len(book.classes))
        self._total = book.capacity.sum(axis=0)
        loads = [book.classes.index(name) for name in LOAD_CLASSES if name in book.classes]
        self._load_columns = np.array(loads, dtype=np.int64)
        self.series: dict[str, list[float]] = {name: [] for name in ("seconds", *self._now())}
        """All samples: name -> values."""
        values = len(book.hosts) * (len(book.classes) + 2) * (SAMPLES + 1)
        self._hosts_every = max(1, math.ceil(values / HOST_VALUES_MAX))
        self._host_samples: list[_HostSample] = []

    def advance(self, now: float) -> None:
        """Account for the time since the last call with the usage during it."""
        used = self._book.used_total
        seconds = now - self._measured_until
        if seconds > 0:
            self._area += used * seconds
            self._measured_until = now
        np.maximum(self._peak, used, out=self._peak)

    def sample(self, now: float) -> None:
        if len(self.series["seconds"]) % self._hosts_every == 0:
            book = self._book
            amounts = np.column_stack((book.used, book.instances, book.is_up)).astype(np.int64)
            self._host_samples.append(_HostSample(now, amounts))
        sample = {"seconds": now, **self._now()}
        for name, values in self.series.items():
            values.append(sample[name])

    def hosts(self) -> dict[str, Any]:
        """Return the samples of single hosts: their times, and host -> name -> values.

        The names are the resource classes used, ``instances``, and ``up``, which is 0 or 1.
        """
        names = [*self._book.classes, "instances", "up"]
        table = np.array([each.amounts for each in self._host_samples])
        return {
            "seconds": [each.seconds for each in self._host_samples],
            "hosts": {
                host.name: dict(zip(names, table[:, host.row].T.tolist(), strict=True))
                for host in self._book.hosts
            },
        }

    def utilisation(self) -> dict[str, dict[str, float]]:
        """Return class -> mean over time, peak, and end, as fractions of the fleet's capacity."""
        seconds = self._measured_until or 1.0
        figures = (self._area / seconds, self._peak, self._book.used_total)
        return {
            name: {
                "mean": float(mean / total),
                "peak": float(peak / total),
                "end": float(end / total),
                "capacity": float(total),
            }
            for name, total, mean, peak, end in zip(
                self._book.classes, self._total, *figures, strict=True
            )
        }

    def summary(self) -> dict[str, dict[str, float]]:
        """Return name -> mean of the samples, and end, of all measures except utilisation."""
        return {
            name: {"mean": float(np.mean(values)), "end": float(values[-1])}
            for name, values in self.series.items()
            if name.startswith(("fragmentation ", "load ")) or name == "empty_hosts"
        }

    def _now(self) -> dict[str, float]:
        book, tally = self._book, self._tally
        free = np.maximum(book.capacity - book.used, 0.0)[book.is_up]
        load = self._load()
        return {
            **{
                f"used {name}": float(used / total)
                for name, used, total in zip(
                    book.classes, book.used_total, self._total, strict=True
                )
            },
            "accepted": float(tally.accepted),
            "refused": float(tally.refused),
            "failed": float(tally.failed),
            "running": float(tally.running),
            "lost": float(tally.lost),
            "empty_hosts": float(np.count_nonzero((book.instances == 0) & book.is_up)),
            "down_hosts": float(np.count_nonzero(~book.is_up)),
            "load variation": variation(load),
            "load gini": gini(load),
            **{
                f"fragmentation {name}": fragmentation(free, amounts)
                for name, amounts in self._flavors.items()
            },
        }

    def _load(self) -> Amounts:
        """Return the load of each host that is up: the usage of its fullest resource."""
        is_up = self._book.is_up
        capacity = self._book.capacity[is_up][:, self._load_columns]
        used = self._book.used[is_up][:, self._load_columns]
        shares = np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)
        load: Amounts = shares.max(axis=1, initial=0.0)
        return load


def fragmentation(free: Amounts, needed: Amounts) -> float:
    """Return the fraction of the room for a flavor that is lost by fragmentation over hosts.

    ``free`` has one row per host and one column per resource. 0: as many instances fit as if all
    free resources were on one host; 1: none fits, though there is enough in total.
    """
    asked = needed > 0
    if not asked.any() or not len(free):
        return 0.0
    at_best = np.floor(free[:, asked].sum(axis=0) / needed[asked]).min()
    if at_best < 1:
        return 0.0
    in_fact = np.floor(free[:, asked] / needed[asked]).min(axis=1).sum()
    return float(1.0 - in_fact / at_best)


def variation(load: Amounts) -> float:
    """Return the coefficient of variation: 0 when all hosts are equally full."""
    mean = load.mean() if len(load) else 0.0
    return float(load.std() / mean) if mean else 0.0


def gini(load: Amounts) -> float:
    """Return the Gini coefficient: 0 if all are equally full, near 1 if one has everything."""
    total = load.sum()
    if not total:
        return 0.0
    count = len(load)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    return float((ranks * np.sort(load)).sum() / (count * total))


def sizes(book: HostStates, flavors: Mapping[str, Mapping[str, int]]) -> dict[str, Amounts]:
    """Return the resources of the median and largest flavor that fit a host, by name.

    The size of a flavor is the largest fraction that it takes of any resource of the best host.
    """
    needed = {
        name: book.amounts_of(resources)
        for name, resources in flavors.items()
        if not resources.keys() - set(book.classes)
    }
    if not needed:
        return {}
    best_host = book.capacity.max(axis=0)
    ordered = sorted(needed, key=lambda name: (float((needed[name] / best_host).max()), name))
    return {name: needed[name] for name in (ordered[(len(ordered) - 1) // 2], ordered[-1])}
