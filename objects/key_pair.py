"""Key pairs: public keys of users, by name."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A public SSH key in OpenSSH's form. ``created_at`` None: it is being stored."""

    user_id: str
    name: str
    public_key: str
    fingerprint: str
    created_at: datetime | None = None
