"""How long placement's table of all providers takes to load, and how much memory it keeps.

Run in a process of its own, ``python -m tests.bench.placement_memory DATABASE_URL``, which prints
JSON: nothing that was there before is counted.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import time
from typing import Any

import psutil
from oslo_config import cfg

from armillary.conf import placement as placement_options
from armillary.db import Database
from placement.engine import PlacementEngine
from tests.bench.placement_clients import QUESTIONS, query_of


def measured_apart(database_url: str) -> dict[str, Any]:
    """Measure in a new process; return seconds and bytes."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, database_url]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(result.stdout)
    return measured


def _measured(database_url: str) -> dict[str, Any]:
    conf = cfg.ConfigOpts()
    placement_options.register_opts(conf)
    conf([])
    database = Database(database_url, name="placement")
    engine = PlacementEngine(conf, database)
    engine.ping()
    before = _resident_bytes()
    began = time.perf_counter()
    with engine.table() as table:
        load_seconds = time.perf_counter() - began
        providers = table.providers_total
    after_load = _resident_bytes()
    question = query_of(QUESTIONS["no_limit"])
    engine.get_candidates(question)  # what is made when it is first asked for
    after_question = _resident_bytes()
    began = time.perf_counter()
    engine.get_candidates(question)
    answer_seconds = time.perf_counter() - began
    return {
        "providers": providers,
        "load_seconds": load_seconds,
        "answer_seconds": answer_seconds,
        "table_bytes": after_load - before,
        "kept_bytes": after_question - before,
    }


def _resident_bytes() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # give back what only lies about
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1])))
