"""Does what the plan says: kills, pauses, cuts, delays, repeats, misleads, and mends it again."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable

import psutil

from tests.faults.links import Link, State
from tests.faults.plan import RESTARTS, Fault
from tests.faults.stores import Store
from tests.faults.world import FaultyDeployment

SLOW_SHARE = 0.25
SLOW_PERIOD_SECONDS = 0.4
REPEATED_SHARE = 0.5
DELAY_SECONDS_MAX = 1.0
SKEW_SECONDS_MAX = 3.0
STILL_SECONDS_MAX = 12.0
"""The next fault comes after so long even if too little was accepted for it to be due."""
OPEN_MAX = 6
"""Maximum number of faults at the same time."""

Say = Callable[[str], None]


class Faults:
    """Strikes by a plan, in a thread of its own."""

    def __init__(
        self, deployment: FaultyDeployment, plan: list[Fault], accepted: Callable[[], int],
        say: Say,
    ) -> None:  # fmt: skip
        self._deployment = deployment
        self._plan = list(plan)
        self._accepted = accepted
        self._say = say
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._strike_all, name="faults")
        self._menders: set[threading.Thread] = set()
        self._busy: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()

    @property
    def are_over(self) -> bool:
        return not self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let nothing more go wrong; what is wrong is mended immediately."""
        self._ended.set()
        self._thread.join()
        for mender in list(self._menders):
            mender.join()

    def _strike_all(self) -> None:
        last = time.monotonic()
        for fault in self._plan:
            while not self._ended.wait(0.1):
                is_due = self._accepted() >= fault.after
                is_still = time.monotonic() - last > STILL_SECONDS_MAX
                is_free = len(self._menders) < OPEN_MAX and not self._busy[_whom(fault)]
                if (is_due or is_still) and is_free:
                    break
            else:
                return
            last = time.monotonic()
            self._begin(fault)

    def _begin(self, fault: Fault) -> None:
        self._busy[_whom(fault)] += 1
        self.struck[fault.kind] += 1
        self._say(f"fault {fault.number}: {fault}")
        mender = threading.Thread(target=self._suffer, args=(fault,), name=f"fault-{fault.number}")
        self._menders.add(mender)
        mender.start()

    def _suffer(self, fault: Fault) -> None:
        try:
            getattr(self, f"_{fault.kind.name.lower()}")(fault)
        except Exception as error:  # a fault that cannot be mended makes the run worthless
            self._say(f"fault {fault.number} failed: {error!r}")
            raise
        finally:
            self._busy[_whom(fault)] -= 1
            self._menders.discard(threading.current_thread())
            self._say(f"fault {fault.number} is over")

    def _last(self, fault: Fault) -> None:
        self._ended.wait(fault.seconds)

    # Processes ------------------------------------------------------------------------------------

    def _kill(self, fault: Fault) -> None:
        self._deployment.kill(fault.process)
        self._last(fault)
        self._deployment.processes[fault.process].start()

    def _kill_worker(self, fault: Fault) -> None:
        running = self._deployment.processes[fault.process].running
        if running is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = psutil.Process(running.pid).children()
            for worker in workers or [psutil.Process(running.pid)]:
                os.kill(worker.pid, signal.SIGKILL)
            if not workers:
                running.wait(10)
        if not self._deployment.processes[fault.process].is_alive():
            self._deployment.processes[fault.process].start()

    def _pause(self, fault: Fault) -> None:
        self._deployment.pause(fault.process)
        self._last(fault)
        self._deployment.resume(fault.process)

    def _slow(self, fault: Fault) -> None:
        ends_at = time.monotonic() + fault.seconds
        while time.monotonic() < ends_at and not self._ended.is_set():
            self._deployment.pause(fault.process)
            time.sleep(SLOW_PERIOD_SECONDS * (1 - SLOW_SHARE))
            self._deployment.resume(fault.process)
            time.sleep(SLOW_PERIOD_SECONDS * SLOW_SHARE)

    def _skew(self, fault: Fault) -> None:
        self._deployment.skew(fault.process, (2 * fault.amount - 1) * SKEW_SECONDS_MAX)
        self._last(fault)
        self._deployment.skew(fault.process, 0.0)

    # Links ----------------------------------------------------------------------------------------

    def _link(self, fault: Fault) -> Link:
        """Return one of the process's links; super conductors share those to cells."""
        names = {fault.process, "supers" if fault.process.startswith("super") else fault.process}
        links = [link for (name, _), link in sorted(self._deployment.network.links.items())
                 if name in names]  # fmt: skip
        return links[int(fault.amount * len(links)) % len(links)]

    def _cut(self, fault: Fault) -> None:
        network, link = self._deployment.network, self._link(fault)
        network.set_state(link, State.SILENT)
        self._last(fault)
        network.set_state(link, State.OPEN)
        if fault.number % 2:  # a router forgot the connections meanwhile
            network.drop(link)

    def _refuse(self, fault: Fault) -> None:
        link = self._link(fault)
        self._deployment.network.set_state(link, State.REFUSING)
        self._last(fault)
        self._deployment.network.set_state(link, State.OPEN)

    def _delay(self, fault: Fault) -> None:
        link = self._link(fault)
        self._deployment.network.set_delay(link, DELAY_SECONDS_MAX * fault.amount)
        self._last(fault)
        self._deployment.network.set_delay(link, 0.0)

    def _repeat(self, fault: Fault) -> None:
        network = self._deployment.network
        own = [link for link in network.links.values()
               if link.process == fault.process and link.vhost is not None]  # fmt: skip
        for link in own:
            network.begin_repeating(link, fault.number, REPEATED_SHARE, fault.seconds)
        self._last(fault)
        for link in own:
            network.end_repeating(link)

    # Stores ---------------------------------------------------------------------------------------

    def _broker(self, fault: Fault) -> None:
        self._deployment.broker.stop()
        self._return(self._deployment.broker, fault)

    def _broker_kill(self, fault: Fault) -> None:
        self._deployment.broker.kill()
        self._return(self._deployment.broker, fault)

    def _database(self, fault: Fault) -> None:
        self._deployment.databases.kill()
        self._return(self._deployment.databases, fault)

    def _return(self, store: Store, fault: Fault) -> None:
        self._last(fault)
        store.start()
        store.wait()


def _whom(fault: Fault) -> str:
    """Return what is out of order meanwhile; two faults of one thing come one after the other."""
    return "stores" if fault.kind in RESTARTS else fault.process
