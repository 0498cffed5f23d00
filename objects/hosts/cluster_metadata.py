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
    """All of them; ``seq`` increases with every change.

    Older super conductors leave out what is not required.
    """

    seq: int
    hosts_seq: NotRequired[int]
    """Number of the last change that took a host from its cell."""
    cells: list[CellDict]
    aggregates: list[Aggregate]
    zones: NotRequired[list[ZoneDict]]
