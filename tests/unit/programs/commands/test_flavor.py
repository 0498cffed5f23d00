"""Flavors on the command line."""

from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_a_flavor_is_created_with_its_properties(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """They are a request of their own in the Compute API, not here."""
    made = armillary(
        "flavor", "create", "fast", "--id", "f1", "--vcpus", "4", "--ram", "2048", "--disk", "10",
        "--ephemeral", "1", "--swap", "512", "--description", "for haste",
        "--property", "trait:HW_CPU_X86_AVX2=required", "-f", "json",
    ).json  # fmt: skip
    assert made == {
        "id": "f1",
        "name": "fast",
        "vcpus": 4,
        "ram_mb": 2048,
        "disk_gb": 10,
        "ephemeral_gb": 1,
        "swap_mb": 512,
        "description": "for haste",
        "properties": {"trait:HW_CPU_X86_AVX2": "required"},
    }
    (flavor,) = conductor.flavors
    assert flavor.extra_specs == made["properties"]


def test_a_second_flavor_of_a_name_is_refused(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """With the API's reason."""
    conductor.flavors.append(builders.a_flavor("small"))
    ended = armillary("flavor", "create", "small", "--ram", "64")
    assert ended.code == 1
    assert "small" in ended.err
    assert "HTTP 409" in ended.err


def test_no_flavor_is_left_without_its_properties(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The command can be repeated without the mistake."""
    words = ("flavor", "create", "fast", "--ram", "64")
    assert armillary(*words, "--property", "trait:CUSTOM_X=maybe").code == 1
    assert conductor.flavors == []


def test_flavors_are_listed(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """All of their pages."""
    conductor.flavors = [builders.a_flavor(f"f{number}") for number in range(5)]
    rows = armillary("flavor", "list", "-f", "json").json
    assert [row["Name"] for row in rows] == ["f0", "f1", "f2", "f3", "f4"]
    assert rows[0]["RAM"] == 512


def test_a_flavor_is_shown_by_name(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """Properties are a mapping for programs, a line each for people."""
    specs = {"a": "1", "b": "2"}
    conductor.flavors.append(builders.a_flavor("small", extra_specs=specs))
    assert armillary("flavor", "show", "small", "-f", "json").json["properties"] == specs
    table = armillary("flavor", "show", "small").out
    assert "a=1" in table
    assert "b=2" in table


def test_properties_are_set_and_removed(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """What is not named stays."""
    specs = {"kept": "1", "gone": "2"}
    conductor.flavors.append(builders.a_flavor("small", extra_specs=specs))
    ended = armillary("flavor", "set", "small", "--property", "new=3", "--no-property", "gone")
    assert ended.code == 0
    assert conductor.flavors[0].extra_specs == {"kept": "1", "new": "3"}


def test_setting_nothing_is_a_mistake(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The user forgot something."""
    conductor.flavors.append(builders.a_flavor("small"))
    assert armillary("flavor", "set", "small").code == 2


def test_flavors_are_deleted_all_or_none(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """An unknown name stops it before the first."""
    conductor.flavors = [builders.a_flavor("a"), builders.a_flavor("b")]
    assert armillary("flavor", "delete", "a", "typo").code == 3
    assert len(conductor.flavors) == 2
    assert armillary("flavor", "delete", "a", "id-b").code == 0
    assert conductor.flavors == []
