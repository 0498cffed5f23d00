"""Scope of a cell's conductor in the ledger: consumers of its cell, on providers of its cell.

A consumer is in the cell that owns the providers it has allocations on. While it has none, it is
in the one it was in before. Providers without an owner that share their inventories, such as a
storage pool of several cells, may be used together with those of the cell. A consumer keeps its
server group and, also while it has no allocations, its project and user. Its host in the group is
one of the cell, or one that no provider is named after: the driver of a host may give its node
another name. Claims on pools belong to the super conductor. Pure.
"""

from collections.abc import Iterable

from armillary import exception
from objects.allocations.allocation import AllocationClaim
from objects.request_spec import CLAIM, INSTANCE
from placement.ledger.ledger import Ledger
from placement.ownership import CellWriter, ConsumerCells, ConsumerOwner


class CellScope:
    """Decides what a cell's conductor may write of a ledger, which must know the sharing ones."""

    def __init__(self, writer: CellWriter, ledger: Ledger) -> None:
        self._writer = writer
        self._ledger = ledger

    def claim_refusal(self, claim: AllocationClaim) -> str | None:
        """Return why a claim is refused, or None."""
        try:
            self.check(claim.consumer_uuid)
        except exception.NotItsOwn as error:
            return str(error)
        foreign = self._foreign(claim.consumer_uuid, claim.allocations)
        if foreign is not None:
            return str(self._refused(claim.consumer_uuid, foreign))
        return self._group_refusal(claim) or self._owner_refusal(claim)

    def _group_refusal(self, claim: AllocationClaim) -> str | None:
        """Return why a claim may not say this of its consumer's server group, or None."""
        if claim.group is None:
            return None
        if claim.group.group_uuid is not None:
            return (
                f"consumer {claim.consumer_uuid}: only schedulers put members into server groups, "
                f"as into {claim.group.group_uuid}"
            )
        host = claim.group.host
        names = self._ledger.owners_by_name
        if host in names and not self._owns(claim.consumer_uuid, names[host]):
            return (
                f"consumer {claim.consumer_uuid}: host {host} is not of cell "
                f"{self._writer.cell_uuid}"
            )
        return None

    def _owner_refusal(self, claim: AllocationClaim) -> str | None:
        """Return why a claim may not count for this project and user, or as this type, or None."""
        consumer = claim.consumer_uuid
        if claim.consumer_type != INSTANCE:
            return f"consumer {consumer}: cells claim for instances, not for {claim.consumer_type}"
        owner = self._ledger.owner_of(consumer)
        if owner is None:
            if self._writer.may_adopt:
                return None
            return f"consumer {consumer}: no project is known that it had allocations for"
        if owner == ConsumerOwner(claim.project_id, claim.user_id):
            return None
        return (
            f"consumer {consumer} is of project {owner.project_id} and user {owner.user_id}, not "
            f"of {claim.project_id} and {claim.user_id}"
        )

    def check_move(self, source: str, target: str, consumer_type: str | None) -> None:
        """Raise NotItsOwn unless both are in the writer's cell, and of the same project and user.

        A new type has to be one that counts as its project's servers do.
        """
        for consumer in (source, target):
            self.check(consumer)
        owners = {self._ledger.owner_of(consumer) for consumer in (source, target)}
        if len(owners) > 1 and not (self._writer.may_adopt and None in owners):
            raise exception.NotItsOwn(
                reason=f"consumers {source} and {target} are not of the same project and user"
            )
        if consumer_type not in (None, INSTANCE):
            raise exception.NotItsOwn(
                reason=f"consumer {target}: cells move allocations of instances, not of "
                f"{consumer_type}"
            )

    def check(self, consumer: str) -> None:
        """Raise NotItsOwn unless a consumer is in the writer's cell."""
        holding = self._ledger.holdings[consumer]
        if holding is None:
            if not self._was_here(consumer):
                raise exception.NotItsOwn(
                    reason=f"consumer {consumer} has no allocations, and was not in cell "
                    f"{self._writer.cell_uuid} before"
                )
            return
        if holding.consumer_type == CLAIM:
            raise exception.NotItsOwn(reason=f"consumer {consumer} is a claim on a pool")
        foreign = self._foreign(consumer, holding.amounts)
        if foreign is not None:
            raise self._refused(consumer, foreign)
        if not any(self._owns(consumer, self._owner(uuid)) for uuid in holding.amounts):
            raise self._refused(consumer, next(iter(holding.amounts)))

    def is_unknown(self, consumer: str) -> bool:
        """Return whether no cell ever had a consumer, as far as is known."""
        is_empty = self._ledger.holdings[consumer] is None
        return is_empty and self._cells(consumer).home is None

    def _was_here(self, consumer: str) -> bool:
        cells = self._cells(consumer)
        return self._writer.owns(cells.home) or self._owns(consumer, cells.other)

    def _foreign(self, consumer: str, providers: Iterable[str]) -> str | None:
        """Return a provider that this consumer may not be on by the writer's word, or None."""
        for uuid in providers:
            if uuid not in self._ledger.providers:
                continue  # the ledger says so
            owner = self._owner(uuid)
            is_shared = owner is None and uuid in self._ledger.sharing
            if not is_shared and not self._owns(consumer, owner):
                return uuid
        return None

    def _owns(self, consumer: str, owner: str | None) -> bool:
        """Return whether a consumer may be on a provider of this owner: also of both its cells."""
        cells = self._cells(consumer)
        both = {cells.home, cells.other}
        is_changing = cells.other is not None and self._writer.cell_uuid in both
        return self._writer.owns(owner) or (is_changing and owner in both)

    def _cells(self, consumer: str) -> ConsumerCells:
        return self._ledger.cells.get(consumer, ConsumerCells())

    def _owner(self, provider: str) -> str | None:
        return self._ledger.providers[provider].cell_uuid

    def _refused(self, consumer: str, provider: str) -> exception.NotItsOwn:
        return exception.NotItsOwn(
            reason=f"consumer {consumer}: resource provider {provider} is not of cell "
            f"{self._writer.cell_uuid}"
        )
