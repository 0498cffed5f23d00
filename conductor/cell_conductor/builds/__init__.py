"""Builds and deletes in this cell: attempts, alternates, commands to agents, their reports."""
