"""Key pairs: given or made, listed, shown, deleted, each by its user."""

from typing import Any
from unittest.mock import patch

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from api.handlers.servers import ssh_keys
from api.work_budget import UNITS_AT_ONCE
from armillary import exception
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/os-keypairs"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDI6v5V9Rz8ZsR2VtHUD2qsz0cB0qTzHkWUjmL9Rr9pE me@example"
OTHER = "u2:p1"


def make(api: Api, token: str | None = MEMBER, **wanted: Any) -> Any:
    return api.post(PATH, {"keypair": {"name": "key", **wanted}}, token=token)


def test_a_key_is_stored_and_shown(api: Api) -> None:
    """With the fingerprint that ssh-keygen -E md5 shows."""
    made = make(api, public_key=KEY).json["keypair"]
    shown = api.get(f"{PATH}/key", token=MEMBER).json["keypair"]
    assert "private_key" not in made
    assert (shown["public_key"], shown["type"], shown["user_id"]) == (KEY, "ssh", "u1")
    assert len(shown["fingerprint"].split(":")) == 16
    (listed,) = api.get(PATH, token=MEMBER).json["keypairs"]
    assert listed["keypair"]["fingerprint"] == made["fingerprint"]
    assert api.delete(f"{PATH}/key", token=MEMBER).status_code == 204
    assert api.get(f"{PATH}/key", token=MEMBER).status_code == 404


def test_a_pair_is_made(api: Api) -> None:
    """Its private key is shown once; since 2.92 users make pairs themselves."""
    assert make(api).status_code == 400
    headers = {"OpenStack-API-Version": "compute 2.91"}
    body = {"keypair": {"name": "key"}}
    made = api.send("POST", PATH, headers=headers, token=MEMBER, json=body).json["keypair"]
    assert made["private_key"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert made["public_key"].startswith("ssh-rsa ")
    assert "private_key" not in api.get(f"{PATH}/key", token=MEMBER).json["keypair"]


def test_a_user_has_few_pairs_made_in_a_row(api: Api, conductor: SuperConductor) -> None:
    """Each takes the API a tenth of a second of CPU, also one that its quota then refuses."""
    conductor.errors["create_key_pair"] = exception.QuotaExceeded(
        resource="key_pairs", requested=1, used=100, limit=100
    )
    headers = {"OpenStack-API-Version": "compute 2.91"}
    body = {"keypair": {"name": "key"}}

    def made(token: str) -> int:
        return int(api.send("POST", PATH, headers=headers, token=token, json=body).status_code)

    with patch.object(ssh_keys, "new_pair", return_value=("private", KEY)) as new_pair:
        statuses = [made("maker:p1") for _ in range(int(UNITS_AT_ONCE) + 1)]
        assert (set(statuses[:-1]), statuses[-1]) == ({403}, 429)
        assert new_pair.call_count == len(statuses) - 1
        assert made("other-maker:p1") == 403


def test_a_certificate_is_made_and_can_be_given(api: Api) -> None:
    """Of type x509: for logins of clients, with its own fingerprint."""
    headers = {"OpenStack-API-Version": "compute 2.91"}
    body = {"keypair": {"name": "made", "type": "x509"}}
    made = api.send("POST", PATH, headers=headers, token=MEMBER, json=body).json["keypair"]
    assert made["private_key"].startswith("-----BEGIN PRIVATE KEY-----")
    certificate = x509.load_pem_x509_certificate(made["public_key"].encode())
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    given = make(api, type="x509", public_key=made["public_key"]).json["keypair"]
    assert (given["type"], given["fingerprint"]) == ("x509", made["fingerprint"])
    assert api.get(f"{PATH}/key", token=MEMBER).json["keypair"]["type"] == "x509"
    for kind, key in (("x509", KEY), ("ssh", made["public_key"])):
        assert "keypair.public_key" in message(make(api, name="odd", type=kind, public_key=key))


@pytest.mark.parametrize("key", ["", "ssh-rsa", "ssh-rsa !", "ssh-rsa " + KEY.split()[1]], ids=str)
def test_what_is_not_a_key_is_refused(key: str, api: Api, conductor: SuperConductor) -> None:
    """Also one that says it is of another type."""
    answer = make(api, public_key=key)
    assert answer.status_code == 400
    assert "keypair.public_key" in message(answer)
    assert not conductor.key_pairs


def test_a_name_is_used_once_by_a_user(api: Api) -> None:
    """Another user may have the same."""
    assert make(api, public_key=KEY).status_code == 201
    assert make(api, public_key=KEY).status_code == 409
    assert make(api, OTHER, public_key=KEY).status_code == 201


def test_users_see_and_change_only_their_own(api: Api) -> None:
    """Administrators name the user."""
    assert make(api, public_key=KEY).status_code == 201
    assert api.get(f"{PATH}/key", token=OTHER).status_code == 404
    assert api.get(PATH, token=OTHER, user_id="u1").status_code == 403
    assert make(api, OTHER, public_key=KEY, user_id="u1").status_code == 403
    assert api.get(f"{PATH}/key", user_id="u1").status_code == 200
    assert make(api, None, name="more", public_key=KEY, user_id="u1").status_code == 201
    assert len(api.get(PATH, token=MEMBER).json["keypairs"]) == 2


def test_early_versions_have_other_statuses_and_no_type(api: Api) -> None:
    """As they began."""
    body = {"keypair": {"name": "key", "public_key": KEY}}
    made = api.send("POST", PATH, headers={}, json=body)
    assert (made.status_code, "type" in made.json["keypair"]) == (200, False)
    assert api.send("DELETE", f"{PATH}/key", headers={}).status_code == 202


def test_a_server_names_a_key_that_is_there(api: Api, conductor: SuperConductor) -> None:
    """Of its user."""
    conductor.flavors = [builders.a_flavor("small")]
    body = {"server": {"name": "web", "flavorRef": "small", "key_name": "key"}}
    refused = api.post("/v2.1/servers", body, token=MEMBER)
    assert (refused.status_code, "server.key_name" in message(refused)) == (400, True)
    assert make(api, public_key=KEY).status_code == 201
    assert api.post("/v2.1/servers", body, token=MEMBER).status_code == 202
