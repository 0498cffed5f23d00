"""Message buses of programs, named after program and host, with locks in the state path."""

import functools
from pathlib import Path

from oslo_config import cfg

import objects
from armillary import concurrency
from rpc.signing.setup import make_signer
from rpc.transport import Bus, MakeBus


def bus_maker(conf: cfg.ConfigOpts, binary: str) -> MakeBus:
    """Return a factory that makes a bus in the process that uses it.

    All buses sign with the one key of this process, unless signing is off.
    """
    objects.register_all()
    name, locks = f"{binary}-{conf.host}", Path(conf.state_path, "locks")
    signer = functools.cache(lambda: make_signer(conf, name, locks))

    def make(transport_url: str, scope: str) -> Bus:
        return Bus(
            conf,
            transport_url,
            executor=concurrency.rpc_executor(),
            process_name=name,
            lock_directory=locks,
            message_signer=signer(),
            scope=scope,
        )

    return make
