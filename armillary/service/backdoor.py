"""oslo.service's backdoor: a Python prompt on a UNIX socket, on the eventlet backend alone.

The loader refuses a port, and the threading backend.
"""

from oslo_config import cfg

from armillary import concurrency


def open_here(conf: cfg.ConfigOpts) -> None:
    """Open it in this process if it is configured, as launchers do in workers."""
    if concurrency.backend() == concurrency.EVENTLET:
        from oslo_service import eventlet_backdoor  # loads eventlet

        eventlet_backdoor.initialize_if_enabled(conf)
