"""Process names are unique among the living and come back after a restart."""

from __future__ import annotations

import subprocess
import sys

from rpc.queue_names import claim_process_name

CLAIM = (
    "import sys, pathlib\n"
    "from rpc.queue_names import claim_process_name\n"
    "print(claim_process_name('svc', pathlib.Path(sys.argv[1])), flush=True)\n"
    "sys.stdin.read()\n"
)


def claim_in_a_process(directory):
    process = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, process.stdout.readline().strip()


def test_living_processes_have_different_names(tmp_path):
    """Two services of one kind on one machine never share a reply queue."""
    first, first_name = claim_in_a_process(tmp_path)
    second, second_name = claim_in_a_process(tmp_path)
    first.communicate()
    second.communicate()
    assert (first_name, second_name) == ("svc-0", "svc-1")


def test_a_killed_process_leaves_its_name_to_the_next(tmp_path):
    """After kill -9 the queues of the dead process are used again, not leaked."""
    process, _ = claim_in_a_process(tmp_path)
    process.kill()
    process.communicate()
    successor, name = claim_in_a_process(tmp_path)
    successor.communicate()
    assert name == "svc-0"


def test_a_process_keeps_its_name(tmp_path):
    """Several buses in one process share one name."""
    assert claim_process_name("svc", tmp_path) == claim_process_name("svc", tmp_path)


LEFT_BEHIND = """
import os, sys, pathlib
from oslo_concurrency import lockutils
from oslo_config import cfg
from oslo_messaging._drivers import amqpdriver
from rpc.transport import Bus

leader = os.getpid()
if os.fork():
    os._exit(0)  # the shell that started it
sys.stdin.read()  # until it was reaped
conf = cfg.ConfigOpts()
conf([], project="armillary")
bus = Bus(conf, "kombu+memory:////left")
lockutils.set_defaults(sys.argv[1])
manager = amqpdriver.QManager("host", f"left-{leader}")
print(manager.get(), manager.get(), sep="\\n", flush=True)
pathlib.Path(manager.file_name).unlink()
"""


def test_queues_have_names_though_the_group_has_lost_its_leader(tmp_path):
    """A service that a script leaves running in the background answers and is answered."""
    shell = subprocess.Popen(
        [sys.executable, "-c", LEFT_BEHIND, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    shell.wait()
    names, _ = shell.communicate()
    assert [name.rpartition(":")[2] for name in names.splitlines()] == ["1", "2"]
