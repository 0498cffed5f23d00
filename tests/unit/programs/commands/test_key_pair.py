"""Key pairs on the command line."""

from pathlib import Path

import pytest

from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGo2Dn2u6yGNvZyL9yZ5lbAnoa1ygXUvAaUZ4l6Ud9s3 me@desk"


@pytest.fixture
def public_key(tmp_path: Path) -> str:
    """Return the name of a file with a public key."""
    path = tmp_path / "id_ed25519.pub"
    path.write_text(f"{KEY}\n")
    return str(path)


def test_a_public_key_is_stored_shown_and_deleted(
    armillary: Armillary, public_key: str, conductor: BuildingSuperConductor
) -> None:
    """For servers that are created with --key-name."""
    made = armillary("keypair", "create", "mine", "--public-key", public_key, "-f", "json").json
    assert (made["name"], made["type"], made["public_key"]) == ("mine", "ssh", KEY)
    assert armillary("keypair", "show", "mine", "-f", "json").json == made
    for number in range(4):  # more than a page of the list
        assert armillary("keypair", "create", f"k{number}", "--public-key", public_key).code == 0
    (*_, last) = rows = armillary("keypair", "list", "-f", "json").json
    assert [row["Name"] for row in rows] == ["k0", "k1", "k2", "k3", "mine"]
    assert last == {"Name": "mine", "Type": "ssh", "Fingerprint": made["fingerprint"]}
    refused = armillary("keypair", "delete", "mine", "mien")
    assert refused.code == 3
    assert "No keypair has the id or name 'mien'. Similar: mine." in refused.err
    assert armillary("keypair", "delete", "mine", "k0").code == 0
    assert [name for _user, name in conductor.key_pairs] == ["k1", "k2", "k3"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "is a private key: give the public one"),
        (b"\xff\xfe", "is not a text file with a public key"),
        (None, "cannot be read: No such file or directory"),
    ],
    ids=["private", "binary", "missing"],
)
def test_only_a_public_key_is_sent(
    content: bytes | None, said: str, armillary: Armillary, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    refused = armillary("keypair", "create", "mine", "--public-key", str(path))
    assert refused.code == 2
    assert said in refused.err
