"""Default types of the queues that services declare in RabbitMQ.

All releases since 3.10 accept them. The driver's own defaults include reply and fanout queues that
are transient but not exclusive, which newer releases refuse. These are quorum queues for calls and
casts and one stream for each fanout, unless an operator configures otherwise; reply queues are
exclusive (``rabbit``).
"""

from __future__ import annotations

from typing import Any

import oslo_messaging
from oslo_config import cfg

GROUP = "oslo_messaging_rabbit"
CONTROL_EXCHANGE = "armillary"
"""Unique name, so that other users of oslo.messaging can share the virtual host."""

DEFAULTS: dict[str, Any] = {
    "rabbit_quorum_queue": True,
    "rabbit_transient_quorum_queue": True,
    "use_queue_manager": True,
    "rabbit_stream_fanout": True,
    "rabbit_qos_prefetch_count": 100,  # required for streams
}


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Set these defaults for a service whose options are registered."""
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)


def set_sample_defaults() -> None:
    """Set these defaults in the generated sample configuration."""
    # The public list of options is a copy; the generator reads the driver's own list.
    from oslo_messaging._drivers import impl_rabbit

    cfg.set_defaults(impl_rabbit.rabbit_opts, **DEFAULTS)
    oslo_messaging.set_transport_defaults(CONTROL_EXCHANGE)
