"""Moves: hosts for resize, migration, evacuation and unshelve, also between cells."""
