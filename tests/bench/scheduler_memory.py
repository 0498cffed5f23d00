"""How much memory the scheduler's table of all hosts takes.

Run in a process of its own, ``python -m tests.bench.scheduler_memory HOSTS INSTANCES``, which
prints bytes: nothing that was there before is counted. Host states come as they come over the wire.
"""

import json
import sys

import objects
from objects.hosts.host_states import HostStateBatch
from tests.bench.decisions import fleet_of
from tests.bench.measuring import resident_bytes
from tests.fleets import CELL, a_batch, a_fleet

_BATCH_SIZE = 1_000


def _measured(hosts: int, instances: int) -> int:
    objects.register_all()
    fleet = a_fleet([])
    before = resident_bytes()
    for start in range(0, hosts, _BATCH_SIZE):
        wire = json.dumps(_batch(start, instances))
        fleet.apply(HostStateBatch.obj_from_primitive(json.loads(wire)))
        del wire
    assert len(fleet) == hosts
    return resident_bytes() - before


def _batch(start: int, instances: int) -> object:
    some = fleet_of(_BATCH_SIZE, instances)
    for number, host in enumerate(some, start=start):
        host.name = f"host{number:06}"
    return a_batch(
        some, cell=CELL, first_seq=start, last_seq=start + _BATCH_SIZE
    ).obj_to_primitive()


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]), int(sys.argv[2]))))
