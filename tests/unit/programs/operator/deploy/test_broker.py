"""Definitions of the broker, as ``rabbitmqctl`` prints them."""

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from programs.operator.deploy import broker
from programs.operator.deploy.broker import RABBITMQCTL, READ_ATTEMPTS_MAX, BrokerAdmin
from programs.operator.deploy.steps import Steps
from tests.fixtures.programs.serving import serving

_PROGRAM = """#!/bin/sh
echo called >> {calls}
if [ "$(wc -l < {calls})" -ge {right_from} ]; then echo '{{"users": []}}'; exit; fi
echo "stopped in the middle"
"""


@pytest.mark.parametrize("right_from", range(1, READ_ATTEMPTS_MAX + 2))
def test_definitions_that_are_none_are_asked_for_again(
    right_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a virtual host is deleted meanwhile; not for ever."""
    calls, program = tmp_path / "calls", tmp_path / RABBITMQCTL
    program.write_text(_PROGRAM.format(calls=calls, right_from=right_from))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(broker, "READ_PAUSE_SECONDS", 0.0)
    if right_from > READ_ATTEMPTS_MAX:
        with pytest.raises(exception.Unavailable, match="did not answer with definitions"):
            BrokerAdmin(RABBITMQCTL).read()
    else:
        assert BrokerAdmin(RABBITMQCTL).read() == {"users": []}
    assert len(calls.read_text().split()) == min(right_from, READ_ATTEMPTS_MAX)


@pytest.mark.parametrize("is_dry_run", [False, True], ids=["run", "dry run"])
def test_accounts_that_are_there_are_deleted_by_the_management_api(is_dry_run: bool) -> None:
    """With a name that is not a path of its own; those that are gone are left alone."""
    users, deleted = [{"name": "compute-a/b"}, {"name": "compute-c"}], []

    def management(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "DELETE":
            deleted.append(environ["PATH_INFO"])
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps({"users": users}).encode()]

    steps = Steps(io.StringIO(), is_dry_run)
    with serving(management) as server:
        admin = BrokerAdmin("http://{}:{}".format(*server.address))
        broker.delete_accounts(admin, steps, ["compute-a/b", "compute-gone"])
    assert deleted == ([] if is_dry_run else ["/api/users/compute-a%2Fb"])
    assert (steps.done, steps.unchanged) == (["broker account compute-a/b"], 1)
