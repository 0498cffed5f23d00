"""Links to serial consoles: sealed by the API, opened by the proxy.

A link names the agent's port and the token that the agent accepts once. Users see neither: the text
is encrypted and signed with a key of API and proxy. It also names where the proxy asks whether the
login that it was made for is still valid, and with what.
"""

import dataclasses
import json
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from armillary import exception
from armillary.files import private_files
from armillary.keys.key_file import KeyFile

LINK_CHARACTERS_MAX = 6000
"""The library of the proxy takes request lines of up to 8,192 characters."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConsoleLink:
    """The console of a server: its agent's address and port, and the agent's token for it."""

    instance_uuid: str
    address: str
    port: int
    token: str
    seconds: int
    """How long it can be used after it was sealed."""
    api_url: str
    """Address of the API as links name it."""
    grant: str = dataclasses.field(repr=False)
    """What the API recognises the login by; only the API can read it."""


def make_key(path: Path) -> None:
    """Write a new key to a file that does not exist yet. Raises OSError."""
    with open(path, "xb", opener=private_files.opener) as file:
        file.write(Fernet.generate_key() + b"\n")


class ConsoleKeys:
    """The keys in a file, one a line, read again when it changes: the first seals, each opens."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises ConfigurationError."""
        self._path = path
        self._file = KeyFile(path)
        self.current()

    def current(self) -> MultiFernet:
        """Return the keys. Raises ConfigurationError if there are none, or others."""
        try:
            return MultiFernet([Fernet(key) for key in self._file.current()])
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "there is no key, or another line in it"
            raise exception.ConfigurationError(
                reason=f"[serial_console] key_file = {self._path} cannot be used: {reason}; make "
                "one with armillary-serialproxy --make-key FILE"
            ) from error


def seal(link: ConsoleLink, keys: ConsoleKeys) -> str:
    """Return a link as text that only holders of the keys can read or make."""
    return keys.current().encrypt(json.dumps(dataclasses.asdict(link)).encode()).decode()


def open_sealed(text: str, keys: ConsoleKeys) -> ConsoleLink:
    """Return what was sealed. Raises Invalid for anything else, or when its time has expired."""
    sealed = text[:LINK_CHARACTERS_MAX].encode("utf-8", "replace")
    key = keys.current()
    try:
        link = ConsoleLink(**json.loads(key.decrypt(sealed)))
        key.decrypt(sealed, ttl=link.seconds)
    except InvalidToken as error:
        raise exception.Invalid(
            reason="the token of the console is unknown or too old; ask for a new one"
        ) from error
    return link
