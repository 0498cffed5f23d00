"""Inventories of single providers, as written by their owners."""

import calendar
import datetime as dt
import logging
from collections.abc import Callable, Mapping

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from placement.db import epochs, providers
from placement.db import inventories as queries
from placement.db import names as name_queries
from placement.db.inventories import Holdings
from placement.providers import names
from placement.providers.inventory import Inventory

LOG = logging.getLogger(__name__)

_Edit = Callable[[Holdings], dict[str, Inventory]]
"""Returns the new inventories of a provider, given its current ones; raises to cancel."""


class InventoryWriter:
    """Read and write inventories. Every write increments the provider's generation.

    All methods raise ``ResourceProviderNotFound``. Those with a generation raise
    ``ResourceProviderGenerationConflict`` if it is not the provider's current one. Writes return
    the new state.
    """

    def __init__(
        self, database: Database, clock: Callable[[], dt.datetime] = timeutils.utcnow
    ) -> None:
        self._database = database
        self._clock = clock

    def get(self, provider: str) -> Holdings:
        """Return the inventories of a provider."""
        return self._database.read(_get, provider)

    def check_generation(self, provider: str, generation: int) -> None:
        """Raise unless this is the provider's generation."""
        _check_generation(self.get(provider), generation)

    def set_all(
        self, provider: str, generation: int, inventories: Mapping[str, Inventory]
    ) -> Holdings:
        """Replace all inventories.

        Raises ``ResourceClassNotFound``, and ``InventoryInUse`` if a used class is missing from the
        new ones. Capacity may become less than what is used; then no more can be allocated.
        """
        return self._write(provider, lambda _: dict(inventories), generation)

    def set_one(
        self, provider: str, resource_class: str, generation: int, inventory: Inventory
    ) -> Holdings:
        """Change one inventory. Raises ``InventoryNotFound``."""

        def edit(holdings: Holdings) -> dict[str, Inventory]:
            _check_has(holdings, resource_class)
            return {**holdings.inventories, resource_class: inventory}

        return self._write(provider, edit, generation)

    def create_one(
        self,
        provider: str,
        resource_class: str,
        inventory: Inventory,
        *,
        once: ChangeOnce | None = None,
    ) -> Holdings:
        """Add an inventory, unless it was added ``once``.

        Raises ``ResourceClassNotFound``, ``InventoryExists``; ``InventoryNotFound`` if it was added
        once and is gone.
        """

        def edit(holdings: Holdings) -> dict[str, Inventory]:
            if resource_class in holdings.inventories:
                raise exception.InventoryExists(provider=provider, resource_class=resource_class)
            return {**holdings.inventories, resource_class: inventory}

        holdings = self._write(provider, edit, once=once)
        _check_has(holdings, resource_class)
        return holdings

    def delete_one(self, provider: str, resource_class: str) -> Holdings:
        """Remove an inventory. Raises ``InventoryNotFound``, ``InventoryInUse``."""

        def edit(holdings: Holdings) -> dict[str, Inventory]:
            _check_has(holdings, resource_class)
            kept = dict(holdings.inventories)
            del kept[resource_class]
            return kept

        return self._write(provider, edit)

    def delete_all(self, provider: str) -> Holdings:
        """Remove all inventories. Raises ``InventoryInUse``."""
        return self._write(provider, lambda _: {})

    def _write(
        self,
        provider: str,
        edit: _Edit,
        generation: int | None = None,
        *,
        once: ChangeOnce | None = None,
    ) -> Holdings:
        def write(session: Session) -> Holdings:
            epoch, now = epochs.lock(session), self._clock()
            before = _get(session, provider)
            if once is not None and once.find(session) is not None:
                return before
            if generation is not None:
                _check_generation(before, generation)
            after = edit(before)
            check_classes(session, after)
            check_free(before, after)
            queries.store(session, [(before.id, before.inventories, after)], now)
            providers.touch(session, [before.id], epoch, now)
            epochs.publish_facts(session, epoch)
            if once is not None:
                once.note(session, before.uuid, now=calendar.timegm(now.timetuple()))
            return Holdings(before.id, before.uuid, before.generation + 1, now, after, before.used)

        holdings = self._database.run_in_writer(write)
        warn_if_overused(holdings)
        return holdings


def check_classes(session: Session, inventories: Mapping[str, Inventory]) -> None:
    """Raise ``ResourceClassNotFound`` unless all these classes exist."""
    if missing := name_queries.missing_classes(session, list(inventories)):
        raise exception.ResourceClassNotFound(resource_class=", ".join(missing))


def check_free(before: Holdings, after: Mapping[str, Inventory]) -> None:
    """Raise ``InventoryInUse`` if a removed inventory is in use."""
    if lost := before.used.keys() - after.keys():
        listed = ", ".join(sorted(lost, key=names.standard_first))
        raise exception.InventoryInUse(resource_class=listed, provider=before.uuid)


def warn_if_overused(holdings: Holdings) -> None:
    """Log the classes whose usage exceeds the provider's capacity."""
    for name, used in holdings.used.items():
        capacity = holdings.inventories[name].capacity
        if used > capacity:
            LOG.warning(
                "Resource provider %s: %d of %s are in use, more than its capacity of %d",
                holdings.uuid, used, name, capacity,
            )  # fmt: skip


def _get(session: Session, provider: str) -> Holdings:
    uuid = names.to_uuid(provider)
    holdings = queries.get(session, [uuid]).get(uuid) if uuid else None
    if holdings is None:
        raise exception.ResourceProviderNotFound(provider=provider)
    return holdings


def _check_generation(holdings: Holdings, generation: int) -> None:
    if generation != holdings.generation:
        raise exception.ResourceProviderGenerationConflict(provider=holdings.uuid)


def _check_has(holdings: Holdings, resource_class: str) -> None:
    if resource_class not in holdings.inventories:
        raise exception.InventoryNotFound(provider=holdings.uuid, resource_class=resource_class)
