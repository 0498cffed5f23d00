"""Columns keep their type and shape on the wire, and refuse other values."""

import json
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oslo_versionedobjects import fields as library

from objects import fields
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.base import ArmillaryObject
from objects.destinations import Destinations
from objects.hosts.host_states import HostStateBatch
from objects.instance import Instance
from tests.builders import a_uuid


def through_the_wire(made):
    return ArmillaryObject.obj_from_primitive(json.loads(json.dumps(made.obj_to_primitive())))


@given(
    hnp.arrays(
        dtype=st.sampled_from([np.int64, np.float64, np.bool_]),
        shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=0),
        elements={"allow_nan": False},
    )
)
def test_numeric_columns_arrive_as_they_were(array):
    """Values, type and shape survive, also of empty columns."""
    received = through_the_wire(Destinations(choices=array)).choices
    assert received.dtype == array.dtype
    assert received.shape == array.shape
    np.testing.assert_array_equal(received, array)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_text_columns_arrive_as_they_were(texts):
    """Any text without a line break survives, also the empty one."""
    assert through_the_wire(HostStateBatch(hosts=texts)).hosts == texts


def test_received_columns_can_be_changed():
    """A decision consumes resources in the columns it received."""
    received = through_the_wire(Destinations(choices=np.zeros((2, 1), dtype=np.int64))).choices
    received[0, 0] += 1
    assert received[0, 0] == 1


def test_a_text_is_not_a_numeric_column():
    """A column of objects could hide anything: refused."""
    with pytest.raises(ValueError, match="numbers"):
        Destinations(choices=["a"])


def test_a_column_of_objects_is_refused_on_receipt():
    """A forged type never reaches NumPy's object loader."""
    primitive = Destinations(choices=np.zeros(1)).obj_to_primitive()
    primitive["armillary_object.data"]["choices"]["dtype"] = "|O"
    with pytest.raises(ValueError, match=r"numbers|object"):
        ArmillaryObject.obj_from_primitive(primitive)


def test_a_text_column_with_a_wrong_count_is_refused():
    """A line break inside a text would shift all rows after it."""
    primitive = HostStateBatch(hosts=["a\nb"]).obj_to_primitive()
    with pytest.raises(ValueError, match="strings instead of 1"):
        ArmillaryObject.obj_from_primitive(primitive)


def packed_candidates():
    return AllocationCandidates.from_values(
        provider_uuids=[a_uuid(), a_uuid()],
        resource_classes=["VCPU"],
        amounts=np.array([2]),
        total=np.array([[64], [32]]),
        reserved=np.array([[0], [0]]),
        used=np.array([[5], [7]]),
        ratio=np.array([[4.0], [1.5]]),
    )


def test_packed_columns_arrive_as_they_were_sent():
    """Values and types."""
    sent = packed_candidates()
    primitive = json.loads(json.dumps(sent.obj_to_primitive()))
    received = ArmillaryObject.obj_from_primitive(primitive)
    assert received.provider_uuids == sent.provider_uuids
    for name in ("amounts", "total", "reserved", "used", "ratio"):
        assert getattr(received, name).dtype == getattr(sent, name).dtype
        np.testing.assert_array_equal(getattr(received, name), getattr(sent, name))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(np.array([1, 2], np.int16), np.int64, id="whole"),
        pytest.param(np.array([1, 2], np.float32), np.float64, id="broken"),
        pytest.param(np.array([True]), np.bool_, id="yes or no"),
    ],
)
def test_packed_columns_hold_three_types(given, kept):
    """A narrower type is widened when it is set, not when it is received."""
    assert AllocationCandidates(amounts=given).amounts.dtype == kept


@pytest.mark.parametrize("array", [np.zeros(()), np.zeros((1, 1, 1))], ids=["one", "cube"])
def test_packed_columns_have_rows(array):
    """A number alone is not a column, nor is a cube of them."""
    with pytest.raises(ValueError, match="dimensions"):
        AllocationCandidates(amounts=array)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("6f3a1f44-95f0-4c3a-9c0e-2f2f0f5c9d11", "6f3a1f44-95f0-4c3a-9c0e-2f2f0f5c9d11"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ],
    ids=["as usual", "an object"],
)
def test_a_uuid_is_kept_as_its_text(value: object, expected: str) -> None:
    """Whatever it comes as."""
    assert fields.UUIDField().coerce(None, "uuid", value) == expected


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=2)), None])))
def test_moments_travel_as_the_library_writes_them(moment: datetime) -> None:
    """Whole seconds, and the zone; what has none is in UTC."""
    ours: Any = fields.DateTimeField()
    librarys: Any = library.DateTimeField()
    value = ours.coerce(None, "at", moment)
    assert ours.to_primitive(None, "at", value) == librarys.to_primitive(None, "at", value)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.250Z", datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)),
    ],
    ids=["ours", "another zone", "parts of a second"],
)
def test_moments_are_read_in_any_form(wire: str, expected: datetime) -> None:
    """Ours by a short way, the others as the library reads them."""
    field: Any = fields.DateTimeField()
    assert field.from_primitive(None, "at", wire) == expected


@pytest.mark.parametrize("wire", ["yesterday at four uhr", "2026-13-02T03:04:05Z"])
def test_what_is_not_a_moment_is_refused(wire: str) -> None:
    """Also when it looks like one."""
    field: Any = fields.DateTimeField()
    with pytest.raises(ValueError, match=r"parse|must be in"):
        field.from_primitive(None, "at", wire)


A_UUID = uuid.UUID("461c967a-7cfe-431a-8474-03396e178078")
NO_UUIDS = [
    "host1", "", None, 7, ".", "../../etc", "/etc", "a" * 36, f"{A_UUID}\n",
    f"/{A_UUID}", f"../{A_UUID}",
    str(A_UUID).upper() + "A", A_UUID.hex, f"{{{A_UUID}}}",
]  # fmt: skip
NO_HOSTS = [
    "", None, 7, ".", "..", "a/b", "/etc", "../x", "a b", "a\nb", "a\0", "-x", "x.", "#", "*", "é",
    "a" * 256, "a.*.b\u2028",
]  # fmt: skip


@pytest.mark.parametrize("value", NO_UUIDS)
def test_a_uuid_field_takes_uuids_only(value) -> None:
    """Neither a caller nor a peer can put a path into it."""
    with pytest.raises(ValueError, match="uuid"):
        fields.UUIDField().coerce(None, "uuid", value)


@pytest.mark.parametrize("value", NO_HOSTS)
def test_a_host_field_takes_host_names_only(value) -> None:
    with pytest.raises(ValueError, match="host"):
        fields.HostNameField().coerce(None, "host", value)


@pytest.mark.parametrize("value", ["h", "rack-1.example.org", "sim_0001", "host1:3", "a" * 255])
def test_usual_host_names_are_taken(value) -> None:
    assert fields.HostNameField().coerce(None, "host", value) == value


def test_a_command_with_a_path_for_a_uuid_is_not_an_object() -> None:
    """The whole message is refused while it is read."""
    made = Instance.from_values(uuid=str(uuid.uuid4())).obj_to_primitive()
    made["armillary_object.data"]["uuid"] = "../../etc"
    with pytest.raises(ValueError, match="uuid must be a UUID"):
        Instance.obj_from_primitive(made)
