"""Replies that a broker account without a key puts into the caller's reply queue."""

import contextlib
import json
import time
import uuid

import pytest

from armillary import exception
from rpc.signing import envelope, message_signer
from rpc.signing.place import TOP, Place
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.messages.interfaces import BY_TOPIC, Anything
from tests.fixtures.signing import AT_THE_TOP, SCOPES, Authority
from tests.fixtures.signing.forged_replies import ReplyForger, failure_of
from tests.fixtures.waiting import seconds

METHOD = {"placement": "claim", "compute": "get_console_output", "host_states": "get_host_states"}
FAILURES = {
    "no capacity": failure_of(exception.CapacityExceeded(reason="a lie")),
    "not found": failure_of(exception.CellNotFound(cell="a lie")),
    "a bug": failure_of(ValueError("a lie")),
    "of an unknown class": json.dumps({"class": "X", "module": "y", "message": "a lie"}),
    "no JSON": "{",
    "no text": 7,
}


@pytest.fixture
def authority(tmp_path):
    made = Authority(tmp_path / "authority")
    for role in ("placement", "scheduler", "cell_conductor", "conductor", "compute"):
        made.enrol(role)
    made.enrol("compute", name="neighbour", scope="host2")
    made.enrol("cell_conductor", name="other-cell", scope=str(uuid.uuid4()))
    return made


@pytest.fixture
def attacked(authority):
    """Return a function that makes a call whose request the attacker takes, and answers."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    with contextlib.ExitStack() as closing:

        def call(answer, *, topic="placement", server=None, timeout_seconds=0.5, required=True):
            attacker = Bus(messaging_conf(), url)
            closing.callback(attacker.close)
            closing.enter_context(ReplyForger(attacker, topic, server or "one", answer))
            caller = Bus(
                messaging_conf(),
                url,
                message_signer=authority.signer("scheduler", is_required=required),
            )
            closing.callback(caller.close)
            api = Anything(caller, BY_TOPIC[topic], timeout_seconds=seconds(timeout_seconds))
            return api.call(METHOD[topic], server)

        yield call


def true_answer(
    authority, request, name="placement", result="true", failure=None, place=AT_THE_TOP
):
    """Return what a server signs in reply to a request."""
    nonce = json.loads(request["text"])["nonce"]
    return {"result": authority.signer(name).reply(place, nonce, result, failure)}


@pytest.mark.parametrize("failure", FAILURES)
def test_an_unsigned_failure_is_not_an_answer(attacked, failure):
    """The outcome of the call stays unknown; the claim may have been made."""
    with pytest.raises(exception.RpcTimeout, match="not signed; outcome unknown"):
        attacked(lambda _request: [{"failure": FAILURES[failure]}])


SHAPES = {
    "a plain result": [{"result": "a lie"}],
    "nothing": [{"result": None}],
    "no fields": [{"ending": True, "failure": None}],
    "a heartbeat": [{"result": None, "ending": False}],
    "a result in two parts": [{"result": "a lie", "ending": False}, {"result": None}],
    "one message twice": [{"result": "a lie", "_unique_id": "1", "ending": False}] * 2,
    "a signed text of a wrong type": [{"result": {"text": []}}],
    "half a character": [{"result": {"text": "\ud800", "signature": "", "key": "0" * 16}}],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_unsigned_message_ends_a_call(attacked, shape):
    with pytest.raises(exception.RpcTimeout, match="outcome unknown"):
        attacked(lambda _request: SHAPES[shape])


def test_the_true_answer_counts_after_forged_ones(attacked, authority):
    """An attacker who answers before the server gains nothing."""

    def answer(request):
        return [{"failure": FAILURES["no capacity"]}, true_answer(authority, request)]

    assert attacked(answer, timeout_seconds=10) == "true"


def test_a_signed_failure_keeps_its_class(attacked, authority):
    def answer(request):
        error = exception.CapacityExceeded(reason="true")
        return [true_answer(authority, request, failure=(type(error), error, None))]

    with pytest.raises(exception.CapacityExceeded, match="true"):
        attacked(answer, timeout_seconds=10)


def test_a_signed_failure_cannot_be_made_unsigned(attacked, authority):
    """The driver's own failure field beside a true result is not looked at."""

    def answer(request):
        return [{**true_answer(authority, request), "failure": FAILURES["not found"]}]

    assert attacked(answer, timeout_seconds=10) == "true"


