"""Security of the ways to brokers and databases: accounts, passwords, TLS."""

import ssl

import amqp

from armillary.db import Database
from programs.operator.check_results import Result
from programs.operator.security.inspected import (
    CELL_CONDUCTOR,
    COMPUTE,
    Account,
    Inspected,
    broker_accounts_of,
    configured,
    database_accounts_of,
    is_local,
    result_of,
)
from rpc.broker.broker_accounts import account_name

GUEST = "guest"
SUPERUSERS = frozenset({"postgres", "root", "admin", "sa", "mysql"})
PASSWORD_CHARACTERS_MIN = 12
WELL_KNOWN = frozenset(
    {"guest", "password", "passw0rd", "secret", "changeme", "change_me", "admin", "root",
     "rabbit", "rabbitmq", "postgres", "postgresql", "mysql", "mariadb", "armillary", "openstack",
     "service", "default", "test", "example", "letmein", "123456", "12345678", "qwerty"}
)  # fmt: skip
_VERIFIED = frozenset({"verify-full", "verify-ca"})
_CONNECT_SECONDS_MAX = 5


def check_broker_tls(of: Inspected) -> Result | None:
    """Check that messages are encrypted, and the broker proves its name."""
    remote = [one for one in broker_accounts_of(of.conf) if not is_local(one.host)]
    if of.conf.oslo_messaging_rabbit.ssl or not remote:
        return result_of([])
    return result_of(
        [f"[oslo_messaging_rabbit] ssl is off, and {_places(remote)} lead to other machines"]
    )


def check_broker_accounts(of: Inspected) -> Result | None:
    """Check that each role has an account of its own on the broker."""
    accounts = broker_accounts_of(of.conf)
    failures = [f"{one.where} uses the account guest" for one in accounts if one.user == GUEST]
    expected = _expected(of)
    warnings = [
        f"{one.where} uses the account {one.user}, not one that ends with "
        f"{' or '.join(sorted(expected))}; an account of several roles may do what each of them may"
        for one in accounts
        if one.user != GUEST and not one.user.endswith(tuple(expected))
    ]
    if len(of.roles) > 1 and len({one.user for one in accounts}) == 1:
        warnings.append(f"{', '.join(sorted(of.roles))} share one configuration, and its account")
    return result_of(_once(failures), _once(warnings)) if accounts else None


def check_guest(of: Inspected) -> Result | None:
    """Check, with --connect, that the broker has no account that everyone knows."""
    if not of.connects:
        return None
    failures, warnings = [], []
    brokers = {(one.host, one.port): one for one in broker_accounts_of(of.conf)}
    for one in brokers.values():
        try:
            if _lets_guest_in(of, one):
                failures.append(
                    f"the broker on {one.host} lets guest in with its well-known password; delete "
                    "that account"
                )
        except OSError as error:
            warnings.append(f"the broker on {one.host} cannot be asked: {error}")
    return result_of(failures, warnings)


def check_passwords(of: Inspected) -> Result | None:
    """Check that no password of a URL can be guessed."""
    weak = [
        f"the password of {one.user or 'no user'} in {one.where} {why}"
        for one in [*broker_accounts_of(of.conf), *database_accounts_of(of.conf)]
        if (why := _weakness(one)) is not None
    ]
    return result_of(_once(weak))


def check_database_tls(of: Inspected) -> Result | None:
    """Check that connections to databases are encrypted, and the server proves its name."""
    failures: list[str] = []
    warnings: list[str] = []
    for known in configured(of.conf):
        url = known.open(of.conf).url
        if url.get_backend_name() == "sqlite" or is_local(url.host or ""):
            continue
        where = f"[{known.group}] connection"
        mode = url.query.get("sslmode")
        if mode in _VERIFIED or url.query.get("ssl_ca"):
            continue
        if mode == "require" or url.query.get("ssl") == "true":
            warnings.append(f"{where}: TLS without a check of the server; use sslmode=verify-full")
        else:
            failures.append(f"{where} leads to {url.host} and does not ask for TLS")
    return result_of(failures, warnings)


def check_database_accounts(of: Inspected) -> Result | None:
    """Check that services own their database and nothing else on its server."""
    failures = [
        f"{one.where} uses the superuser {one.user}"
        for one in database_accounts_of(of.conf)
        if one.user in SUPERUSERS
    ]
    if of.connects:
        failures += [
            f"the account of [{known.group}] connection {why}"
            for known in configured(of.conf)
            if (why := _power_of(known.open(of.conf))) is not None
        ]
    return result_of(failures)


_POSTGRESQL = "SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user"
_MYSQL = (
    "SELECT COUNT(*) FROM information_schema.user_privileges WHERE privilege_type <> 'USAGE' "
    "AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
)


def _power_of(database: Database) -> str | None:
    """Return what an account may do beyond its own database. Raises DatabaseUnavailable."""
    try:
        return _power(database)
    finally:
        database.dispose()


def _power(database: Database) -> str | None:
    backend = database.url.get_backend_name()
    if backend == "postgresql":
        is_super, may_make_roles = database.peek(_POSTGRESQL)
        if is_super or may_make_roles:
            return f"{'is a superuser' if is_super else 'may create roles'} of PostgreSQL"
    elif backend == "mysql":
        (count,) = database.peek(_MYSQL)
        if count:
            return "has privileges on all databases of its server"
    return None


def _expected(of: Inspected) -> set[str]:
    """Return the names of the accounts of the inspected roles, without a prefix."""
    scopes = {COMPUTE: of.conf.host, CELL_CONDUCTOR: of.conf.cell.uuid}
    return {
        account_name(role, scopes.get(role) or "") if role in scopes else account_name(role)
        for role in of.roles
    }


def _weakness(account: Account) -> str | None:
    text = account.password
    if not text:
        # a UNIX socket and a certificate need none
        return None if is_local(account.host) and account.scheme != "rabbit" else "is empty"
    if text.lower() in WELL_KNOWN or text == account.user:
        return "is a well-known one"
    if len(text) < PASSWORD_CHARACTERS_MIN:
        return f"has fewer than {PASSWORD_CHARACTERS_MIN} characters"
    return None


def _lets_guest_in(of: Inspected, account: Account) -> bool:
    """Return whether the password of guest is the well-known one. Raises OSError."""
    options = of.conf.oslo_messaging_rabbit
    port = account.port or (5671 if options.ssl else 5672)
    # The password is known to all, so it does not matter to whom it is sent.
    tls = {"certfile": options.ssl_cert_file or None, "keyfile": options.ssl_key_file or None,
           "cert_reqs": ssl.CERT_NONE}  # fmt: skip
    connection = amqp.Connection(
        f"{account.host}:{port}", userid=GUEST, password=GUEST, virtual_host=account.vhost,
        ssl=tls if options.ssl else False, connect_timeout=_CONNECT_SECONDS_MAX,
    )  # fmt: skip
    try:
        connection.connect()
    except amqp.AccessRefused:
        return False
    except amqp.NotAllowed:  # the password is right, the virtual host another account's
        return True
    except amqp.AMQPError as error:
        raise OSError(str(error)) from error
    connection.close()
    return True


def _places(accounts: list[Account]) -> str:
    return ", ".join(_once([f"{one.where} ({one.host})" for one in accounts]))


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))
