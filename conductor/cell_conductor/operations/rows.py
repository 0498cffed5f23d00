"""The locked rows of one instance in one transaction, with the helpers that flows use."""

import dataclasses
from datetime import datetime

from sqlalchemy.orm import Session

from conductor.common.cell_db import host_seq, models
from objects.allocations.fence import Fence


@dataclasses.dataclass(frozen=True)
class Rows:
    """An instance, its operation, and its migration if it has one."""

    session: Session
    now: datetime
    instance: models.Instance
    operation: models.InstanceOperation
    migration: models.Migration | None = None

    def status(self, status: str) -> None:
        assert self.migration is not None
        self.migration.status = status
        self.migration.updated_at = self.now

    def place(self, host: str | None, node: str | None, *, attempt: int | None = None) -> None:
        """Set the host of the instance, and the attempt that it is there."""
        former = self.instance.host
        self.instance.host, self.instance.node = host, node
        if attempt is not None:
            self.instance.attempt = attempt
        host_seq.touch_hosts(self.session, [former, host])

    def touch_host(self) -> None:
        """Mark the instance's host as changed, for the schedulers."""
        host_seq.touch_hosts(self.session, [self.instance.host])


def fence(operation: models.InstanceOperation) -> Fence:
    """Return the first fence of an operation's writes to placement."""
    return Fence.of_operation(operation.number)
