"""oslo.service's backdoor: a Python prompt on a local port, on the eventlet backend alone.

On the threading backend the loader refuses its options.
"""

from oslo_config import cfg

from armillary import concurrency


def widen(conf: cfg.ConfigOpts, workers: int) -> None:
    """Turn a single port into a range with one port for each worker."""
    if concurrency.backend() != concurrency.EVENTLET:
        return
    # Its workers register these very objects again; copies of them would be duplicates.
    from oslo_service._options import eventlet_backdoor_opts

    conf.register_opts(eventlet_backdoor_opts)
    port = conf.backdoor_port
    if workers > 1 and port is not None and port.isdigit() and int(port):
        conf.set_override("backdoor_port", f"{port}:{int(port) + workers - 1}")


def open_here(conf: cfg.ConfigOpts) -> None:
    """Open it in this process if it is configured, as launchers do in workers."""
    if concurrency.backend() == concurrency.EVENTLET:
        from oslo_service import eventlet_backdoor  # loads eventlet

        eventlet_backdoor.initialize_if_enabled(conf)
