"""Shared and dedicated CPUs of this machine."""

import dataclasses
from typing import Self

from oslo_config import cfg

from armillary import exception
from objects.numa import format_cpus, parse_cpus


@dataclasses.dataclass(frozen=True, slots=True)
class CpuSplit:
    """The CPUs for workloads: shared ones for VCPU, dedicated ones for PCPU."""

    shared: frozenset[int]
    dedicated: frozenset[int]
    is_configured: bool

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, available: frozenset[int]) -> Self:
        """Return the split configured by ``cpu_shared_set`` and ``cpu_dedicated_set``.

        Without either, all CPUs are shared; with only the second, none is. Raises
        ConfigurationError.
        """
        shared = _cpus(conf, "cpu_shared_set", available)
        dedicated = _cpus(conf, "cpu_dedicated_set", available)
        both = (shared or frozenset()) & (dedicated or frozenset())
        if both:
            raise exception.ConfigurationError(
                reason=f"[compute] cpu_shared_set and cpu_dedicated_set overlap in CPUs "
                f"{format_cpus(both)}; assign each CPU to only one of them"
            )
        if shared is None:
            shared = available if dedicated is None else frozenset()
        is_configured = bool(conf.compute.cpu_shared_set or conf.compute.cpu_dedicated_set)
        return cls(shared, dedicated or frozenset(), is_configured)


def _cpus(conf: cfg.ConfigOpts, option: str, available: frozenset[int]) -> frozenset[int] | None:
    text = conf.compute[option]
    if not text:
        return None
    try:
        cpus = parse_cpus(text)
    except ValueError as error:
        raise exception.ConfigurationError(
            reason=f"[compute] {option} is '{text}': {error}; expected for example 2-7,10,^4"
        ) from error
    missing = cpus - available
    if missing:
        raise exception.ConfigurationError(
            reason=f"[compute] {option} contains CPUs {format_cpus(missing)}, but the agent may "
            f"only use {format_cpus(available)}"
        )
    if not cpus:
        raise exception.ConfigurationError(reason=f"[compute] {option} '{text}' contains no CPUs")
    return cpus
