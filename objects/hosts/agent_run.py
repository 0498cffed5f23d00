"""AgentRun: one run of an agent's process, from its start to its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of an agent: of all that use its name, one at a time may act.

    ``follows`` are its earlier runs, with the same journal and since the machine's last boot: a
    journal has one process at a time, so these have ended. ``nodes`` has the node UUID of one of
    its hosts. ``is_over`` says good-bye: another run may begin. It ``is_settled`` when nothing is
    on its hosts that the cell does not expect; until then a host that was down is not up again.
    ``answered_seconds_ago`` is the time from its last heartbeat that was answered to this one, when
    they were sent; None if it is unknown. It shows how long a heartbeat was on its way.
    """

    id: str
    follows: Sequence[str] = ()
    nodes: Mapping[str, str] = field(default_factory=dict)
    is_over: bool = False
    is_settled: bool = True
    answered_seconds_ago: float | None = None
