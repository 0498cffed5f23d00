"""Provider configuration files: what they add to whom, and which mistakes keep the agent down."""

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from armillary import exception
from compute_agent.host.provider_config import KnownProvider, ProviderConfig
from compute_agent.manager import ComputeManager
from rpc.transport import Bus
from tests import builders
from tests.fixtures.agent import agent_conf

NODE_UUID = "5b0a8f3e-6a55-4c5c-9a5f-0b5e2b8d9f10"
OTHER_UUID = "6c1b904f-7b66-4d6d-8b60-1c6f3c9ea021"
NODE = KnownProvider(NODE_UUID, "host-1", {"VCPU"}, is_node=True)
OTHER = KnownProvider(OTHER_UUID, "host-2", {"VCPU"}, is_node=True)
CHILD = KnownProvider(builders.a_uuid(), "host-1_NUMA0", (), is_node=False)
SAMPLE = Path(__file__).parents[4] / "etc/armillary/provider_config/example.yaml.sample"


def an_entry(
    *traits: str, inventories: dict[str, Any] | None = None, **identification: str
) -> dict[str, Any]:
    return {
        "identification": identification,
        "traits": {"additional": list(traits)},
        "inventories": {"additional": [{name: one} for name, one in (inventories or {}).items()]},
    }


def a_file(*providers: dict[str, Any], version: str = "1.0") -> dict[str, Any]:
    return {"meta": {"schema_version": version}, "providers": list(providers)}


def load(directory: Path, **files: Any) -> ProviderConfig:
    """Read files, each given as text or as what is in it."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (directory / f"{name}.yaml").write_text(text, encoding="utf-8")
    conf = agent_conf(directory)
    conf.set_override("provider_config_location", str(directory), group="compute")
    return ProviderConfig.load(conf)


def refusal(directory: Path, **files: Any) -> str:
    with pytest.raises(exception.ConfigurationError) as error:
        load(directory, **files).check([NODE, OTHER, CHILD])
    return str(error.value)


def test_the_default_is_for_every_node_without_an_entry_of_its_own(tmp_path: Path) -> None:
    """By UUID or by name; parts of a node are not nodes."""
    config = load(
        tmp_path,
        a=a_file(an_entry("CUSTOM_ALL", uuid="$COMPUTE_NODE")),
        b=a_file(
            an_entry("CUSTOM_ONE", uuid=NODE_UUID.upper()),
            an_entry("CUSTOM_PART", name="host-1_NUMA0"),
        ),
    )  # fmt: skip
    config.check([NODE, OTHER, CHILD])
    assert config.additions(NODE).traits == {"CUSTOM_ONE"}
    assert config.additions(OTHER).traits == {"CUSTOM_ALL"}
    assert config.additions(CHILD).traits == {"CUSTOM_PART"}


def test_an_inventory_has_defaults(tmp_path: Path) -> None:
    """Only the total has to be said; the rest is as the Placement API has it."""
    entry = an_entry(inventories={"CUSTOM_A": {"total": 8}}, name="host-1")
    assert load(tmp_path, a=a_file(entry)).additions(NODE).inventories == {
        "CUSTOM_A": {
            "total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1,
            "allocation_ratio": 1.0,
        }
    }  # fmt: skip


def test_an_entry_that_adds_nothing_leaves_the_default_in_force(tmp_path: Path) -> None:
    """It is ignored."""
    config = load(
        tmp_path, a=a_file(an_entry("CUSTOM_A", uuid="$COMPUTE_NODE"), an_entry(name="host-1"))
    )
    assert config.additions(NODE).traits == {"CUSTOM_A"}


def test_unknown_providers_are_named_in_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They may be another machine's: the same files can be everywhere."""
    config = load(
        tmp_path, a=a_file(an_entry("CUSTOM_A", name="who"), an_entry("CUSTOM_A", uuid=OTHER_UUID))
    )
    with caplog.at_level(logging.WARNING):
        config.check([NODE])
    (record,) = caplog.records
    assert f"{OTHER_UUID}, who" in record.getMessage()


def test_only_yaml_files_are_read(tmp_path: Path) -> None:
    """Samples and editors' copies are none."""
    (tmp_path / "x.yaml.sample").write_text("nonsense: [", encoding="utf-8")
    assert load(tmp_path).additions(NODE).traits == frozenset()


def test_the_sample_is_a_file_that_can_be_used(tmp_path: Path) -> None:
    """As it is."""
    config = load(tmp_path, a=SAMPLE.read_text(encoding="utf-8"))
    assert config.additions(NODE).inventories["CUSTOM_BACKUP_SLOT"]["total"] == 8
    assert config.additions(OTHER).traits == {"CUSTOM_RACK_17"}


