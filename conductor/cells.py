"""The cells as the super conductor asks them: each by its broker, none holding up the others.

A call to a broker that is out of reach does not come back until the broker does. So each cell has
workers of its own, few enough, and whoever asks waits no longer than a time limit.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.db import Database
from armillary.log_once import OutageLog
from conductor.api_db import cells as cells_db
from conductor.rpcapi import CellConductorAPI
from objects.cell_mapping import CellMapping
from rpc.transport import Bus

LOG = logging.getLogger(__name__)

T = TypeVar("T")

MakeBus = Callable[[str], Bus]
Question = Callable[[CellConductorAPI], T]

_QUEUE_SIZE_MAX = 100


@dataclasses.dataclass(frozen=True)
class Answers(Generic[T]):
    """What each cell answered, by its UUID, and the names of those that did not."""

    by_cell: dict[str, T]
    down_cells: list[str]


class _Link:
    """One cell's broker: a bus, a client on it, and workers that may hang there."""

    def __init__(self, conf: cfg.ConfigOpts, cell: CellMapping, bus: Bus) -> None:
        self.cell = cell
        self._bus = bus
        self._client = CellConductorAPI(
            bus,
            version_cap=conf.upgrade_levels.cell_conductor,
            timeout_seconds=conf.conductor.cell_timeout_seconds,
        )
        self._workers = WorkerPool(
            conf.conductor.cell_workers, f"cell-{cell.name}", queue_size_max=_QUEUE_SIZE_MAX
        )
        self._outage = OutageLog(LOG, f"Cell {cell.name}")

    def ask(self, question: Question[T]) -> Asked[T]:
        try:
            return Asked(self, self._workers.submit(question, self._client))
        except WorkerPoolFull as error:
            raise self.unavailable("too many calls wait for it") from error
        except RuntimeError as error:  # another thread found that the cell moved, and closed this
            raise self.unavailable("it has just moved") from error

    def answered(self) -> None:
        self._outage.succeeded()

    def unavailable(self, reason: str) -> exception.CellUnavailable:
        self._outage.failed(reason)
        return exception.CellUnavailable(cell=self.cell.name, reason=reason)

    def close(self) -> None:
        self._workers.shutdown(0)
        self._bus.close()


class Asked(Generic[T]):
    """A question that one cell was asked."""

    def __init__(self, link: _Link, future: Future[T]) -> None:
        self._link = link
        self._future = future

    def wait(self, timeout_seconds: float) -> T:
        """Return the answer, or raise CellUnavailable (outcome unknown) or what the cell raised."""
        try:
            result = self._future.result(max(0.0, timeout_seconds))
        except (TimeoutError, CancelledError) as error:
            self._future.cancel()
            raise self._link.unavailable("no answer in time") from error
        except (exception.RpcTimeout, exception.RpcUnavailable) as error:
            raise self._link.unavailable(error.message) from error
        self._link.answered()
        return result


class Cells:
    """All cells: which there are is read from the API database each time, links are kept."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, make_bus: MakeBus) -> None:
        self._conf = conf
        self._database = database
        self._make_bus = make_bus
        self._links: dict[str, _Link] = {}
        self._guard = threading.Lock()

    def list_cells(self) -> list[CellMapping]:
        """Return all cells, disabled ones too; cell0 is not among them."""
        with self._database.reader() as session:
            cells = cells_db.list_cells(session)
        self._drop_others({cell.uuid for cell in cells})
        return cells

    def ask(self, cell_uuid: str, question: Question[T]) -> Asked[T]:
        """Ask one cell without waiting. Raises CellNotFound, CellUnavailable.

        ``question`` is called with the cell's client, in a thread of that cell, perhaps much later.
        """
        with self._database.reader() as session:
            cell = cells_db.get_cell(session, cell_uuid)
        return self._link(cell).ask(question)

    def call(self, cell_uuid: str, question: Question[T]) -> T:
        """Ask one cell, wait at most ``[conductor] cell_timeout_seconds`` and return its answer."""
        return self.ask(cell_uuid, question).wait(self._timeout_seconds)

    def ask_all(
        self, question: Question[T], *, among: Iterable[CellMapping] | None = None
    ) -> Answers[T]:
        """Ask all cells at the same time, each at most ``[conductor] cell_timeout_seconds``.

        A cell that does not answer, or answers with an error, is named in ``down_cells``.
        """
        links = [self._link(cell) for cell in (self.list_cells() if among is None else among)]
        deadline = time.monotonic() + self._timeout_seconds
        asked = [(link, self._try_to_ask(link, question)) for link in links]
        answers: Answers[T] = Answers({}, [])
        for link, waiting in asked:
            try:
                if waiting is None:
                    answers.down_cells.append(link.cell.name)
                else:
                    left_seconds = deadline - time.monotonic()
                    answers.by_cell[link.cell.uuid] = waiting.wait(left_seconds)
            except exception.CellUnavailable:
                answers.down_cells.append(link.cell.name)
            except Exception as error:
                link.unavailable(f"{type(error).__name__}: {error}")
                answers.down_cells.append(link.cell.name)
        return answers

    def close(self) -> None:
        """Drop all links. What hangs in them ends with the process."""
        self._drop_others(set())

    @property
    def _timeout_seconds(self) -> float:
        return float(self._conf.conductor.cell_timeout_seconds)

    @staticmethod
    def _try_to_ask(link: _Link, question: Question[T]) -> Asked[T] | None:
        try:
            return link.ask(question)
        except exception.CellUnavailable:
            return None

    def _link(self, cell: CellMapping) -> _Link:
        with self._guard:
            link = self._links.get(cell.uuid)
            if link is not None and _is_same_broker(link.cell, cell):
                return link
            made = self._links[cell.uuid] = _Link(
                self._conf, cell, self._make_bus(cell.transport_url)
            )
        if link is not None:
            link.close()
        return made

    def _drop_others(self, kept: set[str]) -> None:
        with self._guard:
            gone = [self._links.pop(uuid) for uuid in list(self._links) if uuid not in kept]
        for link in gone:
            link.close()


def _is_same_broker(one: CellMapping, other: CellMapping) -> bool:
    return one.transport_url == other.transport_url and one.name == other.name
