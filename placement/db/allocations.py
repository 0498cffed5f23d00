"""Allocations in the database: their ledger, loaded under the epoch's lock, and stored."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from placement.db import (
    epochs,
    inventories,
    ledger_postgresql,
    ledger_rows,
    names,
    provider_traits,
    providers,
)
from placement.db.ledger_rows import Changes
from placement.db.providers import owners_by_name
from placement.ledger.group_places import GroupPlaces, place_from
from placement.ledger.ledger import Account, Holding, Ledger, Provider
from placement.ownership import ConsumerCells, ConsumerOwner
from placement.providers import names as known
from placement.providers.inventory import Inventory
from placement.providers.sharing import SHARING_TRAIT


def open_ledger(
    session: Session,
    *,
    consumers: Collection[str],
    providers: Collection[str],
    classes: Collection[str] = (),
    groups: Collection[str] = (),
    hosts: Collection[str] = (),
    is_by_cell: bool = False,
) -> tuple[int, Ledger]:
    """Return the epoch of this write, and a ledger of these consumers and providers.

    The ledger also contains the providers of the consumers' allocations, the members of these
    server groups and of those of the consumers, which of the resource classes exist, who owns the
    providers with the names of hosts and, for writes by cells, which providers without an owner
    share. Must be the first call in its transaction, since it takes the epoch's lock.
    """
    found = _rows(session).lock_and_read(session, consumers, providers, groups)
    holdings = dict[str, Holding | None].fromkeys(consumers)
    holdings.update(_holdings(found.held))
    providers_found = _providers(found.accounts)
    ledger = Ledger(
        holdings=holdings,
        fences={row[0]: row[1] for row in found.fences},
        cells={row[0]: ConsumerCells(row[2], row[3]) for row in found.fences},
        former_owners={row[0]: ConsumerOwner(row[4], row[5]) for row in found.fences if row[4]},
        providers=providers_found,
        classes=_known_classes(session, classes, providers_found.values()),
        sharing=_sharing(session, providers_found) if is_by_cell else frozenset(),
        owners_by_name=owners_by_name(session, hosts) if hosts else {},
        groups=_groups(found.groups),
        epoch=found.epoch,
    )
    return found.epoch, ledger


def store(session: Session, ledger: Ledger, epoch: int, now: dt.datetime) -> None:
    """Write the changes of a ledger, if any. Requires the epoch's lock."""
    _store_shapes(session, ledger, epoch, now)
    changes = Changes(epoch, now)
    _add_holdings(changes, ledger)
    _add_usages(changes, ledger)
    changes.steps = {item.id: item.steps for item in ledger.providers.values() if item.steps}
    changes.fences = [_fence_row(ledger, uuid, now) for uuid in ledger.changed_fences]
    _rows(session).write(session, changes)


def _fence_row(ledger: Ledger, uuid: str, now: dt.datetime) -> dict[str, Any]:
    cells, owner = ledger.cells.get(uuid, ConsumerCells()), ledger.owner_of(uuid)
    return {
        "consumer_uuid": uuid,
        "fence": ledger.fences[uuid],
        "updated_at": now,
        "cell_uuid": cells.home,
        "other_cell_uuid": cells.other,
        "project_id": owner.project_id if owner else None,
        "user_id": owner.user_id if owner else None,
    }


def _sharing(session: Session, found: Mapping[str, Provider]) -> frozenset[str]:
    unowned = [uuid for uuid, provider in found.items() if provider.cell_uuid is None]
    return frozenset(provider_traits.with_trait(session, unowned, SHARING_TRAIT))


def _rows(session: Session) -> Any:
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    return ledger_postgresql if is_postgresql else ledger_rows


def _holdings(rows: Iterable[Any]) -> dict[str, Holding]:
    holdings: dict[str, Holding] = {}
    for (
        uuid,
        generation,
        consumer_type,
        project,
        user,
        group,
        place,
        provider,
        name,
        amount,
    ) in rows:
        holding = holdings.get(uuid)
        if holding is None:
            holding = holdings[uuid] = Holding(
                consumer_type, project, user, {}, generation, place_from(group, place)
            )
        holding.amounts.setdefault(provider, {})[name] = amount
    return holdings


