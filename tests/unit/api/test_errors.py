"""Errors become answers: status from the family, the Compute API's shape, none of our insides."""

import pytest

from armillary import exception
from armillary.http import errors
from armillary.http.microversion import HEADER
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

FAMILIES = [
    pytest.param(exception.FlavorNotFound(flavor="f"), 404, "itemNotFound", id="not-found"),
    pytest.param(exception.FlavorExists(field="ID", value="f"), 409, "conflictingRequest",
                 id="exists"),
    pytest.param(exception.CellExists(field="name", value="c"), 409, "conflictingRequest",
                 id="exists-and-conflict"),
    pytest.param(exception.Exists(what="it"), 409, "conflictingRequest", id="exists-alone"),
    pytest.param(exception.AggregateInUse(aggregate="a", hosts="h"), 409, "conflictingRequest",
                 id="in-use"),
    pytest.param(exception.HostInOtherZone(host="h", zone="z"), 409, "conflictingRequest",
                 id="conflict"),
    pytest.param(exception.Invalid(reason="no"), 400, "badRequest", id="invalid"),
    pytest.param(exception.PolicyNotAuthorized(rule="r"), 403, "forbidden", id="policy"),
    pytest.param(exception.QuotaExceeded(resource="cores", requested=2, used=1, limit=2), 403,
                 "forbidden", id="quota"),
    pytest.param(exception.Unauthorized(), 401, "unauthorized", id="unauthorized"),
    pytest.param(exception.RpcUnavailable(method="m", topic="t", reason="r"), 503,
                 "serviceUnavailable", id="no-broker"),
    pytest.param(exception.CellUnavailable(cell="c", reason="r"), 503, "serviceUnavailable",
                 id="no-cell"),
    pytest.param(exception.DatabaseUnavailable(name="n", reason="r"), 503, "serviceUnavailable",
                 id="no-database"),
    pytest.param(exception.RpcVersionTooOld(topic="t", method="m", needed="1.1", cap="1.0"), 503,
                 "serviceUnavailable", id="peer-too-old"),
    pytest.param(exception.RpcTimeout(method="m", topic="t", timeout_seconds=60), 504,
                 "computeFault", id="timeout"),
    pytest.param(exception.ConfigurationError(reason="r"), 500, "computeFault",
                 id="their-configuration"),
    pytest.param(exception.NoValidHost(reason="r"), 400, "badRequest", id="no-host"),
    pytest.param(exception.RequestFilterFailed(reason="r"), 500, "computeFault", id="no-family"),
    pytest.param(KeyError("secret"), 500, "computeFault", id="unexpected"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "status", "name"), FAMILIES)
def test_a_family_has_one_status(
    error: Exception, status: int, name: str, api: Api, conductor: SuperConductor
) -> None:
    """Whatever the leaf, and wherever it was raised."""
    conductor.errors["list_flavors"] = error
    answer = api.get("/v2.1/flavors")
    assert answer.status_code == status
    assert answer.json[name]["code"] == status


@pytest.mark.parametrize(
    "error",
    [
        KeyError("secret"),
        exception.DatabaseUnavailable(name="secret", reason="secret"),
        exception.RpcTimeout(method="secret", topic="secret", timeout_seconds=1),
    ],
    ids=["unexpected", "unavailable", "timeout"],
)
def test_our_insides_stay_inside(error: Exception, api: Api, conductor: SuperConductor) -> None:
    """The caller gets the request id, by which the log tells the rest."""
    conductor.errors["list_flavors"] = error
    answer = api.get("/v2.1/flavors")
    assert "secret" not in answer.text
    assert answer.headers["x-openstack-request-id"] in answer.text


@pytest.mark.parametrize(
    ("error", "told", "told_members"),
    [
        (
            exception.RpcTimeout(method="m", topic="placement", timeout_seconds=54),
            "timed out because placement did not answer; it changes nothing", None,
        ),
        (
            exception.RpcUnavailable(method="m", topic="scheduler", reason="r"),
            "is unavailable: the scheduler. Try again later", None,
        ),
        (
            exception.CellUnavailable(cell="c1", reason="r"),
            "is unavailable: cell c1. Try", "is unavailable: a cell. Try",
        ),
        (
            exception.CellUnavailable(cell="c1", reason="r", topic="placement"),
            "is unavailable: placement. Try", None,
        ),
    ],
    ids=["timeout", "no-broker", "cell", "asked-by-a-cell"],
)  # fmt: skip
def test_the_service_that_did_not_answer_is_named(
    error: Exception, told: str, told_members: str | None, api: Api, conductor: SuperConductor
) -> None:
    """Only administrators are told which cell it was."""
    conductor.errors["list_flavors"] = error
    assert told in message(api.get("/v2.1/flavors"))
    assert (told_members or told) in message(api.get("/v2.1/flavors", token=MEMBER))