def test_an_answer_to_another_request_is_refused(attacked, authority):
    """An attacker who records a signed answer cannot give it to the next call."""
    recorded = []

    def answer(request):
        recorded.append(true_answer(authority, request))
        return [recorded[0]]

    assert attacked(answer, timeout_seconds=10) == "true"
    with pytest.raises(exception.RpcAnswerRefused, match="to another request"):
        attacked(answer)


@pytest.mark.parametrize(
    "place",
    [Place("5f3a4b1e-0000-4000-8000-000000000002", AT_THE_TOP.exchange), Place(TOP, "other")],
    ids=["in another cell", "on another exchange"],
)
def test_an_answer_given_elsewhere_is_refused(attacked, authority, place):
    """An answer names its cell, as its request does."""
    with pytest.raises(exception.RpcAnswerRefused, match="it was sent to"):
        attacked(lambda request: [true_answer(authority, request, place=place)])


def test_a_request_is_not_a_reply(attacked, authority):
    """What a server signed as a caller is of no use as its answer."""

    def answer(request):
        contents = json.loads(request["text"])
        forged = {**contents, "to": contents["nonce"], "result": "a lie", "failure": None}
        return [{"result": envelope.sign(forged, authority.private["placement"])}]

    with pytest.raises(exception.RpcAnswerRefused, match="to another request"):
        attacked(answer)


@pytest.mark.parametrize(
    ("topic", "server", "forger"),
    [
        ("compute", "host1", "neighbour"),
        ("host_states", SCOPES["cell_conductor"], "other-cell"),
        ("placement", None, "cell_conductor"),
    ],
    ids=["another host's agent", "another cell's conductor", "another role"],
)
def test_an_answer_of_another_server_is_refused(attacked, authority, topic, server, forger):
    with pytest.raises(exception.RpcAnswerRefused, match="does not serve"):
        attacked(
            lambda request: [true_answer(authority, request, forger)], topic=topic, server=server
        )


def test_an_answer_of_an_agent_is_no_longer_than_one_of_ours(attacked, authority):
    """Users ask agents for consoles; what these answer passes through all services."""
    long = "x" * message_signer.AGENT_ANSWER_CHARACTERS_MAX
    with pytest.raises(exception.RpcAnswerRefused, match="at most"):
        attacked(
            lambda request: [true_answer(authority, request, "compute", result=long)],
            topic="compute", server="host1", timeout_seconds=10,
        )  # fmt: skip


@pytest.mark.parametrize(
    "at",
    [float("nan"), float("inf"), time.time() - 301, "now", None],
    ids=["not a number", "infinite", "too old", "a text", "missing"],
)
def test_an_answer_of_no_or_another_time_is_refused(attacked, authority, at):
    def answer(request):
        contents = {
            "kind": "reply",
            "to": json.loads(request["text"])["nonce"],
            "at": at,
            "result": "late",
            "failure": None,
        }
        return [{"result": envelope.sign(contents, authority.private["placement"])}]

    with pytest.raises(exception.RpcAnswerRefused):
        attacked(answer)


def test_unsigned_failures_count_while_signing_is_rolled_out(attacked):
    """With ``accept``, servers that do not sign yet may report failures."""
    with pytest.raises(exception.CapacityExceeded, match="a lie"):
        attacked(
            lambda _request: [{"failure": FAILURES["no capacity"]}],
            timeout_seconds=10,
            required=False,
        )
