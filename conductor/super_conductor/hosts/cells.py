"""The super conductor's connections to cells: one broker each; a silent cell delays no others.

A call to an unreachable broker blocks until the broker is back. So each cell has a small worker
pool of its own, and callers wait no longer than a time limit.
"""

import dataclasses
import logging
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from conductor.super_conductor.peer_link import Asked, Link, Links
from objects.cell_mapping import CellMapping
from rpc import deadlines
from rpc.transport import Bus, MakeBus
from rpc.version_caps import ConfiguredCap, OldestServices, is_auto

LOG = logging.getLogger(__name__)

T = TypeVar("T")

Question = Callable[[CellConductorAPI], T]

_VERSIONS_KEPT_SECONDS = 10.0
SILENT_TIMEOUT_SECONDS = 0.5
"""Seconds for which all cells together wait for those that did not answer the last time."""


@dataclasses.dataclass(frozen=True)
class Answers(Generic[T]):
    """Answers by cell UUID, and names of the cells that did not answer."""

    by_cell: dict[str, T]
    down_cells: list[str]


class _Versions:
    """Oldest versions of a cell's conductors, polled while their cap is ``auto``."""

    def __init__(self, conf: cfg.ConfigOpts, bus: Bus) -> None:
        self._conf = conf
        self._oldest = OldestServices()
        self._asked_at: float | None = None
        self._api = CellConductorAPI(bus, timeout_seconds=conf.conductor.cell_timeout_seconds)
        self.cap = ConfiguredCap.by_oldest(conf, "cell_conductor", self._oldest)

    def refresh(self) -> None:
        """Read the versions if they are outdated. Raises Unavailable, as the next call would."""
        now = time.monotonic()
        is_fresh = self._asked_at is not None and now - self._asked_at < _VERSIONS_KEPT_SECONDS
        if is_fresh or not is_auto(self._conf, "cell_conductor"):
            return
        self._asked_at = now
        self._oldest.take(self._api.get_oldest_services(admin_context()))


class _Link(Link):
    """Connection to one cell: a bus, a client and workers that may block on it."""

    def __init__(self, conf: cfg.ConfigOpts, cell: CellMapping, bus: Bus) -> None:
        super().__init__(
            bus,
            topic=CellConductorAPI.TOPIC,
            name=f"cell-{cell.name}",
            title=f"Cell {cell.name}",
            workers=conf.conductor.cell_workers,
            logger=LOG,
            lost=lambda reason: exception.CellUnavailable(cell=cell.name, reason=reason),
        )
        self.cell = cell
        self._versions = _Versions(conf, bus)
        self._client = CellConductorAPI(
            bus, version_cap=self._versions.cap, timeout_seconds=conf.conductor.cell_timeout_seconds
        )

    def ask(self, question: Question[T]) -> Asked[T]:
        return self.submit(lambda: self._answer(question))

    def _answer(self, question: Question[T]) -> T:
        self._versions.refresh()
        return question(self._client)


class Cells:
    """All cells: the list is read from the API database each time; connections are kept."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        make_bus: MakeBus,
        *,
        enrolments: CellEnrolments | None = None,
    ) -> None:
        self.enrolments = enrolments or CellEnrolments()
        self._conf = conf
        self._database = database
        self._unusable: dict[str, str] = {}
        """Cell -> its transport URL that was logged as unusable."""
        self._links = Links[CellMapping, _Link](
            lambda cell: _Link(conf, cell, make_bus(cell.transport_url, cell.uuid))
        )

    def list_cells(self) -> list[CellMapping]:
        """Return all cells except cell0, including disabled ones."""
        cells = self._database.read(cells_db.list_cells)
        self._links.drop_others({cell.uuid for cell in cells})
        return cells

    def ask(self, cell_uuid: str, question: Question[T]) -> Asked[T]:
        """Send a request to one cell without waiting. Raises CellNotFound, CellUnavailable.

        ``question`` is called with the cell's client in one of that cell's threads, perhaps much
        later.
        """
        cell = self._database.read(cells_db.get_cell, cell_uuid)
        return self._link_to(cell).ask(question)

    def call(self, cell_uuid: str, question: Question[T]) -> T:
        """Return one cell's answer; wait at most ``[conductor] cell_timeout_seconds`` for it."""
        return self.ask(cell_uuid, question).wait(self._timeout_seconds)

    def call_briefly(self, cell_uuid: str, question: Question[T]) -> T:
        """As ``call``, for what changes nothing: a cell that was silent gets a short time limit."""
        asked = self.ask(cell_uuid, question)
        short = min(self._timeout_seconds, SILENT_TIMEOUT_SECONDS)
        return asked.wait(short if asked.was_silent else self._timeout_seconds)

    def check_answering(self, cell_uuid: str) -> None:
        """Raise CellUnavailable, without asking, if a cell did not answer the last time."""
        cell = self._database.read(cells_db.get_cell, cell_uuid)
        if self._link_to(cell).is_silent:
            raise exception.CellUnavailable(cell=cell.name, reason="no answer to the last request")

    def ask_all(
        self, question: Question[T], *, among: Iterable[CellMapping] | None = None
    ) -> Answers[T]:
        """Send a request to all cells at the same time.

        Waits at most ``[conductor] cell_timeout_seconds``. A cell that does not answer, or answers
        with an error, is listed in ``down_cells``. One that did not answer the last time gets only
        ``SILENT_TIMEOUT_SECONDS`` until it answers again, so that lists stay quick while a cell is
        down.
        """
        links, down_cells = self._links_to(self.list_cells() if among is None else among)
        answers: Answers[T] = Answers({}, down_cells)
        now = time.monotonic()
        deadline = now + self._timeout_seconds
        short = min(deadline, now + SILENT_TIMEOUT_SECONDS)
        silent = {link for link in links if link.is_silent}
        asked = [(link, self._try_to_ask(link, question)) for link in links]
        for link, waiting in asked:
            try:
                if waiting is None:
                    answers.down_cells.append(link.cell.name)
                else:
                    left_seconds = (short if link in silent else deadline) - time.monotonic()
                    answers.by_cell[link.cell.uuid] = waiting.wait(left_seconds)
            except exception.CellUnavailable:
                answers.down_cells.append(link.cell.name)
            except Exception as error:
                link.unavailable(f"{type(error).__name__}: {error}")
                answers.down_cells.append(link.cell.name)
        return answers

    def _link_to(self, cell: CellMapping) -> _Link:
        """Return the link to a cell. Raises CellUnavailable if its URL is of no use."""
        try:
            return self._links.to(cell)
        except exception.ConfigurationError as error:
            if self._unusable.get(cell.uuid) != cell.transport_url:
                LOG.error("Cell %s cannot be used: %s", cell.name, error.message)  # noqa: TRY400
                self._unusable[cell.uuid] = cell.transport_url
            raise exception.CellUnavailable(cell=cell.name, reason=error.message) from error

    def _links_to(self, cells: Iterable[CellMapping]) -> tuple[list[_Link], list[str]]:
        """Return the links to cells, and the names of cells that have none."""
        links, down_cells = [], []
        for cell in cells:
            try:
                links.append(self._link_to(cell))
            except exception.CellUnavailable:
                down_cells.append(cell.name)
        return links, down_cells

    def close(self) -> None:
        """Close all connections."""
        self._links.drop_others(())

    @property
    def _timeout_seconds(self) -> float:
        return deadlines.shortened(self._conf.conductor.cell_timeout_seconds)

    @staticmethod
    def _try_to_ask(link: _Link, question: Question[T]) -> Asked[T] | None:
        try:
            return link.ask(question)
        except exception.CellUnavailable:
            return None
