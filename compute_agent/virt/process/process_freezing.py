"""Stop all processes of a workload where they are, and let them continue.

Its supervisor is stopped first and continued last, so that it starts nothing in the meantime.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

from compute_agent.virt.process.shim.process_stats import read_stat

STOPPED = "Tt"
"""States of stopped processes in ``/proc``; the second one is being traced."""
STOP_SECONDS_MAX = 10.0
TICK_SECONDS = 0.02

Members = Callable[[], list[int]]
"""Returns the living processes of a workload, without its supervisor."""


def freeze(shim: int | None, members: Members) -> None:
    """Stop all processes. Raises TimeoutError if one does not stop.

    A process that still runs may start others, so they are listed again until all have stopped.
    """
    if shim is not None:
        _send([shim], signal.SIGSTOP)
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while running := [pid for pid in members() if not is_stopped(pid)]:
        _send(running, signal.SIGSTOP)
        if time.monotonic() >= deadline:
            raise TimeoutError(f"processes {running} do not stop")
        time.sleep(TICK_SECONDS)


def thaw(shim: int | None, members: Members) -> None:
    """Let all processes continue."""
    _send(members(), signal.SIGCONT)
    if shim is not None:
        _send([shim], signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, or has ended."""
    stat = read_stat(pid)
    return stat is None or stat.has_ended or stat.state in STOPPED


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
