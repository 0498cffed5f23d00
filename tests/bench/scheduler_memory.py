"""How much memory the scheduler's table of all hosts takes.

Run in a process of its own, ``python -m tests.bench.scheduler_memory HOSTS INSTANCES``, which
prints bytes: nothing that was there before is counted. Host states come as they come over the wire.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys

import psutil

import objects
from objects.hosts.host_states import HostStateBatch
from tests.bench.decisions import fleet_of
from tests.fleets import CELL, a_batch, a_fleet

_BATCH_SIZE = 1_000


def measured_apart(hosts: int, instances: int) -> int:
    """Measure in a new process; return bytes."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, str(hosts), str(instances)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(result.stdout)


def _measured(hosts: int, instances: int) -> int:
    objects.register_all()
    fleet = a_fleet([])
    before = _resident_bytes()
    for start in range(0, hosts, _BATCH_SIZE):
        wire = json.dumps(_batch(start, instances))
        fleet.apply(HostStateBatch.obj_from_primitive(json.loads(wire)))
        del wire
    assert len(fleet) == hosts
    return _resident_bytes() - before


def _batch(start: int, instances: int) -> object:
    some = fleet_of(_BATCH_SIZE, instances)
    for number, host in enumerate(some, start=start):
        host.name = f"host{number:06}"
    return a_batch(
        some, cell=CELL, first_seq=start, last_seq=start + _BATCH_SIZE
    ).obj_to_primitive()


def _resident_bytes() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # give back what only lies about
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    print(_measured(int(sys.argv[1]), int(sys.argv[2])))
