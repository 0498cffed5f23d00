"""Number of worker processes of a service."""

import os

from oslo_config import cfg


def worker_count(conf: cfg.ConfigOpts, own: int | None = None) -> int:
    """Return the service's own option if it is set, else ``[DEFAULT] workers``, else the CPUs.

    0 counts as unset. The CPUs are those that the process may use.
    """
    return own or conf.workers or len(os.sched_getaffinity(0))
