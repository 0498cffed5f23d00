"""The compose file is valid by the compose specification and describes the tested deployment."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.fixtures import waiting

pytestmark = pytest.mark.sampled_file(every=3)

COMPOSE = Path(__file__).parents[2] / "etc" / "compose"
SPECIFICATION = "docker-compose==1.29.2"  # carries the specification's schema


@pytest.fixture(scope="module")
def specification(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compose")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, SPECIFICATION],
        check=True,
        capture_output=True,
        timeout=waiting.seconds(100),
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return json.loads(archive.read("compose/config/compose_spec.json"))


@pytest.fixture(scope="module")
def document():
    return yaml.safe_load((COMPOSE / "compose.yaml").read_text())


def test_the_file_keeps_to_the_compose_specification(document, specification):
    """Any engine that knows the specification takes it."""
    del specification["properties"]["version"]
    specification["properties"]["name"] = {"type": "string"}  # newer than this edition
    jsonschema.Draft201909Validator(specification).validate(document)


def test_every_file_that_a_container_names_is_there(document):
    """Configuration that is mounted or named on a command line exists."""
    named = set()
    for service in document["services"].values():
        named |= {word for word in service.get("command", []) if "/etc/armillary/" in word}
    missing = {
        name for name in named if not (COMPOSE / name.removeprefix("/etc/armillary/")).exists()
    }
    assert named
    assert missing == set()


def test_the_layout_is_that_of_the_integration_tests(document):
    """One super conductor, two schedulers, one placement, two cells with two agents each.

    What has to be asked for is beside it.
    """
    ours = [
        name
        for name, service in document["services"].items()
        if service.get("image") == "armillary" and "profiles" not in service
    ]
    assert sorted(ours) == [
        "api",
        "cell1-agent-1", "cell1-agent-2", "cell1-conductor",
        "cell2-agent-1", "cell2-agent-2", "cell2-conductor",
        "placement",
        "scheduler-1", "scheduler-2",
        "setup",
        "super-conductor",
    ]  # fmt: skip


def test_containers_keep_what_outlives_them_and_are_checked(document):
    """Agents' journals, images, the broker's data; each service says whether it is well."""
    volumes = {
        name: {volume.partition(":")[2] for volume in service.get("volumes", [])}
        for name, service in document["services"].items()
    }
    for name in document["services"]:
        assert document["services"][name].get("healthcheck"), name
        if "-agent-" in name or name == "api":
            assert "/var/lib/armillary" in volumes[name]
    assert "/var/lib/rabbitmq" in volumes["rabbitmq"]
    for name in ("api", "placement", "placement-rest"):  # tokens of the one count at the other
        assert "/var/lib/armillary/identity" in volumes[name]


def test_the_image_is_made_of_everything_and_is_not_roots():
    """The build copies the whole tree, as a list of packages is soon incomplete."""
    lines = (COMPOSE / "Dockerfile").read_text().splitlines()
    assert "COPY . /src" in lines
    assert [line for line in lines if line.startswith("USER")] == ["USER armillary"]
    ignored = (COMPOSE.parents[1] / ".dockerignore").read_text().splitlines()
    packages = {path.parent.name for path in COMPOSE.parents[1].glob("*/__init__.py")}
    assert not {*packages, "docs", "etc"} - {"tests"} & set(ignored)


def test_an_agent_reaches_its_cell_only(document):
    """No agent is given a database or the top broker."""
    for number in (1, 2):
        common = (COMPOSE / f"compute-cell{number}.conf").read_text()
        hosts = sorted((COMPOSE / "hosts").glob(f"cell{number}-*.conf"))
        assert hosts
        for path in hosts:
            text = common + path.read_text()
            assert f"rabbit://compute-{path.stem}:" in text
            assert f"/cell{number}" in text
            assert "_database]" not in text
            assert "/top" not in text
