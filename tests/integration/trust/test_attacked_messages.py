"""Attacks on messages where accounts, TLS and required signatures protect them together.

The attacker rules a broker, or has the account of a service there, and no key, or that of another
service. What it recorded comes again, elsewhere, altered, or in place of another answer.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import amqp
import oslo_messaging
import pytest

from armillary import exception
from placement.interface import PlacementAPI
from rpc.broker import topics
from rpc.broker.broker_accounts import CELL, CELL_CONDUCTOR, COMPUTE, TOP
from rpc.queue_types import CONTROL_EXCHANGE
from rpc.signing import place
from rpc.signing.place import Place
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_all_active, delete_everything
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.deployment import two_cells
from tests.fixtures.messages.interfaces import Anything
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.signing.forged_replies import ReplyForger
from tests.integration.trust.message_attacks import (
    CELL_EXCHANGE,
    Recorded,
    Where,
    again_in,
    attack,
    one_of_each,
    queued,
    record,
    refused,
    state,
    takers,
)
from tests.integration.trust.trusted_deployment import (
    ACCESS_REFUSED,
    REPLIES,
    Sent,
    TrustedDeployment,
    inside,
    put,
    wrapped,
)

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

THIEF, OTHER = "cell2-agent-1", "cell2-agent-2"
SEEN_BEFORE = ("(replayed)", "(stale)")
"""Why a message is refused that was taken before: by then it may be too old."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrustedDeployment]:
    folder = tmp_path_factory.mktemp("attacked")
    with two_cells(folder, POSTGRESQL, kind=TrustedDeployment) as running:
        assert isinstance(running, TrustedDeployment)
        yield running


@pytest.fixture(scope="module")
def small(deployment: TrustedDeployment) -> str:
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture(scope="module")
def servers(deployment: TrustedDeployment, small: str) -> list[str]:
    """Return servers that stay, in both cells."""
    uuids = deployment.create_servers(small, 8)
    assert_all_active(deployment, uuids)
    return uuids


@pytest.fixture(scope="module")
def recorded(deployment: TrustedDeployment, small: str, servers: list[str]) -> Recorded:
    """Return the messages of builds, stops, a move and deletes; none of them is refused."""

    def work() -> None:
        uuids = deployment.create_servers(small, 4)
        assert_all_active(deployment, uuids)
        for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE"),
                               ("os-stop", "SHUTOFF")):  # fmt: skip
            deployment.act(uuids[0], action)
            assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
        deployment.delete_servers(*uuids)

    return record(deployment, work)


