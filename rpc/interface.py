"""Building blocks of an RPC declaration: a base class and the decorators of its methods.

A service declares each of its interfaces once, in a module named ``interface``: typed methods
without a body, whose docstrings are the contract. The client, the checks of the server, the
authority check, version caps, the local twin and the reference page derive from the declaration.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

from armillary.context import RequestContext
from rpc.callers import Caller
from rpc.version_caps import VersionCap, fits
from rpc.wire.dataclass_codec import Codec, codec_of
from rpc.wire.declared_objects import Declared, declared_objects

Rebuild = Callable[[Any, Declared], Any]
"""Makes the declared objects in a value that is in wire form. Raises Invalid."""

P = ParamSpec("P")
R = TypeVar("R")

_SELF, _CONTEXT, _TIMEOUT = "self", "context", "timeout_seconds"
_ANSWER = "return"
_DECLARED = "declared"
_NONE: Mapping[str, str] = MappingProxyType({})


class Kind(enum.Enum):
    """How a message is delivered."""

    CALL = "call"
    """To one server, which answers."""
    CAST = "cast"
    """To one server, without an answer."""
    FANOUT = "fanout"
    """To all servers of the topic, without an answer."""

    @property
    def has_answer(self) -> bool:
        """Whether the caller waits for an answer."""
        return self is Kind.CALL

    @property
    def reaches_all(self) -> bool:
        """Whether every server gets the message."""
        return self is Kind.FANOUT


class Idempotent(enum.Enum):
    """Why a call may be repeated."""

    BY_NATURE = "by nature"
    """It reads, or sets what its arguments say in an order that the receiver knows."""
    BY_KEY = "by key"
    """The receiver recognises it: by an identifier among its arguments, or by its request ID."""
    BY_RECORD = "by record"
    """The server stores its answer under request ID, method and arguments, for a day."""


@dataclasses.dataclass(frozen=True)
class Method:
    """A declared method. ``defaults`` are those of its optional parameters.

    ``hints`` are the types of its parameters and, as "return", of its answer.
    ``argument_codecs`` has the parameters whose values contain dataclasses.
    """

    name: str
    kind: Kind
    callers: tuple[Caller, ...]
    since: str
    idempotent: Idempotent
    timeout_seconds: float | None
    newer_arguments: Mapping[str, str]
    contract: str
    signature: inspect.Signature
    defaults: Mapping[str, Any]
    hints: Mapping[str, Any]
    argument_codecs: Mapping[str, Codec]
    answer_codec: Codec | None
    objects: Mapping[str, Declared] = dataclasses.field(default_factory=dict)
    """Parameters, and "return", whose hints name versioned objects, with the names of these."""

    def sent_names(self, addressed_by: str | None) -> list[str]:
        """Return the parameters whose values are in the message."""
        kept_here = {_SELF, _CONTEXT, _TIMEOUT, addressed_by}
        return [name for name in self.signature.parameters if name not in kept_here]

    def sent_hints(self, addressed_by: str | None) -> dict[str, Any]:
        """Return the types of what is in the message; that of an object is checked by its maker."""
        made = self.argument_codecs.keys() | self.objects.keys()
        names = self.sent_names(addressed_by)
        return {name: Any if name in made else self.hints.get(name, Any) for name in names}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameter -> value, defaults included. Raises TypeError as any call does."""
        return {**self.defaults, **self.signature.bind(*args, **kwargs).arguments}

    def needed_version(self, arguments: dict[str, Any]) -> str:
        """Return the version that a server needs for these arguments.

        Newer arguments that have their default are removed, because an older server does the same
        without them.
        """
        needed = self.since
        for name, since in self.newer_arguments.items():
            if arguments[name] == self.defaults[name]:
                del arguments[name]
            elif not fits(needed, since):
                needed = since
        return needed

    def encode(self, arguments: dict[str, object]) -> dict[str, object]:
        """Return the arguments with dataclasses in wire form."""
        codecs = self.argument_codecs
        encoded = {name: codecs[name].encode(arguments[name]) for name in codecs.keys() & arguments}
        return {**arguments, **encoded}

    def decode(self, arguments: dict[str, object], rebuild: Rebuild) -> dict[str, object]:
        """Return the arguments with declared objects and dataclasses made again. Raises Invalid."""
        made = dict(arguments)
        for name in self.objects.keys() & arguments:
            made[name] = rebuild(made[name], self.objects[name])
        for name in self.argument_codecs.keys() & arguments:
            made[name] = self.argument_codecs[name].decode(made[name])
        return made

    def encode_answer(self, answer: Any) -> Any:
        """Return an answer with dataclasses in wire form."""
        return answer if self.answer_codec is None else self.answer_codec.encode(answer)

    def decode_answer(self, answer: Any, rebuild: Rebuild) -> Any:
        """Return an answer with declared objects and dataclasses made again. Raises Invalid."""
        if _ANSWER in self.objects:
            answer = rebuild(answer, self.objects[_ANSWER])
        return answer if self.answer_codec is None else self.answer_codec.decode(answer)


