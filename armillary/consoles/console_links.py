"""Links to serial consoles: sealed by the API, opened by the proxy, which asks no one else.

A link names the agent's port and the token that the agent accepts once. Users see neither: the text
is encrypted and signed with a key of API and proxy.
"""

import dataclasses
import json
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from armillary import exception, private_files

LINK_CHARACTERS_MAX = 2048


@dataclasses.dataclass(frozen=True, slots=True)
class ConsoleLink:
    """The console of a server: its agent's address and port, and the agent's token for it."""

    instance_uuid: str
    address: str
    port: int
    token: str
    seconds: int
    """How long it can be used after it was sealed."""


def make_key(path: Path) -> None:
    """Write a new key to a file that does not exist yet. Raises OSError."""
    with open(path, "xb", opener=private_files.opener) as file:
        file.write(Fernet.generate_key() + b"\n")


def read_key(path: Path) -> Fernet:
    """Return the key in a file. Raises ConfigurationError."""
    try:
        return Fernet(path.read_bytes().strip())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a key of 32 bytes in Base64"
        raise exception.ConfigurationError(
            reason=f"[serial_console] key_file = {path} cannot be used: {reason}; make one with "
            "armillary-serialproxy --make-key FILE"
        ) from error


def seal(link: ConsoleLink, key: Fernet) -> str:
    """Return a link as text that only holders of the key can read or make."""
    return key.encrypt(json.dumps(dataclasses.asdict(link)).encode()).decode()


def open_sealed(text: str, key: Fernet) -> ConsoleLink:
    """Return what was sealed. Raises Invalid for anything else, or when its time has expired."""
    sealed = text[:LINK_CHARACTERS_MAX].encode("utf-8", "replace")
    try:
        link = ConsoleLink(**json.loads(key.decrypt(sealed)))
        key.decrypt(sealed, ttl=link.seconds)
    except InvalidToken as error:
        raise exception.Invalid(
            reason="the token of the console is unknown or too old; ask for a new one"
        ) from error
    return link
