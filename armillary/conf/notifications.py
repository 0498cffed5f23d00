"""Options of [notifications]: formats, topics, queue sizes and the event feed."""

from oslo_config import cfg

# fmt: off
UNVERSIONED = "unversioned"
VERSIONED = "versioned"
BOTH = "both"
NONE = "none"

VM_STATE = "vm_state"
VM_AND_TASK_STATE = "vm_and_task_state"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "notifications": [
        cfg.StrOpt(
            "notification_format", default=VERSIONED,
            choices=[
                (VERSIONED, "Payloads are versioned objects, on versioned_notifications_topics."),
                (
                    UNVERSIONED,
                    "Payloads are plain values without a version, on "
                    "[oslo_messaging_notifications] topics.",
                ),
                (BOTH, "Each notification is sent in both formats."),
                (
                    NONE,
                    (
                        "No notification is sent and no connection is made; this also turns off "
                        "the event feed."
                    ),
                ),
            ],
            help="""
Format of notifications on the message bus. They are sent only if ``[oslo_messaging_notifications]
driver`` names a driver, such as messagingv2. Its queues keep notifications that are not consumed.
They are sent to its ``transport_url``, by default the service's own broker; a URL that begins with
noop sends nothing.
""",
        ),
        cfg.ListOpt(
            "versioned_notifications_topics", default=["versioned_notifications"],
            help="""
Topics of versioned notifications. Each has one queue per priority, such as
versioned_notifications.info. Every consumer that needs all notifications needs a topic of its own.
""",
        ),
        cfg.StrOpt(
            "notify_on_state_change",
            choices=[
                (VM_STATE, "instance.update when the state of an instance changes."),
                (VM_AND_TASK_STATE, "Also when its task state changes."),
            ],
            help="""
Whether state changes of an instance are sent as instance.update. Unset: they are not sent on the
message bus, but the event feed shows them anyway.
""",
        ),
        cfg.StrOpt(
            "default_level", default="INFO", choices=["DEBUG", "INFO", "WARN", "ERROR", "CRITICAL"],
            help=(
                "Priority of notifications about successful events; notifications about errors "
                "have ERROR."
            ),
        ),
        cfg.IntOpt(
            "queue_size_max", default=10_000, min=1, max=1_000_000,
            help="""
Maximum number of notifications that wait to be sent by a process. Beyond it, new notifications are
dropped, counted (``armillary_notifications_dropped_total``) and logged, so that work never waits.
""",
        ),
        cfg.BoolOpt(
            "event_feed", default=True,
            help="""
Whether services publish to the event feed, which ``armillary events`` follows. The feed is live
only: the broker drops events without a follower.
""",
        ),
        cfg.IntOpt(
            "followers_max", default=4, min=0, max=500,
            help="""
Maximum number of clients that follow events at one API process; 0 allows none. Each uses one of its
``[api] threads`` while it follows.
""",
        ),
        cfg.IntOpt(
            "follower_queue_size_max", default=1_000, min=1, max=100_000,
            help=(
                "Maximum number of events queued for a slow follower; beyond it the follower "
                "is disconnected."
            ),
        ),
    ]
}
