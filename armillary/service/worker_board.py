"""What workers tell their parent in shared memory: whether they are ready, and when they last beat.

It outlives any worker and takes no lock to read, so a worker that hangs or is killed cannot hurt
it.
"""

from __future__ import annotations

import mmap
import multiprocessing
import struct
import time
from enum import IntEnum

_HEADER = struct.Struct("=ii")  # exit code of a broken start, whether any worker was ever ready
_SLOT = struct.Struct("=qd")  # state, time of the last heartbeat
_HEADER_SIZE = 16


class WorkerState(IntEnum):
    """Where a worker is; zero is what fresh memory says."""

    STARTING = 0
    READY = 1
    RELOADING = 2


class WorkerBoard:
    """One slot a worker. Made in the parent before it forks."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, _HEADER_SIZE + workers * _SLOT.size)
        self._first = multiprocessing.get_context("fork").Lock()

    def slot(self, index: int) -> WorkerSlot:
        """Return the place of worker ``index``; who replaces a worker writes in the same place."""
        return WorkerSlot(self, index)

    @property
    def was_ever_ready(self) -> bool:
        """Whether a worker of this service has been ready: then the configuration worked once."""
        return bool(_HEADER.unpack_from(self._memory)[1])

    @property
    def broken_start_code(self) -> int:
        """The exit code that a worker asked for because it cannot start, or 0."""
        return int(_HEADER.unpack_from(self._memory)[0])

    @property
    def are_all_ready(self) -> bool:
        return all(self.read(index)[0] is WorkerState.READY for index in range(self.workers))

    def report_broken_start(self, code: int) -> bool:
        """Note that the service cannot start; return True to the first worker that says so."""
        if not self._first.acquire(block=False):  # never released: there is one first
            return False
        _HEADER.pack_into(self._memory, 0, code, int(self.was_ever_ready))
        return True

    def note_ready(self) -> None:
        _HEADER.pack_into(self._memory, 0, self.broken_start_code, 1)

    def mark_reloading(self) -> None:
        """Note that the workers which are ready are told to reload."""
        for index in range(self.workers):
            state, beat = self.read(index)
            if state is WorkerState.READY:
                self.write(index, WorkerState.RELOADING, beat)

    def silent_workers(self, seconds_max: float) -> list[int]:
        """Return the workers that are started but whose last heartbeat is older than that."""
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
    """One worker's place on the board, for that worker."""

    def __init__(self, board: WorkerBoard, index: int) -> None:
        self.board = board
        self.index = index

    def starting(self) -> None:
        self.board.write(self.index, WorkerState.STARTING, 0.0)

    def ready(self) -> None:
        """Say that the worker serves, with what is configured now."""
        self.board.write(self.index, WorkerState.READY, time.monotonic())
        self.board.note_ready()

    def heartbeat(self) -> None:
        state, _beat = self.board.read(self.index)
        self.board.write(self.index, state, time.monotonic())
