"""The wire form of every object is pinned.

A change of one raises its version and changes this table.
"""

import typing

import pytest
from oslo_versionedobjects import fixture

import objects
from objects.base import ArmillaryObject, ArmillaryObjectRegistry

objects.register_all()

FINGERPRINTS = {
    "Aggregate": "1.0-2428c5e9dc9ddf2f4a5e36969c3f468a",
    "AllocationCandidates": "1.0-d8fa6b4a14245c3852c38ed50d24579f",
    "BuildRequest": "1.0-00268a80c168fe0c615390c923c6d8c7",
    "ClaimAnswers": "1.0-035ba8665fde32ece0d378828349dc02",
    "ClaimBatch": "1.0-78346edfe3f6f4918620c2417669c48a",
    "ComputeNode": "1.0-a08dfe5ec6bdb6f733f8efd4f867d637",
    "DecisionTrace": "1.0-e21aee19c749c61d40a419f109e0bf52",
    "Destination": "1.0-f066932606492755f9a7ea80fe99728b",
    "Destinations": "1.0-bd637f3018397e1e48d86015a6226e89",
    "FleetPage": "1.0-dd06f2d605bb52a6d7b037bf9e9421d0",
    "FleetUsage": "1.0-3c789f9ca8a4b4eb6e715bbd320a5267",
    "Flavor": "1.0-4b23bffeb8a3373be1f40c92b5608265",
    "HostColumns": "1.0-3cf274f987ce00c9d6b6267f70ebc77f",
    "HostStateBatch": "1.0-6c35950715e21c7b7f347eec491419c6",
    "ImageMeta": "1.0-20fb0dcb06a088c3268aba177b28cdef",
    "Instance": "1.0-f4012ea992ef61090206268d5a50a24a",
    "InstanceAction": "1.0-58ce0b70c81b813183e7518f3b4c0852",
    "InstanceActionEvent": "1.0-a3dd3fb214c2d57aeeda05cc88baa6a6",
    "InstanceCommand": "1.0-ad0ca64b8e77e3e3c429c853d6aeffde",
    "InstanceFault": "1.0-668c5e0db8ea7854ead0890b3b93e3aa",
    "InstanceGroup": "1.0-ad1e2526ce87d8a9dba834505bd45a26",
    "Migration": "1.0-83d17cdb1835c93b8564b2eab514e6fe",
    "ProviderUUIDs": "1.0-ec4255ac511c5786b5d5a3baea8874e6",
    "RequestGroup": "1.0-98e34d3038dee8d10a5b3e572dff6923",
    "RequestLevelParams": "1.0-f61142e6ec52b05c1058afd8ffbcb15c",
    "RequestSpec": "1.0-fcddee2c8b52c9b982b5257953d35fd3",
    "ResourceQuery": "1.0-1eb927f89ca12dd5f09cf69e6c65e619",
    "SchedulerLimits": "1.0-59801472f5f2a9cfc040ac250c2642d9",
    "SchedulerRetries": "1.0-3e045c627f55c48286d7f0005aaa9419",
    "SchedulingAnswers": "1.0-3ef19eb6c9f84aa9be05eed46320bdd2",
    "SchedulingBatch": "1.0-68bf9785b91b282abc4de78a55aa30ea",
    "Selection": "1.0-de14b4e0c722af592c45dd230626146b",
    "ServerSettings": "1.0-e1d693cc1d309909b41e2a277362d65a",
    "ServerRecord": "1.0-e702641906184f4e95ce0e668ed4311a",
    "Service": "1.0-fd3ce74a64d925b6b8c9e7b5e4a10257",
    "ZoneAnswer": "1.0-9ed84bdd9b6219c3e5f001ac23dee013",
    "ZoneOrder": "1.0-ba79e7e208f253ae2659b7d3b4ab8f75",
    "ZoneQuery": "1.0-1044d21a3ffc607d3ccc120ee77fdef0",
    "ZoneSummary": "1.0-4e1478ec57567dda4040bb8a83912bf0",
}

OURS = sorted(
    name
    for name, classes in ArmillaryObjectRegistry.obj_classes().items()
    if issubclass(classes[0], ArmillaryObject)
)


def _checker() -> fixture.ObjectVersionChecker:
    return fixture.ObjectVersionChecker(
        {name: ArmillaryObjectRegistry.obj_classes()[name] for name in OURS}
    )


def test_every_object_has_its_pinned_fingerprint():
    """Changing fields without a new version would break older peers."""
    expected, actual = _checker().test_hashes(FINGERPRINTS)
    assert actual == expected


@pytest.mark.parametrize("name", OURS)
def test_annotations_name_only_fields(name):
    """An annotation that is not a field, or a property, is a typing mistake."""
    cls = ArmillaryObjectRegistry.obj_classes()[name][0]
    annotated = {
        key
        for key in typing.get_type_hints(cls)
        if key not in typing.get_type_hints(ArmillaryObject)
    }
    assert annotated <= set(cls.fields)


@pytest.mark.parametrize("name", OURS)
def test_objects_survive_the_wire_with_defaults(name):
    """Every object can be made from defaults where it has them, sent, and received equal."""
    cls = ArmillaryObjectRegistry.obj_classes()[name][0]
    made = cls.from_values()
    received = ArmillaryObject.obj_from_primitive(made.obj_to_primitive())
    assert received.to_plain() == made.to_plain()
