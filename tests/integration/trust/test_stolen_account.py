"""A broker account whose password was stolen, as docs/operating/stolen-key.md says."""

import contextlib
import uuid
from collections.abc import Iterator

import amqp
import pytest
from kombu.connection import Connection
from sqlalchemy.engine import make_url

from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import TOP
from tests.fixtures.asking import wait_for
from tests.fixtures.services.brokers import evaluate, fresh_vhost
from tests.integration.trust.accounts_deployment import PASSWORD, add_account, delete_account, grant

pytestmark = pytest.mark.rabbitmq

NEW_PASSWORD = "another-one"


class Account:
    """An account of schedulers on a virtual host of its own."""

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        found = broker_accounts.permissions("scheduler", TOP, prefix=prefix)
        self.name = found.account
        add_account(self.name)
        grant(str(make_url(url).database), found)

    def connection(self, password: str) -> Connection:
        """Return an unopened connection."""
        url = make_url(self._url).set(username=self.name, password=password)
        text = url.render_as_string(hide_password=False)
        return Connection(text.replace("rabbit://", "amqp://"))


@pytest.fixture
def account() -> Iterator[Account]:
    with fresh_vhost() as url:
        made = Account(url, f"t{uuid.uuid4().hex[:8]}-")
        yield made
        with contextlib.suppress(AssertionError):  # it may have been deleted
            delete_account(made.name)


def change_password(name: str, password: str) -> None:
    _do("rabbit_auth_backend_internal:change_password", name, password, "tests")


def close_connections(name: str) -> None:
    """Close those that the broker has in its list, where a new one comes a little later."""
    listed = f'rabbit_connection_tracking:list_of_user(<<"{name}">>)'
    evaluate(
        "(fun Wait(0) -> not_listed; Wait(N) -> "
        f"case {listed} of [] -> timer:sleep(50), Wait(N - 1); _ -> ok end end)(600)"
    )
    _do("rabbit_networking:close_all_user_connections", name, "a stolen password")


def _do(function: str, *words: str) -> None:
    """Do what the command of ``rabbitmqctl`` of that name does, without a second Erlang."""
    given = ", ".join(f'<<"{word}">>' for word in words)
    evaluate(f"{function}({given})")


def is_open(connection: Connection) -> bool:
    """Return whether the broker still answers on a connection."""
    try:
        connection.channel().close()
    except (amqp.exceptions.AMQPError, OSError):
        return False
    return True


def assert_shut_out(account: Account, thief: Connection, password: str) -> None:
    wait_for(lambda: not is_open(thief), "the thief's connection is closed", 30)
    with pytest.raises(amqp.exceptions.AccessRefused):
        account.connection(password).connect()


def test_a_new_password_and_then_closed_connections_shut_a_thief_out(account: Account) -> None:
    """In that order: the processes that share the account go on until they have the new one."""
    with account.connection(PASSWORD) as thief:
        thief.connect()
        change_password(account.name, NEW_PASSWORD)
        assert is_open(thief)
        close_connections(account.name)
        assert_shut_out(account, thief, PASSWORD)
        with account.connection(NEW_PASSWORD) as service:
            assert is_open(service)


def test_a_deleted_account_is_shut_out(account: Account) -> None:
    """As that of one agent, or of one cell's conductors."""
    with account.connection(PASSWORD) as thief:
        thief.connect()
        delete_account(account.name)
        close_connections(account.name)
        assert_shut_out(account, thief, PASSWORD)
