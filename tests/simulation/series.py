"""Many seeded runs, each in a fork of the same stage: none finds what another one left."""

import dataclasses
import gc
import json
import logging
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.simulation import rehearsal, stage
from tests.simulation.run import Outcome, run

CPU_SECONDS_MAX = 60
"""A run that takes longer hangs, and is ended."""


def run_all(
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    is_verbose: bool = False,
    cpu_seconds_max: float | None = None,
    is_json: bool = False,
    repeats_all: bool = False,
) -> int:
    """Run seeds, say what each found, and return the exit code: 1 when one found something."""
    logging.getLogger().setLevel(logging.INFO)
    with tempfile.TemporaryDirectory(prefix="armillary-simulation-") as folder:
        rehearsal.rehearse(Path(folder))
        ready = stage.make(Path(folder))
        gc.collect()
        gc.freeze()
        return _run_all(
            ready, seeds, jobs=jobs, is_verbose=is_verbose, cpu_seconds_max=cpu_seconds_max,
            is_json=is_json, repeats_all=repeats_all,
        )  # fmt: skip


def _run_all(
    ready: stage.Stage,
    seeds: Sequence[int],
    *,
    jobs: int,
    is_verbose: bool,
    cpu_seconds_max: float | None,
    is_json: bool,
    repeats_all: bool,
) -> int:
    failed: list[int] = []
    running: dict[int, int] = {}
    waiting = list(seeds)
    done = 0
    while waiting or running:
        while waiting and len(running) < jobs and not _is_spent(cpu_seconds_max):
            seed = waiting.pop(0)
            pid = _fork(
                ready, seed, is_verbose=is_verbose, is_json=is_json, repeats_all=repeats_all
            )
            running[pid] = seed
        if not running:
            break
        pid, status = os.wait()
        seed = running.pop(pid)
        done += 1
        if status:
            failed.append(seed)
    cpu = _used_seconds()
    sys.stderr.write(f"{done} runs, {cpu:.0f} s of CPU time, {len(failed)} failed {failed}\n")
    return 1 if failed else 0


def _fork(
    ready: stage.Stage, seed: int, *, is_verbose: bool, is_json: bool, repeats_all: bool
) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        gc.disable()  # it is over before there is much to collect
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS_MAX)
        say = _write if is_verbose else lambda line: None
        outcome = run(ready, seed, say, repeats_all=repeats_all)
        _say(outcome, is_json=is_json)
        code = 1 if outcome.failures else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _say(outcome: Outcome, *, is_json: bool) -> None:
    if is_json:
        _write(json.dumps(dataclasses.asdict(outcome)))
        return
    _write(
        f"seed {outcome.seed}: {outcome.requests} requests, {outcome.events} steps, "
        f"trace {outcome.trace[:12]}, {'FAILED' if outcome.failures else 'well'}"
    )
    for failure in outcome.failures:
        _write(f"    {failure}")


def _is_spent(cpu_seconds_max: float | None) -> bool:
    return cpu_seconds_max is not None and _used_seconds() >= cpu_seconds_max


def _used_seconds() -> float:
    """Return the CPU time of all runs that are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
