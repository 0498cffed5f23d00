"""A deployment of real processes whose users have tokens, each of a project of its own."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

from armillary.identity.passwords import hash_password
from tests.fixtures.access.token_files import token_entry
from tests.fixtures.asking import Api
from tests.fixtures.deployment import Deployment

ADMINISTRATOR = "root"
PASSWORD = "for-this-test"


@dataclass(frozen=True)
class Account:
    """A user in one project; another account may be the same user's in another project."""

    user: str
    project: str
    roles: tuple[str, ...]

    @property
    def token(self) -> str:
        return hashlib.sha256(f"token of {self.user} in {self.project}".encode()).hexdigest()


def write_accounts(path: Path, accounts: Mapping[str, Account]) -> None:
    """Write the accounts as Armillary's built-in identity reads them."""
    password = hash_password(PASSWORD, n=16)
    projects: dict[str, dict[str, list[str]]] = {}
    for each in accounts.values():
        projects.setdefault(each.user, {})[each.project] = [*each.roles]
    users = [
        {"name": user, "password": password, "projects": of_user}
        for user, of_user in projects.items()
    ]
    tokens = [
        token_entry(each.token, each.user, each.project, each.roles) for each in accounts.values()
    ]
    path.write_text(yaml.safe_dump({"users": users, "tokens": tokens}))
    path.chmod(0o600)


class TokenDeployment(Deployment):
    """Asks as the administrator, or as any of the accounts."""

    def __init__(
        self, folder: Path, *, accounts: Mapping[str, Account], options: str = "", **arguments: Any
    ) -> None:
        self.accounts = accounts
        path = folder / "tokens.yaml"
        write_accounts(path, accounts)
        super().__init__(
            folder,
            options=f"{options}[api]\nauth_strategy = token_file\ntoken_file = {path}\n"
            f"[identity]\nstate_dir = {folder / 'identity'}\n",
            **arguments,
        )
        self._session.headers["X-Auth-Token"] = accounts[ADMINISTRATOR].token

    @property
    def placement_url(self) -> str:
        """Address of the Placement REST API."""
        found = re.search(r"rest_bind_port = (\d+)", (self.folder / "placement.conf").read_text())
        assert found is not None
        return f"http://127.0.0.1:{found[1]}"

    def as_user(self, user: str) -> Api:
        """Return what asks as a user."""
        session = requests.Session()
        session.headers["X-Auth-Token"] = self.accounts[user].token
        return Api(self.api_url, session)