def test_who_reads_is_not_told_to_check_what_was_done(api: Api, conductor: SuperConductor) -> None:
    """Only a change that got no answer may have been made."""
    lost = exception.RpcTimeout(method="m", topic="t", timeout_seconds=1)
    conductor.errors |= {"list_flavors": lost, "delete_flavor": lost}
    assert "it changes nothing. Try again." in message(api.get("/v2.1/flavors"))
    assert "Check before you repeat it." in message(api.delete("/v2.1/flavors/one"))


def test_an_unexpected_error_is_logged_once_with_its_traceback(
    api: Api, conductor: SuperConductor, caplog: pytest.LogCaptureFixture
) -> None:
    """The request id leads from the answer to the log."""
    conductor.errors["list_flavors"] = KeyError("why")
    answer = api.get("/v2.1/flavors")
    (record,) = [record for record in caplog.records if record.exc_info]
    assert answer.headers["x-openstack-request-id"] in record.getMessage()


def test_503_says_when_to_come_again(api: Api, conductor: SuperConductor) -> None:
    """Clients that understand Retry-After wait by themselves."""
    conductor.errors["list_flavors"] = exception.CellUnavailable(cell="c", reason="r")
    answer = api.get("/v2.1/flavors")
    assert answer.headers["Retry-After"] == str(errors.RETRY_AFTER_SECONDS)


def test_an_unknown_path_is_404(api: Api) -> None:
    """In the shape of all errors."""
    answer = api.get("/v2.1/nothing")
    assert answer.json["itemNotFound"]["message"] == "There is nothing at this path."


@pytest.mark.parametrize(
    ("path", "version", "when"),
    [("os-networks", "2.36", "it is there until 2.35"), ("os-hosts", "2.43", "until 2.42")],
)
def test_a_path_of_other_versions_is_404_and_says_which(
    api: Api, path: str, version: str, when: str
) -> None:
    """Its user has to ask for one of them."""
    answer = api.send("GET", f"/v2.1/{path}", headers={HEADER: f"compute {version}"})
    assert answer.status_code == 404
    assert when in message(answer)


def test_a_path_of_later_versions_says_since_when(api: Api) -> None:
    """Clients ask for the oldest version, if nothing else is said."""
    path = f"/v2.1/servers/{builders.a_uuid()}/topology"
    answer = api.send("GET", path, headers={HEADER: "compute 2.77"})
    assert message(answer) == "Version 2.77 of this API does not have this: it is there since 2.78."


def test_a_method_that_a_path_lacks_is_405(api: Api) -> None:
    """The header names those it has."""
    answer = api.put("/v2.1/flavors", {})
    assert answer.status_code == 405
    assert "badMethod" in answer.json
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST", "OPTIONS"}


def test_every_family_of_errors_has_a_status() -> None:
    """A new family must be put into the table."""
    families = set(exception.ArmillaryError.__subclasses__())
    named = {family for family, _ in errors.STATUS_OF_FAMILY}
    inside = {
        exception.RpcFailed,
        exception.RequestFilterFailed,
        exception.BuildFailed,
        exception.BuildNotUndone,
        exception.BuildAborted,
    }
    assert {f for f in families if f.__module__ == exception.__name__} - named == inside


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            exception.OperationUnsupported(host="rack1-4", operation="set passwords", reason="no"),
            "The host cannot set passwords: no",
        ),
        (
            exception.OperationFailed(
                operation="Console output", instance_uuid="u", host="rack1-4", reason="rack1-4: no"
            ),
            "Console output of instance u failed on the host: the host: no",
        ),
        (
            exception.OperationFailed(
                operation="Snapshot", instance_uuid="u", host="rack1-4", reason="no '/srv/images/u'"
            ),
            "Snapshot of instance u failed on the host: no 'u'",
        ),
        (exception.HostNotFound(host="rack1-4.example.org"), "The host could not be found."),
        (exception.HostNotFound(host="u"), "The host could not be found."),
    ],
    ids=["unsupported", "failed", "path", "not-found", "short-name"],
)
def test_only_administrators_are_told_which_host(
    error: Exception, told: str, api: Api, conductor: SuperConductor
) -> None:
    """Users could learn from it which servers share a host."""
    conductor.errors["list_flavors"] = error
    assert message(api.get("/v2.1/flavors")) == str(error)
    assert message(api.get("/v2.1/flavors", token=MEMBER)) == told


def test_no_host_is_named_by_an_error_that_another_caused(
    api: Api, conductor: SuperConductor
) -> None:
    """As a handler does that gives an error another status."""
    server = builders.an_instance(host="rack1-4", project_id="p1")
    conductor.servers, conductor.passwords_can_be_set = [server], False
    body = {"changePassword": {"adminPass": "x"}}
    path = f"/v2.1/servers/{server.uuid}/action"
    refused = api.post(path, body, token=MEMBER)
    assert (refused.status_code, "rack1-4" in refused.text) == (409, False)
    assert "rack1-4" in api.post(path, body).text
