"""A console script as the product has them, whose managers print what they are told.

Its behaviour comes from environment variables, so that each test says in one place what it needs.
It is run, not imported.
"""

import os
import sys

from armillary import concurrency

concurrency.bootstrap(sys.argv[1:], binary="armillary-test")

# What follows must be loaded after the bootstrap, hence the order.
import signal  # noqa: E402
import threading  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402

from oslo_config import cfg  # noqa: E402

from armillary import exception, service  # noqa: E402
from armillary.concurrency.periodic import PeriodicTask  # noqa: E402
from armillary.conf import loader  # noqa: E402

HOW = os.environ.get("HOW", "")
FOREVER_SECONDS = 100


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, (*words, os.getpid()))) + "\n")


class Server:
    def start(self) -> None:
        say("server-started")

    def stop(self) -> None:
        say("server-stopped")

    def wait(self) -> None:
        if HOW == "hanging":
            threading.Event().wait(FOREVER_SECONDS)
        say("server-drained")


class Manager:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_well = True

    def start(self) -> None:
        if HOW == "bad-configuration":
            raise exception.ConfigurationError("[x] y names z; allowed: a")
        if HOW in ("broken", f"broken-{self.name}"):
            raise OSError("the port is taken")
        if HOW == "waiting":
            say("waiting")
            threading.Event().wait(FOREVER_SECONDS)
        if HOW == "later" and Path(os.environ["MARK"]).exists():
            say("failing-later")
            raise RuntimeError("not now")
        say("started", self.name)

    def servers(self) -> Sequence[Server]:
        return [Server()]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return [PeriodicTask("tick", 0.1, self.tick)]

    def tick(self) -> None:
        if HOW == "unhealthy" and self.is_well:
            self.is_well = False
            say("unwell")

    def is_healthy(self) -> bool:
        return self.is_well

    def stop(self, grace_seconds: float) -> None:
        say("stopped", self.name)

    def reload(self) -> None:
        say("reloaded", cfg.CONF.service_down_time)


def factory(name: str) -> Callable[[], Manager]:
    return lambda: Manager(name)


def miss_the_signal_of_the_end() -> None:
    """Have the second worker miss the first SIGTERM: it comes before the worker handles any."""
    forks: list[None] = []

    def miss() -> None:
        if len(forks) == 2:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            say("waits-for-signal")
            signal.sigwait({signal.SIGTERM})
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    os.register_at_fork(before=lambda: forks.append(None), after_in_child=miss)


def main() -> int:
    try:
        loader.load(cfg.CONF, sys.argv[1:], "armillary-test")
    except exception.ConfigurationError as error:
        sys.exit(str(error))
    say("parent")
    if os.environ.get("MODE") == "in-process":
        return service.run_in_process(
            cfg.CONF,
            [(name, factory(name)) for name in ("one", "two")],
            binary="armillary-test",
            on_ready=lambda: say("all-ready"),
        )
    if "MISSED" in os.environ:
        miss_the_signal_of_the_end()
    workers = int(os.environ.get("WORKERS", "2"))
    return service.launch(cfg.CONF, "armillary-test", factory("it"), workers)


sys.exit(main())
