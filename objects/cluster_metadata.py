"""The cluster metadata as it is sent: cells, aggregates and child zones, for every scheduler."""

from typing import NotRequired, TypedDict

from objects.aggregate import Aggregate


class CellDict(TypedDict):
    """A cell."""

    uuid: str
    name: str
    disabled: bool


class ZoneDict(TypedDict):
    """A child zone."""

    uuid: str
    name: str
    transport_url: str
    disabled: bool
    weight_offset: float
    weight_scale: float


class ClusterMetadataDict(TypedDict):
    """All of them; ``seq`` increases with every change."""

    seq: int
    cells: list[CellDict]
    aggregates: list[Aggregate]
    zones: NotRequired[list[ZoneDict]]
    """Older super conductors leave them out."""
