"""Ownership of providers and consumers by cells, which limits what a cell's conductor may write.

A provider belongs to the cell whose conductor registered it, as the signature of that message
says. One that was made in the Placement API, or before messages were signed, has no owner until an
operator gives it one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from armillary import exception
from objects.hosts.operator_traits import first_of_operators

CELL_CONDUCTOR = "cell_conductor"


@dataclass(frozen=True, slots=True)
class CellWriter:
    """A cell whose conductor signed a write. Writers of other roles are not restricted.

    ``may_adopt`` lets it write what has no owner, and own it from then on: while unsigned messages
    are accepted as well, so that a deployment can change over.
    """

    cell_uuid: str
    may_adopt: bool

    def owns(self, owner: str | None) -> bool:
        """Return whether what has this owner is the writer's."""
        return owner == self.cell_uuid or (owner is None and self.may_adopt)

    def check_provider(self, provider: str, owner: str | None) -> None:
        """Raise NotItsOwn unless a provider with this owner is the writer's."""
        if not self.owns(owner):
            raise exception.NotItsOwn(
                reason=f"resource provider {provider} {_of(owner)}, not to {self.cell_uuid}"
            )

    def check_traits(self, provider: str, traits: Iterable[str]) -> None:
        """Raise NotItsOwn if operators alone decide whether a provider has one of these traits."""
        refused = first_of_operators(traits)
        if refused is not None:
            raise exception.NotItsOwn(
                reason=f"resource provider {provider}: operators set the trait {refused}, not the "
                f"cell {self.cell_uuid}"
            )


def _of(owner: str | None) -> str:
    if owner is not None:
        return "belongs to another cell"
    return "belongs to no cell (armillary-manage placement adopt-providers gives it to one)"


@dataclass(frozen=True, slots=True)
class ConsumerCells:
    """The cell that a consumer is in, or was when it last had allocations.

    ``other`` is a second one whose conductor may write it, while its instance changes cells.
    """

    home: str | None = None
    other: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerOwner:
    """The project and user that a consumer counts for, or did when it last had allocations."""

    project_id: str
    user_id: str
