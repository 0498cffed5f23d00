"""X.509 key pairs: fingerprints of certificates, and new certificates for logins to Windows."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from armillary.http.validation import invalid

RSA_BITS = 2048
VALID_DAYS = 3650
COMMON_NAME_MAX = 64
_UPN = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")
"""The name of an account, as Windows looks for it in a certificate."""


def fingerprint(certificate: str) -> str:
    """Return the SHA-1 fingerprint of a certificate in PEM. Raises Invalid for anything else."""
    try:
        found = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError as error:
        rule = "It must be an X.509 certificate in PEM"
        raise invalid("keypair.public_key", certificate, rule) from error
    digest = found.fingerprint(hashes.SHA1()).hex()  # noqa: S303 - as clients show it
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def new_pair(user_id: str) -> tuple[str, str]:
    """Return a new private key and its self-signed certificate for client logins, both in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user_id[:COMMON_NAME_MAX])])
    now = datetime.datetime.now(datetime.UTC)
    account = x509.OtherName(_UPN, _utf8_string(f"{user_id[:COMMON_NAME_MAX]}@localhost"))
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([account]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()


def _utf8_string(text: str) -> bytes:
    """Return a text as ASN.1 has it."""
    encoded = text.encode()
    size = len(encoded)
    length = bytes([size]) if size < 0x80 else bytes([0x82, size >> 8, size & 0xFF])
    return b"\x0c" + length + encoded
