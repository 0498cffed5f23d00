"""Shared memory in which workers report readiness and heartbeats to their parent.

It outlives any worker and is read without a lock, so a worker that hangs or is killed cannot damage
it.
"""

from __future__ import annotations

import mmap
import multiprocessing
import struct
import time
from enum import IntEnum

_HEADER = struct.Struct("=ii")  # exit code of a failed start, whether any worker was ever ready
_SLOT = struct.Struct("=qd")  # state, time of the last heartbeat
_HEADER_SIZE = 16
_ENDING = struct.Struct("=i")  # whether the parent ends the service
_ENDING_OFFSET = _HEADER.size


class WorkerState(IntEnum):
    """State of a worker; zero is the initial content of the memory."""

    STARTING = 0
    READY = 1
    RELOADING = 2


class WorkerStates:
    """One slot per worker. Created in the parent before it forks."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, _HEADER_SIZE + workers * _SLOT.size)
        self._first = multiprocessing.get_context("fork").Lock()

    def slot(self, index: int) -> WorkerSlot:
        """Return the slot of worker ``index``; a replacement worker uses the same slot."""
        return WorkerSlot(self, index)

    @property
    def was_ever_ready(self) -> bool:
        """Whether a worker of this service was ever ready, so the configuration has worked."""
        return bool(_HEADER.unpack_from(self._memory)[1])

    @property
    def failed_start_code(self) -> int:
        """Exit code requested by a worker that cannot start, or 0."""
        return int(_HEADER.unpack_from(self._memory)[0])

    @property
    def is_ending(self) -> bool:
        """Whether the parent ends the service: the signal for it may reach a worker too early."""
        return bool(_ENDING.unpack_from(self._memory, _ENDING_OFFSET)[0])

    def note_ending(self) -> None:
        _ENDING.pack_into(self._memory, _ENDING_OFFSET, 1)

    @property
    def are_all_ready(self) -> bool:
        return all(self.read(index)[0] is WorkerState.READY for index in range(self.workers))

    def report_failed_start(self, code: int) -> bool:
        """Record that the service cannot start; return True for the first worker to report it."""
        if not self._first.acquire(block=False):  # never released: only one worker is first
            return False
        _HEADER.pack_into(self._memory, 0, code, int(self.was_ever_ready))
        return True

    def note_ready(self) -> None:
        _HEADER.pack_into(self._memory, 0, self.failed_start_code, 1)

    def mark_reloading(self) -> None:
        for index in range(self.workers):
            state, beat = self.read(index)
            if state is WorkerState.READY:
                self.write(index, WorkerState.RELOADING, beat)

    def silent_workers(self, seconds_max: float) -> list[int]:
        """Return the started workers whose last heartbeat is older than ``seconds_max``."""
        oldest = time.monotonic() - seconds_max
        places = [(index, *self.read(index)) for index in range(self.workers)]
        return [
            index
            for index, state, beat in places
            if state is not WorkerState.STARTING and beat < oldest
        ]

    def read(self, index: int) -> tuple[WorkerState, float]:
        state, beat = _SLOT.unpack_from(self._memory, self._offset(index))
        return WorkerState(state), beat

    def write(self, index: int, state: WorkerState, beat: float) -> None:
        _SLOT.pack_into(self._memory, self._offset(index), int(state), beat)

    def _offset(self, index: int) -> int:
        return _HEADER_SIZE + index * _SLOT.size


class WorkerSlot:
    """One worker's slot, as used by that worker."""

    def __init__(self, worker_states: WorkerStates, index: int) -> None:
        self.worker_states = worker_states
        self.index = index

    def starting(self) -> None:
        self.worker_states.write(self.index, WorkerState.STARTING, 0.0)

    def ready(self) -> None:
        """Report that the worker serves with the current configuration."""
        self.worker_states.write(self.index, WorkerState.READY, time.monotonic())
        self.worker_states.note_ready()

    def heartbeat(self) -> None:
        state, _beat = self.worker_states.read(self.index)
        self.worker_states.write(self.index, state, time.monotonic())