def test_everything_works_with_all_that_can_be_asked(
    deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """No message is refused by a process or a broker; all come by TLS, and all are signed."""
    assert deployment.refusals() == []
    logs = [each.log.read_text(errors="replace") for each in deployment.processes.values()]
    assert not any("ACCESS_REFUSED" in log for log in logs)
    assert deployment.door.clients == {"services"}
    assert all(each.contents for found in recorded.values() for each in found)


def test_a_message_that_comes_again_is_refused(
    deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """One of each method, at each service; also after that was killed and started again.

    A scheduler may take what another one took before, which changes nothing.
    """
    again = again_in(deployment, recorded)
    assert {key for _, _, key in again} >= {"conductor", "placement", "cell_conductor"}
    assert any(key.startswith("compute.") for _, _, key in again)
    before = state(deployment)
    attack(deployment, again, *SEEN_BEFORE)
    names = ["placement", "super", "cell2-conductor", THIEF, OTHER]
    for name in names:
        deployment.kill(name)
    deployment.start(*names)
    deployment.wait_until_ready()
    attack(deployment, again, *SEEN_BEFORE)
    decisions = [each for each in recorded[deployment.top_url] if each.key == "scheduler"]
    assert decisions
    with inside(deployment.top_url) as broker:
        for each in decisions:
            put(broker, each.exchange, each.key, wrapped(each.plain))
    wait_for(lambda: not queued(deployment, "scheduler"), "the schedulers have taken all", 60)
    assert state(deployment) == before


def test_a_message_is_taken_only_where_it_was_sent(
    deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """Not by another topic, another server, another cell, or on the broker of another cell.

    Placement refuses those of agents because it does not have their keys.
    """
    before = state(deployment)
    elsewhere: dict[Where, list[str]] = {}
    for where, taker in takers(deployment).items():
        url, topic = where[0], topics.topic_of(where[2])
        own_names = {None, taker, where[2].partition(".")[2]}
        for heard_at, found in recorded.items():
            foreign = [
                each for each in one_of_each(found)
                if (heard_at, each.topic) != (url, topic) or each.contents["to"][1] not in own_names
            ]  # fmt: skip
            elsewhere.setdefault(where, []).extend(wrapped(each.plain) for each in foreign[:12])
    attack(deployment, elsewhere, "(misdirected)", "(unknown_key)")
    assert state(deployment) == before


class Caller:
    """Signs calls to placement as another process, and gets the answers."""

    def __init__(self, deployment: TrustedDeployment, name: str) -> None:
        self._signer = deployment.authority.signer(name, nonces="caller-nonces")
        self._connection = inside(deployment.top_url)
        self._channel = self._connection.channel()
        # Brokers let placement answer the accounts of its callers alone.
        self.queue = f"replies_{deployment.prefix}conductor:caller:{uuid.uuid4().hex}"
        self._channel.queue_declare(self.queue, exclusive=True)
        self._channel.queue_bind(self.queue, REPLIES, self.queue)

    def signed(self, like: Sent) -> Sent:
        """Return a message with the contents of another one that was not sent yet."""
        target = oslo_messaging.Target(topic="placement")
        here = Place(place.TOP, CONTROL_EXCHANGE)
        ctxt, message = like.contents["ctxt"], like.contents["message"]
        signed, _nonce = self._signer.request(here, target, ctxt, message)
        call = {"_msg_id": uuid.uuid4().hex, "_reply_q": self.queue, "_timeout": None}
        return replace(like, plain={**signed, **call}, contents=json.loads(signed["text"]))

    def send(self, plain: Mapping[str, Any], **properties: Any) -> None:
        assert (
            put(self._connection, CONTROL_EXCHANGE, "placement", wrapped(plain), **properties) == 0
        )

    def answers(self) -> list[dict[str, Any]]:
        """Return the answers since the last time."""
        found = []
        while (message := self._channel.basic_get(self.queue, no_ack=True)) is not None:
            found.append(json.loads(json.loads(message.body)["oslo.message"]))
        return found

    def close(self) -> None:
        self._connection.release()


def read_of_placement(recorded: Recorded, url: str) -> Sent:
    """Return a call of the super conductor's that changes nothing."""
    reads = ("get_allocations", "get_provider_usages", "list_", "get_")
    calls = [each for each in one_of_each(recorded[url]) if each.key == "placement"]
    return next(each for each in calls if each.method.startswith(reads))


def altered_in_text(sent: Sent) -> Iterator[Sent]:
    """Yield a signed call with each part of its text changed, left out, or spelled otherwise."""
    ctxt, message = dict(sent.contents["ctxt"]), dict(sent.contents["message"])
    deployment_id, scope, exchange = sent.contents["for"]
    changes: list[dict[str, Any]] = [
        {"kind": "reply"},
        {"for": ["0" * len(deployment_id), scope, exchange]},
        {"for": [deployment_id, str(uuid.uuid4()), exchange]},
        {"for": [deployment_id, scope, "another"]},
        {"to": ["placement", None, True]},
        {"to": ["placement", "another", False]},
        {"nonce": "0" * 32},
        {"at": sent.contents["at"] + 1},
        {"message": {**message, "method": "release"}},
        {"message": {**message, "args": {**message["args"], "more": 1}}},
        {"message": {**message, "version": "9.9"}},
        {"message": {**message, "namespace": "baseapi"}},
        {"more": 1},
        *({"ctxt": {**ctxt, name: "another"}} for name in ctxt),
        *({name: None} for name in sent.contents),
    ]
    for change in changes:
        yield sent.with_text(**change)
    text = sent.plain["text"]
    for spelled in (f" {text}", f"{text}\n", text.replace('":', '" :', 1), json.dumps({})):
        yield sent.with_plain(text=spelled)


def altered_around(sent: Sent, keys: list[str]) -> Iterator[Sent]:
    """Yield the call with another signature, another key, or another kind of value for them."""
    signature = sent.plain["signature"]
    first = "B" if signature[0] == "A" else "A"
    for wrong in (
        "",
        "!",
        first + signature[1:],
        signature[:-4],
        signature * 2,
        None,
        7,
        [signature],
    ):
        yield sent.with_plain(signature=wrong)
    for wrong in (*keys, "0" * 16, sent.plain["key"].upper() + "A", None, 7, [sent.plain["key"]]):
        yield sent.with_plain(key=wrong)
    for wrong in (None, 7, [sent.plain["text"]], {"text": sent.plain["text"]}, "", "\ud800"):
        yield sent.with_plain(text=wrong)


def test_an_altered_message_is_refused(deployment: TrustedDeployment, recorded: Recorded) -> None:
    """Each part of what was signed and of the seal; then the call itself is answered, once."""
    like = read_of_placement(recorded, deployment.top_url)
    own = deployment.authority.private
    others = [own[name].key_id for name in ("api", "scheduler-1", THIEF)]
    with contextlib.closing(Caller(deployment, "super")) as caller:
        call = caller.signed(like)
        before = len(deployment.refusals("placement"))
        altered = [*altered_in_text(call), *altered_around(call, others)]
        assert call.plain not in [each.plain for each in altered]
        for each in altered:
            caller.send(each.plain)
        wait_for(
            lambda: len(deployment.refusals("placement")) >= before + len(altered),
            f"{len(altered)} altered messages are refused", 60,
        )  # fmt: skip
        caller.send(call.plain)
        (answer,) = wait_for(caller.answers, "the call itself is answered", 60)
        assert json.loads(answer["result"]["text"])["to"] == call.contents["nonce"]
        assert len(deployment.refusals("placement")) == before + len(altered)


AROUND: dict[str, dict[str, Any]] = {
    "a method beside what was signed": {"method": "release", "args": {"fences": {}}},
    "a context beside it": {"_context_user_id": "another", "_context_roles": ["admin"]},
    "a context that names an argument of the library": {"_context_self": 1},
    "a time limit that is none": {"_timeout": "for ever"},
    "no time": {"_timeout": -1e308},
    "another number": {"_unique_id": ["x"]},
    "a namespace": {"namespace": "baseapi", "version": "99.0"},
}


@pytest.mark.parametrize("what", AROUND)
def test_what_is_not_signed_of_a_message_changes_nothing(
    what: str, deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """The call is carried out as it was signed, or not at all; the next one is."""
    like = read_of_placement(recorded, deployment.top_url)
    with contextlib.closing(Caller(deployment, "super")) as caller:
        call, plain = caller.signed(like), caller.signed(like)
        caller.send(call.with_plain(**AROUND[what]).plain)
        caller.send(plain.plain)
        answers: list[dict[str, Any]] = []

        def is_answered() -> bool:
            answers.extend(caller.answers())
            return plain.plain["_msg_id"] in {each["_msg_id"] for each in answers}

        wait_for(is_answered, "the next call is answered", 60)
        nonces = {json.loads(each["result"]["text"])["to"] for each in answers}
        assert nonces <= {call.contents["nonce"], plain.contents["nonce"]}


def replies_by_method(found: list[Sent]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the signed answers to each method, as they were on the wire."""
    asked = {each.contents["nonce"]: each.method for each in found if each.is_request}
    answers: dict[str, list[Mapping[str, Any]]] = {}
    for each in found:
        if each.contents.get("kind") == "reply" and each.contents["to"] in asked:
            answers.setdefault(asked[each.contents["to"]], []).append(each.plain["result"])
    return answers


def shows_each(deployment: TrustedDeployment, uuids: list[str]) -> None:
    """Look at each server several times, side by side: each answer is about the one asked for."""

    def shown(asked: str) -> tuple[str, str | None]:
        answer = deployment.request("GET", f"/servers/{asked}")
        return asked, answer.json()["server"]["id"] if answer.ok else None

    with ThreadPoolExecutor(4) as clients:
        found = list(clients.map(shown, uuids * 3))
    assert {answer for asked, answer in found if answer not in (asked, None)} == set()
    assert any(answer is not None for _asked, answer in found)


def test_an_answer_to_an_earlier_call_is_none_to_this_one(
    deployment: TrustedDeployment, servers: list[str], tmp_path: Path
) -> None:
    """Each call of the API first gets answers that were given to others of the same method."""
    found = record(deployment, lambda: shows_each(deployment, servers))[deployment.top_url]
    earlier = replies_by_method(found)
    assert sum(map(len, earlier.values())) >= len(servers)
    every = list(itertools.chain.from_iterable(earlier.values()))
    before = refused(deployment, "api", "(misdirected)")

    def answer(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        method = json.loads(request["text"])["message"]["method"]
        return [{"result": each} for each in (earlier.get(method) or every)[:3]]

    with (
        contextlib.closing(
            Bus(messaging_conf(), inside_url(deployment.top_url), lock_directory=tmp_path)
        ) as bus,
        ReplyForger(bus, "conductor", "forger", answer, passes_on=True) as forger,
    ):
        for _ in range(3):
            shows_each(deployment, servers)
        assert forger.count > 0
    assert refused(deployment, "api", "(misdirected)") > before


PAIRS_MAX = 2


class Swapper(ReplyForger):
    """Passes two calls on, each with the place of the other one's answer."""

    _held: Any = None
    swapped = 0

    def _take(self, incoming: Any) -> None:
        if not incoming.msg_id or self.swapped >= PAIRS_MAX:
            self._pass_on(incoming, incoming)
            return
        first, self._held = self._held, None
        if first is None:
            self._held = incoming
            return
        self._pass_on(first, incoming)
        self._pass_on(incoming, first)
        self.swapped += 1

    def _pass_on(self, incoming: Any, answered: Any) -> None:
        again = {**incoming.message, "_msg_id": answered.msg_id, "_reply_q": answered.reply_q}
        self._transport._send(oslo_messaging.Target(topic=self._topic), {}, again)


def test_answers_that_are_swapped_are_none(
    deployment: TrustedDeployment, servers: list[str], tmp_path: Path
) -> None:
    """Two users ask at the same time; neither is shown what the other one asked for."""
    with (
        contextlib.closing(
            Bus(messaging_conf(), inside_url(deployment.top_url), lock_directory=tmp_path)
        ) as bus,
        Swapper(bus, "conductor", "forger", lambda _request: []) as swapper,
    ):
        shows_each(deployment, servers)
        assert swapper.swapped > 0


def inside_url(url: str) -> str:
    with inside(url) as connection:
        return str(connection.as_uri(include_password=True)).replace("amqp://", "rabbit://")


ROUTES = {
    "conductor": (CONTROL_EXCHANGE, "conductor"),
    "placement": (CONTROL_EXCHANGE, "placement"),
    "scheduler": (CONTROL_EXCHANGE, "scheduler"),
    "zone": (topics.direct_exchange(CONTROL_EXCHANGE, "zone"), "zone"),
    "all schedulers": (topics.fanout("scheduler"), ""),
    "all placements": (topics.fanout("placement"), ""),
}
# The fanout of a service has a name like its queues; signatures decide which messages are heard.
MAY_SEND_TO = {
    "api": {"conductor"},
    "scheduler": {"conductor", "placement", "all schedulers"},
    "placement": {"conductor", "all placements"},
    CELL_CONDUCTOR: {"conductor", "placement", "all schedulers"},
    "operator": {"conductor", "placement"},
}
READS = {"scheduler": "scheduler", "placement": "placement"}


@pytest.mark.parametrize("role", MAY_SEND_TO)
def test_an_account_reaches_no_topic_that_its_role_does_not_call(
    role: str, deployment: TrustedDeployment
) -> None:
    """And takes no message from a queue that its role does not serve."""
    scope = deployment.cells[0].uuid if role == CELL_CONDUCTOR else None
    with deployment.stolen_account(deployment.top_url, role, TOP, scope) as thief:
        for name, (exchange, key) in ROUTES.items():
            if name not in MAY_SEND_TO[role]:
                assert put(thief, exchange, key, wrapped({})) == ACCESS_REFUSED, name
        for queue in ("conductor", "placement", "scheduler", "zone"):
            if queue != READS.get(role):
                with pytest.raises(amqp.exceptions.AccessRefused):
                    thief.channel().basic_get(queue)


def test_a_key_allows_no_more_by_another_account(
    deployment: TrustedDeployment, recorded: Recorded, tmp_path: Path
) -> None:
    """Not even by that of the super conductor: the signer decides, and who signs nothing is none.

    An agent's key is unknown to placement; the API's is known, and may do nothing there. Neither is
    answered: placement's account writes to queues of its callers alone.
    """
    methods = sorted(set(PlacementAPI.METHODS) - {"object_backport_versions"})
    url = inside_url(deployment.top_url)
    before = state(deployment)
    for name in ("api", THIEF):
        count = len(deployment.refusals("placement"))
        signer = deployment.authority.signer(name, nonces="stolen-nonces")
        with contextlib.closing(
            Bus(messaging_conf(), url, message_signer=signer, lock_directory=tmp_path)
        ) as bus:
            api = Anything(bus, PlacementAPI, timeout_seconds=0.5)
            for method in methods:
                with pytest.raises(exception.RpcTimeout):
                    api.call(method)
        wait_for(
            lambda: len(deployment.refusals("placement")) >= count + len(methods),  # noqa: B023
            "all are refused", 30,
        )  # fmt: skip
    unsigned = [
        wrapped({**each.contents["message"], "_context_user_id": "u"})
        for each in one_of_each(recorded[deployment.top_url])
        if each.key == "placement"
    ]
    attack(
        deployment, {(deployment.top_url, CONTROL_EXCHANGE, "placement"): unsigned}, "(unsigned)"
    )
    assert state(deployment) == before


DEEP = "[" * 700 + "]" * 700
ODD_WRAPPERS = {
    "a context that names an argument of the library": wrapped({"_context_self": 1}),
    "a context without end": json.dumps(
        {"oslo.version": "2.0", "oslo.message": f'{{"_context_x": {DEEP}}}'}
    ),
    "pairs": wrapped([["_context_self", 1]]),
    "a list": wrapped([1, 2]),
    "a number": wrapped(7),
    "nothing": wrapped(None),
    "no text": json.dumps({"oslo.version": "2.0", "oslo.message": 7}),
    "no JSON": json.dumps({"oslo.version": "2.0", "oslo.message": "{"}),
    "a wrapper without end": "[" * 100_000,
    "another version": wrapped({}, version="99.0"),
    "a version that is none": wrapped({}, version=[2, 0]),
    "no wrapper": "{}",
    "not even JSON": "\x00",
    "half a letter": wrapped({"text": "\ud800", "signature": "\ud800", "key": "\ud800"}),
    "keys that are not text": wrapped([[7, 7]]),
    "a call without an address": wrapped({"_msg_id": ["x"], "_reply_q": {"x": 1}, "text": "{}"}),
}


def test_no_odd_message_of_an_account_ends_a_connection(
    deployment: TrustedDeployment, small: str
) -> None:
    """An agent's account without a key sends them to its cell's conductor, which serves on."""
    cell, log = deployment.cells[1], deployment.processes["cell2-conductor"].log
    length = len(log.read_text(errors="replace"))
    with deployment.stolen_account(cell.transport_url, COMPUTE, CELL, THIEF) as thief:
        for body in [*ODD_WRAPPERS.values()] * 5:
            assert put(thief, CELL_EXCHANGE, "cell_conductor", body) == 0
        uuids = deployment.create_servers(small, 8)
        assert_all_active(deployment, uuids)
    said = log.read_text(errors="replace")[length:]
    assert "Ignored a malformed message" in said
    for sign in ("Traceback", "Reconnected", "Unexpected exception", "unreachable"):
        assert sign not in said
    deployment.delete_servers(*uuids)


class Gone(threading.Thread):
    """An agent that asks its cell's conductor without end, and names queues that do not exist.

    ``queue`` is how their names begin; in it ``ACCOUNT`` is the agent's account.
    """

    def __init__(self, deployment: TrustedDeployment, like: Sent, queue: str) -> None:
        super().__init__(daemon=True)
        self._deployment = deployment
        self._like = like
        self._queue = queue
        self._is_over = threading.Event()
        self.count = 0

    def __enter__(self) -> Gone:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        cell = self._deployment.cells[1]
        signer = self._deployment.authority.signer(THIEF, nonces="gone-nonces")
        here = Place(cell.uuid, CONTROL_EXCHANGE)
        target = oslo_messaging.Target(topic="cell_conductor")
        account = f"{self._deployment.prefix}compute-{THIEF}"
        ctxt = self._like.contents["ctxt"]
        message = {"method": "ping", "args": {"arg": "x"}, "namespace": "baseapi", "version": "1.1"}
        with self._deployment.stolen_account(cell.transport_url, COMPUTE, CELL, THIEF) as thief:
            while not self._is_over.is_set():
                signed, _nonce = signer.request(here, target, ctxt, message)
                queue = self._queue.replace("ACCOUNT", account) + uuid.uuid4().hex
                call = {"_msg_id": uuid.uuid4().hex, "_reply_q": queue}
                put(thief, CELL_EXCHANGE, "cell_conductor", wrapped({**signed, **call}))
                self.count += 1
                self._is_over.wait(0.02)


@pytest.mark.parametrize("queue", ["replies_ACCOUNT:gone:", "cell_conductor.", "replies_other:"])
def test_an_agent_that_asks_and_goes_keeps_no_other_waiting(
    queue: str, deployment: TrustedDeployment, small: str, recorded: Recorded
) -> None:
    """Answers to callers that have gone do not take all threads of their cell's conductor.

    Nor do those to queues that the broker lets it not write to cost it a connection each.
    """
    cell, log = deployment.cells[1], deployment.processes["cell2-conductor"].log
    length = len(log.read_text(errors="replace"))
    like = next(each for each in recorded[cell.transport_url] if each.is_request)
    with Gone(deployment, like, queue) as attacker:
        wait_for(lambda: attacker.count >= 200, "more calls than the conductor has threads", 60)
        uuids = deployment.create_servers(small, 8)
        assert_all_active(deployment, uuids)
        others = [f"cell2-b{number}" for number in range(1, 5)]
        wait_for(lambda: {*others} <= {*deployment.hosts_up()}, "the other agent is heard", 60)
    whole = log.read_text(errors="replace")
    assert "Dropped an answer" in whole  # said once a minute
    for sign in ("Unable to connect", "Reconnected", "unreachable"):
        assert sign not in whole[length:]
    delete_everything(deployment)
