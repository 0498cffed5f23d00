"""Key pairs: public keys of users, by name."""

from dataclasses import dataclass
from datetime import datetime

SSH, X509 = "ssh", "x509"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A public key: of kind ssh in OpenSSH's form, of kind x509 a certificate in PEM.

    ``created_at`` None: it is being stored.
    """

    user_id: str
    name: str
    public_key: str
    fingerprint: str
    created_at: datetime | None = None
    kind: str = SSH
