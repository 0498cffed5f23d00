"""Service group driver ``mc``: heartbeats are kept in memcached."""

import collections
import hashlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeVar

from oslo_config import cfg
from pymemcache.client.base import PooledClient

from armillary import exception
from conductor.cell_conductor.servicegroup import OPTION, ServiceGroupDriver

EXPIRES_SECONDS = 3600
KEYS_MAX = 200
"""Maximum number of keys in one message."""
CONNECTIONS_MAX = 16

T = TypeVar("T")


class MemcachedDriver(ServiceGroupDriver):
    """Heartbeats go to ``[servicegroup] memcache_servers``, each host's to one of them.

    The database gets them in batches. While a server is unreachable, all heartbeats go to the
    database. Needs the package pymemcache (``pip install armillary[memcached]``).
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        servers = sorted(set(conf.servicegroup.memcache_servers))
        if not servers:
            raise exception.ConfigurationError(
                reason=f"{OPTION} mc needs [servicegroup] memcache_servers"
            )
        timeout_seconds = conf.servicegroup.memcache_socket_timeout
        self._clients = [
            PooledClient(
                server, connect_timeout=timeout_seconds, timeout=timeout_seconds, no_delay=True,
                max_pool_size=CONNECTIONS_MAX, default_noreply=False,
            )
            for server in servers
        ]  # fmt: skip

    def record(self, hosts: Collection[str], at_seconds: int) -> None:
        for client, keys in self._batches(hosts):
            values = dict.fromkeys(keys, str(at_seconds))
            refused = _call(client, partial(client.set_many, values, expire=EXPIRES_SECONDS))
            if refused:
                raise exception.Unavailable(
                    reason=f"memcached {client.server} did not store {len(refused)} heartbeats"
                )

    def last_seen(self, hosts: Collection[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for client, keys in self._batches(hosts):
            values = _call(client, partial(client.get_many, keys))
            found.update((keys[key], int(value)) for key, value in values.items())
        return found

    def stop(self) -> None:
        for client in self._clients:
            client.close()

    def _batches(self, hosts: Collection[str]) -> Iterator[tuple[PooledClient, dict[str, str]]]:
        """Return a client and key -> host for each message to be sent."""
        of_client: dict[int, list[tuple[str, str]]] = collections.defaultdict(list)
        for host in hosts:
            digest = hashlib.sha256(f"{self._conf.cell.uuid}\n{host}".encode()).hexdigest()
            of_client[int(digest, 16) % len(self._clients)].append((f"armillary-{digest}", host))
        for number, keys in of_client.items():
            for first in range(0, len(keys), KEYS_MAX):
                yield self._clients[number], dict(keys[first : first + KEYS_MAX])


def _call(client: PooledClient, fn: Callable[[], T]) -> T:
    try:
        return fn()
    except Exception:
        client.close()  # the other connections were probably lost, too
        raise
