"""A simulated broker: messages take time, get lost, come twice, overtake each other.

As with the real ones a message is taken from its queue before it is worked on: who dies then loses
it. Queues outlive those who read them; a caller waits as long as its call allows.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import oslo_messaging

from armillary import exception
from armillary.context import RequestContext
from armillary.idempotency import Records
from rpc.endpoints import wire_handlers_of
from rpc.interface import Interface
from rpc.signing.place import TOP, Place
from rpc.transport import Bus
from rpc.wire.serializer import ObjectSerializer
from tests.simulation.hub import HUB, Process

CALL_SECONDS = 60.0
UNREACHABLE_SECONDS = 1.0
DELAY_SECONDS_MAX = 0.05

Fate = Callable[[str, str], list[float]]
"""Sender and method -> after how many seconds the message arrives, each time that it does."""


@dataclass
class Message:
    """One message under way, in wire form."""

    topic: str
    server: str | None
    is_fanout: bool
    method: str
    context: str
    arguments: str
    expires_at: float | None
    answer: Callable[[SimServer, Any, BaseException | None], None]


@dataclass
class Broker:
    """Queues by topic and server; ``cut`` names the processes that cannot reach it."""

    name: str
    fate: Fate = lambda sender, method: [HUB.rng.uniform(0.0, DELAY_SECONDS_MAX)]
    servers: list[SimServer] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)
    waiting: list[Message] = field(default_factory=list)

    def reaches(self, process: Process) -> bool:
        return process.is_alive and process.name not in self.cut

    def arrive(self, message: Message) -> None:
        """Hand a message to its listener, or keep it."""
        if message.expires_at is not None and HUB.now >= message.expires_at:
            return
        ready = [server for server in self.servers if server.takes(message)]
        if message.is_fanout:
            for server in ready:
                server.work(message)
        elif ready:
            HUB.rng.choice(ready).work(message)
        else:
            self.waiting.append(message)

    def look(self) -> None:
        """Hand out what waited: a listener has come, or come back."""
        waiting, self.waiting = self.waiting, []
        for message in waiting:
            HUB.after(HUB.rng.uniform(0.0, 0.05), functools.partial(self.arrive, message))


class SimServer:
    """Takes messages of one topic for one process, as many at a time as come."""

    def __init__(
        self,
        bus: SimBus,
        interface: type[Interface],
        name: str,
        endpoints: Iterable[Any],
        records: Records | None,
    ) -> None:
        self._bus = bus
        self._topic = interface.TOPIC
        self._name = name
        self._handlers = wire_handlers_of(interface, endpoints, bus.serializer, records)

    def start(self) -> None:
        self._bus.broker.servers.append(self)
        self._bus.broker.look()

    def stop(self) -> None:
        self._bus.broker.servers.remove(self)

    def wait(self) -> None:
        """Have no message under way that a process waits for."""

    def takes(self, message: Message) -> bool:
        return (
            message.topic == self._topic
            and message.server in (None, self._name)
            and self._bus.broker.reaches(self._bus.process)
        )

    def work(self, message: Message) -> None:
        HUB.spawn(lambda: self._answer(message), name=message.method, process=self._bus.process)

    def _answer(self, message: Message) -> None:
        HUB.effect(f"< {message.method}")
        try:
            result = self._run(message)
        except Exception as error:
            if not isinstance(error, exception.ArmillaryError):
                HUB.failures.append(
                    f"{message.method} at {self._bus.process.name} died of {error!r}"
                )
            self._reply(message, None, error)
        else:
            self._reply(message, result, None)

    def _run(self, message: Message) -> Any:
        if message.method == "ping":
            return None
        handler = self._handlers[message.method]
        serializer = self._bus.serializer
        context = serializer.deserialize_context(json.loads(message.context))
        arguments = {
            name: serializer.deserialize_entity(context, value)
            for name, value in json.loads(message.arguments).items()
        }
        return json.dumps(serializer.serialize_entity(context, handler(context, **arguments)))

    def _reply(self, message: Message, result: Any, error: BaseException | None) -> None:
        HUB.effect(f"> {message.method}")
        message.answer(self, result, error)

    @property
    def bus(self) -> SimBus:
        return self._bus


class SimBus(Bus):
    """A broker as one process sees it."""

    def __init__(self, broker: Broker, process: Process) -> None:
        self.broker = broker
        self.process = process
        self.serializer = ObjectSerializer()
        self.place = Place(TOP, "")
        self.message_signer = None  # no process signs here

    @property
    def address(self) -> str:
        return f"{self.broker.name}/"

    def server(
        self,
        interface: type[Interface],
        server: str,
        endpoints: Iterable[Any],
        records: Records | None = None,
    ) -> Any:
        return SimServer(self, interface, server, endpoints, records)

    def client(self, topic: str, *, timeout_seconds: float | None = None, **_options: Any) -> Any:
        return _Client(self, topic, timeout_seconds or CALL_SECONDS)

    def close(self) -> None:
        """Nothing is open."""


class _Client:
    def __init__(
        self,
        bus: SimBus,
        topic: str,
        timeout_seconds: float,
        server: str | None = None,
        is_fanout: bool = False,
    ) -> None:
        self._bus = bus
        self._topic = topic
        self._timeout_seconds = timeout_seconds
        self._server = server
        self._is_fanout = is_fanout

    def prepare(
        self,
        *,
        server: str | None = None,
        fanout: bool | None = None,
        timeout: float | None = None,
        **_options: Any,
    ) -> _Client:
        return _Client(
            self._bus, self._topic, timeout or self._timeout_seconds, server, bool(fanout)
        )

    def cast(self, context: RequestContext, method: str, **arguments: Any) -> None:
        self._send(context, method, arguments, None, lambda *answer: None)

    def call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        me = HUB.current
        assert me is not None, "calls are made by processes"
        answers: list[tuple[Any, BaseException | None]] = []
        is_waiting = True

        def take(server: SimServer, result: Any, error: BaseException | None) -> None:
            for seconds in self._bus.broker.fate(server.bus.process.name, f"answer to {method}"):
                HUB.after(seconds, lambda: arrived(server, result, error))

        def arrived(_server: SimServer, result: Any, error: BaseException | None) -> None:
            if is_waiting and not answers and self._bus.broker.reaches(me.process):
                answers.append((result, error))
                HUB.wake(me)

        self._send(context, method, arguments, self._timeout_seconds, take)
        deadline = HUB.now + self._timeout_seconds
        while not answers:
            if HUB.now >= deadline:
                is_waiting = False
                HUB.effect(f"no answer to {method}")
                raise oslo_messaging.MessagingTimeout(method)
            HUB.park(deadline - HUB.now)
        result, error = answers[0]
        HUB.effect(f"answer to {method}")
        if error is not None:
            raise _as_received(error)
        if result is None:
            return None
        return self._bus.serializer.deserialize_entity(context, json.loads(result))

    def _send(
        self,
        context: RequestContext,
        method: str,
        arguments: dict[str, Any],
        seconds: float | None,
        answer: Callable[[SimServer, Any, BaseException | None], None],
    ) -> None:
        broker, serializer = self._bus.broker, self._bus.serializer
        HUB.effect(f"{'calls' if seconds else 'casts'} {method}")
        if not broker.reaches(self._bus.process):
            HUB.park(UNREACHABLE_SECONDS)
            raise oslo_messaging.MessageDeliveryFailure(f"{broker.name} is out of reach")
        message = Message(
            topic=self._topic,
            server=self._server,
            is_fanout=self._is_fanout,
            method=method,
            context=json.dumps(serializer.serialize_context(context)),
            arguments=json.dumps(
                {
                    name: serializer.serialize_entity(None, value)
                    for name, value in arguments.items()
                }
            ),
            expires_at=None if seconds is None else HUB.now + seconds,
            answer=answer,
        )
        for delay in broker.fate(self._bus.process.name, method):
            HUB.after(delay, lambda: broker.arrive(message))
        HUB.effect(f"sent {method}")


def _as_received(error: BaseException) -> BaseException:
    """Return an error as oslo.messaging rebuilds it on the caller's side."""
    if isinstance(error, exception.ArmillaryError):
        kwargs = json.loads(json.dumps(error.kwargs, default=str))
        return type(error)(error.message, **kwargs)
    return oslo_messaging.RemoteError(type(error).__name__, str(error), [])
