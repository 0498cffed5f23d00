"""Process names are unique among the living and come back after a restart."""

import subprocess
import sys
from types import SimpleNamespace

from rpc.broker.queue_names import FanoutNames, claim_process_name

CLAIM = (
    "import sys, pathlib\n"
    "from rpc.broker.queue_names import claim_process_name\n"
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


CONF = SimpleNamespace(
    oslo_messaging_rabbit=SimpleNamespace(hostname="host", processname="unnumbered")
)


def test_fanout_queues_have_different_names():
    """Two listeners of one process each get every message, so they share no queue."""
    first, second = FanoutNames(CONF), FanoutNames(CONF)
    assert len({first.get(), first.get(), second.get()}) == 3


NAMES = """
from types import SimpleNamespace
from rpc.broker.queue_names import FanoutNames

options = SimpleNamespace(hostname="host", processname="svc-0")
names = FanoutNames(SimpleNamespace(oslo_messaging_rabbit=options))
print(names.get(), names.get())
"""


def test_a_restarted_process_has_the_same_fanout_queues():
    """No queue is left behind; the group of a service in the background may lack a leader."""
    found = [
        subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True).stdout
        for _start in range(2)
    ]
    assert found == ["host:svc-0:1 host:svc-0:2\n"] * 2
