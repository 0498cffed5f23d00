"""``armillary-manage broker permissions``: lines for rabbitmqctl, or a part of its file."""

import io
import json
import shlex

import pytest

from programs.manage import make_app

CELL_UUID = "6f1c2f0e-6a0e-4a53-9f5c-0d8f3b0c7a11"
EVERYTHING = [
    "--cell-vhost",
    "cell1",
    "--cell",
    CELL_UUID,
    "--host",
    "rack1-4",
    "--host",
    "rack1-5",
]


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = make_app(stdout=out, stderr=err).run(["broker", "permissions", *words])
    return code, out.getvalue(), err.getvalue()


def accounts(text: str) -> set[tuple[str, str]]:
    """Return virtual host and account of each line that sets permissions."""
    lines = [shlex.split(line) for line in text.splitlines()]
    return {(words[3], words[4]) for words in lines if words[1] == "set_permissions"}


def test_lines_are_ready_to_run() -> None:
    """Each expression is one word of the shell, and there are three."""
    code, out, _ = run("--role", "compute", "--host", "rack1-4", "--cell-vhost", "cell1")
    lines = [shlex.split(line) for line in out.splitlines()]
    assert code == 0
    assert lines[0][:5] == ["rabbitmqctl", "set_permissions", "-p", "cell1", "compute-rack1-4"]
    assert len(lines[0]) == 8
    assert {line[1] for line in lines[1:]} == {"set_topic_permissions"}
    assert all(len(line) == 8 for line in lines[1:])


def test_without_a_role_all_are_printed_that_are_named() -> None:
    """Conductors have an account on both brokers, agents on their cell's."""
    found = accounts(run(*EVERYTHING)[1])
    cell = f"cell-conductor-{CELL_UUID}"
    assert {account for _, account in found}.isdisjoint({"monitor", "operator", "parent-zone"})
    assert {("top", "conductor"), ("cell1", "conductor"), ("top", cell), ("cell1", cell)} <= found
    assert {("cell1", "compute-rack1-4"), ("cell1", "compute-rack1-5")} <= found
    assert not any(vhost == "top" and account.startswith("compute") for vhost, account in found)


def test_several_roles_may_be_named() -> None:
    """Such as those that not every deployment has."""
    found = accounts(run("--role", "parent-zone", "--role", "operator")[1])
    assert found == {("top", "parent-zone"), ("top", "operator")}


def test_the_monitor_gets_its_tag() -> None:
    """It may read no message; the management plug-in asks for the tag."""
    assert "rabbitmqctl set_user_tags monitor monitoring" in run("--role", "monitor")[1]


def test_definitions_are_a_part_of_the_brokers_file() -> None:
    """The same permissions."""
    found = json.loads(run(*EVERYTHING, "--format", "definitions")[1])
    pairs = {(each["vhost"], each["user"]) for each in found["permissions"]}
    assert pairs == accounts(run(*EVERYTHING)[1])
    assert {each["exchange"] for each in found["topic_permissions"]} >= {"armillary_replies"}


def test_names_may_have_a_prefix() -> None:
    """Where deployments share a RabbitMQ."""
    found = accounts(run("--role", "api", "--prefix", "west-", "--top-vhost", "w")[1])
    assert found == {("w", "west-api")}


@pytest.mark.parametrize(
    "words",
    [["--role", "compute"], ["--role", "compute", "--host", "a"], ["--role", "cell-conductor"]],
    ids=["no host", "no virtual host", "no cell"],
)
def test_nothing_to_print_is_an_error(words: list[str]) -> None:
    """An empty answer piped into a shell would look like success."""
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert "--cell-vhost" in err
