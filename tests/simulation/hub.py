"""Time, threads and chance of a simulation: all of the program's, in one thread, from one seed.

``install`` puts them in the place of the standard library's, before anything of ours is imported.
A thread is a greenlet then, a lock a list of those who wait for it, and time passes when none has
anything to do. So the services run as they are, threads and all, and the same seed gives the same
run. Threads belong to a process that can be killed: see ``Process``.
"""

import datetime as dt
import heapq
import itertools
import queue
import random
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import greenlet
from oslo_utils import timeutils

START = 1_900_000_000.0
SWITCH_SHARE = 0.3
"""Of all effects, so many let others go first."""
PAUSE_SECONDS_MAX = 0.02
TICK_SECONDS = 1e-6
EVENTS_MAX = 3_000_000
"""A run that takes more steps goes round in circles."""

_Random = random.Random
_MAIN = threading.main_thread()
_MAIN_IDENT = threading.get_ident()


class Killed(BaseException):
    """The process is gone; nothing that catches errors catches this."""


class Process:
    """What dies together. A dead one does nothing more; another one takes its place."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.skew_seconds = 0.0
        self.effects_left: int | None = None
        """It dies at this effect from now, counted from 0; None: it lives."""
        self.threads: dict[SimThread, None] = {}
        self.on_death: Callable[[], None] = lambda: None


class SimThread:
    """A thread: runs until it waits. ``token`` changes whenever it begins to wait."""

    _numbers = itertools.count(1)

    def __init__(self, target: Callable[[], object], name: str, process: Process) -> None:
        self.name = name
        self.process = process
        self.ident = next(self._numbers)
        self.daemon = True
        self.token = 0
        self._target = target
        self.green = greenlet.greenlet(self._run, HUB.main)
        self.is_done = False
        process.threads[self] = None

    def _run(self, _first: object = None) -> None:
        try:
            if self.process.is_alive:
                self._target()
        except Killed:
            pass
        except BaseException as error:
            if self.process.is_alive:
                HUB.crashed(self, error)
        finally:
            self.is_done = True
            self.process.threads.pop(self, None)


class Hub:
    """What is to happen, by virtual time; what is due at the same time comes in a random order."""

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, seed: int | str) -> None:
        """Forget everything; all chance follows from the seed from now on."""
        self.now = 0.0
        self.current: SimThread | None = None
        self.failures: list[str] = []
        self.take_seed(seed)
        self.watch: Callable[[str, str], None] = lambda process, what: None
        self._line: list[tuple[float, float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.main = greenlet.getcurrent()
        SimThread._numbers = itertools.count(1)

    def take_seed(self, seed: int | str) -> None:
        """Go on from here, with all chance following from the seed."""
        self.rng = _Random(f"hub/{seed}")
        self.entropy = _Random(f"entropy/{seed}")
        random.seed(f"module/{seed}")
        self.events = 0

    # The line of what is to happen

    def after(self, seconds: float, fn: Callable[[], None]) -> None:
        """Have something done later, by no thread in particular."""
        later = max(seconds, TICK_SECONDS) if seconds > 0 else 0.0  # else time could stand still
        entry = (self.now + later, self.rng.random(), next(self._numbers), fn)
        heapq.heappush(self._line, entry)

    def run(self, until: Callable[[], bool], seconds_max: float) -> bool:
        """Let everything go on until something is so; False when time was up before."""
        deadline = self.now + seconds_max
        while not until():
            if not self._line or self._line[0][0] > deadline:
                self.now = deadline
                return False
            at, _rng, _number, fn = heapq.heappop(self._line)
            self.events += 1
            if self.events > EVENTS_MAX:
                raise AssertionError("the run does not end")
            if at > self.now:
                self.now = at
            fn()
        return True

    def spawn(
        self, target: Callable[[], object], *, name: str, process: Process, delay: float = 0.0
    ) -> SimThread:
        thread = SimThread(target, name, process)
        self.after(delay, lambda: self._switch(thread, None))
        return thread

    def kill(self, process: Process) -> None:
        """End a process now, wherever its threads are. Not to be called by one of them."""
        process.is_alive = False
        for thread in list(process.threads):
            if thread.green:
                self._switch(thread, Killed())
        process.threads.clear()
        process.on_death()

    def crashed(self, thread: SimThread, error: BaseException) -> None:
        """Note that a thread ended by an uncaught error."""
        self.failures.append(f"thread {thread.name} of {thread.process.name} died of {error!r}")

    # What threads do

    def park(self, seconds: float | None = None) -> bool:
        """Wait to be woken; False when the time was up before."""
        me = self.current
        if me is None:
            raise RuntimeError("only a simulated thread can wait")
        if not me.process.is_alive:
            raise Killed
        me.token += 1
        token = me.token
        if seconds is not None:
            self.after(seconds, lambda: self._resume(me, token, woken=False))
        answer: bool = self.main.switch()
        return answer

    def wake(self, thread: SimThread) -> None:
        """Let a thread go on that waits now."""
        token = thread.token
        self.after(0.0, lambda: self._resume(thread, token, woken=True))

    def effect(self, what: str) -> None:
        """Let a thread's process die here, or others go first."""
        me = self.current
        if me is None:
            return
        process = me.process
        if not process.is_alive:
            raise Killed
        self.watch(process.name, what)
        if process.effects_left is not None:
            if process.effects_left <= 0:
                self.watch(process.name, "dies")
                process.is_alive = False
                self.after(0.0, lambda: self.kill(process))
                raise Killed
            process.effects_left -= 1
        if self.rng.random() < SWITCH_SHARE:
            self.park(self.rng.uniform(0.0, PAUSE_SECONDS_MAX))

    def _resume(self, thread: SimThread, token: int, *, woken: bool) -> None:
        if thread.token == token and not thread.is_done:
            thread.token += 1
            self._switch(thread, woken)

    def _switch(self, thread: SimThread, value: object) -> None:
        if thread.is_done:
            return
        before, self.current = self.current, thread
        try:
            if isinstance(value, Killed):
                thread.green.throw(value)
            else:
                thread.green.switch(value)
        finally:
            self.current = before

    # Clocks

    def wall(self) -> float:
        """Return what the current process takes for the time, in seconds since 1970."""
        return START + self.now + (self.current.process.skew_seconds if self.current else 0.0)

    def monotonic(self) -> float:
        return self.now + 1000.0


