"""How long a user waits: one create to ACTIVE in the embedded set-up, over HTTP."""

import statistics
import tempfile
import time
from pathlib import Path

from tests.fixtures.embedded import embedded_system

HOSTS = "name=sim-{1..20}:vcpus=32:memory_mb=131072:disk_gb=1000"
RUNS = 30


def bench_create(runs: int = RUNS) -> None:
    """Create one instance after another on 20 simulated hosts that build without delay."""
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_system(
            Path(folder), hosts=20, simulated__hosts=[HOSTS], simulated__build_delay_seconds_max=0.0
        ) as api,
    ):
        flavor = api.create_flavor("tiny", vcpus=1, ram=64)
        accepted, active = [], []
        for _ in range(runs):
            began = time.perf_counter()
            (server_id,) = api.create_servers(flavor, 1)
            accepted.append(time.perf_counter() - began)
            while api.get(f"/servers/{server_id}")["server"]["status"] != "ACTIVE":
                time.sleep(0.005)
            active.append(time.perf_counter() - began)
    for name, seconds in (("accepted", accepted), ("ACTIVE", active)):
        low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
        print(
            f"create to {name:9} {low * 1e3:7.1f} / {middle * 1e3:7.1f} / {high * 1e3:7.1f} ms "
            f"(min / median / max of {runs})"
        )
