"""Queue names that survive a restart and are unique among running processes.

Names consist of a host, a process name and a number. Each process locks a numbered slot in the lock
directory while it runs, so that two services of one kind on one machine never share a queue.
oslo.messaging's own queue manager counts in shared memory per process group, and fails for a group
whose leader has ended, such as that of a service which a script leaves in the background.
"""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

from armillary.files import private_files

_SLOTS_MAX = 4096

_held: dict[tuple[int, Path], tuple[int, str]] = {}
"""Process id and base path -> open file and name: a slot belongs to the process, not to a bus."""

_numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))
"""Next number of each host and process name. A forked process has a slot, so a name, of its own."""


class FanoutNames:
    """Unique names for this process's fanout queues, in place of oslo.messaging's manager."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        options = conf.oslo_messaging_rabbit
        self._process = f"{options.hostname}:{options.processname}"

    def get(self) -> str:
        """Return the next one; a restarted process gets the same ones again."""
        return f"{self._process}:{next(_numbers[self._process])}"


def claim_process_name(base: str, lock_directory: Path) -> str:
    """Return ``base-N`` with the lowest N that no other process holds. Raises OSError."""
    key = (os.getpid(), lock_directory / base)
    if key in _held:
        return _held[key][1]
    private_files.make_directory(lock_directory)
    for number in itertools.count():
        if number >= _SLOTS_MAX:
            raise OSError(f"all {_SLOTS_MAX} slots of {base} under {lock_directory} are taken")
        try:
            descriptor = private_files.lock(lock_directory / f"{base}-{number}.slot")
        except BlockingIOError:
            continue
        _held[key] = (descriptor, f"{base}-{number}")
        return _held[key][1]
    raise AssertionError("unreachable")
