"""Tell the world what happens: notifications on the message bus, and the live event feed.

Services hold a ``Notifier``, whose methods are named after events; it takes what happened and
returns at once. ``make_notifier`` builds it from the configuration, ``SILENT`` tells nobody.
"""

from armillary.notifications.make import make_notifier
from armillary.notifications.notifier import SILENT, Notifier

__all__ = ["SILENT", "Notifier", "make_notifier"]
