"""Notifications on the message bus, and the live event feed.

Services hold a ``Notifier`` with one method per event; each records the event and returns
immediately. ``make_notifier`` builds it from the configuration; ``SILENT`` sends nothing.
"""

from rpc.notifications.factory import make_notifier
from rpc.notifications.notifier import SILENT, Notifier

__all__ = ["SILENT", "Notifier", "make_notifier"]
