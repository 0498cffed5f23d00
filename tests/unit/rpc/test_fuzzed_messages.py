"""Odd messages at the border of RPC: each is taken or refused in the declared way."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import oslo_messaging
import pytest
from hypothesis import strategies as st
from oslo_versionedobjects.exception import IncompatibleObjectVersion

import objects
from armillary import exception
from armillary.context import admin_context
from objects.base import ArmillaryObject
from objects.packed import packing
from objects.packed.claim_batch import ClaimBatch
from rpc.signing import envelope
from rpc.signing.envelope import Refused
from rpc.signing.message_signer import Address
from rpc.wire.dataclass_codec import codec_of
from rpc.wire.declared_objects import declared_objects
from rpc.wire.serializer import ObjectSerializer
from tests import builders
from tests.fixtures.checks.fuzzing import ODD, altered, fuzzed
from tests.fixtures.signing import AT_THE_TOP, Authority
from tests.fleets import a_batch, a_request_spec, some_hosts

objects.register_all()

HERE = Address(AT_THE_TOP, "placement", "one", "placement.fanout.one")
UUIDS = [f"5f3a4b1e-0000-4000-8000-{number:012}" for number in range(3)]
PACKED = packing.pack_numbers(np.array([[1, 2**40, 7], [-3, 4, 0]]))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(Path(tmp_path_factory.mktemp("authority")))
    for role in ("placement", "scheduler"):
        made.enrol(role)
    return made


@pytest.fixture(scope="module")
def signers(authority: Authority) -> Any:
    return authority.signer("scheduler"), authority.signer("placement")


@fuzzed(altered({"text": "{}", "signature": "AAAA", "key": "0123456789abcdef"}) | ODD)
def test_what_is_not_signer_of_a_trusted_key_is_refused(signers: Any, value: Any) -> None:
    """Whatever its form."""
    with pytest.raises(Refused):
        signers[1].open_request(HERE, value)


@fuzzed(st.data())
def test_odd_contents_of_a_trusted_sender_are_taken_or_refused(
    authority: Authority, signers: Any, value: st.DataObject
) -> None:
    """A stolen key can sign anything; what is taken has the parts that a handler relies on."""
    target = oslo_messaging.Target(topic="placement")
    message = {"method": "claim", "args": {"claims": "two"}}
    sent, _ = signers[0].request(AT_THE_TOP, target, admin_context().to_dict(), message)
    contents = value.draw(altered(json.loads(sent["text"])))
    try:
        opened = signers[1].open_request(
            HERE, envelope.sign(contents, authority.private["scheduler"])
        )
    except Refused:
        return
    assert isinstance(opened.ctxt, dict)
    assert isinstance(opened.message["method"], str)


@fuzzed(altered(json.loads(json.dumps(PACKED))) | ODD)
def test_packed_numbers_are_an_array_or_refused(value: Any) -> None:
    _is_made_or_refused(packing.unpack_numbers, value)


@fuzzed(altered(json.loads(json.dumps(packing.pack_uuids(UUIDS)))) | ODD)
def test_packed_uuids_are_texts_or_refused(value: Any) -> None:
    _is_made_or_refused(packing.unpack_uuids, value)


def _is_made_or_refused(unpack: Any, value: Any) -> None:
    try:
        unpack(value)
    except ValueError:
        return


SPEC = a_request_spec(
    {"hw:cpu_policy": "dedicated"}, scheduler_hints={"query": ['["=", "$host", "h"]']}
)
OBJECTS = {
    each.obj_name(): (ObjectSerializer().serialize_entity(None, each), type(each))
    for each in (
        SPEC, a_batch(some_hosts(2)), builders.an_instance(), builders.a_migration(UUIDS[0]),
        builders.a_service(), ClaimBatch.of([builders.a_claim(UUIDS[0])]), builders.a_query(),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
@fuzzed(st.data())
def test_an_object_is_made_of_what_it_declares_or_refused(name: str, value: st.DataObject) -> None:
    """What is made can be sent on; nothing else is raised, whatever the sender wrote."""
    sent, kind = OBJECTS[name]
    drawn = value.draw(altered(json.loads(json.dumps(sent))))
    serializer = ObjectSerializer()
    try:
        made = serializer.rebuild(None, drawn, declared_objects(kind))
    except (exception.Invalid, IncompatibleObjectVersion):
        return
    if isinstance(made, ArmillaryObject):
        assert isinstance(made, kind)
        serializer.serialize_entity(None, made)


@dataclass(frozen=True)
class Part:
    name: str
    count: int = 0


@dataclass(frozen=True)
class Whole:
    uuid: str
    parts: list[Part]
    by_name: dict[str, Part]
    other: Part | None = None


@fuzzed(
    altered(
        {
            "uuid": UUIDS[0],
            "parts": [{"name": "a", "count": 1}],
            "by_name": {"a": {"name": "a", "count": 1}},
            "other": {"name": "b", "count": 2},
        }
    )
    | ODD
)
def test_a_dataclass_is_made_or_refused(value: Any) -> None:
    codec = codec_of(Whole)
    assert codec is not None
    try:
        made = codec.decode(value)
    except exception.Invalid:
        return
    assert isinstance(made, Whole)
