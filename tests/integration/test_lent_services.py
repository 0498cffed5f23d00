"""The databases and brokers lent to tests are fresh, and leave nothing behind."""

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url

from tests.fixtures.services import MARIADB, POSTGRESQL, Service
from tests.fixtures.services.brokers import fresh_vhost, rabbitmqctl
from tests.fixtures.services.databases import fresh_database

pytestmark = pytest.mark.sampled_file(every=3)

BOTH = [
    pytest.param(POSTGRESQL, marks=pytest.mark.postgresql, id="postgresql"),
    pytest.param(MARIADB, marks=pytest.mark.mariadb, id="mariadb"),
]


def vhosts() -> list[str]:
    return rabbitmqctl("list_vhosts").split()


def test_any_database_is_empty(any_database_url: str) -> None:
    """A lent database has no table yet."""
    engine = sqlalchemy.create_engine(any_database_url)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.parametrize("service", BOTH)
def test_database_in_use_is_dropped_all_the_same(service: Service) -> None:
    """A transaction that a test left open does not keep its database alive."""
    with fresh_database(service) as url:
        engine = sqlalchemy.create_engine(url)
        left_open = engine.connect()
        left_open.execute(sqlalchemy.text("CREATE TABLE thing (id INTEGER)"))
        left_open.commit()
        left_open.execute(sqlalchemy.text("SELECT id FROM thing"))
    with pytest.raises(sqlalchemy.exc.OperationalError):
        sqlalchemy.create_engine(url).connect()
    left_open.invalidate()


@pytest.mark.rabbitmq
def test_virtual_host_is_deleted_afterwards() -> None:
    """A lent virtual host exists while it is lent, and no longer."""
    with fresh_vhost() as url:
        name = make_url(url).database
        assert name in vhosts()
    assert name not in vhosts()
