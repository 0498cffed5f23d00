"""Security of files: access of other accounts; expiry of certificates, keys and tokens."""

import datetime
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from cryptography import x509

from armillary import exception
from armillary.identity.signed_tokens import KEYS_FILE
from armillary.identity.token_file import TokenFile
from armillary.names import host_patterns
from programs.operator.check_results import Result
from programs.operator.security.inspected import (
    API,
    PLACEMENT,
    Inspected,
    configured,
    existing,
    result_of,
)
from rpc.signing import trust
from rpc.signing.keys import PublicKey
from rpc.signing.trust import Identity

STATE_FILES_MAX = 10_000
SHOWN_MAX = 10


def check_configuration_files(of: Inspected) -> Result | None:
    """Check that other accounts can neither read nor change configuration files."""
    return result_of(list(_shown(_open_to_others(_configuration(of)))))


def check_secret_files(of: Inspected) -> Result | None:
    """Check that other accounts cannot read private keys and tokens."""
    groups = of.conf
    keys = [
        groups.signing.key_file, groups.api.key_file, groups.placement.rest_key_file,
        groups.oslo_messaging_rabbit.ssl_key_file, groups.api.token_file,
        groups.serial_console.key_file, groups.serial_console.tls_key_file,
        groups.console.session_key_file, f"{groups.identity.state_dir}/{KEYS_FILE}",
        *_of_databases(of, "sslkey", "ssl_key"),
    ]  # fmt: skip
    return result_of(list(_shown(_open_to_others(existing(keys)))))


def check_state_files(of: Inspected) -> Result | None:
    """Check that other accounts cannot read what is below the state directory, and databases.

    Nor the audit trail, which names users and what they did.
    """
    databases = [
        known.open(of.conf).url.database
        for known in configured(of.conf)
        if known.open(of.conf).url.get_backend_name() == "sqlite"
    ]
    beside = [f"{path}{suffix}" for path in databases for suffix in ("", "-wal", "-shm")]
    found = [*existing(beside), *_below(Path(of.conf.state_path))]
    trail = existing([of.conf.audit.log_file])
    return result_of(
        list(_shown(_open_to_others(dict.fromkeys(found)))), list(_shown(_open_to_others(trail)))
    )


def check_certificates(of: Inspected) -> Result | None:
    """Check that certificates and authorities are valid and do not expire soon."""
    groups = of.conf
    paths = [
        groups.api.cert_file, groups.api.ca_file,
        groups.placement.rest_cert_file, groups.placement.rest_ca_file,
        groups.oslo_messaging_rabbit.ssl_cert_file, groups.oslo_messaging_rabbit.ssl_ca_file,
        *_of_databases(of, "sslcert", "sslrootcert", "ssl_cert", "ssl_ca"),
    ]  # fmt: skip
    failures: list[str] = []
    warnings: list[str] = []
    for path in dict.fromkeys(path for path in paths if path and path != "system"):
        try:
            found = x509.load_pem_x509_certificates(Path(path).read_bytes())
        except (OSError, ValueError) as error:
            failures.append(f"{path} cannot be read: {error}")
            continue
        expires = min(one.not_valid_after_utc for one in found).timestamp()
        _judge_expiry(of, f"a certificate in {path}", expires, failures, warnings)
    return result_of(failures, warnings)


def check_signing_keys(of: Inspected) -> Result | None:
    """Check that every service that is trusted has a key that stays valid."""
    options = of.conf.signing
    if options.mode == "off":
        return None
    failures: list[str] = []
    warnings: list[str] = []
    for path in existing([options.trust_file, options.compute_trust_file]):
        try:
            roots = [PublicKey.from_text(text) for text in options.root_keys]
            identities = trust.verified(path.read_text(), roots).identities.values()
        except (exception.Invalid, OSError, UnicodeDecodeError) as error:
            failures.append(f"{path} cannot be used: {error}")
            continue
        for one in identities:
            ends = [float("inf") if key.not_after is None else key.not_after for key in one.keys]
            what = f"the last key of {one.name} in {path}"
            _judge_expiry(of, what, max(ends, default=float("inf")), failures, warnings)
        warnings += _not_limited(identities)
        warnings += [
            f"{one.name} names no parent zone as its scope, and may act for every parent"
            for one in identities
            if one.role == "parent_zone" and not one.scope
        ]
    return result_of(failures, warnings)


