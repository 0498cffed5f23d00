"""Notifications wait to be sent; work never waits for them."""

import threading
import uuid
from collections.abc import Sequence

import prometheus_client
import pytest

from objects.notifications import MetricsPayload
from rpc.notifications import factory as outbox_module
from rpc.notifications.factory import Outbox
from rpc.notifications.notification import Notification

SECONDS_MAX = 60.0


class AWay:
    """Sends when it is let, and fails when it is told to."""

    def __init__(self, name: str = "") -> None:
        self.name = name or f"way-{uuid.uuid4()}"
        self.sent: list[str] = []
        self.error: Exception | None = None
        self.may_send = threading.Event()
        self.may_send.set()
        self.has_batch = threading.Event()
        self.is_closed = False

    def send(self, notifications: Sequence[Notification]) -> None:
        self.has_batch.set()
        assert self.may_send.wait(SECONDS_MAX)
        if self.error is not None:
            raise self.error
        self.sent += [one.event_type for one in notifications]

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "BATCH_WINDOW_SECONDS", 0.0)


def an_event(name: str) -> Notification:
    return Notification(name, "INFO", "test:h", None, 0.0, MetricsPayload, {})


def dropped(reason: str) -> float:
    name = "armillary_notifications_dropped_total"
    return prometheus_client.REGISTRY.get_sample_value(name, {"reason": reason}) or 0.0


def test_all_is_sent_in_order_on_each_way() -> None:
    """A stop waits for what was taken."""
    ways = [AWay(), AWay()]
    box = Outbox(ways, size_max=100)
    names = [f"event.{number}" for number in range(50)]
    for name in names:
        box.put(an_event(name))
    box.stop(SECONDS_MAX)
    assert [way.sent for way in ways] == [names, names]
    assert all(way.is_closed for way in ways)


def test_what_comes_when_too_many_wait_is_dropped_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No caller waits for a slow broker; the log says so once."""
    way, before = AWay(), dropped("queue_full")
    way.may_send.clear()
    box = Outbox([way], size_max=2)
    box.put(an_event("under way"))
    assert way.has_batch.wait(SECONDS_MAX)
    for number in range(5):
        box.put(an_event(f"event.{number}"))
    way.may_send.set()
    box.stop(SECONDS_MAX)
    assert way.sent == ["under way", "event.0", "event.1"]
    assert dropped("queue_full") == before + 3
    assert len([r for r in caplog.records if "new ones are dropped" in r.getMessage()]) == 1


def test_a_way_that_fails_keeps_no_other_from_it(caplog: pytest.LogCaptureFixture) -> None:
    """It is tried again with what comes next."""
    broken, whole, before = AWay(), AWay(), dropped("not_sent")
    broken.error = OSError("no broker")
    box = Outbox([broken, whole], size_max=10)
    for name in ("one", "two"):
        whole.has_batch.clear()
        box.put(an_event(name))
        assert whole.has_batch.wait(SECONDS_MAX)
    broken.error = None
    box.put(an_event("three"))
    box.stop(SECONDS_MAX)
    assert (broken.sent, whole.sent) == (["three"], ["one", "two", "three"])
    assert dropped("not_sent") == before + 2
    assert len([r for r in caplog.records if "no broker" in r.getMessage()]) == 1


def test_a_stop_is_bounded() -> None:
    """A broker that hangs does not keep a service from ending."""
    way = AWay()
    way.may_send.clear()
    box = Outbox([way], size_max=10)
    box.put(an_event("stuck"))
    box.stop(0.01)
    box.put(an_event("late"))
    way.may_send.set()
    assert way.has_batch.wait(SECONDS_MAX)
    assert "late" not in way.sent


def test_a_process_with_nothing_to_tell_has_no_thread() -> None:
    """Nor a connection."""
    box = Outbox([AWay()], size_max=10)
    box.stop(0.0)
    assert box._thread is None
