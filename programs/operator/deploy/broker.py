"""Virtual hosts and accounts of a deployment on RabbitMQ, as one import of definitions."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

import requests

from armillary import exception
from armillary.logs.masking import mask_passwords
from programs.operator.broker_commands import definitions
from programs.operator.deploy.steps import Steps, run_program
from rpc.broker.broker_accounts import Permissions

RABBITMQCTL = "rabbitmqctl"
READ_ATTEMPTS_MAX = 3
READ_PAUSE_SECONDS = 0.5
_SECONDS_MAX = 30
_SALT_BYTES = 4
_ALGORITHM = "rabbit_password_hashing_sha256"

Definitions = dict[str, Any]
"""Content of RabbitMQ's definitions file: a list of objects by kind."""


@dataclasses.dataclass(frozen=True)
class BrokerAccount:
    """An account with its password, and its permissions on each virtual host."""

    name: str
    password: str
    permissions: Sequence[tuple[str, Permissions]]


class BrokerAdmin:
    """A way to administrate the broker: ``rabbitmqctl``, or the URL of the management plugin."""

    def __init__(self, place: str) -> None:
        self._place = place

    def read(self) -> Definitions:
        """Return what the broker has. Raises Unavailable.

        ``rabbitmqctl`` ends without an error and prints something else when a virtual host is
        deleted meanwhile, so it is called again.
        """
        attempt = 1
        while True:
            try:
                found: Definitions = json.loads(self._definitions())
            except ValueError as error:
                if attempt == READ_ATTEMPTS_MAX:
                    raise exception.Unavailable(
                        f"{mask_passwords(self._place)} did not answer with definitions"
                    ) from error
                time.sleep(attempt * READ_PAUSE_SECONDS)
                attempt += 1
            else:
                return found

    def _definitions(self) -> str:
        if self._place == RABBITMQCTL:
            return run_program([RABBITMQCTL, "--quiet", "export_definitions", "-"])
        return self._request("GET", None)

    def load(self, wanted: Definitions) -> None:
        """Add definitions, or replace those of the same names. Raises Unavailable."""
        text = json.dumps(wanted)
        if self._place == RABBITMQCTL:
            run_program([RABBITMQCTL, "--quiet", "import_definitions"], text)
        else:
            self._request("POST", text)

    def delete_account(self, name: str) -> None:
        """Delete an account, whose connections the broker closes. Raises Unavailable."""
        self._delete("delete_user", "users", name)

    def delete_vhost(self, name: str) -> None:
        """Delete a virtual host with all that is in it. Raises Unavailable."""
        self._delete("delete_vhost", "vhosts", name)

    def _delete(self, command: str, kind: str, name: str) -> None:
        if self._place == RABBITMQCTL:
            run_program([RABBITMQCTL, "--quiet", command, name])
        else:
            self._request("DELETE", None, f"{kind}/{quote(name, safe='')}")

    def _request(self, method: str, text: str | None, path: str = "definitions") -> str:
        url = f"{self._place.rstrip('/')}/api/{path}"
        try:
            response = requests.request(
                method, url, data=text, timeout=_SECONDS_MAX,
                headers={"Content-Type": "application/json"},
            )  # fmt: skip
            response.raise_for_status()
        except (requests.RequestException, ValueError) as error:
            raise exception.Unavailable(
                f"the broker's management API cannot be used: {mask_passwords(error)}"
            ) from error
        return response.text


def make(
    admin: BrokerAdmin,
    steps: Steps,
    vhosts: Iterable[str],
    accounts: Iterable[BrokerAccount],
    *,
    adopts: bool,
) -> None:
    """Make what is missing, in one import. Raises Unavailable, Conflict, StepFailed.

    An account with another password is taken over only if ``adopts``.
    """
    found = admin.read()
    wanted: Definitions = {
        "vhosts": [], "users": [], "permissions": [], "topic_permissions": [],
    }  # fmt: skip
    plan: list[tuple[str, str, bool]] = []
    known = {each["name"] for each in found.get("vhosts", [])}
    for vhost in vhosts:
        plan.append(("create", f"virtual host {vhost}", vhost in known))
        wanted["vhosts"] += [] if vhost in known else [{"name": vhost}]
    for account in accounts:
        user = _find(found, "users", name=account.name)
        is_ours = user is not None and _fits(user, account.password)
        if user is not None and not is_ours and not adopts:
            raise _foreign(account.name)
        plan.append(("change" if user else "create", f"broker account {account.name}", is_ours))
        wanted["users"] += [] if is_ours else [_user(account)]
        lacking = _lacking(found, account)
        plan.append(
            (
                "set",
                f"permissions of {account.name} ({_places(account)})",
                not any(lacking.values()),
            )
        )
        for kind, missing in lacking.items():
            wanted[kind] += missing
    load = _once(lambda: admin.load({kind: each for kind, each in wanted.items() if each}))
    for verb, what, is_done in plan:
        steps.do(verb, what, load, is_done=is_done)


def delete_accounts(admin: BrokerAdmin, steps: Steps, names: Iterable[str]) -> None:
    """Delete the accounts that there are. Raises Unavailable, StepFailed."""
    found = admin.read()
    for name in names:
        steps.do(
            "delete",
            f"broker account {name}",
            functools.partial(admin.delete_account, name),
            is_done=_find(found, "users", name=name) is None,
        )


def delete_vhost(admin: BrokerAdmin, steps: Steps, name: str) -> None:
    """Delete a virtual host if it is there. Raises Unavailable, StepFailed."""
    steps.do(
        "delete",
        f"virtual host {name}",
        functools.partial(admin.delete_vhost, name),
        is_done=_find(admin.read(), "vhosts", name=name) is None,
    )


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """Return a function that acts when it is called first."""
    pending = [act]

    def call() -> None:
        if pending:
            pending[0]()
            pending.clear()

    return call


def _foreign(name: str) -> exception.Conflict:
    return exception.Conflict(
        reason=f"the broker has an account {name} with another password. If it is of another "
        "deployment, give --prefix; if it is of this one, give --adopt to set its password"
    )


def _places(account: BrokerAccount) -> str:
    return ", ".join(vhost for vhost, _ in account.permissions)


def _lacking(found: Definitions, account: BrokerAccount) -> dict[str, list[dict[str, str]]]:
    """Return the permissions that the broker does not have in this form."""
    return {
        kind: [each for each in entries if each not in found.get(kind, [])]
        for kind, entries in definitions(list(account.permissions)).items()
    }


def _find(found: Definitions, kind: str, **values: str) -> dict[str, Any] | None:
    return next(
        (
            each
            for each in found.get(kind, [])
            if all(each.get(key) == value for key, value in values.items())
        ),
        None,
    )


def _user(account: BrokerAccount) -> dict[str, Any]:
    salt = secrets.token_bytes(_SALT_BYTES)
    return {
        "name": account.name,
        "password_hash": base64.b64encode(salt + _digest(salt, account.password)).decode(),
        "hashing_algorithm": _ALGORITHM,
        "tags": [],
    }


def _fits(user: dict[str, Any], password: str) -> bool:
    if user.get("hashing_algorithm") != _ALGORITHM:
        return False
    try:
        found = base64.b64decode(user.get("password_hash", ""), validate=True)
    except (binascii.Error, TypeError):
        return False
    salt, digest = found[:_SALT_BYTES], found[_SALT_BYTES:]
    return secrets.compare_digest(digest, _digest(salt, password))


def _digest(salt: bytes, password: str) -> bytes:
    """Return the hash that RabbitMQ stores; its form is RabbitMQ's choice."""
    return hashlib.sha256(salt + password.encode()).digest()
