"""Supervisor of one workload: start it with its limits, log its output, record its exit code.

Run as ``python -I -S process_shim.py DIRECTORY LOCK_FD``, with only the standard library. One shim
lives as long as its workload, independently of the agent. Its state is in files of DIRECTORY:

    guest.json      from the agent: what to run, and how (``ProcessSpec``)
    processes.json  pids and start times of shim and workload, before the workload starts
    started.json    {"error": null}, or errno, step and text of the error
    stop.json       from the agent, optional: {"grace_seconds", "is_hard"} of the requested stop
    held.json       from the agent, optional: the power state that the workload is stopped in
    unconfirmed     from the agent, optional: the workload is new here, its conductor may not know
    exit.json       the result: {"exit_code", "seconds"}; 128 + n after signal n
    console.log     the output; the older half of what is kept is in console.log.1

The shim holds the lock that the agent took on LOCK_FD, so a locked file means that the shim is
alive. It also listens on an abstract socket named after DIRECTORY (``guard_address``): one shim at
a time can have it, and it is there when the directory is not. On a connection the shim makes
DIRECTORY again, or takes it over if it was restored from a copy, and answers "ok". It remembers
what ``held.json`` says then, because it is stopped itself while its workload is held.

A lease says how long the workload may run (``Lease``). When it is over the shim stops all processes
where they are, and lets them continue when the lease was renewed.

SIGTERM to the shim stops the workload: SIGTERM to all its processes, and SIGKILL after the
grace period, or immediately if requested. When the main process ends by itself, the others are
stopped, too. The shim is the subreaper of all of them, including daemons that left the session.

With a restart policy, the shim starts the workload again after a delay. A restart is logged to the
console and is not an end: there is no exit.json, and the shim stays alive. A non-zero exit within
the settle time is a failed start and not restarted.
"""

import os
import sys
from pathlib import Path


def main() -> int:
    """Leave the agent's process tree, then run the shim; the first process exits immediately."""
    directory, lock_fd = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock_fd, False)
    if os.fork():
        os._exit(0)
    sys.path.append(str(Path(__file__).resolve().parents[3]))  # it runs isolated
    from compute_agent.virt.process.shim.supervisor import Supervisor

    return Supervisor(directory, lock_fd).run()


if __name__ == "__main__":
    sys.exit(main())