def _groups(rows: Iterable[Any]) -> GroupPlaces:
    places = ((uuid, place_from(group, stored)) for uuid, group, stored in rows)
    return GroupPlaces.of((uuid, place) for uuid, place in places if place is not None)


def _providers(rows: Iterable[Any]) -> dict[str, Provider]:
    providers: dict[str, Provider] = {}
    for uuid, number, name, generation, cell, resource_class, class_id, used, *figures in rows:
        provider = providers.get(uuid)
        if provider is None:
            provider = providers[uuid] = Provider(
                id=number, name=name, generation=generation, cell_uuid=cell
            )
        if resource_class is not None:
            figures[-1] = float(figures[-1])  # JSON does not distinguish 1 and 1.0
            provider.accounts[resource_class] = Account(class_id, Inventory(*figures), used)
    return providers


def _known_classes(
    session: Session, classes: Collection[str], found: Iterable[Provider]
) -> frozenset[str]:
    """Return which of these custom classes exist; those that a provider has do."""
    custom = frozenset(name for name in classes if known.is_custom(name))
    asked = custom.difference(*(provider.accounts for provider in found))
    return custom.difference(names.missing_classes(session, asked) if asked else ())


def _store_shapes(session: Session, ledger: Ledger, epoch: int, now: dt.datetime) -> None:
    """Write the inventories of reshaped providers."""
    shapes = [
        (
            provider.id,
            provider.stored_inventories,
            {name: account.inventory for name, account in provider.accounts.items()},
        )
        for provider in ledger.providers.values()
        if provider.stored_inventories is not None
    ]
    if not shapes:
        return
    inventories.store(session, shapes, now)
    providers.touch_quietly(session, [number for number, *_ in shapes], epoch, now)
    opened = [
        (name, account)
        for provider in ledger.providers.values()
        for name, account in provider.accounts.items()
        if account.resource_class_id is None
    ]
    ids = names.class_ids(session, {name for name, _ in opened}, now)
    for name, account in opened:
        account.resource_class_id = ids[name]
    epochs.publish_facts(session, epoch)


def _add_holdings(changes: Changes, ledger: Ledger) -> None:
    for uuid in ledger.changed_consumers:
        holding = ledger.holdings[uuid]
        if uuid in ledger.stored_consumers:
            changes.emptied.append(uuid)
            if holding is None:
                changes.gone.append(uuid)
        if holding is not None:
            _add_holding(changes, ledger, uuid, holding)


def _add_holding(changes: Changes, ledger: Ledger, uuid: str, holding: Holding) -> None:
    place = holding.place
    changes.consumers.append(
        {
            "uuid": uuid,
            "generation": holding.generation,
            "consumer_type": holding.consumer_type,
            "project_id": holding.project_id,
            "user_id": holding.user_id,
            "updated_at": changes.now,
            "group_uuid": place.group_uuid if place else None,
            "group_place": place.stored() if place else None,
        }
    )
    for provider_uuid, resources in holding.amounts.items():
        provider = ledger.providers[provider_uuid]
        for name, amount in resources.items():
            changes.allocations.append(
                {
                    "consumer_uuid": uuid,
                    "resource_provider_id": provider.id,
                    "resource_class_id": provider.accounts[name].resource_class_id,
                    "amount": amount,
                }
            )


def _add_usages(changes: Changes, ledger: Ledger) -> None:
    for uuid, name in ledger.changed_accounts:
        provider = ledger.providers[uuid]
        account = provider.accounts.get(name)
        if account is None:  # closed since; its row was deleted with its inventory
            continue
        assert account.used >= 0, f"{name} on {uuid}: less than nothing is used"
        changes.usages.append(
            {
                "resource_provider_id": provider.id,
                "resource_class_id": account.resource_class_id,
                "used": account.used,
                "epoch": changes.epoch,
            }
        )