def test_a_configured_directory_has_to_be_there(tmp_path: Path) -> None:
    """The default one does not."""
    conf = agent_conf(tmp_path)
    assert ProviderConfig.load(conf).additions(NODE).traits == frozenset()
    conf.set_override("provider_config_location", str(tmp_path / "no"), group="compute")
    with pytest.raises(exception.ConfigurationError, match="provider_config_location"):
        ProviderConfig.load(conf)


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        ("a: [", "the file", "while parsing"),
        ("meta: {schema_version: '1.0'}\nmeta: {}\nproviders: []", "the file", "duplicate key"),
        ("", "$", "is not of type 'object'"),
        ({"providers": []}, "$", "'meta' is a required property"),
        (a_file(version="2.0"), "$.meta.schema_version", "does not match"),
        ({**a_file(), "extra": 1}, "$", "extra"),
        (a_file({"traits": {}}), "$.providers[0]", "identification"),
        (a_file(an_entry("CUSTOM_A")), "$.providers[0].identification", ""),
        (a_file(an_entry("CUSTOM_A", uuid="x")), "$.providers[0].identification.uuid", "match"),
        (
            a_file(an_entry("CUSTOM_A", uuid=NODE_UUID, name="x")),
            "$.providers[0].identification", "",
        ),
        (
            a_file(an_entry("HW_CPU_FLY", name="x")),
            "$.providers[0].traits.additional[0]", "no trait",
        ),
        (
            a_file(an_entry("COMPUTE_STATUS_DISABLED", name="x")),
            "$.providers[0].traits.additional[0]", "disable that",
        ),
        (
            a_file(an_entry("MISC_SHARES_VIA_AGGREGATE", name="x")),
            "$.providers[0].traits.additional[0]", "set it in placement",
        ),
        (a_file(an_entry("CUSTOM_A", "CUSTOM_A", name="x")), "$.providers[0].traits", "unique"),
        (
            a_file(an_entry(name="x", inventories={"VCPU": {"total": 1}})),
            "$.providers[0].inventories.additional[0]", "VCPU",
        ),
        (
            a_file(an_entry(name="x", inventories={"CUSTOM_A": {"total": 0}})),
            "$.providers[0].inventories.additional[0].CUSTOM_A.total", "minimum",
        ),
        (
            a_file(an_entry(name="x", inventories={"CUSTOM_A": {"total": 2**31}})),
            "$.providers[0].inventories.additional[0].CUSTOM_A.total", "maximum",
        ),
        (
            a_file(an_entry(name="x", inventories={"CUSTOM_A": {"total": 1, "reserved": 2}})),
            "$.providers[0].inventories.additional[0].CUSTOM_A", "reserved is greater than total",
        ),
        (
            a_file(an_entry(name="x", inventories={"CUSTOM_A": {"total": 1, "min_unit": 2}})),
            "$.providers[0].inventories.additional[0].CUSTOM_A", "min_unit is greater",
        ),
        (
            a_file(
                an_entry(
                    name="x",
                    inventories={"CUSTOM_A": {"total": 1, "allocation_ratio": float("nan")}},
                )
            ),
            "$.providers[0].inventories.additional[0].CUSTOM_A", "is not a number",
        ),
        ("x" * (1024 * 1024 + 1), "the file", "larger than 1048576 bytes"),
    ],
    ids=[
        "no-yaml", "duplicate-key", "empty", "no-meta", "version", "extra", "nobody", "no-name",
        "no-uuid", "both-names", "unknown-trait", "disabled", "of-operators", "trait-twice",
        "standard-class", "no-total", "large-total", "reserved", "min-unit", "ratio",
        "large-file",
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_place(
    tmp_path: Path, content: Any, place: str, reason: str
) -> None:
    """One line: which file, where in it, what is wrong."""
    message = refusal(tmp_path, bad=content)
    assert f"{tmp_path / 'bad.yaml'}: {place}" in message
    assert reason in message
    assert "\n" not in message
    assert len(message) < 600


def test_a_class_that_is_there_twice_in_an_entry_is_refused(tmp_path: Path) -> None:
    """A list could name it twice."""
    entry = an_entry(name="x")
    entry["inventories"]["additional"] = [{"CUSTOM_A": {"total": 1}}] * 2
    message = refusal(tmp_path, bad=a_file(entry))
    assert "inventories.additional[1]: CUSTOM_A occurs twice" in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"uuid": NODE_UUID}, {"uuid": NODE_UUID.upper()}),
        ({"name": "host-1"}, {"name": "host-1"}),
        ({"uuid": "$COMPUTE_NODE"}, {"name": "$COMPUTE_NODE"}),
        ({"uuid": NODE_UUID}, {"name": "host-1"}),
    ],
    ids=["uuid", "name", "default", "uuid-and-name"],
)
def test_a_provider_is_named_once_in_all_files(tmp_path: Path, first: Any, second: Any) -> None:
    """It is unclear which holds; the message names both places, the first file first."""
    files = {
        "b": a_file(an_entry("CUSTOM_B", **second)),
        "a": a_file(an_entry("CUSTOM_A", **first)),
    }
    message = refusal(tmp_path, **files)
    assert "is listed twice" in message
    assert "a.yaml: $.providers[0]" in message
    assert "b.yaml: $.providers[0]" in message


def test_what_a_provider_has_anyhow_cannot_be_added(tmp_path: Path) -> None:
    """Refused at the start; should it come up later, what the agent found out holds."""
    entry = an_entry(name="host-1", inventories={"CUSTOM_A": {"total": 1}})
    provider = KnownProvider(NODE_UUID, "host-1", {"CUSTOM_A"}, is_node=True)
    config = load(tmp_path, a=a_file(entry))
    assert config.additions(provider).inventories == {}
    with pytest.raises(exception.ConfigurationError, match="already has an inventory of CUSTOM_A"):
        config.check([provider])


def test_an_agent_with_a_bad_file_does_not_start(tmp_path: Path) -> None:
    """Before it touched anything."""
    conf = agent_conf(tmp_path)
    files = tmp_path / "files"
    files.mkdir()
    (files / "bad.yaml").write_text("providers: []", encoding="utf-8")
    conf.set_override("provider_config_location", str(files), group="compute")
    bus = Bus(conf, f"kombu+memory:////{builders.a_uuid()}")
    manager = ComputeManager(
        conf, cell_bus=bus, agent="agent-1", drivers=[], journal_path=tmp_path / "journal.sqlite"
    )
    with pytest.raises(exception.ConfigurationError, match=r"bad\.yaml"):
        manager.start()
    assert not (tmp_path / "journal.sqlite").exists()
    bus.close()
