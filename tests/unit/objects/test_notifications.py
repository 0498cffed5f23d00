"""Payloads, which third parties read, are pinned: a changed one has a new version."""

import pytest
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fixture

from objects.notifications import InstanceActionPayload, NotificationPayload

FINGERPRINTS = {
    "AggregateCachePayload": "1.0-a3da01f88add05140012699a4ecb2d8b",
    "AggregatePayload": "1.0-2c6741627c672a7d0e2b8b6f28aa6dec",
    "ComputeTaskPayload": "1.0-3af0c9bacec4ebd5d1b6c5d6c31cbd0d",
    "ExceptionPayload": "1.0-276e8ee22743242d41b86872a9967261",
    "InstanceActionPayload": "1.0-c740df0064f6e33d8f27c4f3f0834b9e",
    "InstanceUpdatePayload": "1.0-7f100a8b0beb1252b18dd1815e768356",
    "MetricsPayload": "1.0-41112f0aa92cea21950fc181d1682d0c",
    "RequestSpecPayload": "1.0-c28c2311b1bb2712153bd036e690567c",
    "ServerGroupPayload": "1.0-861de4afff2524767b5c92990f24ef32",
    "ServiceStatusPayload": "1.0-01d6fdfa40390ba9fe447366d9912972",
}

PAYLOADS = {
    name: classes
    for name, classes in ovo.VersionedObjectRegistry.obj_classes().items()
    if issubclass(classes[0], NotificationPayload)
}


def test_each_payload_is_pinned() -> None:
    """A change of one raises its version and changes this table."""
    found = fixture.ObjectVersionChecker(PAYLOADS).get_hashes()
    assert found == FINGERPRINTS


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_a_payload_has_a_name_that_says_so(name: str) -> None:
    """It shares a registry with the objects that services send to each other."""
    assert name.endswith("Payload")


def test_a_payload_takes_what_it_has_a_field_for() -> None:
    """In the wire form of all versioned objects, without a list of changes."""
    uuid = "8a6f1f2e-9d0b-4b58-a1b5-0c8f0f8d8d11"
    told = InstanceActionPayload.of({"uuid": uuid, "action": "create", "secret": 1}).wire_form()
    assert told == {
        "armillary_object.name": "InstanceActionPayload",
        "armillary_object.namespace": "armillary",
        "armillary_object.version": "1.0",
        "armillary_object.data": {"uuid": uuid, "action": "create"},
    }
