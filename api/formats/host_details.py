"""Messages for users, without what only administrators may know of hosts: names and paths.

A fault may contain what a program of the host said, or an error of its file system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = r"[^\s/'\"`<>|;,:()\[\]{}=]+"
_PATH = re.compile(
    # file:///a/b, or /a/b that is not a part of a word, of a URL or of a relative path
    rf"(?:file://|(?<![\w/.~%@-]))(?P<path>/{_NAME}(?:/{_NAME})*/?)"
)
_QUOTED_PATH = re.compile(r"(?P<quote>['\"`])(?:file://)?(?P<path>/[^/'\"`\n][^'\"`\n]*)(?P=quote)")


def without_host_details(
    message: str, hosts: Iterable[str | None], *, told_by_user: Iterable[str] = ()
) -> str:
    """Return a message without these names of hosts, and with the last part of each path alone.

    Paths in ``told_by_user``, such as the command of the user's image, stay as they are.
    """
    return without_paths(without_hosts(message, hosts), told_by_user=told_by_user)


def without_hosts(message: str, names: Iterable[str | None]) -> str:
    """Return a message for a user, who learns no names of hosts, without these."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        word = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)"
        message = re.sub(rf"\bHost {word}", "The host", message)
        message = re.sub(rf"(?:\bhost )?{word}", "the host", message)
    return message


def without_paths(message: str, *, told_by_user: Iterable[str] = ()) -> str:
    """Return a message with the last part of each absolute path in place of the path."""
    known = list(told_by_user)

    def shortened(found: re.Match[str]) -> str:
        path = found["path"]
        if any(path in text for text in known):
            return found[0]
        name = path.rstrip("/").rpartition("/")[2]
        quote = found.groupdict().get("quote", "")
        return f"{quote}{name}{quote}"

    return _PATH.sub(shortened, _QUOTED_PATH.sub(shortened, message))
