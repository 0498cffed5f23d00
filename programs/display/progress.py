"""Progress display (a bar on a terminal, occasional lines elsewhere), and counts as text."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

SECONDS_BETWEEN_LINES = 2.0

Show = Callable[[int, Mapping[str, int]], None]
"""Called with the number of finished items, and the number of items in each state."""


@contextmanager
def progress(
    stream: TextIO,
    title: str,
    total: int | None,
    *,
    quiet: bool = False,
    line_seconds: float = SECONDS_BETWEEN_LINES,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Show]:
    """Show the progress of ``total`` items on a stream while the block runs.

    ``total`` None: the number is unknown. On other streams than a terminal there is a line every
    ``line_seconds``.
    """
    if quiet:
        yield lambda done, counts: None
    elif stream.isatty():
        with _bar(stream, title, total) as show:
            yield show
    else:
        yield _Lines(stream, title, total, clock, line_seconds).show


@contextmanager
def _bar(stream: TextIO, title: str, total: int | None) -> Iterator[Show]:
    # Not at module level: rich takes longer to load than most commands run.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        console=Console(file=stream),
    ) as bar:
        task = bar.add_task(title, total=total, counts="")
        yield lambda done, counts: bar.update(task, completed=done, counts=counts_text(counts))


class _Lines:
    def __init__(
        self,
        stream: TextIO,
        title: str,
        total: int | None,
        clock: Callable[[], float],
        pause_seconds: float,
    ) -> None:
        self._stream = stream
        self._title = title
        self._total = total
        self._clock = clock
        self._pause_seconds = pause_seconds
        self._last = ""
        # What takes long says so later; the others begin with a line.
        is_rare = pause_seconds > SECONDS_BETWEEN_LINES
        self._last_at: float | None = clock() if is_rare else None

    def show(self, done: int, counts: Mapping[str, int]) -> None:
        states = counts_text(counts)
        line = f"{self._title}: {done} of {self._total}" + (f" ({states})" if states else "")
        if done == self._total or line == self._last or not self._is_due():
            return  # the caller reports the end
        self._last, self._last_at = line, self._clock()
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _is_due(self) -> bool:
        return self._last_at is None or self._clock() - self._last_at >= self._pause_seconds


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts as ``3 ACTIVE, 1 BUILD``, without those that are zero."""
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()) if count)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 server``, ``3 servers``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
