"""Snapshot of a scheduler's memory in a local file, so that a restarted one can answer immediately.

The file is a copy of a view: losing it costs a restarted scheduler the wait for its cells and child
zones, nothing else.
"""
