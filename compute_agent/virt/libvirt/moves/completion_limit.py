"""Time limit of a live migration, and what happens at its end."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from oslo_config import cfg

GIB_LEAST = 2
ABORT, FORCE_COMPLETE = "abort", "force_complete"
_GIB = 1024**3
_MILLISECONDS = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionLimit:
    """Seconds that a migration may take, and the action then; None seconds: no limit."""

    seconds: float | None
    action: str
    permits_post_copy: bool = False

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, data_bytes: int) -> Self:
        """Return the limit for so much memory and disk; small guests get that of 2 GiB."""
        options = conf.libvirt
        gib = max(GIB_LEAST, data_bytes / _GIB)
        seconds = options.live_migration_completion_timeout * gib
        return cls(
            seconds or None,
            options.live_migration_timeout_action,
            options.live_migration_permit_post_copy,
        )

    def is_over(self, job: Mapping[str, Any]) -> bool:
        """Return whether a migration, as libvirt measures it, has taken longer."""
        elapsed: int = job.get("time_elapsed", 0)
        return self.seconds is not None and elapsed > self.seconds * _MILLISECONDS
