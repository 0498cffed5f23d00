"""Opaque ids of hosts: equal on all API processes, of no use to who guesses names."""

import hashlib
import hmac
from typing import cast

import pytest

from api.formats.host_ids import HostIds
from armillary.context import admin_context
from conductor.super_conductor.interface import SuperConductorAPI
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient


@pytest.fixture
def client() -> SuperConductorClient:
    return SuperConductorClient(SuperConductor())


def ids(client: SuperConductorClient) -> HostIds:
    return HostIds(cast("SuperConductorAPI", client))


def test_two_api_processes_give_the_same_id(client: SuperConductorClient) -> None:
    """And each asks for the key once."""
    one, other, context = ids(client), ids(client), admin_context()
    assert one.of(context, "p1", "host1") == one.of(context, "p1", "host1")
    assert one.of(context, "p1", "host1") == other.of(context, "p1", "host1")
    assert len(client.calls) == 2


def test_an_id_cannot_be_guessed_from_a_host_s_name(client: SuperConductorClient) -> None:
    """Not by hashing what a user knows, and not with what another project sees."""
    shown = ids(client).of(admin_context(), "p1", "host1")
    for text in ("p1host1", "host1p1", "host1"):
        assert shown not in (
            hashlib.sha224(text.encode()).hexdigest(), hashlib.sha256(text.encode()).hexdigest(),
            hmac.new(b"p1", b"host1", "sha256").hexdigest(),
        )  # fmt: skip
    assert shown != ids(client).of(admin_context(), "p2", "host1")


def test_names_that_join_to_the_same_text_differ(client: SuperConductorClient) -> None:
    """Project and host are not simply put one behind the other."""
    context = admin_context()
    assert ids(client).of(context, "p1", "1-host") != ids(client).of(context, "p11", "-host")


def test_a_server_without_a_host_has_no_id(client: SuperConductorClient) -> None:
    """As long as none was found."""
    assert ids(client).of(admin_context(), "p1", None) == ""
    assert client.calls == []