def _not_limited(identities: Iterable[Identity]) -> Iterator[str]:
    """Yield a warning for each cell that gets no new hosts, or keeps other cells from theirs."""
    cells = [one for one in identities if one.role == "cell_conductor"]
    for number, one in enumerate(cells, 1):
        others = [other for other in cells if other.scope != one.scope]
        if not one.hosts:
            yield (
                f"{one.name} is enrolled for no names of hosts: while signatures are required, its "
                "cell gets no new host until an operator approves it (key hosts); else a thief of "
                "its key could take those of other cells' new hosts"
            )
        elif others and "*" in one.hosts:
            yield (
                f"{one.name} is enrolled for every name of a host, so that no other cell gets a "
                "new host until an operator approves it (key hosts)"
            )
        else:
            yield from _shared_names(one, [each for each in cells[number:] if each in others])


def _shared_names(one: Identity, others: Iterable[Identity]) -> Iterator[str]:
    """Yield a warning for each other cell with a pattern that fits names of this one's."""
    for other in others:
        shared = None if "*" in other.hosts else host_patterns.common(one.hosts, other.hosts)
        if shared is not None:
            yield (
                f"{one.name} is enrolled for {shared[0]}, and {other.name} for {shared[1]}: "
                "neither cell gets a new host with a name that both fit until an operator approves "
                "it (key hosts)"
            )


def check_tokens(of: Inspected) -> Result | None:
    """Check that tokens of the token file do not expire soon, and expire at some time."""
    path = of.conf.api.token_file
    if not path or not of.serves(API, PLACEMENT):
        return None
    warnings: list[str] = []
    for token in TokenFile(Path(path)).list_tokens():
        user, expires = token.identity.user, token.expires
        if expires is None:
            warnings.append(f"a token of {user} in {path} never expires")
        elif expires.timestamp() <= of.now_seconds + of.expires_seconds:
            warnings.append(f"a token of {user} in {path} expires on {expires:%Y-%m-%d}")
    return result_of([], list(_shown(iter(dict.fromkeys(warnings)))))


def _configuration(of: Inspected) -> list[Path]:
    folders = [Path(path) for path in of.conf.config_dir or ()]
    files = [str(path) for folder in folders for path in sorted(folder.glob("*.conf"))]
    policy = of.conf.find_file(of.conf.oslo_policy.policy_file)
    return existing([*(of.conf.config_file or ()), *map(str, folders), *files, policy])


def _of_databases(of: Inspected, *options: str) -> Iterator[str]:
    for known in configured(of.conf):
        query = known.open(of.conf).url.query
        for option in options:
            value = query.get(option)
            if isinstance(value, str):
                yield value


def _below(directory: Path) -> Iterator[Path]:
    """Yield the files below a directory that other accounts can reach."""
    seen = 0
    for parent, folders, files in os.walk(directory):
        if not Path(parent).stat().st_mode & stat.S_IXOTH:
            folders.clear()  # others cannot pass it
            continue
        for name in files:
            seen += 1
            if seen > STATE_FILES_MAX:
                return
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _open_to_others(paths: dict[Path, None] | list[Path]) -> Iterator[str]:
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            yield f"{path} cannot be examined: {error.strerror}"
            continue
        if not _can_be_reached(path):
            continue
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            yield f"every account may change {path} (mode {stat.S_IMODE(mode):04o})"
        elif mode & stat.S_IROTH and stat.S_ISREG(mode):
            yield f"every account may read {path} (mode {stat.S_IMODE(mode):04o})"
        elif mode & stat.S_IWGRP and path.suffix in (".conf", ".pem", ".key", ".yaml"):
            yield f"its group may change {path} (mode {stat.S_IMODE(mode):04o})"


def _can_be_reached(path: Path) -> bool:
    """Return whether other accounts may pass all directories above a path."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.absolute().parents)


def _judge_expiry(
    of: Inspected, what: str, expires: float, failures: list[str], warnings: list[str]
) -> None:
    if expires > of.now_seconds + of.expires_seconds:
        return
    day = datetime.datetime.fromtimestamp(expires, datetime.UTC).strftime("%Y-%m-%d")
    if expires <= of.now_seconds:
        failures.append(f"{what} expired on {day}")
    else:
        warnings.append(f"{what} expires on {day}")


def _shown(found: Iterator[str]) -> Iterator[str]:
    """Yield the first ones, and how many more there are."""
    left = 0
    for number, text in enumerate(found):
        if number < SHOWN_MAX:
            yield text
        else:
            left += 1
    if left:
        yield f"and {left} more"
