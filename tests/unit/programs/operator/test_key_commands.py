"""Tests of ``armillary-manage key``: files made and changed, and what is refused."""

import stat
from pathlib import Path

import pytest

from rpc.signing import keys, trust
from rpc.signing.trust import AGENTS, SERVICES
from rpc.signing.trust_file import TrustFile
from tests.unit.programs.operator.conftest import Run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root.key"
    keys.create(path)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trust.json"


@pytest.fixture
def change(run_manage: Run, root: Path, path: Path):
    """Return how a list is changed: the command, the identity, and what else is needed."""

    def run(command: str, name: str, *arguments: str, code: int = 0):
        ended = run_manage(
            "key", command, name, "--list", str(path), "--root-key", str(root), *arguments
        )
        assert ended.code == code, ended.err
        return ended

    return run


def public(tmp_path: Path, name: str) -> str:
    return keys.create(tmp_path / f"{name}.key").public.text


def listed(path: Path, root: Path) -> trust.TrustList:
    """Return the list as a service would take it over."""
    return TrustFile(path, SERVICES, [keys.load(root).public]).current()


def test_a_key_is_made_for_its_owner_alone(run_manage: Run, tmp_path: Path) -> None:
    """The public half is printed, and again when it is asked for."""
    path = tmp_path / "new.key"
    made = run_manage("key", "create", str(path), "-f", "json").json
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = run_manage("key", "show", str(path), "-f", "json").json
    assert (shown["Key"], shown["Public key"]) == (made["Key"], made["Public key"])
    again = run_manage("key", "create", str(path))
    assert again.code == 1
    assert "exists already" in again.err


def test_a_key_that_others_can_read_is_refused(run_manage: Run, tmp_path: Path) -> None:
    path = tmp_path / "open.key"
    keys.create(path)
    path.chmod(0o640)
    ended = run_manage("key", "show", str(path))
    assert ended.code == 78
    assert "(mode 0640); set its mode to 0600" in ended.err


def test_an_identity_is_trusted_rotated_and_revoked(
    change, run_manage: Run, tmp_path: Path, path: Path, root: Path
) -> None:
    """Each step is a newer list, which services take over."""
    first = public(tmp_path, "first")
    change("trust", "sched-1", "--role", "scheduler", "--public", first)
    assert listed(path, root).serial == 1

    change("rotate", "sched-1", "--public", public(tmp_path, "second"), "--overlap-seconds", "60")
    (former, latter) = listed(path, root).identities["sched-1"].keys
    assert former.public.text == first
    assert former.not_after is not None
    assert latter.not_after is None

    change("revoke", "sched-1", "--key", former.public.key_id)
    (left,) = listed(path, root).identities["sched-1"].keys
    assert left.public.key_id == latter.public.key_id
    change("revoke", "sched-1")
    assert listed(path, root).identities == {}
    assert listed(path, root).serial == 4


def test_the_list_shows_who_is_trusted(
    change, run_manage: Run, tmp_path: Path, path: Path, root: Path
) -> None:
    """Of the lists that the configuration names; the root keys of it have to fit."""
    change("trust", "sched-1", "--role", "scheduler", "--public", public(tmp_path, "first"))
    config = tmp_path / "signing.conf"
    config.write_text(
        f"[signing]\ntrust_file = {path}\nroot_keys = {keys.load(root).public.text}\n"
    )
    ended = run_manage("--config-file", str(config), "key", "list", "-f", "json")
    (row,) = ended.json
    assert (row["Name"], row["Role"], row["Ends"]) == ("sched-1", "scheduler", "")


def test_an_agent_is_enrolled_for_hosts(
    change, run_manage: Run, tmp_path: Path, root: Path
) -> None:
    """Which the list has after a rotation, too."""
    agents = tmp_path / "agents.json"
    change(
        "trust", "rack1", "--role", "compute", "--scope", "rack1", "--host", "rack1-*",
        "--host", "spare", "--public", public(tmp_path, "first"), "--list", str(agents),
    )  # fmt: skip
    change("rotate", "rack1", "--public", public(tmp_path, "second"), "--list", str(agents))
    found = TrustFile(agents, AGENTS, [keys.load(root).public]).current().identities["rack1"]
    signer = found.as_signer()
    enrolled = [signer.is_enrolled_for(host) for host in ("rack1", "rack1-7", "spare", "rack2-7")]
    assert enrolled == [True, True, True, False]


