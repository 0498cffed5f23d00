"""Default types of the queues that services declare in RabbitMQ.

All releases since 3.10 accept them. The driver's own defaults include reply and fanout queues that
are transient but not exclusive, which newer releases refuse. These are quorum queues for calls and
casts and one stream for each fanout, unless an operator configures otherwise; reply queues are
exclusive (``rabbit``).
"""

import oslo_messaging.opts
from oslo_config import cfg

GROUP = "oslo_messaging_rabbit"
CONTROL_EXCHANGE = "armillary"
"""Unique name, so that other users of oslo.messaging can share the virtual host."""

_OTHER_BROKER = "oslo_messaging_kafka"

DEFAULTS: dict[str, object] = {
    "rabbit_quorum_queue": True,
    "rabbit_transient_quorum_queue": True,
    "use_queue_manager": True,
    "rabbit_stream_fanout": True,
    "rabbit_qos_prefetch_count": 100,  # required for streams
    "rabbit_interval_max": 2,  # seconds; back within a few seconds of the broker's return
}

IN_MEMORY: dict[str, str] = {
    "rabbit_quorum_queue": "false",
    "rabbit_transient_quorum_queue": "false",
    "use_queue_manager": "false",
    "rabbit_stream_fanout": "false",
    "rabbit_qos_prefetch_count": "0",
}
"""The same for the broker in memory, which has one type of queue, as the query of its URL.

There they hold for its connections alone: buses of one process share a configuration, and a cell on
RabbitMQ must not change how the others declare their exchanges.
"""


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Set these defaults for a service whose options are registered."""
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)


def list_opts() -> list[tuple[str | None, list[cfg.Opt]]]:
    """Return oslo.messaging's options with these defaults, for the sample configuration."""
    groups = [
        (group, options)
        for group, options in oslo_messaging.opts.list_opts()
        if group != _OTHER_BROKER
    ]
    for group, options in groups:
        if group == GROUP:
            cfg.set_defaults(options, **DEFAULTS)
        elif any(option.name == "control_exchange" for option in options):
            cfg.set_defaults(options, control_exchange=CONTROL_EXCHANGE)
    return groups