HUB = Hub()


class Lock:
    """``threading.Lock`` among simulated threads."""

    def __init__(self) -> None:
        self._is_locked = False
        self._waiting: list[SimThread] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self._is_locked:  # hardly ever does one wait for another
            self._is_locked = True
            return True
        deadline = None if timeout is None or timeout < 0 else HUB.now + timeout
        while self._is_locked:
            me = HUB.current
            if not blocking or (deadline is not None and HUB.now >= deadline):
                return False
            if me is None:
                raise RuntimeError("a lock is held that no thread will release")
            self._waiting.append(me)
            try:
                HUB.park(None if deadline is None else deadline - HUB.now)
            except BaseException:
                self._leave(me)
                self._call_next()
                raise
            self._leave(me)
        self._is_locked = True
        return True

    def release(self) -> None:
        if not self._is_locked:
            raise RuntimeError("release unlocked lock")
        self._is_locked = False
        if self._waiting:
            self._call_next()

    def locked(self) -> bool:
        return self._is_locked

    def _leave(self, thread: SimThread) -> None:
        if thread in self._waiting:
            self._waiting.remove(thread)

    def _call_next(self) -> None:
        if not self._is_locked and self._waiting:
            HUB.wake(self._waiting.pop(0))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_error: object) -> None:
        self.release()


class RLock:
    """``threading.RLock`` among simulated threads, with what a condition asks of one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner: object = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = HUB.current or _MAIN
        if self._owner is me:
            self._count += 1
            return True
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner = me
        self._count = 1
        return True

    def release(self) -> None:
        if self._owner is not (HUB.current or _MAIN):
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._lock.release()

    def _release_save(self) -> int:
        count, self._count, self._owner = self._count, 0, None
        self._lock.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._lock.acquire()
        self._count, self._owner = count, HUB.current or _MAIN

    def _is_owned(self) -> bool:
        return self._owner is (HUB.current or _MAIN)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_error: object) -> None:
        self.release()


class Thread:
    """``threading.Thread``, as far as the services use it."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Any = (),
        kwargs: Any = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name = name or "thread"
        self.daemon = bool(daemon)
        self._run = lambda: target(*args, **(kwargs or {})) if target else None
        self._thread: SimThread | None = None
        self._ended = threading.Event()

    @property
    def ident(self) -> int | None:
        return self._thread.ident if self._thread else None

    def start(self) -> None:
        assert HUB.current is not None, "threads are begun by processes"

        def run() -> None:
            try:
                self._run()
            finally:
                self._ended.set()

        self._thread = HUB.spawn(run, name=self.name, process=HUB.current.process)

    def join(self, timeout: float | None = None) -> None:
        self._ended.wait(timeout)

    def is_alive(self) -> bool:
        return self._thread is not None and not self._thread.is_done


class SeededRandom(_Random):
    """``random.Random`` whose entropy, if it wants any, is the simulation's."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(HUB.entropy.getrandbits(64) if seed is None else seed)

    def seed(self, a: Any = None, version: int = 2) -> None:
        super().seed(HUB.entropy.getrandbits(64) if a is None else a, version)


def _sleep(seconds: float) -> None:
    if HUB.current is not None:
        HUB.park(max(0.0, seconds))


def _ident() -> int:
    return HUB.current.ident if HUB.current else _MAIN_IDENT


def _utcnow(with_timezone: bool = False) -> dt.datetime:
    at = dt.datetime.fromtimestamp(HUB.wall(), dt.UTC)
    return at if with_timezone else at.replace(tzinfo=None)


def _current_thread() -> Any:
    return HUB.current or _MAIN


def install() -> None:
    """Replace what the program takes time, threads and chance from, permanently."""
    time.time = HUB.wall
    time.monotonic = time.perf_counter = HUB.monotonic
    time.clock_gettime = lambda _clock: HUB.monotonic()
    time.thread_time = lambda: 0.0  # work takes no time here, and how much it is must not show
    time.sleep = _sleep  # type: ignore[assignment]
    for name, value in {
        "Lock": Lock, "_allocate_lock": Lock, "RLock": RLock, "Thread": Thread,
        "get_ident": _ident, "current_thread": _current_thread, "_time": HUB.monotonic,
        "_after_fork": lambda: None,
    }.items():  # fmt: skip
        setattr(threading, name, value)  # conditions, events, semaphores are made of these
    queue.time = HUB.monotonic  # type: ignore[attr-defined]
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[misc, attr-defined]
    timeutils.utcnow = _utcnow
    uuid.uuid4 = lambda: uuid.UUID(int=HUB.entropy.getrandbits(128), version=4)
    random.Random = random.SystemRandom = SeededRandom  # type: ignore[misc, assignment]
