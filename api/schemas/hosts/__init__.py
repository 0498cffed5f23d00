"""Schemas of hosts."""
