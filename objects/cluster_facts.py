"""ClusterFacts: the cells, aggregates and child zones that every scheduler needs to know."""

from typing import NotRequired, TypedDict

from objects.aggregate import Aggregate


class CellFacts(TypedDict):
    """A cell."""

    uuid: str
    name: str
    disabled: bool


class ZoneFacts(TypedDict):
    """A child zone."""

    uuid: str
    name: str
    transport_url: str
    disabled: bool
    weight_offset: float
    weight_scale: float


class ClusterFacts(TypedDict):
    """All of them; ``seq`` increases with every change."""

    seq: int
    cells: list[CellFacts]
    aggregates: list[Aggregate]
    zones: NotRequired[list[ZoneFacts]]
    """Older super conductors leave them out."""
