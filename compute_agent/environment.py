"""Environment of the parts of an agent."""

import dataclasses
from collections.abc import Callable, Mapping

from oslo_config import cfg

from compute_agent.journal.journal import Journal
from compute_agent.virt.driver import ComputeDriver
from conductor.cell_conductor.interface import CellConductorAPI


@dataclasses.dataclass(frozen=True)
class Environment:
    """The agent's name, hosts, journal and conductor, and whether it is admitted."""

    conf: cfg.ConfigOpts
    agent: str
    drivers: Mapping[str, ComputeDriver]
    journal: Journal
    conductor: CellConductorAPI
    is_admitted: Callable[[], bool]
