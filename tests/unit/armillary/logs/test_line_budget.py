"""Lines that others cause, of which a flood leaves a few."""

import logging

import pytest

from armillary.logs.line_budget import AT_ONCE_MAX, INTERVAL_SECONDS, BoundedLog

LOG = logging.getLogger(__name__)


def test_a_flood_of_one_line_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """Each interval one more is written, which says how many were left out."""
    now = [0.0]
    log = BoundedLog(LOG, lambda: now[0])
    for number in range(AT_ONCE_MAX + 20):
        log.write(logging.WARNING, "refused %d", number)
    log.write(logging.WARNING, "another")
    assert len(caplog.messages) == AT_ONCE_MAX + 1
    now[0] += INTERVAL_SECONDS
    log.write(logging.WARNING, "refused %d", 7)
    assert caplog.messages[-2:] == ["another", "refused 7 (20 like it were left out before)"]
