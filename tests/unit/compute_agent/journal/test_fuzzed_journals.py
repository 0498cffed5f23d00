"""Journals with changed bytes, as a broken disk or another account leaves them."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from armillary import exception
from compute_agent.journal.journal import Journal
from tests import builders
from tests.fixtures.checks.fuzzing import fuzzed
from tests.fleets import a_request_spec

HOST = "host1"
BYTES = st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=40))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a journal with builds, a running instance and reports."""
    path: Path = tmp_path_factory.mktemp("journal") / "journal.sqlite"
    journal = Journal(path)
    journal.open()
    made = [builders.an_instance(uuid=builders.a_uuid(), host=HOST) for _ in range(4)]
    journal.accept_builds([(each, a_request_spec()) for each in made])
    journal.finish_build(HOST, made[0].uuid, made[0].attempt, power_state="running")
    journal.begin_delete(HOST, made[1].uuid)
    journal.close()
    return path


@fuzzed(st.lists(BYTES, min_size=1, max_size=4) | st.floats(0, 1))
def test_a_changed_journal_is_read_or_refused(whole: Path, value: Any) -> None:
    """The agent starts with what it can read, or says what is wrong with which file."""
    content = bytearray(whole.read_bytes())
    if isinstance(value, float):
        del content[int(value * len(content)) :]
    else:
        for place, changed in value:
            start = int(place * (len(content) - 1))
            content[start : start + len(changed)] = changed
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "journal.sqlite")
        path.write_bytes(content)
        journal = Journal(path)
        try:
            journal.open()
            for host, uuid in journal.snapshot().entries:
                with contextlib.suppress(exception.InstanceNotFound):
                    journal.get_build(host, uuid)
            journal.list_instances(HOST)
            journal.next_reports(10)
        except exception.JournalCorrupt:
            pass
        finally:
            journal.close()
