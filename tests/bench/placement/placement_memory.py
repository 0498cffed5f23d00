"""How long placement's table of all providers takes to load, and how much memory it keeps.

Run in a process of its own, ``python -m tests.bench.placement.placement_memory DATABASE_URL``,
which prints JSON: nothing that was there before is counted.
"""

import json
import sys
import time
from typing import Any

from oslo_config import cfg

from armillary.conf import placement as placement_options
from armillary.conf import register
from armillary.db import Database
from placement.engine import PlacementEngine
from tests.bench.measuring import resident_bytes
from tests.bench.placement.placement_clients import QUESTIONS, query_of


def _measured(database_url: str) -> dict[str, Any]:
    conf = cfg.ConfigOpts()
    register(conf, placement_options)
    conf([])
    database = Database(database_url, name="placement")
    engine = PlacementEngine(conf, database)
    engine.ping()
    before = resident_bytes()
    began = time.perf_counter()
    with engine.table() as table:
        load_seconds = time.perf_counter() - began
        providers = table.providers_total
    after_load = resident_bytes()
    question = query_of(QUESTIONS["no_limit"])
    engine.get_candidates(question)  # what is made when it is first asked for
    after_question = resident_bytes()
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


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1])))
