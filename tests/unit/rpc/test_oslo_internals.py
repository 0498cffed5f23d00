"""Private names of libraries that our drivers need: known, listed, and checked at start."""

import inspect
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, SimpleNamespace
from unittest.mock import Mock

import pytest

from armillary import exception
from rpc import (
    incoming,
    memory_transport,
    oslo_internals,
    queue_types,
    rabbit,
    replies,
    thread_pool,
)  # fmt: skip
from rpc import transport as bus_transport
from rpc.broker import consumers
from rpc.signing import transport as signed_transport
from tests.fixtures import waiting

USERS = (
    bus_transport, memory_transport, rabbit, consumers, replies, thread_pool, signed_transport,
    oslo_internals, incoming,
)  # fmt: skip
LISTED = {
    owner: {
        name
        for each in oslo_internals.MEMBERS
        if each.owner is owner
        for name in each.names.split()
    }
    for owner in dict.fromkeys(each.owner for each in oslo_internals.MEMBERS)  # in a fixed order
}

START_WITHOUT = """
import sys
from armillary import concurrency
concurrency.bootstrap(sys.argv[1:])
from oslo_messaging._drivers import impl_rabbit
from programs import compute
del impl_rabbit.{name}
sys.exit(compute.main(sys.argv[1:]))
"""


def test_the_libraries_have_every_listed_name() -> None:
    """Those that are installed."""
    oslo_internals.check()


def test_a_missing_name_is_a_configuration_error(monkeypatch) -> None:
    """The operator learns what lacks what, and which versions would do."""
    monkeypatch.delattr(oslo_internals.Connection, "_publish")
    with pytest.raises(
        exception.ConfigurationError,
        match=r"oslo\.messaging [\d.]+ lacks oslo_messaging\._drivers\.impl_rabbit"
        r"\.Connection\._publish, which publishes .*; install a version .*<19",
    ):
        oslo_internals.check()


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", ["Consumer", "Connection.topic_send"])
def test_a_program_ends_at_its_start(tmp_path: Path, name: str) -> None:
    """With the exit code of a configuration error, and one line."""
    config = tmp_path / "compute.conf"
    config.write_text(
        f"[DEFAULT]\nstate_path = {tmp_path}\ntransport_url = kombu+memory:////none\n"
    )
    ended = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            START_WITHOUT.format(name=name),
            f"--config-file={config}",
        ],
        capture_output=True,
        text=True,
        timeout=waiting.seconds(60),
    )
    assert ended.returncode == 78, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if f"impl_rabbit.{name}" in line]
    assert len(lines) == 1
    assert "Traceback" not in ended.stderr


def codes(module) -> Iterator[CodeType]:
    """Yield the code of each function and method of a module, and of what they define."""
    waiting = [
        function.__code__
        for holder in (module, *classes(module))
        for function in vars(holder).values()
        if inspect.isfunction(function) and function.__module__ == module.__name__
    ]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]


def classes(module) -> list[type]:
    return [
        each
        for each in vars(module).values()
        if inspect.isclass(each) and each.__module__ == module.__name__
    ]


def own_names(module) -> set[str]:
    """Return what the module's classes define themselves, other than by overriding."""
    return {
        name
        for each in classes(module)
        for name in vars(each)
        if not any(oslo_internals.has_member(base, name) for base in LISTED)
    }


def used_names(module, owner: type) -> set[str]:
    """Return the private names of a library's class that a module uses or overrides."""
    used = {name for code in codes(module) for name in code.co_names} | {
        name for each in classes(module) if issubclass(each, owner) for name in vars(each)
    }
    return {
        name
        for name in used - own_names(module)
        if name.startswith("_")
        and not name.endswith("__")
        and name != "_abc_impl"  # of every abstract class
        and oslo_internals.has_member(owner, name)
    }


@pytest.mark.parametrize("owner", LISTED, ids=lambda owner: owner.__name__)
def test_every_private_member_that_is_used_is_listed(owner: type) -> None:
    """So that the check at start would miss none."""
    derived = [m for m in USERS if any(issubclass(each, owner) for each in classes(m))]
    assert derived or owner in NOT_DERIVED_FROM
    missing = {name for module in derived for name in used_names(module, owner)}
    assert not missing - set().union(*LISTED.values())


NOT_DERIVED_FROM = {
    oslo_internals.ConnectionPool,
    oslo_internals.IncomingMessage,
    oslo_internals.PollStyleListener,
    oslo_internals.PollStyleListenerAdapter,
    oslo_internals.BrokerSocket,
    oslo_internals.MessageListener,
}


def test_the_samples_show_the_defaults_of_the_queues() -> None:
    """Those that a service has, not the library's."""
    shown = {
        option.name: option.default
        for group, options in queue_types.list_opts()
        for option in options
        if group == queue_types.GROUP
    }
    assert {name: shown[name] for name in queue_types.DEFAULTS} == queue_types.DEFAULTS


def secure(held: int) -> Mock:
    """Return a socket that holds so many bytes of what it has deciphered."""
    made = Mock(spec=ssl.SSLSocket)
    made.pending.return_value = held
    return made


@pytest.mark.parametrize(
    ("buffer", "source", "expected"),
    [
        (b"", None, False),
        (b"half a frame", None, True),
        (b"", secure(0), False),
        (b"", secure(7), True),
    ],
)
def test_what_was_read_but_not_used_is_not_waited_for(buffer, source, expected):
    transport = SimpleNamespace(sock=source, _read_buffer=buffer)
    assert oslo_internals.has_buffered_data(transport) is expected
