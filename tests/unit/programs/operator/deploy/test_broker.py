"""Definitions of the broker, as ``rabbitmqctl`` prints them."""

from pathlib import Path

import pytest

from armillary import exception
from programs.operator.deploy import broker
from programs.operator.deploy.broker import RABBITMQCTL, READ_ATTEMPTS_MAX, BrokerAdmin

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