def test_no_two_cells_are_enrolled_for_the_same_names(change, tmp_path: Path) -> None:
    """Neither at first nor later; two keys of one cell may be."""

    def trust(name: str, cell: str, *patterns: str, code: int = 0) -> str:
        hosts = [word for pattern in patterns for word in ("--host", pattern)]
        ended = change(
            "trust", name, "--role", "cell_conductor", "--scope", cell, *hosts,
            "--public", public(tmp_path, name), code=code,
        )  # fmt: skip
        return str(ended.err)

    trust("cell1-a", "one", "rack1-*", "gen-[0-4]")
    trust("cell1-b", "one", "rack1-*")
    assert "rack?-7 and rack1-*, which cell1-a is enrolled for" in trust(
        "cell2-x", "two", "spare", "rack?-7", code=1
    )
    trust("cell2-a", "two", "rack2-*", "gen-[5-9]")
    ended = change("hosts", "cell2-a", "--host", "gen-*", code=1)
    assert "gen-* and gen-[0-4], which cell1-a" in ended.err
    change("hosts", "cell1-a", "--host", "rack1-*")
    ended = change("hosts", "cell1-b", "--host", "*", code=1)
    assert "which cell2-a is enrolled for" in ended.err
    change("hosts", "cell2-a", "--host", "gen-*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--role", "api", "--host", "x"], "the role api has no hosts"),
        (["--role", "compute"], "the role compute needs a scope: the agent's host name"),
        (["--role", "api", "--scope", "x"], "the role api has no scope"),
    ],
)
def test_a_scope_is_there_when_the_role_has_one(change, tmp_path, arguments, message) -> None:
    ended = change("trust", "one", *arguments, "--public", public(tmp_path, "one"), code=1)
    assert message in ended.err


def test_names_and_keys_are_not_trusted_twice(change, tmp_path: Path) -> None:
    """A key on two names would make one of them the other."""
    key = public(tmp_path, "one")
    change("trust", "one", "--role", "scheduler", "--public", key)
    twice = change("trust", "one", "--role", "scheduler", "--public", key, code=1)
    assert "armillary-manage key rotate" in twice.err
    other = change("trust", "two", "--role", "api", "--public", key, code=1)
    assert "of one, exists already" in other.err
    unknown = change("revoke", "three", code=1)
    assert "The identity three on the trust list of services was not found." in unknown.err


def test_a_list_of_another_root_is_not_changed(
    change, run_manage: Run, tmp_path: Path, path: Path
) -> None:
    """An attacker with the file alone cannot add to it."""
    change("trust", "one", "--role", "scheduler", "--public", public(tmp_path, "one"))
    before = path.read_text()
    other = tmp_path / "other-root.key"
    keys.create(other)
    ended = run_manage("key", "revoke", "one", "--list", str(path), "--root-key", str(other))
    assert ended.code == 1
    assert path.read_text() == before


def test_a_root_key_is_replaced(change, run_manage: Run, root: Path, path: Path, tmp_path) -> None:
    """Its lists are signed again as they are; who has the former key alone signs nothing more."""
    change("trust", "sched-1", "--role", "scheduler", "--public", public(tmp_path, "sched"))
    before, former, fresh = listed(path, root), keys.load(root).public.text, tmp_path / "fresh.key"
    keys.create(fresh)
    arguments = ("key", "sign", "--list", str(path), "--root-key", str(fresh), "--former")
    assert run_manage(*arguments, keys.load(fresh).public.text).code == 1
    assert run_manage(*arguments, former).code == 0
    after = listed(path, fresh)
    assert after.owner_of(before.identities["sched-1"].keys[0].public.key_id) is not None
    assert after.serial == before.serial + 1
    words = ("key", "list", "--list", str(path), "--root-key")
    assert run_manage(*words, str(root)).code == 1
    assert [row["Name"] for row in run_manage(*words, str(fresh), "-f", "json").json] == ["sched-1"]
    change("revoke", "sched-1", code=1)


def test_the_hosts_of_an_identity_are_replaced(change, path: Path, root: Path, tmp_path) -> None:
    """Its key stays; other roles than agents and cells have none."""
    scope = "5f3a4b1e-0000-4000-8000-000000000001"
    key = public(tmp_path, "cell1")
    change("trust", "cell1", "--role", "cell_conductor", "--scope", scope, "--public", key)
    change("trust", "api", "--role", "api", "--public", public(tmp_path, "api"))
    change("hosts", "cell1", "--host", "rack1-*", "--host", "rack2-*")
    found = listed(path, root).identities["cell1"]
    assert (found.hosts, found.keys[0].public.text) == (("rack1-*", "rack2-*"), key)
    assert "has no hosts" in change("hosts", "api", "--host", "a", code=1).err
    change("hosts", "cell1")
    assert listed(path, root).identities["cell1"].hosts == ()
