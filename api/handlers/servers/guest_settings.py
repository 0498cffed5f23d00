"""Settings of a request that are for its guest alone: key, files, config drive and password."""

import secrets
import string
from collections.abc import Mapping
from typing import Any

from api.call import Call
from armillary import exception
from armillary.http.call import Document
from armillary.http.validation import invalid

PASSWORD_LENGTH = 12
PASSWORD_CHARACTERS = string.ascii_letters + string.digits


def guest_settings(call: Call, action: str, wanted: Mapping[str, Any]) -> tuple[Document, str]:
    """Return the settings that only its guest needs, and the administrator's password.

    A password that the user did not choose reaches a guest by its config drive, if it is to have
    one. Raises Invalid for a key pair that the user does not have.
    """
    given: Document = {}
    if "key_name" in wanted:
        given |= _key_settings(call, action, wanted["key_name"])
    password = wanted.get("adminPass") or new_password(call.repeat_secret)
    if wanted.get("adminPass") or wanted.get("config_drive"):
        given["admin_password"] = password
    if wanted.get("config_drive"):
        given["config_drive"] = True
    return given, password


def new_password(repeat_secret: bytes | None) -> str:
    """Return a random password for the administrator of a guest.

    It follows from the secret of a request that may be repeated: the guest has that of the first
    time, also if its answer was lost.
    """
    number = int.from_bytes(repeat_secret or secrets.token_bytes(32))
    places = (number // len(PASSWORD_CHARACTERS) ** place for place in range(PASSWORD_LENGTH))
    return "".join(PASSWORD_CHARACTERS[place % len(PASSWORD_CHARACTERS)] for place in places)


def files_in(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the files for a guest: contents in Base64 by path."""
    return {each["path"]: each["contents"] for each in wanted.get("personality", ())}


def _key_settings(call: Call, action: str, name: str | None) -> Document:
    if name is None:
        return {"key_name": None, "public_key": None, "key_kind": None}
    try:
        key = call.conductor.get_key_pair(call.context, str(call.context.user_id), name)
    except exception.KeyPairNotFound as error:
        raise invalid(f"{action}.key_name", name, error.message) from error
    return {"key_name": name, "public_key": key.public_key, "key_kind": key.kind}
