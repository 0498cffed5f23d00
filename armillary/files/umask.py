"""Umask of a process: all that it creates, logs by libraries too, is private."""

import os

UMASK = 0o077
"""For programs whose files their owner alone may read."""
PUBLIC_UMASK = 0o022
"""For programs that create files for other accounts to read, none to change."""


def tighten_umask(mask: int = UMASK) -> None:
    """Let all that this process creates be as private as this at least."""
    os.umask(os.umask(mask) | mask)
