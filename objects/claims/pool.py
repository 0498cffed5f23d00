"""Pools: resource providers that serve claims."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class PoolInventory:
    """One resource class of a pool: how much there is, and how much is used."""

    total: int
    reserved: int
    used: int
    allocation_ratio: float

    @property
    def free(self) -> int:
        """The amount that can still be claimed."""
        return max(0, int((self.total - self.reserved) * self.allocation_ratio) - self.used)


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """A pool. ``claims`` is the number of its consumers, ``aggregates`` are UUIDs."""

    uuid: str
    name: str
    traits: list[str]
    aggregates: list[str]
    claims: int
    inventories: dict[str, PoolInventory]
