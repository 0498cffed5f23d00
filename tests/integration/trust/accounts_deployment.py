"""A deployment of real processes in which each role has its own account on the brokers."""

import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import CELL, CELL_CONDUCTOR, COMPUTE, TOP, Permissions
from tests.fixtures.deployment import Cell, Deployment
from tests.fixtures.services.brokers import evaluate

PASSWORD = "for-this-test"


def _binary(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'<<"{escaped}">>'


def add_account(name: str) -> None:
    words = ", ".join(_binary(text) for text in (name, PASSWORD, "tests"))
    evaluate(f"rabbit_auth_backend_internal:add_user({words})")


def delete_account(name: str) -> None:
    evaluate(f"rabbit_auth_backend_internal:delete_user({_binary(name)}, {_binary('tests')})")


def grant(vhost: str, found: Permissions) -> None:
    """Let an account do on a virtual host what it has to, and no more."""
    access = found.access
    words = (found.account, vhost, access.configure, access.write, access.read, "tests")
    _permit("set_permissions", words)
    for exchange, keys in found.by_exchange.items():
        _permit("set_topic_permissions", (found.account, vhost, exchange, *keys, "tests"))


def _permit(function: str, words: Iterable[str]) -> None:
    evaluate(f"rabbit_auth_backend_internal:{function}({', '.join(map(_binary, words))})")


class AccountsDeployment(Deployment):
    """Makes an account for each process as it is added, and gives its URL to that process."""

    def __init__(self, folder: Path, **arguments: Any) -> None:
        super().__init__(folder, **arguments)
        self.prefix = f"t{uuid.uuid4().hex[:8]}-"
        self._accounts: set[str] = set()

    @property
    def top_url(self) -> str:
        return self._top_url

    def url_for(self, url: str, role: str, broker: str, scope: str | None = None) -> str:
        vhost = make_url(url).database or "/"
        found = broker_accounts.permissions(role, broker, scope=scope, prefix=self.prefix)
        if found.account not in self._accounts:
            add_account(found.account)
            self._accounts.add(found.account)
        grant(vhost, found)
        return (
            make_url(url)
            .set(username=found.account, password=PASSWORD)
            .render_as_string(hide_password=False)
        )

    def _add(self, name: str, binary: str, options: str, *, transport_url: str = "") -> None:
        cell = re.search(r"^uuid = (.+)$", options, re.MULTILINE)
        if binary == "compute":
            url = self.url_for(transport_url, COMPUTE, CELL, name)
        elif binary == "conductor" and cell is not None:
            url = self.url_for(self._top_url, CELL_CONDUCTOR, TOP, cell[1])
            options = self._with_cells_account(options, cell[1])
        else:
            url = self.url_for(self._top_url, binary, TOP)
        super()._add(name, binary, options, transport_url=url)

    def _with_cells_account(self, options: str, cell_uuid: str) -> str:
        found = re.search(r"^transport_url = (.+)$", options, re.MULTILINE)
        assert found is not None
        url = self.url_for(found[1], CELL_CONDUCTOR, CELL, cell_uuid)
        return options.replace(found[0], f"transport_url = {url}")

    def _add_cell(self, cell: Cell) -> list[tuple[str, ...]]:
        conductors = self.url_for(cell.transport_url, "conductor", CELL)
        return [
            tuple(conductors if word == cell.transport_url else word for word in words)
            for words in super()._add_cell(cell)
        ]

    def stop(self) -> None:
        super().stop()
        for account in self._accounts:
            delete_account(account)
        self._accounts.clear()
