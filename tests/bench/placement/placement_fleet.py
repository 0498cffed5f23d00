"""Fleets in placement's database, as many rows at a time: plain providers, and trees of devices.

What the providers have is what the scripts that measure the reference give to theirs.
"""

import io
import itertools
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import os_traits
from sqlalchemy import Connection, text

from armillary.db import Database
from placement.db.models import (
    Base,
    Inventory,
    PlacementEpoch,
    ResourceClass,
    ResourceProvider,
    ResourceProviderTrait,
    Trait,
)

RESOURCES = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}
"""What every request asks for."""

TRAIT_OF_HALF = "HW_CPU_X86_AVX2"
TREE_SIZE = 9
CELLS_OF_TREE = 2
DEVICES_OF_TREE = 4

_PLAIN = {"VCPU": (64, 4.0), "MEMORY_MB": (262_144, 1.0), "DISK_GB": (2_000, 1.0)}
_EPOCH = 1
_ROWS_PER_BATCH = 50_000


@dataclass(frozen=True)
class _Provider:
    id: int
    name: str
    root: int
    inventories: dict[str, tuple[int, float]]
    parent: int | None = None
    traits: Sequence[str] = ()


def uuid_of(number: int) -> str:
    """Return the UUID of the provider with an id, from 1 on; spread like random ones."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"provider {number}"))


def fill_plain(database_url: str, providers: int, *, traits: int = 0) -> None:
    """Write plain providers of three classes, every second one with ``TRAIT_OF_HALF``.

    Each has ``OWNER_NOVA``, as a host has, and so many ``traits`` more.
    """
    owner = os_traits.OWNER_NOVA
    more = [name for name in os_traits.get_traits() if name not in (TRAIT_OF_HALF, owner)]
    others = [owner, *more[:traits]]
    _fill(
        database_url,
        (
            _Provider(
                id=number, name=f"host{number:06}", root=number, inventories=_PLAIN,
                traits=others if number % 2 else [*others, TRAIT_OF_HALF],
            )
            for number in range(1, providers + 1)
        ),
    )  # fmt: skip


def fill_trees(database_url: str, trees: int) -> None:
    """Write hosts of nine providers: a root with the disk, two NUMA cells with processors, memory
    and a network card each, four devices of two.
    """
    _fill(
        database_url,
        itertools.chain.from_iterable(
            _tree(1 + TREE_SIZE * number, f"host{number:06}") for number in range(trees)
        ),
    )


def tree_rows(trees: int) -> dict[str, list[dict[str, Any]]]:
    """Return the same trees as rows of the reference's tables, with names of classes and traits."""
    made = [
        provider
        for number in range(trees)
        for provider in _tree(1 + TREE_SIZE * number, f"host{number:06}")
    ]
    return {
        "providers": [_named(each) for each in made],
        "inventories": [
            {"resource_class": name, **_figures(each.id, *figures)}
            for each in made
            for name, figures in each.inventories.items()
        ],
        "traits": [
            {"resource_provider_id": each.id, "trait": name}
            for each in made
            for name in each.traits
        ],
    }


def _tree(root: int, name: str) -> Iterable[_Provider]:
    yield _Provider(id=root, name=name, root=root, inventories={"DISK_GB": (2_000, 1.0)})
    for cell in range(CELLS_OF_TREE):
        cell_id = root + 1 + cell
        inventories = {"VCPU": (32, 4.0), "MEMORY_MB": (131_072, 1.0)}
        yield _Provider(
            id=cell_id, name=f"{name}-cell{cell}", root=root, parent=root,
            inventories=inventories, traits=["HW_NUMA_ROOT"],
        )  # fmt: skip
        yield _Provider(
            id=root + 3 + cell, name=f"{name}-cell{cell}-nic", root=root, parent=cell_id,
            inventories={"SRIOV_NET_VF": (8, 1.0)},
        )  # fmt: skip
        for device in range(DEVICES_OF_TREE // CELLS_OF_TREE):
            yield _Provider(
                id=root + 5 + cell * 2 + device, name=f"{name}-cell{cell}-gpu{device}", root=root,
                parent=cell_id, inventories={"VGPU": (2, 1.0)},
            )  # fmt: skip


def _fill(database_url: str, providers: Iterable[_Provider]) -> None:
    database = Database(database_url, name="placement")
    made = list(providers)
    with database.engine.begin() as connection:
        classes = _names(connection, ResourceClass, (each.inventories for each in made))
        traits = _names(connection, Trait, (each.traits for each in made))
        _insert(connection, ResourceProvider, ({**_named(each), "epoch": _EPOCH} for each in made))
        _insert(
            connection,
            Inventory,
            (
                {"resource_class_id": classes[name], **_figures(each.id, *figures)}
                for each in made
                for name, figures in each.inventories.items()
            ),
        )
        _insert(
            connection,
            ResourceProviderTrait,
            (
                {"resource_provider_id": each.id, "trait_id": traits[name]}
                for each in made
                for name in each.traits
            ),
        )
        connection.execute(PlacementEpoch.table().update().values(epoch=_EPOCH, facts_epoch=_EPOCH))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    database.dispose()


def _names(
    connection: Connection, model: type[Base], used: Iterable[Iterable[str]]
) -> dict[str, int]:
    names = dict.fromkeys(itertools.chain.from_iterable(used))
    numbers = {name: number for number, name in enumerate(names, 1)}
    _insert(connection, model, ({"id": number, "name": name} for name, number in numbers.items()))
    return numbers


def _named(provider: _Provider) -> dict[str, Any]:
    return {
        "id": provider.id,
        "uuid": uuid_of(provider.id),
        "name": provider.name,
        "generation": 1,
        "root_provider_id": provider.root,
        "parent_provider_id": provider.parent,
    }


def _figures(provider: int, total: int, ratio: float) -> dict[str, Any]:
    return {
        "resource_provider_id": provider,
        "total": total,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": total,
        "step_size": 1,
        "allocation_ratio": ratio,
    }


def _insert(connection: Connection, model: type[Base], rows: Iterable[dict[str, Any]]) -> None:
    """Write rows by PostgreSQL's COPY: there may be millions."""
    remaining = iter(rows)
    cursor: Any = connection.connection.cursor()
    while batch := list(itertools.islice(remaining, _ROWS_PER_BATCH)):
        columns = list(batch[0])
        lines = ("\t".join(_copied(row[name]) for name in columns) for row in batch)
        statement = f"COPY {model.table().name} ({', '.join(columns)}) FROM STDIN"
        cursor.copy_expert(statement, io.StringIO("\n".join(lines)))


def _copied(value: Any) -> str:
    return "\\N" if value is None else str(value)
