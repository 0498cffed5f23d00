"""Fixtures of the tests of the files in ``etc``: logging undone."""

from tests.unit.armillary.conftest import keep_logging

__all__ = ["keep_logging"]
