"""A request for a thousand instances, decided by the real scheduler, claimed in real placement.

Placement answers over RPC, on a database of its own: PostgreSQL where it runs, else SQLite.
"""

import contextlib
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator

from oslo_config import cfg
from oslo_messaging import conffixture

import objects
from armillary.conf import placement as placement_options
from armillary.conf import register
from armillary.context import admin_context
from armillary.db import Database
from objects.allocations.fence import FENCE_FINAL
from placement.interface import PlacementAPI
from placement.manager import PlacementManager
from rpc.transport import Bus
from tests.builders import a_uuid
from tests.fixtures.services import POSTGRESQL, why_missing
from tests.fixtures.services.databases import fresh_database
from tests.fleets import Host, a_driver, a_host, a_request_spec

REPORT_SIZE = 1000  # providers in one call of set_providers
STAGES = ("candidates", "filters", "weigh", "choose", "claim", "alternates", "total")


def bench_request(hosts: int = 10_000, instances: int = 1_000, *, runs: int = 5) -> None:
    """Print the stages of such a request; what it claimed is released before the next run."""
    fleet = [a_host(f"host{number}", vcpus_total=64) for number in range(hosts)]
    with _placement() as (name, placement):
        _fill(placement, fleet)
        driver = a_driver(fleet, placement=placement)  # type: ignore[arg-type]
        samples = []
        for _ in range(runs + 1):
            uuids = [a_uuid() for _ in range(instances)]
            began = time.perf_counter()
            found = driver.select_destinations(
                admin_context(), a_request_spec(), uuids, fences=[1000] * instances,
                return_alternates=True, dry_run=False,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            samples.append({**found.trace.timings_ms, "total": seconds * 1e3})
            placement.release(admin_context(), dict.fromkeys(uuids, FENCE_FINAL))
    print(f"{instances:,} instances on {hosts:,} hosts, placement on {name}, {runs} runs, ms")
    for stage in STAGES:
        values = [sample[stage] for sample in samples[1:]]  # the first fills the caches
        row = (min(values), statistics.median(values), max(values))
        print(f"  {stage:<12}" + "".join(f"{value:>10.1f}" for value in row))


@contextlib.contextmanager
def _placement() -> Iterator[tuple[str, PlacementAPI]]:
    objects.register_all()
    with contextlib.ExitStack() as lent:
        if why_missing(POSTGRESQL) is None:
            name, url = "PostgreSQL", lent.enter_context(fresh_database(POSTGRESQL))
        else:
            folder = lent.enter_context(tempfile.TemporaryDirectory())
            name, url = "SQLite", f"sqlite:///{folder}/placement.sqlite"
        database = Database(url, name="placement")
        database.sync("placement.db.schema")
        conf = cfg.ConfigOpts()
        conffixture.ConfFixture(conf)
        register(conf, placement_options)
        conf.register_opt(cfg.StrOpt("host", default="bench"))
        conf([], default_config_files=[], default_config_dirs=[])
        bus = Bus(conf, f"kombu+memory:////{uuid.uuid4()}")
        manager = PlacementManager(conf, top_bus=bus, database=database)
        (server,) = manager.servers()
        server.start()
        try:
            yield name, PlacementAPI(bus, timeout_seconds=120)
        finally:
            server.stop()
            server.wait()
            bus.close()
            database.dispose()


def _fill(placement: PlacementAPI, fleet: list[Host]) -> None:
    for start in range(0, len(fleet), REPORT_SIZE):
        placement.set_providers(
            admin_context(),
            [
                {
                    "uuid": host.uuid,
                    "name": host.name,
                    "traits": ["COMPUTE_NODE", "OWNER_NOVA"],
                    "inventories": {
                        "VCPU": _inventory(64, 4.0),
                        "MEMORY_MB": _inventory(262_144, 1.0),
                        "DISK_GB": _inventory(2_000, 1.0),
                    },
                }
                for host in fleet[start : start + REPORT_SIZE]
            ],
        )


def _inventory(total: int, ratio: float) -> dict[str, float]:
    return {
        "total": total, "reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1,
        "allocation_ratio": ratio,
    }  # fmt: skip
