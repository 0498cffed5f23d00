"""The trust list of a process: whom it believes, and when it takes over another list."""

import pytest

from armillary import exception
from rpc.signing import keys, trust
from rpc.signing.trust import AGENTS, SERVICES, TrustList
from rpc.signing.trust_file import TrustFile
from tests.fixtures.signing import Authority


class Clock:
    now = 0.0

    def __call__(self):
        self.now += 2.0  # more than a look a second
        return self.now


@pytest.fixture
def authority(tmp_path):
    made = Authority(tmp_path / "authority")
    made.enrol("scheduler")
    return made


@pytest.fixture
def file(authority):
    return TrustFile(authority.path(), SERVICES, [authority.root.public], clock=Clock())


def test_a_change_of_the_file_is_seen(authority, file):
    key = authority.enrol("placement")
    owner, _ = file.current().owner_of(key.key_id)
    assert (owner.name, owner.role) == ("placement", "placement")


def test_an_older_list_is_not_taken_over(authority, file):
    """Else an attacker who kept one could bring back a key that was revoked."""
    older = file.document
    authority.change(SERVICES, authority.lists[SERVICES].changed({"scheduler": None}))
    assert file.current().identities == {}
    assert file.offer(older) is False
    authority.path().write_text(older)
    assert file.current().identities == {}


@pytest.mark.parametrize(
    "document",
    [
        "[" * 100_000,
        "",
        "{}",
        "[]",
        '{"list": 1, "signature": "", "root": ""}',
        "\x00",
        '{"list": "{}"}',
    ],
)
def test_a_broken_file_changes_nothing(authority, file, document, caplog):
    authority.path().write_text(document)
    assert set(file.current().identities) == {"scheduler"}
    assert "keeping the old list: " in caplog.text


def test_a_list_signed_by_a_stranger_is_refused(authority, file, tmp_path):
    stranger = keys.create(tmp_path / "stranger")
    document = trust.signed_document(TrustList(SERVICES, 99, []), stranger)
    with pytest.raises(exception.Invalid, match=r"not in \[signing\] root_keys"):
        file.offer(document)
    forged = document.replace(stranger.key_id, authority.root.key_id)
    with pytest.raises(exception.Invalid, match="is invalid"):
        file.offer(forged)


def test_the_lists_are_not_mixed_up(authority, file):
    """Neither is one offered for the other, nor may an agent be on the list of the services."""
    with pytest.raises(exception.Invalid, match="list of agents, not of services"):
        file.offer(trust.signed_document(TrustList(AGENTS, 99, []), authority.root))
    authority.enrol("compute")
    strays = authority.lists[AGENTS].identities.values()
    with pytest.raises(exception.Invalid, match="does not belong on a trust list of services"):
        file.offer(trust.signed_document(TrustList(SERVICES, 99, strays), authority.root))


def test_what_is_pushed_is_there_after_a_restart(authority, file):
    newer = authority.lists[SERVICES].changed({"scheduler": None})
    assert file.offer(trust.signed_document(newer, authority.root)) is True
    again = TrustFile(authority.path(), SERVICES, [authority.root.public])
    assert again.current().identities == {}


def test_there_is_no_start_without_a_list(authority, tmp_path):
    with pytest.raises(exception.ConfigurationError, match="cannot be read: No such file"):
        TrustFile(tmp_path / "nix", SERVICES, [authority.root.public])
    (tmp_path / "bad").write_text("?")
    with pytest.raises(exception.ConfigurationError, match="this is not a trust list"):
        TrustFile(tmp_path / "bad", SERVICES, [authority.root.public])
