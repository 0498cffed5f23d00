"""Places: which part of a deployment the messages on a broker are for, signed with each of them.

A topic has the same name in every cell. What was signed for the conductor or an agent of one cell
must not be taken in another, so a message names its cell beside its topic, and the receiver
compares that with the cell that it serves.
"""

from typing import NamedTuple

TOP = "top"
"""Scope of the top broker."""

_ZONE = "zone "


class Place(NamedTuple):
    """A broker's scope (:data:`TOP`, the UUID of a cell, or :func:`zone_scope`) and exchange."""

    scope: str
    exchange: str

    @property
    def is_between_deployments(self) -> bool:
        """Whether parent and child zone, each with root keys of its own, meet here."""
        return self.scope.startswith(_ZONE)

    @property
    def owner(self) -> str:
        """The scope in the trust list of who acts for this place: a cell's UUID, a zone's name."""
        return self.scope.removeprefix(_ZONE)


def zone_scope(name: str) -> str:
    """Return the scope of the messages between a zone and its parents, on the zone's broker."""
    return f"{_ZONE}{name}"
