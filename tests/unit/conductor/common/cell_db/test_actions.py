"""Actions in the database: what was asked, each step of it once."""

from datetime import datetime, timedelta
from typing import Any

from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.common.cell_db import actions, instances
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction
from tests.builders import A_TIME, a_uuid, an_instance

NOW = A_TIME + timedelta(hours=1)


def create(database: Database, instance: Instance) -> str:
    def write(session: Any) -> str:
        instances.insert(session, [instance], now=NOW)
        return actions.start(session, admin_context(), actions.CREATE, [instance], now=NOW)[
            instance.uuid
        ]

    return database.run_in_writer(write)


def ask_delete(database: Database, instance: Instance, context: RequestContext) -> None:
    def write(session: Any) -> None:
        row = instances.lock(session, instance.uuid)
        assert row is not None
        actions.start_for_row(session, context, actions.DELETE, row, now=NOW)

    database.run_in_writer(write)


def step(database: Database, instance: Instance, result: str | None = None, **values: Any) -> None:
    arguments: dict[str, Any] = {"host": "a", "attempt": 1, "now": NOW, **values}

    def write(session: Any) -> None:
        names = (instance.uuid, actions.CREATE, actions.BUILD_EVENT)
        if result is None:
            actions.start_event(session, *names, **arguments)
        else:
            actions.finish_event(session, *names, result=result, **arguments)

    database.run_in_writer(write)


def finish(database: Database, instance: Instance, at: datetime, message: str | None) -> None:
    database.run_in_writer(actions.finish, instance.uuid, actions.CREATE, message=message, now=at)


def listed(database: Database, instance: Instance) -> list[InstanceAction]:
    return database.read(actions.list_of, instance.uuid)


def test_actions_are_listed_newest_first_with_their_own_events(database: Database) -> None:
    """Who asked, and in which request."""
    instance = an_instance(request_id="req-create")
    create(database, instance)
    step(database, instance)
    asker = RequestContext(user_id="u9", project_id="p9")
    ask_delete(database, instance, asker)
    delete, made = listed(database, instance)
    assert (made.action, made.request_id, made.user_id) == ("create", "req-create", "u1")
    assert (delete.action, delete.request_id, delete.user_id) == ("delete", asker.request_id, "u9")
    assert ([event.host for event in made.events], delete.events) == (["a"], [])


def test_a_request_s_action_is_stored_once(database: Database) -> None:
    """Its second wish is the same action."""
    instance = an_instance()
    create(database, instance)
    context = admin_context()
    ask_delete(database, instance, context)
    ask_delete(database, instance, context)
    assert [action.action for action in listed(database, instance)] == ["delete", "create"]


def test_an_event_is_stored_and_finished_once(database: Database) -> None:
    """The first outcome stays; one that was never started is started by its end."""
    instance = an_instance()
    create(database, instance)
    step(database, instance)
    step(database, instance)
    step(database, instance, "Error", details="first")
    step(database, instance, "Success", details="second")
    step(database, instance, "Success", attempt=2, host="b")
    [action] = listed(database, instance)
    assert [(event.attempt, event.result, event.details) for event in action.events] == [
        (1, "Error", "first"), (2, "Success", None)
    ]  # fmt: skip


def test_finishing_touches_only_what_has_not_ended(database: Database) -> None:
    """The first end of an action is its end."""
    instance = an_instance()
    create(database, instance)
    finish(database, instance, NOW, None)
    finish(database, instance, NOW + timedelta(minutes=1), "Error")
    [action] = listed(database, instance)
    assert (action.finish_time, action.message) == (NOW, None)


def test_an_unknown_instance_has_no_actions_and_takes_no_events(database: Database) -> None:
    """Its records were purged: a late step is not an error."""
    unknown = an_instance(uuid=a_uuid())
    step(database, unknown, "Success")
    assert listed(database, unknown) == []
