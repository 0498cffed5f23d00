"""CellMapping: a cell, which is a shard of the deployment with its own broker and database."""

from dataclasses import dataclass

CELL0_UUID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class CellMapping:
    """A cell and how to reach it. ``transport_url`` contains a secret: never log it."""

    uuid: str
    name: str
    transport_url: str
    disabled: bool
