"""The Debian package is built, installed, upgraded and purged, on a copy of this machine's files.

What it writes goes into a file system in memory above the machine's, and its processes are in a
namespace of their own, so that nothing of them is left.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.ports import free_port
from tests.integration.deployed_by_command import command_for

pytestmark = [
    pytest.mark.rabbitmq,
    pytest.mark.postgresql,
    pytest.mark.long,
    pytest.mark.skipif(
        os.environ.get("CI") != "true"
        and (os.geteuid() != 0 or not all(map(shutil.which, ("dpkg-deb", "unshare")))),
        reason="needs root, dpkg and unshare",
    ),
]

TREE = Path(__file__).parents[2]
SECONDS_MAX = 900

OUTSIDE = """
set -e
mount -t tmpfs tmpfs $WORK; mkdir $WORK/up $WORK/work $WORK/root
mount -t overlay overlay -o lowerdir=/,upperdir=$WORK/up,workdir=$WORK/work $WORK/root
mount --bind $OUT $WORK/root$OUT
mount -t proc proc $WORK/root/proc; mount --rbind /dev $WORK/root/dev
chroot $WORK/root bash -ex $STORY
"""

STORY = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
dpkg -i $PACKAGES/first.deb
id armillary-workload
test -s /usr/share/man/man8/armillary-manage.8 -a -d /usr/share/doc/armillary/operating
armillary-manage deploy single --prefix $PREFIX --driver simulated --host packaged \\
    --api 127.0.0.1:$API --placement 127.0.0.1:$PLACEMENT
test ! -e /etc/systemd/system/armillary-api.service  # the package has it
cp /etc/armillary/deployment.yaml $OUT
armillary-manage deploy start
. /etc/armillary/admin-openrc
for second in $(seq 90); do armillary host list | grep -q packaged && break; sleep 1; done
armillary flavor create tiny --vcpus 1 --ram 128 --disk 1
armillary image create nothing --property img_hv_type=simulated
armillary server create first --flavor tiny --image nothing --wait
test "$(ps -o uid= -p $(cat /run/armillary/api.pid))" -eq "$(id -u armillary)"
dpkg -i $PACKAGES/second.deb
armillary-manage deploy stop
armillary-manage deploy start
armillary-manage deploy single | grep 'Nothing to do'
for second in $(seq 90); do armillary server list | grep ACTIVE && break; sleep 1; done
armillary server list | grep ACTIVE
dpkg -r armillary
test ! -e /opt/armillary -a -e /etc/armillary/deployment.yaml
test -z "$(pgrep -f armillary-)"
dpkg -P armillary
test ! -e /etc/armillary -a ! -e /var/lib/armillary -a ! -e /var/log/armillary
"""


def test_the_package_is_installed_started_upgraded_and_purged(tmp_path: Path) -> None:
    """A deployment is made with it, a server built; purged, it leaves no file."""
    packages = tmp_path / "packages"
    packages.mkdir()
    subprocess.run([TREE / "tools/make_deb.sh", packages], check=True, timeout=SECONDS_MAX)
    (built,) = packages.glob("*.deb")
    first, unpacked = built.rename(packages / "first.deb"), tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "-R", first, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 1:"))
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "-b", unpacked, packages / "second.deb"],
        check=True,
    )
    story, work = tmp_path / "story.sh", tmp_path / "work"
    story.write_text(STORY)
    work.mkdir()
    with command_for(tmp_path, POSTGRESQL) as command:
        command.configuration.mkdir(parents=True)
        ended = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", OUTSIDE],
            env={
                **os.environ,
                "WORK": str(work), "STORY": str(story), "PACKAGES": str(packages),
                "PREFIX": command.prefix, "API": str(free_port()), "PLACEMENT": str(free_port()),
                "OUT": str(command.configuration),
                "ARMILLARY_DATABASE_ADMIN": POSTGRESQL.url.render_as_string(hide_password=False),
            },
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX,
            check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout[-4000:]
