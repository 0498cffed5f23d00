"""Tests of the number that grows with every change."""

from armillary.db import Database
from conductor.super_conductor.db import metadata_seq


def test_the_number_is_there_from_the_start_and_grows(any_api_database: Database) -> None:
    """By one with each change."""
    with any_api_database.writer() as session:
        before = metadata_seq.get_seq(session)
        metadata_seq.increment_seq(session)
    with any_api_database.reader() as session:
        assert metadata_seq.get_seq(session) == before + 1


def test_changes_that_take_a_host_have_the_number_of_the_last_one(
    any_api_database: Database,
) -> None:
    """Other changes leave it."""
    with any_api_database.writer() as session:
        metadata_seq.increment_seq(session)
        metadata_seq.host_taken(session)
        taken = metadata_seq.get_seq(session)
        metadata_seq.increment_seq(session)
    with any_api_database.reader() as session:
        assert metadata_seq.get_hosts_seq(session) == taken
        assert metadata_seq.get_seq(session) == taken + 1
