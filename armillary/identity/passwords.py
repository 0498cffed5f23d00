"""Hashes of passwords: scrypt, in one line of text for the token file."""

import base64
import hashlib
import hmac
import re
import secrets

CHARACTERS_MAX = 1024
"""A longer password is wrong; hashing takes memory, not length."""

_FORM = re.compile(r"scrypt:(\d{1,8}):(\d{1,3}):(\d{1,3}):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)")
_N, _R, _P = 16384, 8, 1  # 16 MiB and about 50 ms
_WORK_MAX = 2**24
"""Maximum of N * r * p: 2 GiB and some seconds."""
_SALT_BYTES = 16
_HASH_BYTES = 32


def hash_password(password: str, *, n: int = _N) -> str:
    """Return the line for the token file: the method, its parameters, salt and hash.

    ``n`` is the cost, a power of two.
    """
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _scrypt(password, salt, n, _R, _P)
    return f"scrypt:{n}:{_R}:{_P}:{_encoded(salt)}:{_encoded(digest)}"


_COST = f"scrypt:{_N}:{_R}:{_P}"
_HASH_OF_NONE = f"{'A' * 22}:{'A' * 43}"


def cost(line: str) -> str:
    """Return the method and its parameters: all hashes of one cost take as long to compare."""
    return line.rsplit(":", 2)[0]


def hash_of_no_password(cost: str = _COST) -> str:
    """Return a hash that no password has, and that takes as long to compare as others."""
    return f"{cost}:{_HASH_OF_NONE}"


def is_right(password: str, line: str) -> bool:
    """Return whether the line is the hash of the password; compared in constant time."""
    n, r, p, salt, wanted = _parts(line)
    if len(password) > CHARACTERS_MAX:
        return False
    return hmac.compare_digest(_scrypt(password, salt, n, r, p), wanted)


def check_form(line: str) -> None:
    """Raise ``ValueError`` unless the line is a hash made by ``hash_password``."""
    _parts(line)


def fingerprint(line: str | None) -> str:
    """Return a few characters that change with the password; they reveal nothing of it."""
    return _encoded(hashlib.sha256((line or "").encode()).digest()[:6])


def _parts(line: str) -> tuple[int, int, int, bytes, bytes]:
    match = _FORM.fullmatch(line)
    if match is None:
        raise ValueError("expected the output of 'armillary-manage identity hash-password'")
    n, r, p = (int(match[index]) for index in (1, 2, 3))
    if n < 2 or n & (n - 1) or not r or not p or n * r * p > _WORK_MAX:
        raise ValueError("the parameters of scrypt are not usable")
    return n, r, p, _decoded(match[4]), _decoded(match[5])


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    data = password.encode("utf-8", "surrogatepass")
    maxmem = 128 * r * (n + p + 2)
    return hashlib.scrypt(data, salt=salt, n=n, r=r, p=p, maxmem=maxmem, dklen=_HASH_BYTES)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise ValueError("salt or hash is not base64") from error
