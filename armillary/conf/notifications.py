"""[notifications]: what services tell the world about what they do, and how."""

from __future__ import annotations

from oslo_config import cfg

UNVERSIONED = "unversioned"
VERSIONED = "versioned"
BOTH = "both"
NONE = "none"

VM_STATE = "vm_state"
VM_AND_TASK_STATE = "vm_and_task_state"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "notifications": [
        cfg.StrOpt(
            "notification_format",
            default=VERSIONED,
            choices=[
                (VERSIONED, "Payloads are versioned objects, on versioned_notifications_topics."),
                (
                    UNVERSIONED,
                    "Payloads are plain values without a version, on "
                    "[oslo_messaging_notifications] topics.",
                ),
                (BOTH, "Each notification is sent in both forms."),
                (NONE, "Nothing is sent, and no connection is made: no event feed either."),
            ],
            help="""
Form of the notifications that are sent on the message bus. They are sent only where
``[oslo_messaging_notifications] driver`` names a driver, such as messagingv2: its queues keep what
nobody reads. Its ``transport_url`` says where to, else it is the service's own broker; a URL that
begins with noop sends nothing.
""",
        ),
        cfg.ListOpt(
            "versioned_notifications_topics",
            default=["versioned_notifications"],
            help="""
Topics of versioned notifications; each has a queue for each priority, such as
versioned_notifications.info. Every consumer that wants all of them needs a topic of its own.
""",
        ),
        cfg.StrOpt(
            "notify_on_state_change",
            choices=[
                (VM_STATE, "instance.update when the state of an instance changes."),
                (VM_AND_TASK_STATE, "Also when what is being done to it changes."),
            ],
            help="""
Whether changes of an instance's state are notified as instance.update. Unset they are not sent on
the message bus; the event feed shows changes of the state all the same.
""",
        ),
        cfg.StrOpt(
            "default_level",
            default="INFO",
            choices=["DEBUG", "INFO", "WARN", "ERROR", "CRITICAL"],
            help="Priority of a notification that tells of no error; one that does has ERROR.",
        ),
        cfg.IntOpt(
            "queue_size_max",
            default=10_000,
            min=1,
            max=1_000_000,
            help="""
Notifications that wait in a process to be sent. What comes when so many wait is dropped, counted
(``armillary_notifications_dropped_total``) and said in the log: work never waits for it.
""",
        ),
        cfg.BoolOpt(
            "event_feed",
            default=True,
            help="""
Whether services show what they do on the event feed, which ``armillary events`` follows. The feed
is live only: the broker drops what nobody follows at that moment.
""",
        ),
        cfg.IntOpt(
            "followers_max",
            default=4,
            min=0,
            max=500,
            help="""
Who may follow events at one API process at the same time; 0 lets nobody. Each takes one of its
``[api] threads`` for as long as it follows.
""",
        ),
        cfg.IntOpt(
            "follower_queue_size_max",
            default=1_000,
            min=1,
            max=100_000,
            help="Events that wait for a follower who reads slowly; with more it is sent away.",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["notifications"], group="notifications")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
