"""Messages for users without names of hosts and places of their files."""

import pytest

from api.formats.host_details import without_host_details, without_paths

SHORTENED = {
    "qemu-img convert: Could not open '/var/lib/armillary/instances/u-1/root.qcow2': No space":
        "qemu-img convert: Could not open 'root.qcow2': No space",
    "[Errno 13] Permission denied: '/srv/our images/u-1'": "[Errno 13] Permission denied: 'u-1'",
    "the data is not in /srv/images.": "the data is not in images.",
    "the data is not in /srv/images/": "the data is not in images",
    "store_path = /srv/images, and more": "store_path = images, and more",
    "the base (/srv/b), /srv/c; /srv/d: gone": "the base (b), c; d: gone",
    "nbd:unix:/run/qemu/socket": "nbd:unix:socket",
    "file:///srv/images/u-1": "u-1",
    'file "/srv/images/u-1" is gone': 'file "u-1" is gone',
    "socket=/run/libvirt/sock": "socket=sock",
    "/etc": "etc",
}  # fmt: skip
KEPT = (
    "an I/O error, 5 B/s and/or 1/2",
    "see https://example.org/a/b, qemu:///system",
    "10.0.0.0/8 is not allowed",
    "./a/b, ../a and a/b are relative",
    "nothing / at all //",
)


@pytest.mark.parametrize("said", SHORTENED)
def test_a_path_of_a_host_is_shortened_to_its_last_part(said: str) -> None:
    assert without_paths(said) == SHORTENED[said]


@pytest.mark.parametrize("said", KEPT)
def test_what_is_not_a_path_stays(said: str) -> None:
    assert without_paths(said) == said


def test_the_users_own_command_stays_whole() -> None:
    """A user who wrote it needs its path; the host is not named all the same."""
    said = "h1: '/opt/app/run' cannot be run in /var/lib/x"
    command = "/opt/app/run --now"
    shown = without_host_details(said, ["h1"], told_by_user=[command])
    assert shown == "the host: '/opt/app/run' cannot be run in x"