class Sender(Protocol):
    """Delivers what the methods of an interface were called with."""

    def send(
        self,
        context: RequestContext,
        method: Method,
        arguments: dict[str, object],
        *,
        server: str | None,
        timeout_seconds: float | None,
    ) -> Any: ...

    def ping(
        self, context: RequestContext, *, server: str | None, timeout_seconds: float
    ) -> None: ...


class Senders(Protocol):
    """Makes the senders of interfaces: a connection to a broker."""

    def sender(
        self, interface: type[Interface], *, version_cap: VersionCap | None, timeout_seconds: float
    ) -> Sender: ...


class Interface:
    """Base of every declared interface; an instance is its client.

    A subclass sets ``TOPIC`` and ``SERVED_BY``, and declares its methods with :func:`call`,
    :func:`cast` and :func:`fanout`. All parameters of a method are sent except ``context``, which
    travels beside them, ``timeout_seconds``, and the one that ``ADDRESSED_BY`` names. A method
    without a decorator is a convenience of its callers and calls declared ones.

    A call raises ``RpcTimeout`` if no answer came (outcome unknown), ``RpcUnavailable`` if nothing
    was sent, ``RpcVersionTooOld`` if the servers are too old for it, and the remote exception if
    its class is in ``armillary.exception``.
    """

    TOPIC: ClassVar[str]
    SERVED_BY: ClassVar[str]
    """Role of the servers; answers from any other role are rejected."""
    VERSION: ClassVar[str] = "1.0"
    """The newest version in which a method or an argument was added."""
    ADDRESSED_BY: ClassVar[str | None] = None
    """Parameter that names the server; it equals the scope of that server's identity."""
    METHODS: ClassVar[Mapping[str, Method]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Collect and check the declared methods. Raises TypeError for a wrong declaration."""
        super().__init_subclass__()
        names = dict.fromkeys(name for base in cls.__mro__ for name in vars(base))
        declared = {name: getattr(getattr(cls, name, None), _DECLARED, None) for name in names}
        methods = {name: method for name, method in declared.items() if method is not None}
        for method in methods.values():
            _check(cls, method)
        cls.METHODS = MappingProxyType(methods)

    def __init__(
        self, bus: Senders, *, version_cap: VersionCap | None = None, timeout_seconds: float = 60.0
    ) -> None:
        """Make a client on a bus. No call waits longer by default than ``timeout_seconds``."""
        self._sender = bus.sender(
            type(self), version_cap=version_cap, timeout_seconds=timeout_seconds
        )

    def ping(
        self, context: RequestContext, *, server: str | None = None, timeout_seconds: float = 5.0
    ) -> None:
        """Raise ``RpcTimeout`` if no server answers, ``RpcUnavailable`` if none ever existed."""
        self._sender.ping(context, server=server, timeout_seconds=timeout_seconds)


def call(
    *callers: Caller,
    since: str = "1.0",
    idempotent: Idempotent = Idempotent.BY_NATURE,
    timeout_seconds: float | None = None,
    newer_arguments: Mapping[str, str] = _NONE,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a method that these callers may call, and that one server answers.

    ``idempotent`` says why the call may be repeated, and its message arrive twice, or late.
    ``timeout_seconds`` is the default timeout, if it is shorter than the client's.
    ``newer_arguments`` maps optional arguments to the version that added them.
    """
    return _declarer(Kind.CALL, callers, since, idempotent, timeout_seconds, newer_arguments)


def cast(
    *callers: Caller, since: str = "1.0", newer_arguments: Mapping[str, str] = _NONE
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Declare a method of one server without an answer; the message may be lost."""
    return _declarer(Kind.CAST, callers, since, Idempotent.BY_NATURE, None, newer_arguments)


def fanout(
    *callers: Caller, since: str = "1.0", newer_arguments: Mapping[str, str] = _NONE
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Declare a method of all servers of the topic without an answer; messages may be lost."""
    return _declarer(Kind.FANOUT, callers, since, Idempotent.BY_NATURE, None, newer_arguments)


def _declarer(
    kind: Kind,
    callers: tuple[Caller, ...],
    since: str,
    idempotent: Idempotent,
    timeout_seconds: float | None,
    newer_arguments: Mapping[str, str],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def declare(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function)
        found = {name: codec_of(hint) for name, hint in hints.items()}
        codecs = {name: codec for name, codec in found.items() if codec is not None}
        method = Method(
            name=function.__name__,
            kind=kind,
            callers=callers,
            since=since,
            idempotent=idempotent,
            timeout_seconds=timeout_seconds,
            newer_arguments=newer_arguments,
            contract=inspect.getdoc(function) or "",
            signature=signature,
            defaults={
                parameter.name: parameter.default
                for parameter in signature.parameters.values()
                if parameter.default is not parameter.empty
            },
            hints=hints,
            answer_codec=codecs.pop(_ANSWER, None),
            argument_codecs=codecs,
            objects={
                name: declared
                for name, hint in hints.items()
                if (declared := declared_objects(hint)) is None or declared
            },
        )

        @functools.wraps(function)
        def send(*args: Any, **kwargs: Any) -> Any:
            arguments = method.bind(args, kwargs)
            interface: Interface = arguments.pop(_SELF)
            context = arguments.pop(_CONTEXT)
            timeout_seconds = arguments.pop(_TIMEOUT, None)
            addressed_by = interface.ADDRESSED_BY
            return interface._sender.send(
                context,
                method,
                arguments,
                server=None if addressed_by is None else arguments.pop(addressed_by),
                timeout_seconds=timeout_seconds,
            )

        setattr(send, _DECLARED, method)
        return typing.cast(Callable[P, R], send)

    return declare


def _check(interface: type[Interface], method: Method) -> None:
    """Raise TypeError if a declaration contradicts itself."""
    where = f"{interface.__name__}.{method.name}"
    known = method.signature.parameters
    if list(known)[:2] != [_SELF, _CONTEXT]:
        raise TypeError(f"{where} must take self and context first")
    needed = [each.argument for each in method.callers if each.argument is not None]
    needed += [interface.ADDRESSED_BY] if interface.ADDRESSED_BY else []
    for name in (*needed, *method.newer_arguments):
        if name not in known:
            raise TypeError(f"{where} has no parameter {name}")
    for name in method.newer_arguments:
        if name not in method.defaults:
            raise TypeError(f"{where} must have a default for its newer parameter {name}")
    for version in (method.since, *method.newer_arguments.values()):
        if not fits(interface.VERSION, version):
            raise TypeError(f"{where} is newer than version {interface.VERSION} of its interface")
